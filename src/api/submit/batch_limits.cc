#include "api/submit/batch_limits.h"

#include <sql/parameters.h>

#include "cluster/batch.h"
#include "clusterdb/clusterdb.h"
#include "core/error.h"
#include "core/log.h"
#include "core/text.h"
#include "jdl/command.h"

// A setting that is left out of BatchSettings is a fault here, not a default.
#pragma GCC diagnostic error "-Wmissing-field-initializers"

namespace cigri::api {
namespace {

constexpr std::size_t kLong = 1000;           // bytes of a parameter that is always looked at
constexpr std::size_t kTaken = 100'000;       // bytes of a command that every kind of cluster takes
constexpr std::size_t kMostAsked = 1u << 30;  // bytes of commands, then only the longest is asked

// One cluster of the campaign, as its jobs will be sent there.
struct TargetCluster {
  std::string name;
  std::unique_ptr<cluster::Cluster> driver;
  cluster::Batch batch;
  std::string exec_file;
  jdl::CommandSize size;
  // The longest command of those that were only counted.
  std::size_t most = 0;
  std::int64_t most_index = 0;
  std::string most_line = {};
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
        targets.push_back({s.name, clusterdb::MakeDriver(row),
                           cluster::TaskBatch(SettingsOf(campaign, s, info.clusters.at(s.name))),
                           s.exec_file,
                           {s.exec_file, campaign.format, campaign.columns}});
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
  /// Counts the commands that a line makes; asks the driver about them at once, or in Finish().
  void Line(std::int64_t index, const std::string& line) {
    for (auto& c : targets_) {
      const std::size_t bytes = c.size.Of(line, index);
      RequireSize(index, bytes);
      if (index == 0 || (line.size() > kLong && asked_ < kMostAsked)) {
        asked_ += bytes;
        AskDriver(c, index, line);
      } else if (bytes > c.most) {
        c.most = bytes, c.most_index = index, c.most_line = line;
      }
    }
  }
  /// Asks about the longest command of all that were only counted.
  void Finish() {
    for (auto& c : targets_)
      if (c.most > 0) AskDriver(c, c.most_index, c.most_line);
  }
  /// A shorter line, as it is encoded, makes no command that a cluster could not take.
  std::size_t LongLine() const {
    std::size_t bytes = kLong;
    for (const auto& c : targets_)
      while (bytes > 0 && c.size.AtMost(bytes) > kTaken) bytes = bytes * 3 / 4;
    return bytes;
  }
  /// The long ones of a block whose first line is number `index`.
  void Block(std::int64_t index, std::string_view text) {
    const std::size_t longest = LongLine();
    for (std::size_t at = 0; at < text.size(); ++index) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      if (index == 0 || end - at > longest)
        Line(index, jdl::DecodeBlock(std::string(text.substr(at, end - at)) + "\n").at(0));
      at = end + 1;
    }
  }

 private:
  // Before anything is filled: a JDL of 210 kB made commands of 1.7 GB.
  static void RequireSize(std::int64_t index, std::size_t bytes) {
    if (bytes > jdl::kCommandBytes)
      throw BadParameter(index + 1, "its command would have " + std::to_string(bytes) +
                                        " bytes, the limit is " +
                                        std::to_string(jdl::kCommandBytes));
  }
  void AskDriver(TargetCluster& c, std::int64_t index, const std::string& line) {
    c.batch.elements = {
        {0, index, 1,
         jdl::CommandLine(c.exec_file, campaign_.format, campaign_.columns, line, index)}};
    if (const auto why = c.driver->ExceedsLimit(c.batch); !why.empty())
      throw BadParameter(index + 1, why);
  }

  std::vector<TargetCluster> targets_;
  const jdl::Campaign& campaign_;
  std::size_t asked_ = 0;  // bytes of commands that drivers were asked about
};

// Why each cluster cannot; what is the same of several is said once.
std::string Reasons(const std::map<std::string, std::string>& unable) {
  std::map<std::string, std::vector<std::string>> clusters;  // by the reason without their name
  for (const auto& [name, why] : unable) clusters[ReplaceAll(why, name, "%")].push_back(name);
  std::vector<std::string> reasons;
  for (const auto& [why, names] : clusters) {
    const std::vector<std::string> others(names.begin() + 1, names.end());
    reasons.push_back(ReplaceAll(why, "%", names.front()) +
                      (others.empty() ? "" : " (the same: " + Join(others, ", ") + ")"));
  }
  return Join(reasons, "; ");
}

}  // namespace

std::map<std::string, cluster::ResourceClass> ResourceClassesOf(db::Tx& tx, const GridInfo& info,
                                                                const jdl::Campaign& campaign) {
  std::map<std::string, cluster::ResourceClass> classes;
  constexpr std::size_t kMost = 20'000;  // bytes that each poll and each cycle reads again
  for (const auto& c : TargetClustersOf(tx, info, campaign))
    if (auto what = c.driver->ResourceClassOf(c.batch); what.request.size() <= kMost)
      classes[c.name] = std::move(what);
  return classes;
}

std::vector<std::string> LeaveOutUnable(Context& context, const GridInfo& info,
                                        jdl::Campaign& campaign) {
  if (campaign.clusters.size() < 2) return {};  // CheckLimits says why
  const auto targets = context.Transact(
      [&](db::Tx& tx) { return TargetClustersOf(tx, info, campaign); });
  std::map<std::string, std::string> unable;
  for (const auto& c : targets)
    if (const auto why = c.driver->ExceedsLimit(c.batch); !why.empty()) unable[c.name] = why;
  if (unable.size() == campaign.clusters.size())
    throw BadRequest("no cluster can run it: " + Reasons(unable), "gridclusters lists them");
  std::vector<std::string> notes;
  for (const auto& [name, why] : unable) notes.push_back("nothing is sent to " + name + ": " + why);
  std::erase_if(campaign.clusters, [&](const auto& c) { return unable.count(c.name) != 0; });
  return notes;
}

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
      return check.Finish();
    }
    const std::size_t long_line = check.LongLine();
    for (std::int64_t at = 0; at < upload->lines;) {
      const auto rows = tx.Exec(sql::kLongBlocks, upload->id, at, static_cast<int>(long_line));
      if (rows.empty()) break;
      for (const auto& row : rows) {
        check.Block(row.off, row.params);
        at = row.off + 1;
      }
    }
    check.Finish();
  });
}

}  // namespace cigri::api
