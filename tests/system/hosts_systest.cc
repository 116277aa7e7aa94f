// Two homes on one database, as two hosts: each serves clusters of its own, and what one of them
// served is the other's when it is gone. By the jobs' own record every task runs once.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/text.h"
#include "db/native.h"
#include "tests/system/grid.h"

namespace cigri::test {
namespace {

class HostsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    first.Up();
    const std::string conninfo(Trim(Slurp(first.home() + "/conninfo")));
    second = std::make_unique<Grid>("gamma=2,delta=2");
    second->set_database(conninfo);
    second->Up();
    database = std::make_unique<db::Connection>(conninfo, "operator");
  }
  void TearDown() override {
    if (HasFailure())
      std::fprintf(stderr, "%s\n%s\n", first.Log().c_str(), second->Log().c_str());
    database.reset();
    second->Down();
    first.Down();
  }
  // The clusters of each runner, in any order.
  std::multiset<std::string> Served() {
    std::multiset<std::string> served;
    const json status = json::parse(first.Run({"cigri", "status", "--json"}).out, nullptr, false);
    if (!status.is_object()) return served;
    for (const auto& runner : status.value("runners", json::array()))
      served.insert(Join(runner["clusters"].get<Arguments>(), " "));
    return served;
  }
  bool AwaitServed(const std::multiset<std::string>& by_runner) {
    std::multiset<std::string> served;
    const bool so = Await([&] { return (served = Served()) == by_runner; });
    for (const auto& clusters : served) std::printf("a runner serves: %s\n", clusters.c_str());
    return so;
  }
  // A process that executes its program just now does not show whose it is: one that was started by
  // another in its last moment was missed, and all others came again.
  void KillAll(const Grid& grid) {
    constexpr int kLooks = 20;
    int in_vain = 0;
    EXPECT_TRUE(Await([&] {
      const auto processes = ProcessesOf(grid.home());
      for (const auto& process : processes) kill(process.pid, SIGKILL);
      in_vain = processes.empty() ? in_vain + 1 : 0;
      return in_vain == kLooks;
    }));
  }

  Grid first{"alpha=2,beta=2"};
  std::unique_ptr<Grid> second;
  std::unique_ptr<db::Connection> database;
};

TEST_F(HostsTest, EachHostServesItsShareAndTheOtherTakesItOverWhenItIsGone) {
  ASSERT_TRUE(AwaitServed({"alpha beta", "delta gamma"})) << "local clusters stay at home";
  {
    db::Tx tx(*database);  // as clusters that both hosts reach
    db::Native(tx).exec("UPDATE clusters SET home = NULL WHERE name IN ('alpha', 'beta')");
    tx.Commit();
  }
  ASSERT_TRUE(AwaitServed({"alpha", "beta delta gamma"}));
  const int n = 600;
  first.Script("job", "#!/bin/sh\nsleep 0.05\necho $1 >> out\n");
  const int id = first.Submit(Jdl(first, "hosts", "./job", {{"nb_jobs", n}}));
  const auto from = [&](const std::string& cluster) {
    db::Tx tx(*database);
    return db::Native(tx).exec("SELECT count(*) FROM done JOIN clusters AS c ON c.id = cluster_id "
                               "WHERE c.name = '" + cluster + "'")[0][0].as<int>();
  };
  ASSERT_TRUE(Await([&] { return from("alpha") > 50 && from("beta") > 50; })) << "both work";
  const auto before = from("beta");
  KillAll(*second);
  const auto killed = std::chrono::steady_clock::now();
  ASSERT_TRUE(AwaitServed({"alpha beta"})) << "the local ones are nobody's: no runner is at home";
  EXPECT_LT(std::chrono::steady_clock::now() - killed, Seconds(10));
  ASSERT_TRUE(first.AwaitOver(id, Seconds(120))) << first.Progress(id);
  EXPECT_GT(from("beta"), before) << "it goes on";
  Arguments ran;
  for (const auto& line : first.Lines("out")) ran.push_back(Split(line, ' ')[0]);
  std::sort(ran.begin(), ran.end());
  EXPECT_EQ(ran, Indexes(n)) << "each task once, by the jobs' own record";
  const auto check = first.Run({"gridadmin", "check"});
  EXPECT_EQ(check.code, 0) << check.out << check.err;
}

// A host of its own by its name, so that the first one does not use the sockets of this one.
TEST(OtherHostTest, ItsLocalClustersArePolledKilledAndReadThroughIt) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: it gives a process another host name";
  Grid first("here=1"), second("there=2");
  first.Up();
  const std::string conninfo(Trim(Slurp(first.home() + "/conninfo")));
  second.set_database(conninfo);
  second.set_prefix(
      {"/usr/bin/unshare", "-u", "/bin/sh", "-c", "hostname elsewhere; exec \"$@\"", "sh"});
  second.Up();
  db::Connection database(conninfo, "operator");
  const auto sql = [&](const std::string& text) {
    db::Tx tx(database);
    const auto rows = db::Native(tx).exec(text);
    tx.Commit();
    return rows;
  };
  EXPECT_EQ(sql("SELECT split_part(home, ':', 1) FROM clusters WHERE name = 'there'")[0][0].c_str(),
            std::string("elsewhere"));
  EXPECT_EQ(first.Ok({"gridsub", "--wait", "-q", "-O", "-k", "--clusters", "there", "--", "echo",
                      "{}", ":::", "1", "2", "3"}),
            "1\n2\n3\n");
  EXPECT_GT(sql("SELECT max(id) FROM relayed_calls")[0][0].as<int>(0), 3);

  second.Script("job", "#!/bin/sh\ntouch up; exec sleep 600\n");
  const int id = second.Submit(
      Jdl(second, "kill", "./job", {{"nb_jobs", 1}, {"clusters", {{"there", json::object()}}}}));
  ASSERT_TRUE(Await([&] { return std::filesystem::exists(second.work() + "/up"); }));
  first.Ok({"griddel", std::to_string(id)});
  EXPECT_TRUE(Await([&] { return sql("SELECT FROM live").empty(); })) << "its end is seen";

  second.Down();
  const auto failing = [&] {
    const auto error =
        sql("SELECT error FROM cluster_status AS s JOIN clusters AS c "
            "ON c.id = s.cluster_id WHERE c.name = 'there'");
    return !error.empty() &&
           std::string(error[0][0].c_str()).find("host elsewhere") != std::string::npos;
  };
  EXPECT_TRUE(Await(failing)) << "it says which host is not there";
  first.Down();
}

}  // namespace
}  // namespace cigri::test
