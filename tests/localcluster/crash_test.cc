// The daemon dies at any moment, and nothing is lost or done twice.
#include <sys/mount.h>

#include <atomic>
#include <random>
#include <set>

#include "tests/localcluster/daemon.h"

namespace cigri::localcluster {
namespace {

class CrashTest : public DaemonTest {};

// GRID-03: exactly once, though the daemon is killed again and again while jobs start and end.
TEST_F(CrashTest, FiveHundredJobsRunExactlyOnceThroughALoopOfKills) {
  Start(4);
  const auto batch = GivenBatch(std::vector<std::string>(500, "echo $CIGRI_TASK_INDEX >> ran"));
  const auto ids = driver().Submit(batch);
  std::mt19937 random(1);
  int kills = 0;
  const auto lines = [&] {
    const std::string text = FileText("ran");
    return std::count(text.begin(), text.end(), '\n');
  };
  for (; lines() < 480 && kills < 200; ++kills) {
    const auto until = lines() + static_cast<long>(random() % 30);
    Await([&] { return lines() >= until; });
    Stop(SIGKILL);
    Start(4);
  }
  EXPECT_GT(kills, 5);
  const auto jobs = AwaitEnds(batch);
  for (const auto& [index, job] : jobs) {
    EXPECT_EQ(job.wait_status, 0) << index << " " << job.message;
    EXPECT_EQ(job.ref.remote_id, ids[static_cast<std::size_t>(index)]);
  }
  std::multiset<int> ran;
  std::ifstream in(dir() + "/ran");
  for (int index; in >> index;) ran.insert(index);
  EXPECT_EQ(ran.size(), 500u);
  for (int i = 0; i < 500; ++i) EXPECT_EQ(ran.count(i), 1u) << i;
}

TEST_F(CrashTest, RunningJobsAreAdoptedAndTheirEndsReportedAlsoThoseOfTheMeantime) {
  Start(3);
  const auto batch =
      GivenBatch({"touch up0; while ! [ -e go ]; do sleep 0.01; done; exit 7",
                  "touch up1; sleep 600", "touch up2; sleep 0.1; touch over; exit 8"});
  const auto ids = driver().Submit(batch);
  ASSERT_TRUE(AwaitFile("up0") && AwaitFile("up1") && AwaitFile("up2"));
  const auto token = driver().Poll({}).token;
  Stop(SIGKILL);
  ASSERT_TRUE(AwaitFile("over"));
  Start(3);
  EXPECT_LE(driver().GetResources({}).used, 3);
  cluster::PollRequest request;
  request.token = token;
  EXPECT_FALSE(driver().Poll(request).full) << "a token outlives the daemon";
  std::ofstream(dir() + "/go");
  cluster::RemoteRef second;
  second.remote_id = ids[1];
  EXPECT_EQ(driver().Kill({second}).asked.size(), 1u) << "an adopted job can be killed";
  const auto jobs = AwaitEnds(batch);
  EXPECT_EQ(jobs.at(0).wait_status, 7 << 8);
  EXPECT_EQ(jobs.at(1).cause, EndCause::kDeleted);
  EXPECT_EQ(jobs.at(2).wait_status, 8 << 8);
}

// A full disk cuts a start mark off, and the job does not start. Glued to that rest, the mark of
// the next job was no record, and the next daemon started that job again.
TEST_F(CrashTest, ARecordBehindACutOneIsReadByTheNextDaemon) {
  Start(1);
  std::ofstream(dir() + "/state/records.1", std::ios::app) << "S 77_0 4711 17" << std::flush;
  const auto batch = GivenBatch({"echo x >> ran; while ! [ -e go ]; do sleep 0.01; done; exit 7"});
  driver().Submit(batch);
  ASSERT_TRUE(AwaitFile("ran"));
  Stop(SIGKILL);
  Start(1);
  std::ofstream(dir() + "/go");
  EXPECT_EQ(AwaitEnds(batch)[0].wait_status, 7 << 8);
  EXPECT_EQ(FileText("ran"), "x\n");
  EXPECT_NE(FileText("log").find("not a record in " + dir() + "/state/records.1: 15 bytes"),
            std::string::npos);
}

TEST_F(CrashTest, ARepeatedTagGetsTheFirstAnswerByteForByteAlsoFromTheNextDaemon) {
  Start();
  const std::string body = R"({"tag":"t.1","user":")" + Me() +
                           R"(","elements":[{"command":"echo x >> )" + dir() + R"(/x"}]})";
  const auto first = Call("/batches", body);
  ASSERT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(Call("/batches", body).body, first.body);
  Stop(SIGKILL);
  Start();
  EXPECT_EQ(Call("/batches", body).body, first.body);
  ASSERT_TRUE(Await([&] {
    return driver().Find("t.1", Me(), 0, false).jobs.at(0).state == RemoteState::kEnded;
  }));
  EXPECT_EQ(Call("/batches", body).body, first.body);
  EXPECT_EQ(FileText("x"), "x\n");
}

