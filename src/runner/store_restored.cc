// After `cigri restore`: batches that a cluster has and the database does not know any more.
#include <sql/batches.h>
#include <sql/claims.h>
#include <sql/restores.h>

#include <algorithm>

#include "core/text.h"
#include "db/counters.h"
#include "module/module.h"
#include "runner/store.h"
#include "runner/tag.h"

namespace cigri::runner {

std::optional<RestoredCluster> Store::Restored(db::Tx& tx) {
  const auto row = tx.First(sql::kRestoredCluster, cluster_id_);
  if (!row) return std::nullopt;
  return RestoredCluster{row->state_of, row->last_campaign, row->lost};
}

AdoptedTags Store::AdoptTags(db::Tx& tx, const std::vector<std::string>& tags) {
  HoldLease(tx);
  std::set<std::string> known;
  for (const auto& row : tx.Exec(sql::kKnownTags, tags)) known.insert(row.tag);
  std::map<std::int64_t, std::vector<UnknownTag>> unknown;
  AdoptedTags result;
  for (const auto& tag : tags) {
    if (known.count(tag) != 0) continue;
    if (auto content = ReadTag(tag, grid_id_); content && !content->script)
      unknown[content->campaign_id].push_back(
          {tag, std::move(content->idxs), content->tasks_per_job});
  }
  std::vector<std::int64_t> campaigns;
  for (const auto& [campaign, batches] : unknown) campaigns.push_back(campaign);
  for (const auto& campaign : tx.Exec(sql::kCampaignsOfTags, campaigns, cluster_id_)) {
    if (!campaign.settled) {
      result.rest = true;
      continue;
    }
    for (const auto& batch : unknown.at(campaign.campaign_id)) {
      if (batch.idxs.empty()) {
        if (!tx.First(sql::kHasRestoreUnclear, campaign.campaign_id, batch.tag))
          result.unclear.emplace_back(campaign.campaign_id, batch.tag);
      } else if (*std::max_element(batch.idxs.begin(), batch.idxs.end()) < campaign.ntasks) {
        AdoptBatch(tx, campaign, batch);
        ++result.adopted;
      }
    }
  }
  return result;
}

// Its tasks may be among those that wait, those to be retried, or those that need attention; else
// another job of them is known, and these are copies.
void Store::AdoptBatch(db::Tx& tx, const sql::CampaignsOfTagsRow& campaign,
                       const UnknownTag& unknown) {
  const auto id = campaign.campaign_id;
  const auto waiting = tx.Exec(sql::kTakeFromWaiting, id, unknown.idxs).size() +
                       tx.Exec(sql::kTakeFromCursor, id, unknown.idxs).size();
  tx.Exec(sql::kPassBoosted, std::vector{id});
  const auto kind =
      waiting > 0 ? FromString<BatchKind>(campaign.kind).value() : BatchKind::kReplica;
  const auto row = tx.First(sql::kAdoptBatch, id, cluster_id_, unknown.idxs, unknown.tag,
                            std::string(ToString(kind)), epoch_, unknown.tasks_per_job);
  if (!row)
    throw std::runtime_error("campaign " + std::to_string(id) + " does not name this cluster");
  ClaimedBatch batch;
  batch.campaign_id = id;
  batch.kind = kind;
  batch.slots = row->slots;
  batch.tasks_per_job = unknown.tasks_per_job;
  for (const auto idx : unknown.idxs) batch.tasks.push_back({idx, 1});
  CounterDeltas deltas;
  CountBatch(deltas, cluster_id_, batch, "launching", 1);
  db::AddCounters(tx, deltas, "runner");
}

// The updator may be about to retry a task whose other job has just been found: it does not see that
// one, and we do not see the retry until it has committed.
void Store::EndReconciliation(db::Tx& tx, std::int64_t last_campaign) {
  tx.Exec(sql::kAwaitModules);
  HoldLease(tx);
  if (tx.Exec(sql::kEndReconciliation, cluster_id_).empty()) return;
  tx.Exec(sql::kForgetRetriesInFlight, last_campaign);
}

}  // namespace cigri::runner
