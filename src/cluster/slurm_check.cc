// What an operator asks of a Slurm cluster: its CPUs, its partitions, and whether all is well.
#include <algorithm>

#include "cluster/check.h"
#include "cluster/json_list.h"
#include "cluster/slurm.h"
#include "core/text.h"

namespace cigri::cluster {
namespace {

using Verdict = CheckItem::Verdict;

// Flags of a node that takes new jobs all the same.
bool Harmless(const nlohmann::json& flag) {
  for (const char* word : {"completing", "planned", "cloud", "dynamic_norm"})
    if (flag.is_string() && Lower(flag.get<std::string>()) == word) return true;
  return false;
}

// A draining or unresponsive node is "idle" too: "idle" with flags in a list of their own, or, in
// later versions, ["IDLE", "DRAIN"].
bool Usable(const nlohmann::json& node) {
  auto words =
      At(node, "state").is_array() ? At(node, "state") : nlohmann::json::array({At(node, "state")});
  for (const auto& flag : At(node, "state_flags")) words.push_back(flag);
  if (words.empty() || !words[0].is_string()) return false;
  const auto base = Lower(words[0].get<std::string>());
  return (base == "idle" || base == "mixed" || base == "allocated") &&
         std::all_of(words.begin() + 1, words.end(), Harmless);
}

bool InPartition(const nlohmann::json& node, const std::string& partition) {
  if (partition.empty()) return true;
  for (const auto& p : At(node, "partitions"))
    for (const auto& wanted : Split(partition, ','))
      if (p == wanted) return true;
  return false;
}

// v0.0.36 to v0.0.38 have flat partitions; later ones put some fields into objects.
double TierOf(const nlohmann::json& partition) {
  const auto& priority = At(partition, "priority");
  return priority.is_object() ? NumberIn(At(priority, "tier"))
                              : NumberIn(At(partition, "priority_tier"));
}

bool IsDefault(const nlohmann::json& partition) {
  for (const char* key : {"flags", "state_flags"})
    for (const auto& flag : At(partition, key))
      if (flag.is_string() && Lower(flag.get<std::string>()) == "default") return true;
  const auto& inner = At(partition, "partition");
  return inner.is_object() && IsDefault(inner);
}

bool PreemptionOff(const nlohmann::json& partition) {
  for (const char* key : {"preemption_mode", "preempt_mode"})
    for (const auto& mode : At(partition, key))
      if (mode.is_string() &&
          (Lower(mode.get<std::string>()) == "disabled" || Lower(mode.get<std::string>()) == "off"))
        return true;
  return false;
}

}  // namespace

nlohmann::json SlurmCluster::Nodes(const std::string& user) {
  const auto answer = GetJson("read the nodes of " + api_.config().name, Path("nodes"), user);
  if (!At(answer, "nodes").is_array())
    throw CallFailed(CallFailed::Why::kGarbage,
                     "cannot read the nodes of " + api_.config().name + ": the answer is no list");
  return At(answer, "nodes");
}

Resources SlurmCluster::GetResources() {
  const auto& config = api_.config();
  const auto partition =
      config.options.value("best_effort_partition", config.options.value("partition", ""));
  Resources r;
  int down = 0, nodes = 0;
  for (const auto& node : Nodes(config.auth_user)) {
    if (At(node, "cpus").is_null())
      ThrowGarbage("read the nodes of " + config.name, "a node without its CPUs");
    if (!InPartition(node, partition)) continue;
    const int cpus = static_cast<int>(NumberIn(At(node, "cpus")));
    ++nodes;
    r.max += cpus;
    r.used += static_cast<int>(NumberIn(At(node, "alloc_cpus")));
    if (Usable(node)) continue;
    ++down;
    r.unavailable += cpus - static_cast<int>(NumberIn(At(node, "alloc_cpus")));
  }
  if (down > 0)
    r.note = std::to_string(down) + " of " + std::to_string(nodes) + " nodes are not available";
  const auto diag = GetJson("read the load of " + config.name, Path("diag"), config.auth_user);
  // slurmctld serves at most 256 calls at a time.
  r.cluster_time = NumberIn(At(At(diag, "statistics"), "req_time"));
  r.stress = std::min(1.0, NumberIn(At(At(diag, "statistics"), "server_thread_count")) / 256);
  return r;
}

std::string SlurmCluster::WhyNotPreemptible(const std::string& partition, const std::string& user) {
  const auto& config = api_.config();
  if (config.options.value("not_preemptible", false)) return "";
  const auto now = std::chrono::steady_clock::now();
  const auto seen = preemptible_.find(partition);
  if (seen != preemptible_.end() && now - seen->second < std::chrono::minutes(10)) return "";
  const auto answer = GetJson("read the partitions of " + config.name, Path("partitions"), user);
  const nlohmann::json* ours = nullptr;
  double highest = 0;
  for (const auto& p : At(answer, "partitions")) {
    highest = std::max(highest, TierOf(p));
    if (partition.empty() ? IsDefault(p) : TextIn(p, "name") == partition) ours = &p;
  }
  const std::string name =
      "partition " + (partition.empty() ? "(default)" : partition) + " of cluster " + config.name;
  const std::string advice =
      ": best-effort jobs would take from its own users. Name a preemptible partition "
      "(best_effort_partition), or say --not-preemptible";
  std::string why;
  if (ours == nullptr)
    why = "there is no " + name;
  else if (PreemptionOff(*ours))
    why = "jobs of " + name + " are not preempted (PreemptMode=OFF)" + advice;
  else if (TierOf(*ours) >= highest && TextIn(config.options, "qos").empty())
    why =
        "jobs of " + name + " are not preempted (no partition has a higher PriorityTier)" + advice;
  if (why.empty()) preemptible_[partition] = now;
  return why;
}

std::string SlurmCluster::ExceedsLimit(const Batch& batch) {
  // Setup and command are one argument of the shell that runs them: 128 KiB in Linux.
  constexpr std::size_t kMost = 131000;
  for (const auto& element : batch.elements)
    if (const auto bytes = element.command.size() + batch.setup.size(); bytes > kMost)
      return "cluster " + api_.config().name + " takes commands of at most " +
             std::to_string(kMost) + " bytes with their setup; that of task " +
             std::to_string(element.task_index) + " has " + std::to_string(bytes);
  return "";
}

std::vector<CheckItem> SlurmCluster::Check(const std::string& cluster_user, bool submit) {
  std::vector<CheckItem> items;
  const auto& config = api_.config();
  try {
    const int version = Version();
    // A version that is configured was not asked for. Without a token nothing can be asked.
    if (api_.TokenError(cluster_user).empty()) Ping(cluster_user);
    items.push_back({"reachable", Verdict::kOk, api_.url()});
    items.push_back({"version", version <= 38 ? Verdict::kOk : Verdict::kWarn,
                     "API v0.0." + std::to_string(version) +
                         (version <= 38 ? "" : ": spoken as documented, not tried on a real one")});
  } catch (const CallFailed& e) {
    items.push_back(CheckFailure("reachable", e));
    return items;
  }
  items.push_back(CheckUser(cluster_user));
  items.push_back(CheckTime(cluster_user));
  items.push_back(CheckPartition(cluster_user));
  items.push_back(CheckResources());
  const auto c = capabilities();
  items.push_back({"limits", Verdict::kOk,
                   "arrays of at most " + std::to_string(c.max_array) + " jobs and " +
                       std::to_string(c.max_bytes) + " bytes of commands"});
  items.push_back({"output", c.output ? Verdict::kOk : Verdict::kWarn,
                   c.output ? "read below " + shared_.Path(cluster_user, "")
                            : "no shared_folder: output and exit records stay on the cluster"});
  if (submit) items.push_back(CheckTestJob(this, config, cluster_user, std::chrono::seconds(120)));
  return items;
}

// Throws CallFailed when nobody answers. A refused token is an answer.
void SlurmCluster::Ping(const std::string& user) {
  const auto response = api_.Get(Path("ping"), user);
  if (response.outcome != http::Outcome::kAnswered)
    throw api_.Failed("reach " + api_.config().name, response);
}

CheckItem SlurmCluster::CheckUser(const std::string& user) {
  const auto error = api_.TokenError(user);
  if (!error.empty()) return {"authorised", Verdict::kFail, error};
  if (!TokenRefused(user)) return {"authorised", Verdict::kOk, "as " + user};
  return {"authorised", Verdict::kFail,
          "the token of user " + user +
              " is refused: is it of this cluster (its jwt_key), and of "
              "this user? scontrol token username=" +
              user + " makes one"};
}

// slurmrestd sends no Date; slurmctld's statistics say when they were asked for.
CheckItem SlurmCluster::CheckTime(const std::string& user) {
  try {
    const auto diag = GetJson("read the load of " + api_.config().name, Path("diag"), user);
    return CheckClock(NumberIn(At(At(diag, "statistics"), "req_time")));
  } catch (const CallFailed& e) {
    return CheckFailure("clock", e);
  }
}

CheckItem SlurmCluster::CheckPartition(const std::string& user) {
  try {
    Batch batch;
    const auto why = WhyNotPreemptible(PartitionOf(batch), user);
    if (!why.empty()) return {"best-effort", Verdict::kFail, why};
    if (api_.config().options.value("not_preemptible", false))
      return {"best-effort", Verdict::kWarn, "said to be not preemptible"};
    return {"best-effort", Verdict::kOk, "jobs of " + PartitionOf(batch) + " are preempted"};
  } catch (const CallFailed& e) {
    return CheckFailure("best-effort", e);
  }
}

CheckItem SlurmCluster::CheckResources() {
  try {
    const auto r = GetResources();
    return {"resources", r.max > 0 ? Verdict::kOk : Verdict::kFail,
            r.max == 0 ? "no node in the partition"
                       : std::to_string(r.max) + " CPUs, " + std::to_string(r.free()) + " free" +
                             (r.note.empty() ? "" : "; " + r.note)};
  } catch (const CallFailed& e) {
    return CheckFailure("resources", e);
  }
}

}  // namespace cigri::cluster
