// What would change things: the last stored decision taken again with a limit lifted.
#include "policy/explain/whatif.h"

#include <sql/plans.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "api/why/snapshot.h"
#include "api/why/why.h"
#include "core/log.h"
#include "policy/explain/terms.h"
#include "policy/json.h"

namespace cigri::api {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr auto kTurn = std::chrono::milliseconds(1500);  // waiting for others who ask
constexpr auto kTime = std::chrono::milliseconds(2000);  // trying
constexpr std::int64_t kMostBytes = 32 << 20;            // stored; ten times that while it is read

std::vector<std::uint8_t> Bytes(const std::string& hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::vector<std::uint8_t> bytes;
  bytes.reserve(hex.size() / 2);
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::uint8_t>(digit(hex[i]) * 16 + digit(hex[i + 1])));
  return bytes;
}

const char* WordFor(policy::Doer doer) {
  if (doer == policy::Doer::kUser) return "user";
  return doer == policy::Doer::kOperator ? "operator" : "nobody";
}

json ItemJson(const policy::WhatIf& what) {
  return {{"code", policy::ToString(what.code)},
          {"cluster_id", what.cluster},
          {"change", what.change},
          {"who", WordFor(what.doer)},
          {"jobs", what.jobs}};
}

std::string Message(const policy::WhatIf& what) {
  const std::string gives = " would give it " + Jobs(what.jobs) + " more";
  if (what.doer == policy::Doer::kUser) return what.change + gives;
  if (what.doer == policy::Doer::kOperator) return what.change + gives + " (for an operator to do)";
  return what.change + gives;
}

// The first that the reader can do, else the first of all.
const policy::WhatIf* Cheapest(const policy::WhatIfs& found, bool is_operator) {
  for (const auto& what : found.useful)
    if (what.doer == policy::Doer::kUser || (is_operator && what.doer == policy::Doer::kOperator))
      return &what;
  return found.useful.empty() ? nullptr : &found.useful.front();
}

json WhatIfJson(const policy::WhatIfs& found, double age_s, bool is_operator) {
  json items = json::array();
  for (const auto& what : found.useful) items.push_back(ItemJson(what));
  const auto* best = Cheapest(found, is_operator);
  std::string message = "nothing that was tried would give it more";
  if (best != nullptr) message = Message(*best);
  if (found.reasons.empty()) message = "at the last stored decision nothing held it back";
  return {{"message", message},   {"items", std::move(items)},
          {"tried", found.tried}, {"cut", found.cut},
          {"age_s", age_s},       {"jobs_now", found.jobs_now}};
}

json Refused(const std::string& why) { return {{"message", why}, {"items", json::array()}}; }

// Who was served before it, and by which term.
void AddTerms(const SnapshotCache::Stored& stored, std::int64_t campaign, json& reasons) {
  for (auto& reason : reasons) {
    if (reason["code"] != "SERVED_BEFORE") continue;
    const auto other = reason["numbers"].value("other", std::int64_t{0});
    const auto clause = policy::WhyFirst(stored.snapshot, stored.state, stored.at, other, campaign,
                                         reason["cluster_id"].get<std::int64_t>());
    if (!clause.empty())
      reason["before"] = "campaign " + std::to_string(other) + " comes first: " + clause;
  }
}

}  // namespace

std::shared_ptr<const SnapshotCache::Stored> SnapshotCache::Newest(Context& context,
                                                                   std::string* fault) {
  auto stored = std::make_shared<Stored>();
  std::string snapshot;
  context.Transact([&](db::Tx& tx) {
    const auto rows = tx.Exec(sql::kNewestSnapshot);
    if (rows.empty()) {
      *fault = "no decision has been stored yet";
      return;
    }
    stored->plan = rows[0].id;
    stored->at = rows[0].at;
    stored->seed = static_cast<std::uint64_t>(rows[0].seed);
    if (last_ && last_->plan == stored->plan) return;
    if (rows[0].bytes > kMostBytes) {
      *fault = "the grid is too large to try it here";
      return;
    }
    snapshot = tx.One(sql::kPlanSnapshot, stored->plan).hex;
  });
  if (!fault->empty()) return nullptr;
  if (last_ && last_->plan == stored->plan) return last_;
  // Reading it takes long: without a session of the database.
  const json all = json::from_cbor(Bytes(snapshot));
  stored->snapshot = all.at("snapshot").get<policy::Snapshot>();
  stored->state = all.at("state").get<policy::State>();
  stored->at = all.at("now").get<double>();
  last_ = stored;
  return stored;
}

void AddWhatIf(Context& context, const Request& request, json& why) {
  SnapshotCache& cache = *context.snapshots;
  const std::unique_lock lock(cache.turn, kTurn);
  if (!lock.owns_lock()) {
    why["what_if"] = Refused("others are asking just now; ask again");
    return;
  }
  const auto campaign = why["campaign"].get<std::int64_t>();
  const auto begin = Clock::now();
  try {
    std::string fault;
    const auto stored = cache.Newest(context, &fault);
    if (!stored) {
      why["what_if"] = Refused(fault);
      return;
    }
    for (auto& placement : why["clusters"]) AddTerms(*stored, campaign, placement["reasons"]);
    const auto& all = stored->snapshot.campaigns;
    if (std::none_of(all.begin(), all.end(), [&](const auto& c) { return c.id == campaign; })) {
      why["what_if"] = Refused("it was not in the last stored decision");
      return;
    }
    const auto found =
        policy::FindWhatIfs(stored->snapshot, stored->state, stored->at, stored->seed, campaign,
                            [&] { return Clock::now() - begin > kTime; });
    const double now =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    why["what_if"] = WhatIfJson(found, std::max(0.0, now - stored->at), request.caller.is_operator);
  } catch (const std::invalid_argument& e) {  // a snapshot of another version
    log::warn("the stored snapshot cannot be read: {}", e.what());
    why["what_if"] = Refused("the stored decision cannot be read");
  } catch (const json::exception& e) {
    log::warn("the stored snapshot cannot be read: {}", e.what());
    why["what_if"] = Refused("the stored decision cannot be read");
  }
}

}  // namespace cigri::api