TEST_F(CrashTest, ARevokedTagIsRefusedIndefinitely) {
  Start();
  const auto batch = GivenBatch({"touch ran"});
  const auto found = driver().Find(batch.tag, Me(), 0, true);
  EXPECT_TRUE(found.jobs.empty() && found.complete && found.revoked);
  Stop(SIGKILL);
  Start();
  EXPECT_THROW(driver().Submit(batch), cluster::SubmitRefused);
  EXPECT_TRUE(driver().Find(batch.tag, Me(), 0, false).jobs.empty());
  EXPECT_FALSE(fs::exists(dir() + "/ran"));
}

TEST_F(CrashTest, IdsAreNotIssuedAgainAfterALossOfAllState) {
  Start();
  const auto first = driver().Submit(GivenBatch({"true"}))[0];
  Stop(SIGKILL);
  fs::remove_all(dir() + "/state");
  Start();
  EXPECT_NE(driver().Submit(GivenBatch({"true"}))[0], first);
}

TEST_F(CrashTest, ASecondDaemonOnTheSameFolderEndsAtOnce) {
  Start();
  const pid_t second = Spawn({CIGRI_BIN_DIR "/localcluster", "--name", "alpha", "--slots", "1",
                              "--state", dir() + "/state", "--socket", dir() + "/other"},
                             dir() + "/log2");
  int status = 0;
  ASSERT_EQ(waitpid(second, &status, 0), second);
  EXPECT_EQ(WEXITSTATUS(status), 75);
  EXPECT_NE(FileText("log2").find("another localcluster serves"), std::string::npos);
}

TEST_F(CrashTest, TheDriverDistinguishesDoubtFromRefusal) {
  using cluster::SubmitRefused;
  try {
    driver().Submit(GivenBatch({"true"}));  // nobody listens
    FAIL();
  } catch (const SubmitRefused& e) {
    EXPECT_EQ(e.why(), SubmitRefused::Why::kTemporary);
  }
  Start(1);
  auto wide = GivenBatch({"true"});
  wide.slots = 2;
  EXPECT_EQ(driver().WhyNot(wide), "a job asks for 2 slots, alpha has 1");
  try {
    driver().Submit(wide);
    FAIL();
  } catch (const SubmitRefused& e) {
    EXPECT_EQ(e.why(), SubmitRefused::Why::kBatch);
    EXPECT_EQ(e.limit(), 1);
  }
  auto stranger = GivenBatch({"true"});
  stranger.cluster_user = "no_such_user";
  try {
    driver().Submit(stranger);
    FAIL();
  } catch (const SubmitRefused& e) {
    EXPECT_EQ(e.why(), SubmitRefused::Why::kUser);
  }
  kill(daemon(), SIGSTOP);
  cluster::ClusterConfig config;
  config.name = "alpha";
  config.kind = "local";
  config.api_url = "unix:" + socket();
  config.call_timeout = std::chrono::milliseconds(200);
  const auto batch = GivenBatch({"touch ran"});
  EXPECT_THROW(cluster::MakeCluster(config)->Submit(batch), cluster::SubmitInDoubt);
  kill(daemon(), SIGCONT);
  EXPECT_EQ(AwaitEnds(batch)[0].wait_status, 0) << "as its caller feared, it was taken";
}

// On a disk of one megabyte.
class FullDiskTest : public DaemonTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can make a small disk";
    DaemonTest::SetUp();
    fs::create_directory(dir() + "/state");
    ASSERT_EQ(mount("none", (dir() + "/state").c_str(), "tmpfs", 0, "size=1500k"), 0);
  }
  void TearDown() override {
    if (geteuid() != 0) return;
    if (daemon() > 0) Stop(SIGINT);
    umount2((dir() + "/state").c_str(), MNT_DETACH);
    DaemonTest::TearDown();
  }
  void Fill() {
    std::ofstream out(dir() + "/state/filler");
    const std::string block(4096, 'x');
    while (out << block << std::flush) {
    }
  }
};

TEST_F(FullDiskTest, JobsEndTruthfullyAndSubmissionsAreRefusedUntilThereIsRoom) {
  Start();
  const auto running = GivenBatch({"touch up; while ! [ -e go ]; do sleep 0.01; done; exit 9"});
  driver().Submit(running);
  ASSERT_TRUE(AwaitFile("up"));
  Fill();
  try {
    for (int i = 0; i < 100; ++i)
      driver().Submit(GivenBatch(std::vector<std::string>(200, "sleep 600")));
    FAIL() << "taken on a full disk";
  } catch (const cluster::SubmitRefused& e) {
    EXPECT_EQ(e.why(), cluster::SubmitRefused::Why::kTemporary);
    EXPECT_NE(std::string(e.what()).find("full"), std::string::npos) << e.what();
  }
  std::ofstream(dir() + "/go");
  EXPECT_EQ(AwaitEnds(running)[0].wait_status, 9 << 8);
  fs::remove(dir() + "/state/filler");
  const auto later = GivenBatch({"true"});
  EXPECT_NO_THROW(driver().Submit(later));
}

}  // namespace
}  // namespace cigri::localcluster
