// `cigri import-cigri3`: users, clusters and campaigns of a CiGri 3 (3.2), docs/from-cigri3.md.
#include <sql/batches.h>
#include <sql/campaigns.h>
#include <sql/cigri3.h>
#include <sql/clusters.h>
#include <sql/grid.h>
#include <sql/notifications.h>
#include <sql/users.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "api/submit/submission.h"
#include "cluster/drivers.h"
#include "clusterdb/clusterdb.h"
#include "commands.h"
#include "core/counters.h"
#include "core/error.h"
#include "core/limits.h"
#include "core/pluralize.h"
#include "core/text.h"
#include "db/counters.h"
#include "db/events.h"
#include "secrets/secrets.h"

namespace cigri::cli {
namespace {

using nlohmann::json;

constexpr char kWho[] = "cigri import-cigri3";
constexpr char kLikeFrom[] = "like --from 'host=grid dbname=cigri3 user=cigri3'";
constexpr std::int64_t kTasksAtOnce = 10'000;
constexpr std::int64_t kMostEvents = 1000;  // of a campaign, or of all clusters

// What CiGri 3 calls the batch schedulers; g5k is an OAR 2.5.
std::string KindOf(const std::string& batch) {
  return batch == "oar3" ? "oar3" : batch == "oar2_5" || batch == "g5k" ? "oar2" : "";
}

// CiGri 3 sends the header with the login whatever the type says, and never a password.
std::string AuthOf(const std::string& type) {
  return type == "cert" || type == "jwt" || type == "none" ? type : "header";
}

struct Counts {
  int clusters = 0, mappings = 0, tokens = 0, priorities = 0, notifications = 0, campaigns = 0,
      jobs = 0, events = 0, left = 0;
};

using ActiveJobs = std::vector<sql::Cigri3ActiveJobsRow>;

// Why these jobs cannot be taken over by their ids; "" when they can.
std::string WhyNotTaken(const ActiveJobs& jobs) {
  const std::string again = ": import again when CiGri 3 has seen the end";
  std::set<std::string> ids;
  for (const auto& job : jobs) {
    if (job.script) return "its prologue or epilogue runs" + again;
    const auto cluster = job.cluster.value_or("?");
    if (!job.remote_id || !job.param || job.state == "to_launch" || job.state == "launching")
      return "a job of it is being submitted to " + cluster + ": import again in a minute";
    if (job.state == "batch_waiting" || !ids.insert(cluster + " " + *job.remote_id).second)
      return "its tasks share jobs on " + cluster + again;
    if (KindOf(job.batch.value_or("")).empty())
      return "a job of it runs on " + cluster + ", for which there is no driver" + again;
  }
  return "";
}

class Import {
 public:
  Import(db::Tx& from, db::Tx& to, const Config& config) : from_(from), to_(to), config_(config) {
    database_ = from_.One(sql::kCigri3Database).name;
    to_.Exec(sql::kSetAuditUser, kWho);
  }

  void Run() {
    Clusters();
    Mappings();
    Others();
    if (counts_.clusters > 0) Events(0, std::nullopt);
    for (const auto& campaign : from_.Exec(sql::kCigri3Campaigns)) Campaign(campaign);
  }
  const Counts& counts() const { return counts_; }

 private:
  void Clusters() {
    for (const auto& row : from_.Exec(sql::kCigri3Clusters)) {
      const std::string kind = KindOf(row.batch.value_or(""));
      if (kind.empty()) {
        Say("cluster " + row.name + ": no driver for batch \"" + row.batch.value_or("") + "\"");
        continue;
      }
      if (!clusterdb::AddCluster(to_, *cluster::FindDriver(kind), row.name,
                                 row.api_url.value_or(""))) {
        Say("cluster " + row.name + ": there is one of that name, which stays as it is");
        continue;
      }
      json set = {{"api_auth_type", AuthOf(row.api_auth_type.value_or(""))},
                  {"resource_unit", row.resource_unit.value_or("resource_id")},
                  {"properties", row.properties.value_or("")},
                  {"enabled", row.enabled.value_or(true)}};
      if (row.api_auth_header && !row.api_auth_header->empty())
        set["api_auth_header"] = *row.api_auth_header;
      if (row.ssh_host && !row.ssh_host->empty()) set["ssh_host"] = *row.ssh_host;
      to_.Exec(sql::kChangeCluster, row.name, set.dump());
      ++counts_.clusters;
      Say("cluster " + row.name + ": " + kind + " at " + row.api_url.value_or("") +
          ", in mode observe: nothing is sent there before `gridadmin cluster limited " + row.name +
          " N`");
    }
  }

