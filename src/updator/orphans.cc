#include "updator/orphans.h"

#include "core/log.h"
#include "core/text.h"

namespace cigri::updator {
namespace {

constexpr std::size_t kNamed = 20;  // ids in one event

db::Event EventOf(const char* code, std::int64_t cluster_id) {
  db::Event event{.cls = "cluster", .code = code, .message = ""};
  event.cluster_id = cluster_id;
  return event;
}

void RaiseNaming(Store& store, db::Event event, const std::string& message,
                 std::vector<std::string> ids, std::size_t count) {
  if (ids.size() > kNamed) ids.resize(kNamed);
  event.count = static_cast<std::int64_t>(count);
  event.message = message + Join(ids, ", ");
  event.sample = {{"remote_ids", ids}};
  store.Raise(event);
  log::warn("{}", event.message);
}

template <typename Rows>
void ReportDuplicates(Store& store, std::int64_t cluster_id, const std::string& name,
                      const Rows& duplicates) {
  const auto event = EventOf("DUPLICATE_JOB", cluster_id);
  const auto added = store.SetDuplicates(cluster_id, duplicates);
  std::vector<std::string> ids;
  for (const auto& row : duplicates) ids.push_back(row.remote_id);
  if (added > 0)
    RaiseNaming(store, event, name + " has duplicates of our jobs, which nikita kills: ", ids,
                added);
  else if (ids.empty())
    store.Close(event);
}

void ReportOrphans(Store& store, std::int64_t cluster_id, const std::string& name,
                   const std::set<std::string>& orphans, std::set<std::string>* reported) {
  const auto event = EventOf("ORPHAN_JOB", cluster_id);
  if (orphans.empty())
    store.Close(event);
  else if (orphans != *reported)
    RaiseNaming(store, event, name + " has jobs with our tag that are in none of our tables: ",
                {orphans.begin(), orphans.end()}, orphans.size());
  *reported = orphans;
}

}  // namespace

void ReconcileOrphans(Store& store, std::int64_t cluster_id, const std::string& cluster_name,
                      const std::vector<cluster::RemoteJob>& listed,
                      std::set<std::string>* reported) {
  auto rows = store.ReconcileOrphans(cluster_id, listed);
  std::set<std::string> orphans;
  for (const auto& row : rows)
    if (row.verdict == "unknown") orphans.insert(row.remote_id);
  std::erase_if(rows, [](const auto& row) { return row.verdict != "duplicate"; });
  ReportDuplicates(store, cluster_id, cluster_name, rows);
  ReportOrphans(store, cluster_id, cluster_name, orphans, reported);
}

}  // namespace cigri::updator
