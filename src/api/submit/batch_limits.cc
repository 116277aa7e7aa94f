#include "api/submit/batch_limits.h"

#include <sql/parameters.h>

#include "cluster/batch.h"
#include "clusterdb/clusterdb.h"
#include "core/error.h"
#include "core/log.h"
#include "jdl/command.h"

// A setting that is left out of BatchSettings is a fault here, not a default.
#pragma GCC diagnostic error "-Wmissing-field-initializers"

namespace cigri::api {
namespace {

constexpr std::size_t kLong = 1000;

// One cluster of the campaign, as its jobs will be sent there.
struct TargetCluster {
  std::unique_ptr<cluster::Cluster> driver;
  cluster::Batch batch;
  std::string exec_file;
};

cluster::BatchSettings SettingsOf(const jdl::Campaign& campaign, const jdl::ClusterSettings& s,
                                  const ClusterTarget& info) {
  return {.grid_user = "",  // no limit of a cluster depends on who asks
          .cluster_user = info.login,
          .campaign_name = campaign.name,
          .exec_directory = s.exec_directory,
          .setup = s.setup,
          .resources = s.resources,
          .slots = jdl::ParseResources(s.resources, info.resource_unit).n,
          .properties = s.properties,
          .project = s.project,
          .job_types = s.job_types,
          .best_effort = s.best_effort,
          .walltime_s = s.walltime_s,
          .options = s.options};
}

std::vector<TargetCluster> TargetClustersOf(db::Tx& tx, const GridInfo& info,
                                            const jdl::Campaign& campaign) {
  std::vector<TargetCluster> targets;
  for (const auto& row : clusterdb::LoadClusters(tx))
    for (const auto& s : campaign.clusters) {
      if (s.name != row.config.name) continue;
      try {
        targets.push_back({clusterdb::MakeDriver(row),
                           cluster::TaskBatch(SettingsOf(campaign, s, info.clusters.at(s.name))),
                           s.exec_file});
      } catch (const Fatal& e) {  // a row that its operator has to fix: no matter of this user
        log::warn("cluster {}: {}", s.name, e.what());
      }
    }
  return targets;
}

class Check {
 public:
  Check(std::vector<TargetCluster> targets, const jdl::Campaign& campaign)
      : targets_(std::move(targets)), campaign_(campaign) {}

  void Jobs() {
    for (auto& c : targets_)
      if (const auto why = c.driver->ExceedsLimit(c.batch); !why.empty()) throw BadRequest(why);
  }
  void Line(std::int64_t index, const std::string& line) {
    for (auto& c : targets_) {
      c.batch.elements = {
          {0, index, 1,
           jdl::CommandLine(c.exec_file, campaign_.format, campaign_.columns, line, index)}};
      if (const auto why = c.driver->ExceedsLimit(c.batch); !why.empty())
        throw BadParameter(index + 1, why);
    }
  }
  /// The long ones of a block whose first line is number `index`.
  void Block(std::int64_t index, std::string_view text) {
    for (std::size_t at = 0; at < text.size(); ++index) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      if (index == 0 || end - at > kLong)
        Line(index, jdl::DecodeBlock(std::string(text.substr(at, end - at)) + "\n").at(0));
      at = end + 1;
    }
  }

 private:
  std::vector<TargetCluster> targets_;
  const jdl::Campaign& campaign_;
};

}  // namespace

void CheckLimits(Context& context, const GridInfo& info, const jdl::Campaign& campaign,
                 const std::optional<ParameterUpload>& upload, const jdl::Lines& lines) {
  context.Transact([&](db::Tx& tx) {
    Check check(TargetClustersOf(tx, info, campaign), campaign);
    check.Jobs();
    if (!upload) {
      std::int64_t index = 0;
      for (const auto& block : lines.blocks()) {
        check.Block(index, block);
        index += jdl::CountLines(block);
      }
      if (lines.empty()) check.Line(0, "0");  // they are counted
      return;
    }
    for (std::int64_t at = 0; at < upload->lines;) {
      const auto rows = tx.Exec(sql::kLongBlocks, upload->id, at, static_cast<int>(kLong));
      if (rows.empty()) return;
      for (const auto& row : rows) {
        check.Block(row.off, row.params);
        at = row.off + 1;
      }
    }
  });
}

}  // namespace cigri::api