  void Mappings() {
    SecretBox box(SecretKeyFile(config_));
    for (const auto& row : from_.Exec(sql::kCigri3Mappings)) {
      const std::string login = row.cluster_login.value_or("");
      const auto known = Known().clusters.find(row.cluster);
      if (login.empty() || known == Known().clusters.end()) continue;
      if (!StartsWith(login, "Bearer ")) {
        to_.Exec(sql::kSetMapping, row.grid_login, row.cluster, login);
        ++counts_.mappings;
      } else {
        const std::string token(Trim(std::string_view(login).substr(7)));
        to_.Exec(sql::kPutClusterToken, row.grid_login, known->second.id, box.Encrypt(token),
                 TokenExpiry(token));
        ++counts_.tokens;
      }
    }
  }

  void Others() {
    for (const auto& row : from_.Exec(sql::kCigri3Priorities)) {
      if (Known().clusters.count(row.cluster) == 0) continue;
      to_.Exec(sql::kSetAffinity, row.grid_user, row.cluster, row.priority.value_or(0));
      ++counts_.priorities;
    }
    for (const auto& row : from_.Exec(sql::kCigri3Notifications)) {
      const std::string severity = row.severity.value_or("");
      if (severity != "low" && severity != "medium" && severity != "high") continue;
      to_.Exec(sql::kSubscribe, row.grid_user, row.type == "mail" ? "mail" : "jabber",
               row.identity.value_or(""), severity, std::optional<std::int64_t>(), "",
               std::optional<int>(), limits::kSubscriptions.value);
      ++counts_.notifications;
    }
  }

  // What the CiGri 3 noted about its campaign `theirs`, as history of `ours`; 0: about clusters.
  void Events(std::int64_t theirs, std::optional<std::int64_t> ours) {
    for (const auto& row : from_.Exec(sql::kCigri3Events, theirs, kMostEvents)) {
      std::string text = "CiGri 3, " + row.opened + ", " + row.state.value_or("?") + ": " +
                         row.code.value_or("?");
      if (row.job_id) text += " of its job " + std::to_string(*row.job_id);
      if (row.param) text += " (" + *row.param + ")";
      if (const auto said = row.message.value_or(""); !said.empty()) text += ": " + said;
      const auto cluster = Known().clusters.find(row.cluster.value_or(""));
      db::Event event{"log", "CIGRI3_EVENT", ValidUtf8(text)};
      event.campaign_id = ours;
      if (cluster != Known().clusters.end()) event.cluster_id = cluster->second.id;
      event.fingerprint = std::to_string(row.id);
      event.closed_by = kWho;
      db::RaiseEvent(to_, event);
      ++counts_.events;
    }
  }

  // Why the campaign stays where it is; "" when its tasks can come. A task is never in both grids:
  // CiGri 3 sends nothing of a paused campaign, and what it has sent is ours by its id.
  std::string WhyNot(const sql::Cigri3CampaignsRow& row, const std::string& note,
                     const ActiveJobs& active) {
    if (const auto before = to_.First(sql::kCampaignWithNote, note))
      return "imported before, as campaign " + std::to_string(before->id);
    if (row.state != "paused")
      return "not paused: CiGri 3 may send more of it (griddel -p " + std::to_string(row.id) + ")";
    if (row.waiting == 0 && active.empty()) return "no task waits or runs";
    return WhyNotTaken(active);
  }

  // Those that run first, as a cursor that has passed them.
  jdl::Lines TasksOf(std::int64_t campaign, const ActiveJobs& active) {
    jdl::Lines lines;
    for (const auto& job : active) lines.Add(*job.param);
    for (std::int64_t after = 0;;) {
      const auto rows = from_.Exec(sql::kCigri3Tasks, campaign, after, kTasksAtOnce);
      for (const auto& row : rows) lines.Add(row.param.value_or(""));
      if (static_cast<std::int64_t>(rows.size()) < kTasksAtOnce) return lines;
      after = rows.back().id;
    }
  }

  // Each cluster's jobs are a batch. CiGri 3 gives all jobs of a campaign one name.
  void TakeOver(std::int64_t ours, std::int64_t theirs, const ActiveJobs& active) {
    CounterDeltas counters;
    for (std::size_t from = 0, to = 0; from < active.size(); from = to) {
      std::vector<std::string> ids;
      for (; to < active.size() && active[to].cluster == active[from].cluster; ++to)
        ids.push_back(*active[to].remote_id);
      const auto cluster = Known().clusters.at(*active[from].cluster).id;
      const auto first = static_cast<std::int64_t>(from);
      const auto taken = to_.Exec(sql::kTakeOverJobs, ours, cluster, first, ids,
                                  "cigri." + std::to_string(theirs));
      for (const auto& job : taken)
        counters.Add(ours, cluster, BatchKind::kTask, ToString(JobState::kSubmitted), 1, job.slots);
    }
    db::AddCounters(to_, counters, "runner");
    counts_.jobs += static_cast<int>(active.size());
  }

