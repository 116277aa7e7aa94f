#include "updator/strays.h"

#include <sql/jobs.h>
#include <sql/kills.h>

#include "core/log.h"
#include "core/text.h"
#include "module/events.h"

namespace cigri::updator {
namespace {

constexpr std::size_t kNamed = 20;  // ids in one event

struct Strays {
  std::vector<std::string> twins, tags, users, unknown;
  std::vector<int> elements;
};

Strays Judge(db::Tx& tx, std::int64_t cluster_id, const std::vector<cluster::RemoteJob>& listed) {
  Strays strays;
  std::vector<std::string> ids, tags, owners;
  std::vector<int> elements;
  for (const auto& job : listed) {
    ids.push_back(job.ref.remote_id);
    tags.push_back(job.ref.tag);
    elements.push_back(job.ref.index);
    owners.push_back(ValidUtf8(job.ref.cluster_user));
  }
  if (ids.empty()) return strays;
  for (const auto& row : tx.Exec(sql::kReconcileOrphans, cluster_id, ids,
                                 tags, elements, owners)) {
    const std::string verdict = row.verdict, id = row.remote_id;
    if (verdict == "unknown") strays.unknown.push_back(id);
    if (verdict != "twin") continue;
    strays.twins.push_back(id);
    strays.tags.emplace_back(row.tag);
    strays.elements.push_back(row.element);
    strays.users.emplace_back(row.cluster_user);
  }
  return strays;
}

nlohmann::json Sample(std::vector<std::string> ids) {
  if (ids.size() > kNamed) ids.resize(kNamed);
  return {{"remote_ids", ids}};
}

module::Event EventOf(const char* code, std::int64_t cluster_id) {
  module::Event e{.cls = "cluster", .code = code, .message = ""};
  e.cluster_id = cluster_id;
  return e;
}

}  // namespace

void JudgeStrays(db::Tx& tx, std::int64_t cluster_id, const std::string& cluster_name,
                 const std::vector<cluster::RemoteJob>& listed, std::set<std::string>* told) {
  const auto strays = Judge(tx, cluster_id, listed);
  auto twin = EventOf("TWIN_JOB", cluster_id), unknown = EventOf("UNKNOWN_JOB", cluster_id);
  // A sweep sees all that lives there: what it does not see has ended.
  tx.Exec(sql::kForgetDuplicates, cluster_id, db::Array(strays.twins));
  const auto fresh =
      tx.Exec(sql::kAddDuplicates, cluster_id, db::Array(strays.twins), db::Array(strays.tags),
              db::Array(strays.elements), db::Array(strays.users))
          ;
  if (fresh > 0) {
    twin.count = static_cast<std::int64_t>(fresh);
    twin.message = cluster_name + " has copies of jobs of ours, which are killed: " +
                   Join(Sample(strays.twins)["remote_ids"].get<std::vector<std::string>>(), ", ");
    twin.sample = Sample(strays.twins);
    module::RaiseEvent(tx, twin);
    log::warn("{}", twin.message);
  } else if (strays.twins.empty()) {
    module::CloseEvent(tx, twin, "updator");
  }
  const std::set<std::string> now(strays.unknown.begin(), strays.unknown.end());
  if (!now.empty() && now != *told) {
    unknown.count = static_cast<std::int64_t>(now.size());
    unknown.message =
        cluster_name + " has jobs with our tag that are in no record of ours: " +
        Join(Sample(strays.unknown)["remote_ids"].get<std::vector<std::string>>(), ", ");
    unknown.sample = Sample(strays.unknown);
    module::RaiseEvent(tx, unknown);
    log::warn("{}", unknown.message);
  } else if (now.empty()) {
    module::CloseEvent(tx, unknown, "updator");
  }
  *told = now;
}

}  // namespace cigri::updator
