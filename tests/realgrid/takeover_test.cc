// A CiGri 3 whose campaigns run on a real OAR, and are taken over with the jobs that are there.
#include <filesystem>
#include <fstream>

#include "core/text.h"
#include "tests/realgrid/five_clusters.h"

namespace cigri::test {
namespace {

class RealTakeoverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Allowed()) GTEST_SKIP() << "needs CIGRI_REAL=1 and root: it installs and starts OAR";
    RunScript("oar-up");
    grid_ = std::make_unique<Grid>("local=1");
    grid_->Up();
    std::filesystem::permissions(grid_->work(), std::filesystem::perms(0777));
    conninfo_ = std::string(Trim(Slurp(grid_->home() + "/conninfo")));
  }
  void TearDown() override {
    if (!grid_) return;
    if (HasFailure()) std::fprintf(stderr, "%s\n", grid_->Log().c_str());
    grid_->Down();
    grid_.reset();
    if (std::getenv("CIGRI_REAL_KEEP") == nullptr) RunScript("oar-down");
  }
  // In the database of the CiGri 3, a schema next to ours.
  void Cigri3(const std::string& sql) {
    const auto file = grid_->work() + "/cigri3.sql";
    std::ofstream(file) << "SET search_path TO cigri3; " << sql;
    Shell("psql -XqAt -v ON_ERROR_STOP=1 " + ShellQuote(conninfo_) + " -f " + file);
  }
  // Submits as a CiGri 3 does; the job's id.
  static std::string SubmitAsCigri3(const json& job) {
    const auto answer = Shell(
        "curl -sf -H 'X-Remote-Ident: alice' -H 'Content-Type: application/json' -d " +
        ShellQuote(job.dump()) + " http://127.0.0.1:6668/oarapi-cigri/jobs.json");
    return json::parse(answer).at("id").dump();
  }
  static std::string Oar(const std::string& query) {
    return std::string(
        Trim(Shell("cd / && runuser -u postgres -- psql -XAt -h /run/oar-up/pg -p 5441 -d oar1 -c " +
                   ShellQuote(query))));
  }
  std::unique_ptr<Grid> grid_;
  std::string conninfo_;
};

// 30 tasks: 2 are done there, 12 are jobs of OAR (8 cores: some run, some wait), 16 wait in the bag.
// Of the jobs one fails, and at least one is evicted by a user of the cluster.
TEST_F(RealTakeoverTest, JobsOfACigri3AreFollowedByTheirIdsAndNoTaskRunsTwice) {
  constexpr int kDone = 2, kJobs = 12, kTasks = 30;
  const std::string out = grid_->work() + "/out", task = grid_->work() + "/task";
  { std::ofstream make(out); }
  std::filesystem::permissions(out, std::filesystem::perms(0666));
  grid_->Script("task", "#!/bin/sh\nset -e\ncd " + grid_->work() +
                            "\necho $1 >> begun\n"
                            "if [ $1 = 3 ] && mkdir failed 2>/dev/null; then exit 3; fi\n"
                            "while [ ! -e go ]; do sleep 0.2; done\necho $1 >> out\n");
  Cigri3("CREATE SCHEMA cigri3; " + Slurp(CIGRI_SOURCE_DIR "/tests/support/cigri3_tables.sql"));
  const json jdl = {{"name", "taken"},
                    {"clusters",
                     {{"oar",
                       {{"exec_file", task},
                        {"exec_directory", grid_->work()},
                        {"walltime", "0:10:00"},
                        {"resources", "/core=1"},
                        {"type", "best-effort"}}}}},
                    {"nb_jobs", kTasks}};
  std::string sql =
      "INSERT INTO clusters (name, api_url, batch, properties) VALUES "
      "('oar', 'http://127.0.0.1:6668/oarapi-cigri/', 'oar2_5', '');"
      "INSERT INTO users_mapping (grid_login, cluster_login, cluster_id) VALUES "
      "('root', 'alice', 1);"
      "INSERT INTO campaigns (id, grid_user, state, name, jdl) VALUES (77, 'root', 'paused', "
      "'taken', $$" +
      jdl.dump() + "$$);";
  for (int i = 0; i < kTasks; ++i) {
    const auto n = std::to_string(i), id = std::to_string(i + 1);
    sql += "INSERT INTO parameters (id, campaign_id, name, param) VALUES (" + id + ", 77, '" + n +
           "', '" + n + "');";
    if (i >= kDone + kJobs) {
      sql += "INSERT INTO bag_of_tasks (campaign_id, param_id) VALUES (77, " + id + ");";
      continue;
    }
    std::string state = "terminated", remote = "1";
    if (i >= kDone) {
      state = i % 2 == 0 ? "running" : "remote_waiting";  // as it was when CiGri 3 last looked
      remote = SubmitAsCigri3({{"command", "export CIGRI_CAMPAIGN_ID=77;" + task + " " + n},
                               {"resources", "core=1,walltime=00:10:00"},
                               {"type", "besteffort"},
                               {"name", "cigri.77"},
                               {"directory", grid_->work()}});
    }
    sql += "INSERT INTO jobs (campaign_id, param_id, state, cluster_id, remote_id) VALUES (77, " +
           id + ", '" + state + "', 1, " + remote + ");";
  }
  Cigri3(sql);
  ASSERT_TRUE(Await([&] { return grid_->Lines("begun").size() >= 8; }, Seconds(120)));
  const Arguments import{"cigri", "import-cigri3", "--from",
                         conninfo_ + " options=-csearch_path=cigri3"};
  auto dry = import;
  dry.push_back("--dry-run");
  EXPECT_NE(grid_->Ok(dry).find("12 jobs on clusters and 16 waiting tasks"), std::string::npos);
  const auto said = grid_->Ok(import);
  EXPECT_NE(said.find("12 jobs on clusters and 16 waiting tasks"), std::string::npos) << said;
  const int id = grid_->Get("/campaigns").at("items").at(0).value("id", 0);
  grid_->Ok({"gridadmin", "cluster", "unlimited", "oar"});
  EXPECT_TRUE(Await([&] { return grid_->Progress(id).value("running", 0) >= 7; }, Seconds(60)))
      << grid_->Progress(id);
  Shell("cd /tmp; runuser -u carol -- oarsub -l /core=4,walltime=0:05 true");
  EXPECT_TRUE(Await([&] { return grid_->Progress(id).value("preempted", 0) >= 1; }, Seconds(120)))
      << grid_->Progress(id);
  grid_->Script("go", "");
  EXPECT_TRUE(grid_->AwaitOver(id, Seconds(400))) << grid_->Progress(id);
  EXPECT_EQ(grid_->Progress(id).value("done", 0), kTasks - kDone) << grid_->Progress(id);
  auto want = Indexes(kTasks);
  for (int i = 0; i < kDone; ++i) std::erase(want, std::to_string(i));
  EXPECT_EQ(grid_->SortedLines("out"), want);
  EXPECT_EQ(Oar("SELECT count(*) FROM jobs WHERE job_name = 'cigri.77' AND state NOT IN "
                "('Terminated', 'Error')"),
            "0");
  const auto check = grid_->Run({"gridadmin", "check"});
  EXPECT_EQ(check.code, 0) << check.out << check.err;
}

}  // namespace
}  // namespace cigri::test
