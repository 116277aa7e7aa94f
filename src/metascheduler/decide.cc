#include "metascheduler/decide.h"

#include <algorithm>

#include "policy/reason.h"

namespace cigri::metascheduler {
namespace {

std::vector<Allocation> Targets(const Loaded& loaded, const policy::Plan& plan) {
  std::vector<Allocation> grants;
  std::map<std::int64_t, int> last_rank;
  for (const auto& a : plan.allocations) {
    if (a.shadow) continue;
    const auto it = loaded.in_flight.find({a.campaign, a.cluster, a.kind});
    const auto in_flight = it == loaded.in_flight.end() ? 0 : it->second;
    grants.push_back({a.campaign, a.cluster, a.kind, in_flight + a.n, a.rank});
    last_rank[a.cluster] = std::max(last_rank[a.cluster], a.rank);
  }
  for (const auto& [campaign, cluster] : loaded.epilogues)
    grants.push_back({campaign, cluster, BatchKind::kEpilogue, 1, ++last_rank[cluster]});
  return grants;
}

}  // namespace

Decision Decide(const Loaded& loaded, const policy::State& carried, std::uint64_t seed,
                bool reasons) {
  Decision decision;
  const policy::TakeReason add = [&](const policy::Reason& reason) {
    auto numbers = policy::ReasonTexts::Numbers(reason);
    if (reason.main) numbers["main"] = true;
    (*decision
          .reasons)[{reason.campaign, reason.cluster, std::string(policy::ToString(reason.code))}] =
        numbers.dump();
  };
  if (reasons) decision.reasons.emplace();
  decision.result = policy::Decide(loaded.snapshot, carried, loaded.now, seed,
                                   reasons ? add : policy::TakeReason());
  decision.grants = Targets(loaded, decision.result.plan);
  for (const auto& a : decision.result.plan.allocations)
    if (a.shadow) decision.would_send[{a.campaign, a.cluster}] += a.n;
  return decision;
}

}  // namespace cigri::metascheduler
