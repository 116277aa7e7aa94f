// Everything at once: three hosts in network namespaces, PostgreSQL under Patroni, a real OAR, a
// real Slurm and three local clusters; all of it killed, frozen, cut, filled and stopped by chance
// while campaigns run. By the jobs' own record each task ends once, the tables agree with it and
// with the clusters, and nobody waits for long.
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "core/text.h"
#include "tests/realgrid/agreement.h"
#include "tests/realgrid/five_clusters.h"
#include "tests/realgrid/measures.h"
#include "tests/realgrid/saboteurs.h"

namespace cigri::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHosts = 3;
constexpr int kTasks = 60;     // of a campaign
constexpr double kLed = 3;     // s between two renewals of a lease, which are due each 2 s
// Shorter storms are those of CI, whose two cores others share: after a fail-over all hosts, OAR and
// Slurm begin at once. There up to 6.5 s passed until a job ended again, and a gridstat took 5.3 s.
constexpr double kLong = 600;
constexpr int kWaiting = 150;  // tasks, at least, while the storm lasts

double StormSeconds() {
  const char* given = std::getenv("CIGRI_STORM_S");
  return given == nullptr ? 100 : std::atof(given);
}

std::uint32_t Seed() {
  const char* given = std::getenv("CIGRI_SEED");
  return given == nullptr ? std::random_device{}()
                          : static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10));
}

// Every fourth one fails, and every fifth is cancelled.
enum class Kind { kPlain, kFailing, kCancelled };
Kind KindOf(int campaign) {
  return campaign % 5 == 4 ? Kind::kCancelled : campaign % 5 == 3 ? Kind::kFailing : Kind::kPlain;
}
bool Fails(Kind kind, int index) { return kind == Kind::kFailing && index % 4 == 0; }
int Expected(Kind kind) {
  return kind == Kind::kCancelled ? 0 : kind == Kind::kFailing ? kTasks * 3 / 4 : kTasks;
}

// An end by the job's own record.
struct Written {
  int campaign = 0, index = 0;
  double at = 0;
};

class StormFaultTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Allowed()) GTEST_SKIP() << "needs CIGRI_REAL=1 and root: it starts OAR and Slurm";
    if (const auto missing = Servers::Missing(); !missing.empty()) GTEST_SKIP() << missing;
    RunScript("oar-up");
    slurm_ = RunScript("slurm-up", SlurmName(1) + " 6817");
    network_ = std::make_unique<Scripted>("hosts");
    const auto addresses = Split(network_->Do({"network", std::to_string(kHosts)}), ' ');
    if (HasFailure()) return;
    database_ = addresses[0];
    clusters_ = addresses[1];
    servers_ = std::make_unique<Servers>();
    conninfo_ = servers_->Up(database_);
    for (const char* port : {"6668", "6820"})
      proxies_.push_back(std::make_unique<CuttingProxy>(clusters_ + ":0", port));
    for (std::size_t h = 1; h <= kHosts && !HasFailure(); ++h) AddHost(h);
    if (!HasFailure()) MakeWork();
  }
  void TearDown() override {
    watch_.reset();
    KeepRecords();
    if (HasFailure())
      for (const auto& host : hosts_) std::fprintf(stderr, "%s\n", host->Log().c_str());
    for (const auto& host : hosts_) host->Down();
    for (const auto& host : hosts_) umount2(host->home().c_str(), MNT_DETACH);
    hosts_.clear();
    servers_.reset();
    network_.reset();
    if (!Allowed() || std::getenv("CIGRI_REAL_KEEP") != nullptr) return;
    RunScript("oar-down", "--all");
    RunScript("slurm-down", SlurmName(1));
  }

  // For who looks into a storm: the hosts' logs and the jobs' rows, in the folder
  // $CIGRI_STORM_KEEP.
  void KeepRecords() {
    const char* folder = std::getenv("CIGRI_STORM_KEEP");
    if (folder == nullptr || hosts_.size() < kHosts) return;
    fs::create_directories(folder);
    for (std::size_t h = 0; h < kHosts; ++h)
      fs::copy(hosts_[h]->home() + "/log/grid.log",
               folder + ("/host" + std::to_string(h + 1) + ".log"),
               fs::copy_options::overwrite_existing);
    std::ofstream jobs(folder + std::string("/jobs"));
    for (const auto& row : Rows("SELECT c.name, job_id, campaign_id, idx, code, extract(epoch FROM "
                                "submitted_at), extract(epoch FROM started_at), extract(epoch FROM "
                                "ended_at) FROM done JOIN clusters AS c ON c.id = cluster_id ORDER "
                                "BY ended_at"))
      jobs << Join(row, " ") << '\n';
  }

  // A host has a name, a network, a home on a small disk of its own, and a local cluster.
  void AddHost(std::size_t h) {
    const auto number = std::to_string(h);
    auto& host = *hosts_.emplace_back(std::make_unique<Grid>("host" + number + "=2"));
    ASSERT_EQ(mount("none", host.home().c_str(), "tmpfs", 0, "size=200m,mode=0755"), 0);
    if (h > 1) fs::copy(hosts_[0]->home() + "/secret.key", host.home() + "/secret.key");
    host.set_database(ReplaceAll(conninfo_, "127.0.0.1", database_));
    auto prefix = network_->Command({"run", number});
    for (const std::string word :
         {"/usr/bin/unshare", "-u", "/bin/sh", "-c", "hostname host$0; exec \"$@\""})
      prefix.push_back(word);
    prefix.push_back(number);
    host.set_prefix(prefix);
    host.Up();
    if (h == 1) AddClusters();
  }
  void AddClusters() {
    const auto add = [this](const std::string& name, std::size_t proxy, const std::string& path,
                            const std::string& login, const Arguments& options) {
      Arguments words{"gridadmin", "cluster", "add", name, "--no-check", "--url",
                      "http://" + clusters_ + ":" + std::to_string(proxies_[proxy]->port()) + path,
                      "--set", "option.start_limit_s=60"};
      words.insert(words.end(), options.begin(), options.end());
      hosts_[0]->Ok(words);
      hosts_[0]->Ok({"gridadmin", "mapping", "set", "root", name, login});
    };
    add("oar", 0, "/oarapi-cigri", "alice", {"--kind", "oar2", "--auth", "header"});
    add("slurm", 1, "", "grid",
        {"--kind", "slurm", "--auth", "jwt", "--user", "grid", "--set", "option.partition=normal",
         "--set", "option.best_effort_partition=besteffort", "--set",
         "option.shared_folder=/home/%u/.cigri", "--set", "option.api_version=v0.0.38"});
    const std::string key = "SLURM_REST_TOKEN=";
    for (const auto& line : Split(slurm_, '\n'))
      if (StartsWith(line, key))
        hosts_[0]->Ok({"gridtoken", "-i", "slurm", "-t", "-"}, line.substr(key.size()) + "\n");
    // Their own work is most of what these machines do: what they may take leaves some to the rest.
    hosts_[0]->Ok({"gridadmin", "cluster", "limited", "oar", "4"});
    hosts_[0]->Ok({"gridadmin", "cluster", "limited", "slurm", "6"});
  }
  void MakeWork() {
    fs::permissions(hosts_[0]->work(), fs::perms(0777));
    { std::ofstream make(Out()); }
    fs::permissions(Out(), fs::perms(0666));
    hosts_[0]->Script("task", "#!/bin/sh\nset -e\nsleep 0.$(($3 % 8 + 2))\n"
                              "[ $1 != failing ] || [ $(($3 % 4)) != 0 ] || exit 3\n"
                              "at=$(date +%s.%N)\necho $2 $3 $at >> out\n");
    for (const auto& host : hosts_) {
      apis_ += (apis_.empty() ? "" : ",") + host->home() + "/run/api.sock";
    }
    std::vector<std::string> each;
    for (int s = 1; s <= 3; ++s)
      each.push_back("host=127.0.0.1 port=" + std::to_string(Servers::PortOf(s)) +
                     " dbname=cigri user=cigri password=cigri "
                     "connect_timeout=2 tcp_user_timeout=2000");
    watch_ = std::make_unique<DatabaseWatch>(each);
  }
  std::string Out() const { return hosts_[0]->work() + "/out"; }

  // A tool of a user who names all APIs, on any host.
  Result Tool(std::size_t host, Arguments words, Seconds limit) {
    words.insert(words.begin(), {"/usr/bin/env", "CIGRI_API=" + apis_});
    return hosts_[host]->Run(words, "", limit);
  }
  // One whose answer is lost may have been taken: the end of the test looks by its name.
  int Submit(int campaign) {
    const auto kind = KindOf(campaign);
    const auto name = "storm-" + std::to_string(campaign);
    const std::string task = kind == Kind::kFailing ? "./task failing " : "./task plain ";
    json jdl{{"name", name},        {"exec_file", task + std::to_string(campaign)},
             {"nb_jobs", kTasks},   {"exec_directory", hosts_[0]->work()},
             {"walltime", "120s"},  {"clusters", json::object()}};
    for (const char* cluster : {"oar", "slurm", "host1", "host2", "host3"})
      jdl["clusters"][cluster] = json::object();
    const auto host = static_cast<std::size_t>(campaign) % kHosts;
    const auto result = Tool(host, {"gridsub", "-j", jdl.dump()}, Seconds(30));
    const auto at = result.out.find("CAMPAIGN_ID=");
    if (result.code == 0 && at != std::string::npos) return std::atoi(result.out.c_str() + at + 12);
    std::fprintf(stderr, "%.1f gridsub: %d %s\n", Now(), result.code, result.err.c_str());
    return 0;
  }
  std::vector<Written> AllWritten() const {
    std::vector<Written> all;
    for (const auto& line : hosts_[0]->Lines("out")) {
      const auto words = Split(line, ' ');
      if (words.size() == 3)
        all.push_back({std::atoi(words[0].c_str()), std::atoi(words[1].c_str()),
                       std::atof(words[2].c_str())});
    }
    return all;
  }
  // Asks again while the database fails over.
  std::vector<Arguments> Rows(const std::string& query) {
    std::vector<Arguments> rows;
    Result result;
    const auto asked = [&] {
      result = hosts_[0]->Run({"/usr/bin/psql", "-XqAt", "-v", "ON_ERROR_STOP=1",
                               ReplaceAll(conninfo_, "127.0.0.1", database_), "-c",
                               "SET search_path = cigri, public", "-c", query});
      return result.code == 0;
    };
    EXPECT_TRUE(Await(asked, Seconds(60), Seconds(1))) << result.err;
    for (const auto& line : Split(result.out, '\n'))
      if (!line.empty()) rows.push_back(Split(line, '|'));
    return rows;
  }
  // Campaigns without a pause, until the storm is over.
  void Feed(double seconds);
  // What the grid says of a task's jobs: cluster, id, class of the end, code, wait status, end.
  std::vector<Arguments> Attempts(const std::string& campaign, int index) {
    return Rows(AttemptsAt(campaign, index));
  }
  // A job whose last act was done, and that the cluster evicted, or lost with its cigri-job, before
  // it could exit: the grid has to report it as one that has not ended by itself.
  static int EndedByCluster(const std::vector<Arguments>& attempts) {
    return static_cast<int>(std::count_if(attempts.begin(), attempts.end(), [](const auto& row) {
      return row[2] == "preemption" || row[3] == "UNKNOWN_END";
    }));
  }
  void ExpectAllOver();
  void ExpectEachOnce();
  void ExpectAgreement();

  std::string slurm_, database_, clusters_, conninfo_, apis_;
  std::unique_ptr<Scripted> network_;
  std::unique_ptr<Servers> servers_;
  std::vector<std::unique_ptr<CuttingProxy>> proxies_;
  std::vector<std::unique_ptr<Grid>> hosts_;
  std::unique_ptr<DatabaseWatch> watch_;
  int campaigns_ = 0;
  std::set<int> known_, cancelled_;  // campaigns that gridsub, griddel has acknowledged
};

