// What a user may write: CiGri 3's JDL and what came since, read in one pass with all its faults.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jdl/blocks.h"
#include "jdl/command.h"
#include "jdl/resources.h"
#include "jdl/shell_text.h"

namespace cigri::jdl {

inline constexpr std::size_t kMaxText = 64u << 20;  ///< most bytes of a JDL
inline constexpr int kMaxDepth = 32;
inline constexpr int kPriorityNormal = 4;
inline constexpr int kPriorityUrgent = 10;  ///< GRID-06; given by operators and rules only

/// Something wrong, or worth a warning, and where.
struct Fault {
  int line = 0,
      column = 0;       ///< from 1, the column in characters; 0 when there is no text (FromJson)
  std::string key;      ///< "clusters.luke.walltime", "params[17]", "" for the whole
  std::string message;  ///< one line, without the key
  std::string hint;     ///< what would be right, or ""
  bool operator==(const Fault&) const = default;
};

/// "FILE:3:14: clusters.luke.walltime: message" and, on a line of its own, "HINT: hint".
std::string Text(const Fault& fault, const std::string& file);
/// {line, column, key, message, hint}
nlohmann::json ToJson(const Fault& fault);

/// Where the parameters come from.
enum class Source {
  kNone,    ///< not in this text (FromJson)
  kParams,  ///< "params": Campaign::params
  kCount,   ///< "nb_jobs": "0" .. "count-1"
  kFile,    ///< "param_file", read by gridsub as the user
  kUpload   ///< sent before, in blocks
};

/// What a campaign runs on one cluster: its block, what it takes from the whole, and defaults.
/// Macros are expanded, except {CAMPAIGN_ID} in exec_directory (WithCampaignId).
struct ClusterSettings {
  std::string name;
  std::string exec_file;
  std::string exec_directory;  ///< "$HOME" when not given
  std::string setup;           ///< shell lines before the command
  std::string resources;
  std::string properties, project;
  int walltime_s = 0;
  bool best_effort = true;
  std::vector<std::string> job_types;
  std::vector<std::string> prologue, epilogue;  ///< lines
  std::optional<int> prologue_walltime_s, epilogue_walltime_s;
  std::optional<int> max_jobs;
  bool test_mode = false;
  /// cores, mem, gpus, partition, account, qos, constraint, start_rate, temporal_grouping,
  /// checkpoint, auto_walltime (walltime_s is then the most): those given.
  nlohmann::json options = nlohmann::json::object();
  nlohmann::json unknown = nlohmann::json::object();  ///< keys nobody knows, kept as CiGri does
};

struct Campaign {
  std::string name;
  std::string type = "default";  ///< default, test
  Source source = Source::kNone;
  std::int64_t count = 0;  ///< how many parameters, with kParams and kCount
  Lines params;            ///< with kParams
  std::string param_file;  ///< with kFile
  std::string format = std::string(kFormatLine);
  std::vector<std::string> columns = {};
  std::string project;        ///< the global one, for the clusters
  std::string share_project;  ///< what the campaign counts for in the shares, "" = not said
  int priority = kPriorityNormal;
  std::string sla_group;
  std::string cls;        ///< "class": what the policy's rules speak of
  std::string scheduler;  ///< its campaign scheduler, "" = the default
  int max_replicas = 0;   ///< "finalize"
  int max_tries = 2;      ///< also retry.attempts
  nlohmann::json retry;   ///< the rest of `retry`, checked; null = not given
  std::map<std::string, int> licences;
  std::optional<int> affinity_wait_s, min_duration_s, lost_after_s;
  std::vector<std::int64_t> after;         ///< campaigns that end first, and well...
  std::vector<std::int64_t> after_any;     ///< ...or in any way
  std::optional<std::int64_t> not_before;  ///< epoch s: nothing is sent before
  std::optional<std::int64_t> deadline;    ///< epoch s: its user wants it done by then
  std::optional<int> max_jobs_total;       ///< most at once on all clusters together
  std::vector<ClusterSettings> clusters;
};

struct ClusterDefaults {
  std::optional<std::string> resources = {};
  std::optional<int> walltime_s = {};
  std::string resource_unit = "resource_id";
};

/// What the grid adds to a JDL.
struct Defaults {
  std::string resources = "/resource_id=1";
  int walltime_s = 3600;
  std::string exec_directory = "$HOME";
  /// The clusters there are; none: names are not checked (gridsub, which does not know them).
  std::map<std::string, ClusterDefaults> clusters;
  /// Campaign schedulers that a JDL may select; none: names are not checked (gridsub).
  std::vector<std::string> schedulers;
};

struct Options {
  bool may_read_files = false;  ///< gridsub: param_file is good. The server refuses it.
  bool uploaded = false;        ///< the parameters came in blocks: those of the text do not count
  std::string format = {};      ///< with `uploaded`: overrides the text's, "" = does not
  std::vector<std::string> columns = {};
};

struct Result {
  Campaign campaign;          ///< complete only without faults
  std::vector<Fault> faults;  ///< in the order of the text
  std::vector<Fault> warnings;
  /// Bytes of the value of "params" in the text, from [ to behind ]; 0, 0 when there is none.
  std::size_t params_begin = 0, params_end = 0;
  /// Where the value of "param_file" stands, for whoever cannot read that file.
  int param_file_line = 0, param_file_column = 0;
  bool ok() const { return faults.empty(); }
};

/// Reads a JDL. Never throws for what stands in `text`.
Result Parse(std::string_view text, const Defaults& defaults, const Options& options = {});

/// The expanded JDL without its parameters: every key in every cluster, walltimes in seconds. This
/// is what is stored, shown (GET /campaigns/N/jdl) and what admission rules edit.
nlohmann::json ToJson(const Campaign& campaign);

/// An expanded JDL for its users, who may submit it again: walltimes as "h:mm:ss", "auto:h:mm:ss".
nlohmann::json WithWalltimesAsText(nlohmann::json jdl);

/// Checks an expanded JDL again after somebody changed it. Parameters need not be in it.
Result FromJson(const nlohmann::json& jdl, const Defaults& defaults);

/// The names of a priority: "high" -> 6; "7" -> 7; nothing for what is none.
std::optional<int> ParsePriority(std::string_view text);

/// Keys that may stand in a JDL, for completion and suggestions.
const std::vector<std::string>& KnownKeys();

}  // namespace cigri::jdl
