// What an operator asks of a Slurm cluster: its CPUs, its partitions, and whether all is well.
#include <algorithm>

#include "cluster/check.h"
#include "cluster/json_list.h"
#include "cluster/resource_request.h"
#include "cluster/slurm.h"
#include "cluster/slurm_class.h"
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

bool TellsMode(const nlohmann::json& partition) {
  return partition.contains("preemption_mode") || partition.contains("preempt_mode");
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

Resources SlurmCluster::GetResources(const std::vector<std::string>& classes) {
  const auto& config = api_.config();
  const auto partition =
      config.options.value("best_effort_partition", config.options.value("partition", ""));
  Resources r;
  std::map<std::string, SlurmClassCounter> counters;
  for (const auto& request : classes)
    if (auto what = SlurmClass::Read(request)) counters.emplace(request, *what);
  int down = 0, nodes = 0;
  for (const auto& node : Nodes(config.auth_user)) {
    if (At(node, "cpus").is_null())
      ThrowGarbage("read the nodes of " + config.name, "a node without its CPUs");
    for (auto& [request, counter] : counters) {
      const auto& own = counter.what().partition;
      if (InPartition(node, own.empty() ? partition : own)) counter.Add(node, Usable(node));
    }
    if (!InPartition(node, partition)) continue;
    const int cpus = CountIn(node, "cpus"), used = std::min(cpus, CountIn(node, "alloc_cpus"));
    ++nodes;
    r.max += cpus;
    r.used += used;
    if (Usable(node)) continue;
    ++down;
    r.unavailable += cpus - used;
  }
  for (const auto& [request, counter] : counters)
    if (const auto count = counter.Count()) r.classes[request] = *count;
  if (down > 0)
    r.note = std::to_string(down) + " of " + std::to_string(nodes) + " nodes are not available";
  const auto diag = GetJson("read the load of " + config.name, Path("diag"), config.auth_user);
  // slurmctld serves at most 256 calls at a time.
  r.cluster_time = NumberIn(At(At(diag, "statistics"), "req_time"));
  r.stress = std::min(1.0, NumberIn(At(At(diag, "statistics"), "server_thread_count")) / 256);
  return r;
}

std::optional<SlurmCluster::Partition> SlurmCluster::ReadPartition(const std::string& name,
                                                                   const std::string& user) {
  const auto& config = api_.config();
  const auto now = std::chrono::steady_clock::now();
  const auto known = partitions_.find(name);
  if (known != partitions_.end() && now - known->second.seen < std::chrono::minutes(10))
    return known->second;
  const auto answer = GetJson("read the partitions of " + config.name, Path("partitions"), user);
  const auto& all = At(answer, "partitions");
  if (!all.is_array()) ThrowGarbage("read the partitions of " + config.name, "no list of them");
  const nlohmann::json* ours = nullptr;
  Partition seen;
  for (const auto& p : all) {
    seen.highest_tier = std::max(seen.highest_tier, TierOf(p));
    const bool only = name.empty() && all.size() == 1;
    if (only || (name.empty() ? IsDefault(p) : TextIn(p, "name") == name)) ours = &p;
  }
  if (ours == nullptr && name.empty()) return std::nullopt;
  seen.known = ours != nullptr;
  seen.seen = now;
  if (!seen.known) return seen;
  seen.tier = TierOf(*ours);
  seen.preemption_off = PreemptionOff(*ours);
  seen.tells_mode = TellsMode(*ours);
  for (const char* key : {"preemption_grace_time", "grace_time"})  // until v0.0.38, and later
    seen.grace_s = std::max(seen.grace_s, NumberIn(At(*ours, key)));
  const auto& limit = At(At(*ours, "maximums"), "time");
  if (At(limit, "infinite") == false) seen.max_minutes = NumberIn(limit);
  return partitions_[name] = seen;
}

std::string SlurmCluster::WhyNotIn(const std::string& partition, const Batch& batch) {
  const auto seen = ReadPartition(partition, batch.cluster_user);
  if (!seen) return "";  // not known yet: CheckDefaultPartition
  // A list of partitions ("a,b") is for Slurm to judge, where the grid may take from its users.
  if (!seen->known)
    return batch.best_effort
               ? "there is no partition " + partition + " of cluster " + api_.config().name
               : "";
  if (seen->max_minutes > 0 && batch.walltime_s > seen->max_minutes * 60)
    return "partition " + partition + " of cluster " + api_.config().name +
           " runs jobs for at most " + HumanDuration(seen->max_minutes * 60) +
           "; the walltime is " + HumanDuration(batch.walltime_s);
  return batch.best_effort ? WhyNotPreemptible(partition, *seen) : "";
}

std::string SlurmCluster::WhyNotPreemptible(const std::string& partition,
                                            const Partition& seen) const {
  const auto& config = api_.config();
  if (config.options.value("not_preemptible", false)) return "";
  const std::string head = "jobs of partition " + (partition.empty() ? "(default)" : partition) +
                           " of cluster " + config.name + " are not preempted (";
  const std::string advice =
      "): best-effort jobs would take from its own users. Name a preemptible partition "
      "(best_effort_partition), or say --not-preemptible";
  if (seen.preemption_off) return head + "PreemptMode=OFF" + advice;
  if (seen.tier >= seen.highest_tier && TextIn(config.options, "qos").empty())
    return head + "no partition has a higher PriorityTier" + advice;
  return "";
}

// What --check and the choice of a partition would use and this version does not show.
std::vector<std::string> SlurmCluster::NotShown(const std::string& user) {
  std::vector<std::string> missing;
  const auto what = "read the partitions of " + api_.config().name;
  bool tiers = false, modes = false, defaults = false;
  const auto answer = GetJson(what, Path("partitions"), user);
  for (const auto& p : At(answer, "partitions")) {
    tiers = tiers || TierOf(p) > 0;
    modes = modes || TellsMode(p);
    defaults = defaults || IsDefault(p);
  }
  if (!tiers) missing.emplace_back("PriorityTier");
  if (!modes) missing.emplace_back("PreemptMode");
  if (!defaults) missing.emplace_back("the default partition");
  const auto diag = GetJson("read the load of " + api_.config().name, Path("diag"), user);
  if (NumberIn(At(At(diag, "statistics"), "req_time")) == 0) missing.emplace_back("the time");
  return missing;
}

CheckItem SlurmCluster::CheckVersion(const std::string& user) {
  const int version = Version();
  CheckItem item{"version", SlurmApiTried(version) ? Verdict::kOk : Verdict::kWarn,
                 "API v0.0." + std::to_string(version)};
  if (version > kNewestSlurmApi)
    item.detail += ": not known, spoken as v0.0." + std::to_string(kNewestSlurmApi);
  else if (!SlurmApiTried(version))
    item.detail += ": spoken as documented, not tried on a real one";
  try {
    if (const auto missing = NotShown(user); !missing.empty())
      item.detail += "; it does not show " + Join(missing, ", ");
    if (const auto newer = NewerVersions(user); !newer.empty())
      item.detail += "; it also offers " + newer + ", not known and not used";
  } catch (const CallFailed&) {
    // The items that follow say what cannot be read, and why.
  }
  return item;
}

std::string SlurmCluster::ExceedsLimit(const Batch& batch) {
  // Setup and command are one argument of the shell that runs them: 128 KiB in Linux.
  constexpr std::size_t kMost = 131000;
  for (const auto& element : batch.elements)
    if (const auto bytes = element.command.size() + batch.setup.size(); bytes > kMost)
      return "cluster " + api_.config().name + " takes commands of at most " +
             std::to_string(kMost) + " bytes with their setup; that of task " +
             std::to_string(element.task_index) + " has " + std::to_string(bytes);
  return UnknownLevel(batch, api_.config());
}

std::vector<CheckItem> SlurmCluster::Check(const std::string& cluster_user, bool submit) {
  std::vector<CheckItem> items;
  const auto& config = api_.config();
  try {
    Version();
    // A version that is configured was not asked for. Without a token nothing can be asked.
    if (api_.TokenError(cluster_user).empty()) Ping(cluster_user);
    items.push_back({"reachable", Verdict::kOk, api_.url()});
    items.push_back(CheckVersion(cluster_user));
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
    const auto name = PartitionOf(Batch{});
    const bool said = api_.config().options.value("not_preemptible", false);
    const auto seen = ReadPartition(name, user);
    if (!seen)
      return {"best-effort", Verdict::kWarn,
              "this version does not show which partition is the default, so each batch is looked "
              "at after its submission: name one (best_effort_partition)"};
    if (!seen->known)
      return {"best-effort", Verdict::kFail,
              "there is no partition " + name + " of cluster " + api_.config().name};
    if (const auto why = WhyNotPreemptible(name, *seen); !why.empty())
      return {"best-effort", Verdict::kFail, why};
    if (said) return {"best-effort", Verdict::kWarn, "said to be not preemptible"};
    return {
        "best-effort", Verdict::kOk,
        "jobs of " + name + " are preempted" +
            (seen->grace_s > 0 ? " " + HumanDuration(seen->grace_s) + " after a warning (GraceTime)"
                               : " at once, without time for a checkpoint (GraceTime=0)") +
            (seen->tells_mode ? ""
                              : ", by its PriorityTier (this version does not show PreemptMode; "
                                "scontrol show partition " +
                                    name + " does)")};
  } catch (const CallFailed& e) {
    return CheckFailure("best-effort", e);
  }
}

CheckItem SlurmCluster::CheckResources() {
  try {
    const auto r = GetResources({});
    return {"resources", r.max > 0 ? Verdict::kOk : Verdict::kFail,
            r.max == 0 ? "no node in the partition"
                       : std::to_string(r.max) + " CPUs, " + std::to_string(r.free()) + " free" +
                             (r.note.empty() ? "" : "; " + r.note)};
  } catch (const CallFailed& e) {
    return CheckFailure("resources", e);
  }
}

}  // namespace cigri::cluster