void StormFaultTest::Feed(double seconds) {
  std::map<int, double> cancel;  // id of a campaign: when
  int expected = 0;
  const double end = Now() + seconds;
  Await(
      [&] {
        if (expected - static_cast<int>(hosts_[0]->Lines("out").size()) < kWaiting) {
          const int campaign = campaigns_++, id = Submit(campaign);
          if (id != 0) {
            known_.insert(campaign);
            expected += Expected(KindOf(campaign));
          }
          if (id != 0 && KindOf(campaign) == Kind::kCancelled) cancel[id] = Now() + 5;
        }
        if (!cancel.empty() && cancel.begin()->second < Now() &&
            Tool(0, {"griddel", std::to_string(cancel.begin()->first)}, Seconds(30)).code == 0)
          cancel.erase(cancel.begin());
        return Now() >= end;
      },
      Seconds(static_cast<int>(seconds) + 120), std::chrono::milliseconds(200));
  for (const auto& [id, when] : cancel) cancelled_.insert(id);
}

void StormFaultTest::ExpectAllOver() {
  for (const int id : cancelled_)
    EXPECT_EQ(Tool(0, {"griddel", std::to_string(id)}, Seconds(30)).code, 0);
  const std::string left =
      "SELECT id, name, state, (SELECT count(*) FROM live AS l WHERE l.campaign_id = c.id) FROM "
      "campaigns AS c WHERE state NOT IN ('terminated', 'cancelled') OR EXISTS (SELECT FROM live "
      "AS l WHERE l.campaign_id = c.id)";
  EXPECT_TRUE(Await([&] { return Rows(left).empty(); }, Seconds(600), std::chrono::seconds(1)));
  for (const auto& row : Rows(left)) ADD_FAILURE() << "is not over: campaign " << Join(row, " ");
}