  void Campaign(const sql::Cigri3CampaignsRow& row) {
    const std::string id = std::to_string(row.id), user = row.grid_user.value_or("");
    const std::string note = "campaign " + id + " of CiGri 3, database " + database_;
    const std::string head = "campaign " + id + " of " + user + ": ";
    const auto leave = [&](const std::string& why) {
      ++counts_.left;
      Say(head + "left out: " + why);
    };
    const auto active = from_.Exec(sql::kCigri3ActiveJobs, row.id);
    if (const auto why = WhyNot(row, note, active); !why.empty()) return leave(why);
    const auto info = api::LoadGridInfo(to_, config_, user);
    auto read = jdl::Parse(row.jdl.value_or(""), info.defaults, {.uploaded = true});
    if (!read.ok()) return leave(jdl::Text(read.faults[0], "its JDL"));
    api::Admitted admitted{std::move(read.campaign), {note}, {}, ""};
    admitted.campaign.source = jdl::Source::kParams;
    for (const auto& job : active)
      if (!Names(admitted.campaign, *job.cluster))
        return leave("a job of it runs on " + *job.cluster + ", which its JDL does not name");
    admitted.campaign.params = TasksOf(row.id, active);
    admitted.campaign.count = admitted.campaign.params.size();
    // CiGri 3 stores its variables protected from the shell that its scripts pass on their way.
    for (auto& cluster : admitted.campaign.clusters)
      cluster.exec_file = jdl::WithPlainDollars(cluster.exec_file);
    const auto n = admitted.campaign.count;
    api::Parameters parameters{.n = n};
    api::TakeTaskIds(to_, parameters);
    const auto ours = api::StoreCampaign(to_, user, info, admitted, parameters);
    TakeOver(ours, row.id, active);
    Events(row.id, ours);
    ++counts_.campaigns;
    const auto running = static_cast<std::int64_t>(active.size());
    Say(head + (running == 0 ? "" : Pluralize(running, "job") + " on clusters and ") +
        Pluralize(n - running, "waiting task") + " as campaign " + std::to_string(ours) + "; " +
        std::to_string(row.done) + " are done and stay there" +
        (row.failed == 0 ? ""
                         : "; " + Pluralize(row.failed, "failed one") + " too: gridevents -c " +
                               id + " -f -r there lets them wait again"));
  }

  static bool Names(const jdl::Campaign& campaign, const std::string& cluster) {
    return std::any_of(campaign.clusters.begin(), campaign.clusters.end(),
                       [&](const auto& settings) { return settings.name == cluster; });
  }
  const api::GridInfo& Known() {
    if (!known_) known_ = api::LoadGridInfo(to_, config_, "root");
    return *known_;
  }
  static void Say(const std::string& line) { std::printf("%s\n", line.c_str()); }

  db::Tx &from_, &to_;
  const Config& config_;
  std::string database_;
  std::optional<api::GridInfo> known_;  // after the clusters have come
  Counts counts_;
};

// The hint of a connection is about the database of a grid.
std::unique_ptr<db::Connection> Cigri3(const std::string& from) {
  try {
    return std::make_unique<db::Connection>(from, kWho);
  } catch (const Fatal& e) {
    throw Fatal(e.code(), e.what(), kLikeFrom);
  }
}

void RequireCigri3(db::Tx& from) {
  const std::vector<std::string> tables = {"campaigns",    "campaign_properties", "parameters",
                                           "bag_of_tasks", "jobs_to_launch",      "jobs"};
  if (from.One(sql::kHasTables, tables).found) return;
  throw Fatal(kExitConfig, "that is no database of a CiGri 3: some of its tables are not there",
              kLikeFrom);
}

}  // namespace

int ImportCigri3(const std::string& from, bool dry_run) {
  if (from.empty())
    throw Fatal(kExitUsage, "--from is missing: the database of the CiGri 3", kLikeFrom);
  const Config config = Config::Load();
  const auto target = Open(KnownDatabase(OwnHome(), config));
  db::RequireSchema(*target);
  const auto source = Cigri3(from);
  db::Tx reading(*source), writing(*target);
  reading.Raw("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
  RequireCigri3(reading);
  Import import(reading, writing, config);
  import.Run();
  if (!dry_run) writing.Commit();
  const Counts& n = import.counts();
  std::printf("%s: %s, %s, %s, %s, %s, %s, %s, %s; %s left out\n",
              dry_run ? "dry run, nothing was stored" : "imported",
              Pluralize(n.clusters, "cluster").c_str(), Pluralize(n.mappings, "login").c_str(),
              Pluralize(n.tokens, "token").c_str(),
              Pluralize(n.priorities, "priority", "priorities").c_str(),
              Pluralize(n.notifications, "subscription").c_str(),
              Pluralize(n.campaigns, "campaign").c_str(), Pluralize(n.jobs, "running job").c_str(),
              Pluralize(n.events, "event").c_str(), Pluralize(n.left, "campaign").c_str());
  return n.left == 0 ? kExitOk : kExitNo;
}

}  // namespace cigri::cli
