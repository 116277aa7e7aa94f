// Whole lives of jobs on a kernel of ten years ago, without pidfd_open and memfd_create.
#include "tests/support/old_kernel.h"

#include "tests/localcluster/daemon.h"

namespace cigri::localcluster {
namespace {

class OldKernelTest : public DaemonTest {
 protected:
  OldKernelTest() { in_child_ = test::BecomeOld; }
  void Kill(const std::string& id, const std::string& tag) {
    cluster::RemoteRef ref;
    ref.remote_id = id;
    ref.tag = tag;
    EXPECT_EQ(driver().Kill({ref}).asked.size(), 1u);
  }
};

TEST_F(OldKernelTest, JobsRunEndAndAreKilled) {
  Start(3);
  const auto ended = Run(GivenBatch({"exit 3", "echo $CIGRI_TASK_INDEX > ran", "kill -9 $$"}));
  EXPECT_EQ(ended.at(0).wait_status, 3 << 8);
  EXPECT_EQ(ended.at(1).wait_status, 0);
  EXPECT_EQ(FileText("ran"), "1\n");
  EXPECT_EQ(ended.at(2).wait_status, SIGKILL);
  const auto batch = GivenBatch({"touch up; sleep 600"});
  const auto ids = driver().Submit(batch);
  ASSERT_TRUE(AwaitFile("up"));
  Kill(ids[0], batch.tag);
  EXPECT_EQ(AwaitEnds(batch).at(0).cause, EndCause::kDeleted);
}

TEST_F(OldKernelTest, ANewDaemonAdoptsRunningJobsSeesThemEndAndKillsThem) {
  Start(2);
  const auto batch = GivenBatch(
      {"touch up0; while ! [ -e go ]; do sleep 0.01; done; exit 7", "touch up1; sleep 600"});
  const auto ids = driver().Submit(batch);
  ASSERT_TRUE(AwaitFile("up0") && AwaitFile("up1"));
  Stop(SIGKILL);
  Start(2);
  Kill(ids[1], batch.tag);
  std::ofstream(dir() + "/go");
  const auto ended = AwaitEnds(batch);
  EXPECT_EQ(ended.at(0).wait_status, 7 << 8);
  EXPECT_EQ(ended.at(1).cause, EndCause::kDeleted);
}

TEST_F(OldKernelTest, AJobWhoseWrapperIsKilledIsSeen) {
  Start(1);
  const auto batch =
      GivenBatch({"touch up; echo $PPID > wrapper.new; mv wrapper.new wrapper; sleep 600"});
  driver().Submit(batch);
  ASSERT_TRUE(AwaitFile("wrapper"));
  kill(std::stoi(FileText("wrapper")), SIGKILL);
  EXPECT_EQ(AwaitEnds(batch).at(0).cause, EndCause::kUnknown);
}

}  // namespace
}  // namespace cigri::localcluster