void StormFaultTest::ExpectEachOnce() {
  std::map<std::pair<int, int>, int> times;
  for (const auto& w : AllWritten()) ++times[{w.campaign, w.index}];
  std::map<int, std::string> ids;
  for (const auto& row : Rows("SELECT id, name FROM campaigns")) {
    const int campaign = std::atoi(row[1].c_str() + std::string("storm-").size());
    EXPECT_TRUE(ids.emplace(campaign, row[0]).second) << row[1] << " was taken twice";
  }
  for (const int campaign : known_) EXPECT_EQ(ids.count(campaign), 1U) << "campaign is lost";
  int lost = 0, twice = 0, by_cluster = 0, tasks = 0;
  for (const auto& [campaign, id] : ids) {
    const auto kind = KindOf(campaign);
    for (int index = 0; index < kTasks; ++index) {
      const int n = times[{campaign, index}];
      tasks += n > 0;
      if (n == 0 && kind != Kind::kCancelled && !Fails(kind, index)) {
        ++lost;
        ADD_FAILURE() << "campaign " << id << " task " << index << " is lost";
      }
      EXPECT_TRUE(n == 0 || !Fails(kind, index)) << "campaign " << id << " task " << index;
      if (n < 2) continue;
      const auto attempts = Attempts(id, index);
      (EndedByCluster(attempts) >= n - 1 ? by_cluster : twice) += 1;
      std::printf("campaign %s task %d ended %d times:\n", id.c_str(), index, n);
      for (const auto& row : attempts) std::printf("  %s\n", Join(row, " ").c_str());
    }
  }
  std::printf(
      "%zu campaigns, %d tasks ended by the jobs' own record, %d lost, %d twice, %d twice since "
      "the cluster ended a job in its last moment\n",
      ids.size(), tasks, lost, twice, by_cluster);
  EXPECT_EQ(twice, 0);
}

void StormFaultTest::ExpectAgreement() {
  Result check;
  EXPECT_TRUE(Await(
      [&] { return (check = hosts_[0]->Run({"gridadmin", "check"})).code == 0; }, Seconds(30)))
      << check.out << check.err;
  std::vector<OurEnd> ours;
  for (const auto& row : Rows(kOurEnds)) ours.push_back(EndOf(row));
  const auto grid_id = Rows("SELECT grid_id FROM grid")[0][0];
  auto wrong = DisagreeWithOar(1, "oar", grid_id, ours);
  for (const auto& line : DisagreeWithSlurm(SlurmName(1), "slurm", grid_id, ours))
    wrong.push_back(line);
  EXPECT_EQ(wrong, Arguments{});
  std::map<std::string, int> of;
  for (const auto& end : ours) ++of[end.cluster];
  for (const auto& [cluster, n] : of) std::printf("%s: %d ends\n", cluster.c_str(), n);
}

