// Ends that the job has not chosen: deletion, walltime, preemption; and what it leaves behind.
#include "tests/localcluster/daemon.h"

namespace cigri::localcluster {
namespace {

class KillTest : public DaemonTest {
 protected:
  cluster::RemoteRef Ref(const std::string& id, const std::string& tag = "") {
    cluster::RemoteRef ref;
    ref.remote_id = id;
    ref.tag = tag;
    return ref;
  }
  /// A word that only the processes of this test have in their command line.
  std::string Mark() const {
    return "mark-" + std::to_string(getpid()) + "-" + fs::path(dir()).filename().string();
  }
  /// Starts processes in the same group, in another session, and one that ignores TERM.
  std::string Family() const {
    const std::string sleep = "sh -c 'sleep 600; : " + Mark() + "'";
    return sleep + " & setsid " + sleep +
           " & setsid sh -c 'trap \"\" TERM; while :; do sleep 600; done; : " + Mark() + "' & ";
  }
  static bool Killed(const RemoteJob& job) {
    return job.wait_status && WIFSIGNALED(*job.wait_status);
  }
};

TEST_F(KillTest, AKillTakesTheWholeFamilyAlsoWhatHasLeftItsSession) {
  Start();
  const auto batch = GivenBatch({Family() + "touch up; wait; : " + Mark()});
  const auto id = driver().Submit(batch)[0];
  ASSERT_TRUE(AwaitFile("up"));
  EXPECT_EQ(driver().Kill({Ref(id, batch.tag)}).asked.size(), 1u);
  const auto job = AwaitEnds(batch)[0];
  EXPECT_EQ(job.cause, EndCause::kDeleted);
  EXPECT_TRUE(Killed(job));
  EXPECT_TRUE(NoProcess(Mark()));
  EXPECT_EQ(driver().Kill({Ref(id, batch.tag)}).gone.size(), 1u);
}

TEST_F(KillTest, AJobThatIsToEndOnlyWhileItWaitsGoesOnOnceItHasBegun) {
  Start(1);
  const auto batch = GivenBatch({"touch up; until [ -e go ]; do sleep 0.01; done", "touch second"});
  const auto ids = driver().Submit(batch);
  ASSERT_TRUE(AwaitFile("up"));
  auto runs = Ref(ids[0], batch.tag), waits = Ref(ids[1], batch.tag);
  runs.only_waiting = waits.only_waiting = true;
  const auto result = driver().Kill({runs, waits});
  ASSERT_EQ(result.begun.size(), 1u);
  EXPECT_EQ(result.begun[0].remote_id, ids[0]);
  ASSERT_EQ(result.gone.size(), 1u);
  EXPECT_EQ(result.gone[0].remote_id, ids[1]);
  std::ofstream(dir() + "/go").close();
  auto ends = AwaitEnds(batch);
  EXPECT_EQ(ends[0].cause, EndCause::kExited);
  EXPECT_EQ(ends[1].cause, EndCause::kDeleted);
  EXPECT_FALSE(fs::exists(dir() + "/second"));
}

TEST_F(KillTest, WhatAJobLeavesBehindEndsWithIt) {
  Start();
  const auto job = RunOne(Family() + "exit 6; : " + Mark());
  EXPECT_EQ(job.cause, EndCause::kExited);
  EXPECT_EQ(job.wait_status, 6 << 8);
  EXPECT_TRUE(NoProcess(Mark()));
}

TEST_F(KillTest, AJobThatCleansUpOnTermHasTimeForIt) {
  grace_ = "20";
  Start(2);
  const auto batch = GivenBatch(
      {"trap 'echo saved > saved; exit 0' TERM; touch up; while :; do sleep 0.01; done"});
  const auto id = driver().Submit(batch)[0];
  ASSERT_TRUE(AwaitFile("up"));
  driver().Kill({Ref(id)});
  const auto job = AwaitEnds(batch)[0];
  EXPECT_EQ(job.cause, EndCause::kExited) << "exit 0 is a success, whoever was killing";
  EXPECT_EQ(job.wait_status, 0);
  EXPECT_EQ(FileText("saved"), "saved\n");
}

// A program that ends well when it is asked to has not done its task. The shell around it, which
// dies of the same signal, says so; nobody else would where there is none.
TEST_F(KillTest, AKilledJobEndsAlikeWithAndWithoutAShell) {
  Start(1);
  for (const std::string end : {"\"exit 0\"", "\"exit 3\"", "\"\""}) {
    const std::string command =
        "sh -c 'trap " + end + " TERM; touch begun; while :; do sleep 0.01; done'";
    RemoteJob ends[2];
    for (const bool shell : {false, true}) {
      const auto batch = GivenBatch({command + (shell ? ";" : "")});
      fs::remove(dir() + "/begun");
      const auto ids = driver().Submit(batch);
      ASSERT_TRUE(AwaitFile("begun"));
      driver().Kill({{ids[0], batch.tag, 0}});
      ends[shell] = AwaitEnds(batch)[0];
    }
    EXPECT_EQ(ends[0].cause, EndCause::kDeleted) << end;
    EXPECT_EQ(ends[0].cause, ends[1].cause) << end;
    EXPECT_EQ(ends[0].wait_status, SIGTERM) << end;
    EXPECT_EQ(ends[0].wait_status, ends[1].wait_status) << end;
  }
}

TEST_F(KillTest, AProgramInThePlaceOfTheShellEndsAsItLikes) {
  Start(1);
  const auto batch = GivenBatch(
      {"exec sh -c 'trap \"exit 0\" TERM; touch up; while :; do sleep 0.01; done'"});
  const auto id = driver().Submit(batch)[0];
  ASSERT_TRUE(AwaitFile("up"));
  driver().Kill({Ref(id, batch.tag)});
  EXPECT_EQ(AwaitEnds(batch)[0].wait_status, 0);
}

TEST_F(KillTest, AJobOfAnotherTagIsNotTouched) {
  Start();
  const auto batch = GivenBatch({"touch up; sleep 600"});
  const auto id = driver().Submit(batch)[0];
  ASSERT_TRUE(AwaitFile("up"));
  EXPECT_EQ(driver().Kill({Ref(id, "cigri.8.other.1")}).gone.size(), 1u)
      << "that one does not exist";
  EXPECT_EQ(driver().GetResources({}).used, 1);
}

TEST_F(KillTest, AWaitingJobIsDeletedAtOnceAndNeverStarts) {
  Start(1);
  const auto batch = GivenBatch({"touch up; sleep 600", "touch never"});
  const auto ids = driver().Submit(batch);
  ASSERT_TRUE(AwaitFile("up"));
  EXPECT_EQ(driver().Kill({Ref(ids[1]), Ref(ids[0])}).gone.size(), 1u);
  const auto jobs = AwaitEnds(batch);
  EXPECT_EQ(jobs.at(1).cause, EndCause::kDeleted);
  EXPECT_EQ(jobs.at(1).wait_status, std::nullopt);
  EXPECT_FALSE(fs::exists(dir() + "/never"));
}

TEST_F(KillTest, OfWhatIsKilledTogetherNothingTakesTheSlotOfAnother) {
  Start(1);
  const auto batch = GivenBatch(std::vector<std::string>(3000, "touch up; sleep 600"));
  std::vector<cluster::RemoteRef> refs;
  for (const auto& id : driver().Submit(batch)) refs.push_back(Ref(id));
  ASSERT_TRUE(AwaitFile("up"));
  driver().Kill(refs);
  int begun = 0;
  for (const auto& [index, job] : AwaitEnds(batch)) begun += job.wait_status.has_value();
  EXPECT_EQ(begun, 1);
}

TEST_F(KillTest, TheWalltimeEndsAJobAndItsFamily) {
  Start();
  auto batch = GivenBatch({Family() + "wait; : " + Mark()});
  batch.walltime_s = 1;
  const auto job = Run(batch)[0];
  EXPECT_EQ(job.cause, EndCause::kWalltime);
  EXPECT_GE(job.ended_at - job.started_at, 1.0);
  EXPECT_TRUE(NoProcess(Mark()));
}

TEST_F(KillTest, AKilledWrapperIsNeverASuccessAndLeavesNothing) {
  Start();
  const auto batch = GivenBatch({Family() + "touch up; wait; : " + Mark()});
  const auto id = driver().Submit(batch)[0];
  ASSERT_TRUE(AwaitFile("up"));
  pid_t wrapper = 0;
  for (const auto& entry : fs::directory_iterator("/proc"))
    if (Slurp(entry.path() / "cmdline").rfind(std::string("cigri-job\0", 10) + id, 0) == 0)
      wrapper = std::stoi(entry.path().filename());
  ASSERT_GT(wrapper, 0);
  kill(wrapper, SIGKILL);
  const auto job = AwaitEnds(batch)[0];
  EXPECT_EQ(job.cause, EndCause::kUnknown);
  EXPECT_EQ(job.wait_status, std::nullopt);
  EXPECT_TRUE(NoProcess(Mark()));
}

// CIG-36: best-effort jobs are those that the cluster takes back for its own users.
TEST_F(KillTest, ALocalJobTakesTheSlotOfTheYoungestBestEffortJob) {
  Start(2);
  const auto old = GivenBatch({"touch old; sleep 600"});
  driver().Submit(old);
  ASSERT_TRUE(AwaitFile("old"));
  const auto young = GivenBatch({"touch young; sleep 600", "true"});
  driver().Submit(young);
  ASSERT_TRUE(AwaitFile("young"));
  auto local = GivenBatch({"touch local; while ! [ -e go ]; do sleep 0.01; done"});
  local.best_effort = false;
  driver().Submit(local);
  ASSERT_TRUE(AwaitFile("local"));
  const auto found = driver().Find(young.tag, Me(), 0, false).jobs;
  for (const auto& job : found) {
    if (job.ref.index == 0)
      EXPECT_EQ(job.cause, EndCause::kPreempted);
    else
      EXPECT_EQ(job.state, RemoteState::kWaiting) << "it started on the slot of a local job";
  }
  EXPECT_EQ(driver().GetResources({}).note, "1 of 2 slots taken by local jobs");
  const auto look = driver().Poll({});
  ASSERT_TRUE(look.resources) << "one call a poll";
  EXPECT_EQ(look.calls, 1);
  EXPECT_EQ(look.resources->note, "1 of 2 slots taken by local jobs");
  std::ofstream(dir() + "/go");
  EXPECT_EQ(AwaitEnds(local)[0].wait_status, 0);
  EXPECT_EQ(AwaitEnds(young)[1].wait_status, 0);
}

// Counts to 30, one each 0.1 s, in the file "counting"; saves it as "count" when it is asked to,
// and not else. By renaming: killed within a write it would have saved nothing at all.
const char kCounter[] =
    "cat > count.sh <<'E'\n"
    "n=$(cat count 2>/dev/null || echo 0)\n"
    "save() { echo $n > new; mv new count; }\n"
    "trap 'save; echo $n >> saved' USR2\n"
    "while echo $n > counting; [ $n -lt 30 ]; do sleep 0.1; n=$((n + 1)); done\n"
    "save\n"
    "E\n"
    "sh count.sh";

TEST_F(KillTest, ATaskThatIsEvictedAgainAndAgainGoesOnFromItsCheckpoint) {
  Start(1);
  int evictions = 0;
  for (bool done = false; !done; ++evictions) {
    ASSERT_LT(evictions, 10);
    fs::remove(dir() + "/counting");
    auto batch = GivenBatch({kCounter});
    batch.options["checkpoint"] = {{"signal", "USR2"}, {"grace", 1}};
    driver().Submit(batch);
    const int from = std::atoi(FileText("count").c_str());
    ASSERT_TRUE(Await([&] {
      return std::atoi(FileText("counting").c_str()) >= std::min(30, from + 5);
    })) << "it does some work";
    auto local = GivenBatch({"true"});
    local.best_effort = false;
    Run(local);
    const auto job = AwaitEnds(batch)[0];
    done = job.cause == EndCause::kExited;
    EXPECT_EQ(job.cause, done ? EndCause::kExited : EndCause::kPreempted);
  }
  EXPECT_GE(evictions, 2);
  EXPECT_EQ(FileText("count"), "30\n");
  const auto saved = Split(FileText("saved"), '\n');
  for (std::size_t i = 1; i + 1 < saved.size(); ++i)
    EXPECT_GT(std::stoi(saved[i]), std::stoi(saved[i - 1])) << "it went on from there";
}

TEST_F(KillTest, ACheckpointIsAskedForBeforeTheWalltimeAndAsOftenAsTheUserSays) {
  Start();
  auto batch = GivenBatch({"trap 'echo asked >> asked' USR1; while :; do sleep 0.05; done"});
  batch.walltime_s = 4;
  batch.options["checkpoint"] = {{"signal", "USR1"}, {"grace", 1}, {"every", 1}};
  const auto job = Run(batch)[0];
  EXPECT_EQ(job.cause, EndCause::kWalltime);
  EXPECT_LT(job.ended_at - job.started_at, 6) << "grace is part of the walltime";
  const auto asked = Split(FileText("asked"), '\n').size();
  EXPECT_GE(asked, 3u);
}

// The variables are the job's user's: with years of grace no walltime, no eviction and no deletion
// by anybody ended the job.
TEST_F(KillTest, NoTimeForACheckpointIsLongerThanTheWalltime) {
  Start();
  auto batch = GivenBatch({"exec sleep 600", "exec sleep 600"});
  batch.walltime_s = 2;
  batch.setup =
      "export CIGRI_CHECKPOINT_SIGNAL=USR1 CIGRI_CHECKPOINT_GRACE=100000000\n"
      "export CIGRI_CHECKPOINT_EVERY=-5";
  for (const auto& [index, job] : Run(batch)) {
    EXPECT_EQ(job.cause, EndCause::kWalltime);
    EXPECT_LT(job.ended_at - job.started_at, 5);
  }
}

TEST_F(KillTest, ADeletionDoesNotWaitForACheckpoint) {
  Start(1);
  auto batch = GivenBatch({"trap 'touch asked' USR1; touch up; while :; do sleep 0.05; done"});
  batch.options["checkpoint"] = {{"signal", "USR1"}, {"grace", 500}};
  const auto id = driver().Submit(batch)[0];
  ASSERT_TRUE(AwaitFile("up"));
  auto local = GivenBatch({"true"});
  local.best_effort = false;
  driver().Submit(local);
  ASSERT_TRUE(AwaitFile("asked"));
  driver().Kill({Ref(id, batch.tag)});
  const auto job = AwaitEnds(batch)[0];
  EXPECT_EQ(job.cause, EndCause::kDeleted);
  EXPECT_LT(job.ended_at - job.started_at, 60);
}

TEST_F(KillTest, ProcessesThatDoNotCatchTheSignalGoOn) {
  Start();
  auto batch = GivenBatch({"sleep 1.5; echo over > over"});
  batch.options["checkpoint"] = {{"signal", "USR1"}, {"grace", 1}, {"every", 1}};
  EXPECT_EQ(Run(batch)[0].wait_status, 0);
  EXPECT_EQ(FileText("over"), "over\n");
}

TEST_F(KillTest, AMultiSlotJobIsNotBypassedByNarrowOnesThatCameLater) {
  Start(2);
  driver().Submit(GivenBatch({"touch first; while ! [ -e go ]; do sleep 0.01; done"}));
  ASSERT_TRUE(AwaitFile("first"));
  auto wide = GivenBatch({"echo wide >> order"});
  wide.slots = 2;
  driver().Submit(wide);
  const auto narrow = GivenBatch({"echo narrow >> order"});
  driver().Submit(narrow);
  EXPECT_EQ(driver().GetResources({}).used, 1);
  std::ofstream(dir() + "/go");
  AwaitEnds(narrow);
  EXPECT_EQ(FileText("order"), "wide\nnarrow\n");
}

TEST_F(KillTest, AFormOfShutdownEndsAllJobsAndSaysSo) {
  Start(2);
  const auto batch =
      GivenBatch({Family() + "touch up; wait; : " + Mark(), "touch up2; sleep 600", "true"});
  driver().Submit(batch);
  ASSERT_TRUE(AwaitFile("up") && AwaitFile("up2"));
  Stop(SIGINT);
  EXPECT_TRUE(NoProcess(Mark()));
  EXPECT_FALSE(fs::exists(socket()));
  Start(2);
  const auto jobs = AwaitEnds(batch);
  EXPECT_EQ(jobs.at(0).cause, EndCause::kNodeFailed);
  EXPECT_EQ(jobs.at(1).cause, EndCause::kNodeFailed);
  EXPECT_EQ(jobs.at(2).wait_status, 0) << "what waited goes on";
}

}  // namespace
}  // namespace cigri::localcluster
