// Three hosts in network namespaces and a PostgreSQL behind their network, under every partition:
// by the jobs' own record every task runs once, and whoever is left goes on.
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/text.h"
#include "db/native.h"
#include "tests/system/faults.h"
#include "tests/system/scripted.h"

namespace cigri::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kHosts = 3;

class PartitionFaultTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    if (!fs::exists("/usr/sbin/ip")) GTEST_SKIP() << "needs ip: packages.txt names its package";
    network_ = std::make_unique<Scripted>("hosts");
    const std::string conninfo = network_->Do({"up", std::to_string(kHosts)});
    for (int h = 1; h <= kHosts && !HasFailure(); ++h) {
      hosts_.push_back(std::make_unique<Grid>(Cluster(h) + "=2"));
      hosts_.back()->set_database(conninfo);
      hosts_.back()->set_prefix(network_->Command({"run", std::to_string(h)}));
      hosts_.back()->Up();
    }
    if (HasFailure()) return;
    database_ = std::make_unique<db::Connection>(conninfo, "operator");
    Sql("UPDATE clusters SET home = NULL");  // as clusters that every host reaches
  }
  void TearDown() override {
    database_.reset();
    for (const auto& host : hosts_) {
      if (HasFailure()) std::fprintf(stderr, "%s\n", host->Log().c_str());
      host->Down();
    }
    hosts_.clear();
  }
  static std::string Cluster(int host) { return "host" + std::to_string(host); }
  pqxx::result Sql(const std::string& sql) {
    db::Tx tx(*database_);
    auto result = db::Native(tx).exec(sql);
    tx.Commit();
    return result;
  }
  static bool IsOf(const Grid& host, pid_t pid) {
    const auto parts = PartsOf(host.home());
    return std::any_of(parts.begin(), parts.end(), [&](const auto& p) { return p.pid == pid; });
  }
  // The host that leads; 0 while none does.
  int Leader() {
    const auto rows =
        Sql("SELECT split_part(leader, ':', 2)::int FROM grid JOIN leader_lease "
            "USING (epoch) WHERE ends_at > clock_timestamp()");
    for (int h = 1; h <= kHosts && !rows.empty(); ++h)
      if (IsOf(*hosts_[static_cast<std::size_t>(h - 1)], rows[0][0].as<pid_t>())) return h;
    return 0;
  }
  // How many clusters the runners of `host` serve now.
  int ServedBy(int host) {
    int n = 0;
    for (const auto& row : Sql("SELECT r.pid FROM cluster_leases AS l JOIN living_runners AS r "
                               "ON r.id = l.runner_id"))
      n += IsOf(*hosts_[static_cast<std::size_t>(host - 1)], row[0].as<pid_t>());
    return n;
  }
  bool AwaitEvenShares() {
    return Await(
        [&] { return Leader() != 0 && ServedBy(1) == 1 && ServedBy(2) == 1 && ServedBy(3) == 1; });
  }
  std::size_t Ended() {
    std::size_t n = 0;
    for (const auto& host : hosts_) n += host->Lines("out").size();
    return n;
  }
  bool AwaitMore(std::size_t n) {
    const auto before = Ended();
    return Await([&] { return Ended() >= before + n; }, Seconds(60));
  }
  static double SecondsSince(Clock::time_point then) {
    return std::chrono::duration<double>(Clock::now() - then).count();
  }

  std::unique_ptr<Scripted> network_;
  std::vector<std::unique_ptr<Grid>> hosts_;
  std::unique_ptr<db::Connection> database_;
};

TEST_F(PartitionFaultTest, UnderEveryPartitionNothingIsLostOrDoubledAndWhoIsLeftGoesOn) {
  Grid& grid = *hosts_[0];
  const int n = Short() ? 3000 : 6000;
  grid.Script("job", "#!/bin/sh\nsleep 0.2\necho $1 >> out\n");
  json clusters = json::object();
  for (int h = 1; h <= kHosts; ++h) clusters[Cluster(h)] = json::object();
  const int id =
      grid.Submit(Jdl(grid, "partitions", "./job", {{"nb_jobs", n}, {"clusters", clusters}}));
  ASSERT_TRUE(AwaitMore(30));

  // Each leads, perhaps; the second time it stands by.
  for (const int h : Short() ? std::vector{1, 2, 3} : std::vector{1, 1, 2, 2, 3, 3}) {
    SCOPED_TRACE("host " + std::to_string(h) + " cut from the database");
    ASSERT_TRUE(AwaitEvenShares());
    const int leader = Leader();
    const auto cut = Clock::now();
    network_->Do({"cut", std::to_string(h)});
    EXPECT_TRUE(Await([&] {
      const int leads = Leader();
      return leads != 0 && leads != h && ServedBy(h) == 0 &&
             Sql("SELECT count(*) FROM cluster_leases AS l JOIN living_runners AS r ON r.id = "
                 "l.runner_id")[0][0]
                     .as<int>() == kHosts;
    }));
    const double taken_over = SecondsSince(cut);
    std::printf("host %d, %s, cut from the database: the others have its clusters after %.1f s\n",
                h, h == leader ? "the leader" : "which stood by", taken_over);
    EXPECT_LE(taken_over, 10 + 2) << "the term of its lease, and a look";
    EXPECT_TRUE(AwaitMore(30)) << "the others go on";
    network_->Do({"heal", std::to_string(h)});
  }
  for (int h = 1; h <= kHosts; ++h) {
    SCOPED_TRACE("host " + std::to_string(h) + " cut from the clusters of the others");
    ASSERT_TRUE(AwaitEvenShares());
    for (int other = 1; other <= kHosts; ++other)
      if (other != h)
        network_->Do({"hide", std::to_string(h),
                      hosts_[static_cast<std::size_t>(other - 1)]->home() + "/run"});
    EXPECT_TRUE(AwaitMore(10)) << "its own cluster works for it, and others for the others";
    for (int other = 1; other <= kHosts; ++other)
      if (other != h)
        network_->Do({"show", std::to_string(h),
                      hosts_[static_cast<std::size_t>(other - 1)]->home() + "/run"});
    EXPECT_TRUE(AwaitMore(30)) << "all of them again";
  }
  for (int h = 1; h <= kHosts; ++h) network_->Do({"cut", std::to_string(h)});
  EXPECT_TRUE(Await([&] { return Leader() == 0; })) << "its lease ends";
  const auto healed = Clock::now();
  for (int h = 1; h <= kHosts; ++h) network_->Do({"heal", std::to_string(h)});
  ASSERT_TRUE(AwaitEvenShares());
  std::printf("the database cut from all: %.1f s after it was back all serve again\n",
              SecondsSince(healed));
  EXPECT_TRUE(AwaitMore(30));

  ASSERT_TRUE(grid.AwaitOver(id, Seconds(300))) << grid.Progress(id);
  EXPECT_EQ(grid.SortedLines("out"), Indexes(n)) << "each task once, by the jobs' own record";
  const auto check = grid.Run({"gridadmin", "check"});
  EXPECT_EQ(check.code, 0) << check.out << check.err;
}

}  // namespace
}  // namespace cigri::test