TEST_F(StormFaultTest, NothingIsLostOrDoubledWhateverFailsAndNobodyWaitsForLong) {
  const auto seed = Seed();
  const double seconds = StormSeconds();
  std::printf("seed %u, %.0f s\n", seed, seconds);
  for (; campaigns_ < 3; ++campaigns_) {
    ASSERT_NE(Submit(campaigns_), 0);
    known_.insert(campaigns_);
  }
  ASSERT_TRUE(Await([&] { return AllWritten().size() > 30; }, Seconds(60)));
  ASSERT_GT(watch_->Leaders(), 0) << "what watches the database works";

  std::vector<HostSaboteur::Host> hosts;
  for (std::size_t h = 0; h < kHosts; ++h)
    hosts.push_back({hosts_[h].get(), "host" + std::to_string(h + 1)});
  HostSaboteur at_hosts(seed, hosts, *network_, database_, clusters_);
  DatabaseSaboteur at_database(seed + 1, *servers_);
  ClusterSaboteur at_clusters(seed + 2, {proxies_[0].get(), proxies_[1].get()});
  const std::vector<Saboteur*> saboteurs{&at_hosts, &at_database, &at_clusters};

  std::atomic<bool> over{false};
  std::vector<Span> gridstats;
  std::map<int, int> answers;
  std::thread reader([&] {
    for (std::size_t h = 0; !over; h = (h + 1) % kHosts) {
      const double began = Now();
      const auto result = Tool(h, {"gridstat"}, Seconds(90));
      gridstats.push_back({began, Now()});
      ++answers[result.code];
      if (const double took = gridstats.back().length(); took > 4)
        std::fprintf(stderr, "%.1f gridstat took %.1f s: %d %s\n", Now(), took, result.code,
                     result.err.c_str());
      Await([&] { return over.load(); }, std::chrono::milliseconds(500));
    }
  });
  const double began = Now();
  for (auto* saboteur : saboteurs) saboteur->Begin();
  Feed(seconds);
  const double ended = Now();
  for (auto* saboteur : saboteurs) saboteur->End();
  over = true;
  reader.join();

  const auto away = watch_->Away();
  std::vector<double> ends, disturbances;
  for (const auto& w : AllWritten())
    if (w.at >= began && w.at <= ended) ends.push_back(w.at);
  std::map<std::string, int> score;
  for (const auto* saboteur : saboteurs) {
    for (const auto& [what, n] : saboteur->Score()) score[what] += n;
    for (const double at : saboteur->Disturbances()) disturbances.push_back(at);
  }
  for (const auto& span : away) disturbances.push_back(span.to);
  for (const auto& [what, n] : score) std::printf("%3d %s\n", n, what.c_str());
  const auto led = Pauses(watch_->Renewals(), 0);
  // Without a leader nothing new is granted: jobs end until the queues are empty.
  auto excused = Pauses(watch_->Renewals(), kLed);
  excused.insert(excused.end(), away.begin(), away.end());
  const auto gap = LongestWithout(Pauses(ends, 0), away);
  const auto led_gap = LongestWithout(Pauses(ends, 0), Merged(excused));
  const auto headless = LongestWithout(led, away), take_over = LongestAfter(led, disturbances, {});
  double unavailable = 0;
  for (const auto& span : away) unavailable += span.length();
  std::printf("the database was away %zu times, %.1f s of %.1f\n", away.size(), unavailable,
              ended - began);
  for (const auto& span : away) std::printf("  from %.1f to %.1f\n", span.from, span.to);
  std::printf("%zu jobs ended; no job ended for %.1f s beyond (%.1f to %.1f), %.1f s while led "
              "(%.1f to %.1f)\n",
              ends.size(), gap.rest, gap.span.from, gap.span.to, led_gap.rest, led_gap.span.from,
              led_gap.span.to);
  for (const auto& pause : Pauses(ends, kLed))
    std::printf("  no job ended from %.1f to %.1f, %.1f s of it while led\n", pause.from, pause.to,
                pause.length() - Covered(pause, Merged(excused)));
  std::printf("%d leaders; no lease was renewed for %.1f s beyond, %.1f s after the last fault\n",
              watch_->Leaders(), headless.rest, take_over.rest);
  const auto gridstat = LongestWithout(gridstats, {}), asked = LongestWithout(gridstats, away);
  std::printf("gridstat took %.1f s at most, %.1f s beyond:", gridstat.rest, asked.rest);
  for (const auto& [code, n] : answers) std::printf(" %d times exit code %d", n, code);
  std::printf("\n");
  std::fflush(stdout);

  ExpectAllOver();
  ExpectEachOnce();
  ExpectAgreement();
  EXPECT_LE(asked.rest, seconds >= kLong ? 5 : 10);
  EXPECT_LE(led_gap.rest, seconds >= kLong ? 3 : 10);
  EXPECT_LE(take_over.rest, 10 + 2) << "the term of its lease, and a look";
}

}  // namespace
}  // namespace cigri::test
