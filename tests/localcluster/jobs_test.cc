// Jobs from begin to end, through the driver.
#include <algorithm>
#include <set>

#include "core/text.h"
#include "process/spawn.h"
#include "tests/localcluster/daemon.h"

namespace cigri::localcluster {
namespace {

class JobsTest : public DaemonTest {
 protected:
  std::string Out(const std::string& task, const std::string& stream = "out") {
    return FileText("state/output/7/0/" + task + ".1." + stream);
  }
  RemoteJob RunTask(std::int64_t task, const std::string& command) {
    auto batch = GivenBatch({command});
    batch.elements[0].task_index = task;
    return Run(batch)[0];
  }
  /// Files for output that the daemon has open.
  std::set<std::string> NamelessFiles() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(daemon()) + "/fd")) {
      std::error_code gone;
      const std::string file = fs::read_symlink(entry, gone);
      if (StartsWith(file, dir() + "/state/output/7/0/#")) found.insert(file);
    }
    return found;
  }
};

TEST_F(JobsTest, AnEndReportsExitCodeTimesNodeAndTheLastLinesOfStderr) {
  Start();
  const auto job = RunOne("for i in 1 2 3 4 5 6 7; do echo line $i >&2; done; echo out; exit 3");
  EXPECT_EQ(job.cause, EndCause::kExited);
  EXPECT_EQ(job.wait_status, 3 << 8);
  EXPECT_EQ(job.message, "line 3\nline 4\nline 5\nline 6\nline 7");
  EXPECT_EQ(job.node, "alpha-1");
  EXPECT_EQ(job.ref.job_id, 1000);
  EXPECT_LE(job.submitted_at, job.ended_at);
  EXPECT_LE(job.started_at, job.ended_at);
  EXPECT_EQ(Out("0"), "out\n");
}

TEST_F(JobsTest, AJobMeasuresItselfWithAllThatItHasStarted) {
  Start();
  const auto job = RunOne(
      "(dd if=/dev/zero of=/dev/null bs=64M count=1 2>/dev/null) & i=0; "
      "while [ $i -lt 200000 ]; do i=$((i+1)); done; wait; exit 3");
  EXPECT_EQ(job.wait_status, 3 << 8);
  EXPECT_GT(job.measured.cpu_s.value_or(0), 0.01);
  EXPECT_GT(job.measured.peak_mb.value_or(0), 64);
  EXPECT_LT(job.measured.peak_mb.value_or(0), 100);
  EXPECT_TRUE(job.measured.read_mb && job.measured.written_mb);
  EXPECT_FALSE(job.measured.transfer_s);
}

TEST_F(JobsTest, AJobThatMovesFilesSaysHowLongThatTook) {
  Start();
  auto batch = GivenBatch({"echo 1 >$CIGRI_TRANSFERS; echo 1500 >$CIGRI_TRANSFERS", "true"});
  batch.options["moves_files"] = true;
  const auto jobs = Run(batch);
  EXPECT_EQ(jobs.at(0).measured.transfer_s, 1.5);
  EXPECT_FALSE(jobs.at(1).measured.transfer_s) << "unknown is not 0";
}

TEST_F(JobsTest, ASignalIsReportedAsSuch) {
  Start();
  EXPECT_EQ(RunOne("kill -9 $$").wait_status, SIGKILL);
}

TEST_F(JobsTest, AQuietJobLeavesNoFile) {
  Start();
  EXPECT_EQ(RunOne("true").wait_status, 0);
  EXPECT_TRUE(fs::is_empty(dir() + "/state/output/7/0"));
}

// Each new file made ext4 look through all that were deleted in the last minutes: 2 ms of a job.
TEST_F(JobsTest, TheFilesOfAQuietJobServeTheNextOne) {
  Start(1);
  RunTask(0, "true");
  const auto first = NamelessFiles();
  ASSERT_EQ(first.size(), 2u);
  RunTask(1, "true");
  EXPECT_EQ(NamelessFiles(), first);
  RunTask(2, "chmod 666 /proc/$$/fd/1; echo seen >&2");
  EXPECT_EQ(NamelessFiles().size(), 0u) << "one was changed, the other has a name";
  EXPECT_EQ(Out("2", "err"), "seen\n");
}

TEST_F(JobsTest, AFileServesTheNextJobAsIfItWereNew) {
  Start(1);
  const std::string look = "grep flags /proc/self/fdinfo/2; stat -Lc '%a %s %h' /proc/$$/fd/2";
  RunTask(0, look);
  RunTask(1, "exec python3 -c 'import fcntl; fcntl.fcntl(2, fcntl.F_SETFL, 0)'");
  EXPECT_EQ(NamelessFiles().size(), 1u) << "the other one appends no more";
  RunTask(2, look);
  EXPECT_NE(Out("0"), "");
  EXPECT_EQ(Out("2"), Out("0"));
}

TEST_F(JobsTest, AFileThatSomebodyElseHasOpenServesNoOtherJob) {
  Start(1);
  const auto batch =
      GivenBatch({"echo $PPID > pid.new; mv pid.new pid; until [ -e go ]; do sleep 0.01; done"});
  driver().Submit(batch);
  ASSERT_TRUE(AwaitFile("pid"));
  const std::string out = "/proc/" + std::string(Trim(FileText("pid"))) + "/fd/4";
  const process::Fd stranger(open(out.c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(stranger);
  std::ofstream(dir() + "/go");
  AwaitEnds(batch);
  EXPECT_EQ(NamelessFiles().size(), 1u) << "that of stderr alone";
}

TEST_F(JobsTest, CommandsReachTheShellByteForByte) {
  Start();
  const std::vector<std::string> texts = {"$HOME `x` \\ \" '", "é ✓ #", "\xff\xfe latin \xe9", "",
                                          "  two  "};
  std::vector<std::string> commands;
  for (const auto& text : texts) commands.push_back("printf '%s|' " + ShellQuote(text));
  commands.push_back("printf %s " + ShellQuote(std::string(100'000, 'x')) + " | wc -c");
  commands.push_back("printf %s " + ShellQuote(std::string(60'000, '\'')) +
                     " | wc -c");  // 240 kB quoted
  const auto batch = GivenBatch(commands);
  for (const auto& [index, job] : Run(batch)) EXPECT_EQ(job.wait_status, 0) << index << job.message;
  for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(Out(std::to_string(i)), texts[i] + "|");
  EXPECT_EQ(Out("5"), "100000\n");
  EXPECT_EQ(Out("6"), "60000\n");
}

TEST_F(JobsTest, APlainCommandStartsWithoutAShellAndEndsAsOneInAShell) {
  Start();
  const std::string parent = "sh -c 'cat /proc/$PPID/comm'";
  EXPECT_EQ(RunTask(0, parent).wait_status, 0);
  EXPECT_EQ(Out("0"), "cigri-job\n");
  EXPECT_EQ(RunTask(1, parent + ";").wait_status, 0);
  EXPECT_EQ(Out("1"), "sh\n");
  EXPECT_EQ(RunTask(2, "exec " + parent).wait_status, 0);
  EXPECT_EQ(Out("2"), "cigri-job\n");
  EXPECT_EQ(RunTask(3, "exec sh -c 'kill -9 $$'").wait_status, SIGKILL);
  std::ofstream(dir() + "/script") << "echo no first line\n";
  fs::permissions(dir() + "/script", fs::perms(0755));
  std::int64_t task = 10;
  for (const std::string command :
       {"sh -c 'exit 3'", "sh -c 'kill -9 $$'", "sh -c 'kill -SEGV $$'", "sh -c 'kill -PIPE $$'",
        "no-such-program", "./no-such-program", "/etc/passwd", "/etc", "./script", "''"}) {
    const auto plain = RunTask(++task, command), shell = RunTask(++task, command + ";");
    EXPECT_EQ(plain.cause, shell.cause) << command;
    EXPECT_EQ(plain.wait_status, shell.wait_status) << command;
    EXPECT_EQ(plain.message, shell.message) << command;
  }
}

// The start of a cigri-job took longer than a short job: it stands over one after another, of which
// none learns, holds or is charged what was another's.
TEST_F(JobsTest, ACigriJobStandsOverOneJobAfterAnother) {
  Start(1);
  const std::string who = "echo $PPID; ls -l /proc/self/fd | grep -c deleted; [ -z \"$MINE\" ];";
  const auto ended = Run(
      GivenBatch({who, "MINE=1 python3 -c 'b = bytearray(64 << 20)'; exit 3", who, "exit 5", who}));
  EXPECT_EQ(ended.at(1).wait_status, 3 << 8);
  EXPECT_EQ(ended.at(3).wait_status, 5 << 8);
  EXPECT_EQ(Out("0"), Out("2")) << "the same cigri-job";
  EXPECT_EQ(Out("0"), Out("4"));
  EXPECT_GT(ended.at(1).measured.peak_mb.value_or(0), 64);
  EXPECT_LT(ended.at(2).measured.peak_mb.value_or(100), 32) << "not the other one's";
  EXPECT_LT(ended.at(4).measured.cpu_s.value_or(100), ended.at(1).measured.cpu_s.value_or(0));
  const std::string process = "/proc/" + Out("0").substr(0, Out("0").find('\n'));
  EXPECT_TRUE(Await([&] { return !fs::exists(process); })) << "without jobs it ends";
}

// A stopped cigri-job stands for one that the machine does not let run: its next job and the kill
// wait for it together.
TEST_F(JobsTest, AKillThatComesTooLateEndsNoOtherJob) {
  Start(1);
  for (int task = 0; task < 20; task += 2) {
    const bool at_once = task % 4 == 0;
    ASSERT_EQ(RunTask(task, "sh -c 'echo $PPID'").wait_status, 0);
    const pid_t before = std::stoi(Out(std::to_string(task)));
    if (at_once) kill(before, SIGSTOP);
    kill(before, SIGTERM);
    auto next = GivenBatch({"true"});
    next.elements[0].task_index = task + 1;
    driver().Submit(next);
    const auto given = [&] {
      const auto jobs = driver().Find(next.tag, Me(), 0, false).jobs;
      return !jobs.empty() && jobs[0].state != RemoteState::kWaiting;
    };
    ASSERT_TRUE(Await(given)) << task;
    kill(before, SIGCONT);
    EXPECT_EQ(AwaitEnds(next)[0].cause, EndCause::kExited) << task;
  }
}

// A package that is replaced under a running daemon.
TEST_F(JobsTest, AJobOfAnOlderDaemonIsLeftToTheNextOne) {
  const std::string job = test::ForOthers(CIGRI_BIN_DIR) + "/cigri-job";
  const pid_t older =
      Spawn({"/bin/sh", "-c", job + " 1_0 60 1 0 0 - out / 0 ''; true"}, dir() + "/log");
  const auto waits = [&] {
    return std::system(("pgrep -x -P " + std::to_string(older) + " cigri-job >" + dir() + "/pid")
                           .c_str()) == 0;
  };
  ASSERT_TRUE(Await(waits)) << "it has given up the job";
  const std::string process = "/proc/" + FileText("pid").substr(0, FileText("pid").find('\n'));
  kill(older, SIGKILL);
  waitpid(older, nullptr, 0);
  EXPECT_TRUE(Await([&] { return !fs::exists(process); })) << "it would hold its lock";
}

TEST_F(JobsTest, APlainCommandHasTheVariablesOfItsSetup) {
  Start();
  auto batch = GivenBatch({"env", "true", "here"});
  fs::create_directory(dir() + "/bin");
  std::ofstream(dir() + "/bin/here") << "#!/bin/sh\necho found\n";
  fs::permissions(dir() + "/bin/here", fs::perms(0755));
  batch.setup =
      "export A='it'\\''s\na' B=\nexport OMP_NUM_THREADS=9\n"
      "export PATH=/nowhere::" +
      dir() + "/bin:/usr/bin\n";
  Run(batch);
  const std::string text = Out("0");
  for (const std::string line : {"A=it's\na", "B=", "OMP_NUM_THREADS=9"})
    EXPECT_NE(("\n" + text).find("\n" + line + "\n"), text.npos) << line << " is not in " << text;
  EXPECT_EQ(text.find("OMP_NUM_THREADS=1"), text.npos) << "once";
  EXPECT_EQ(Out("2"), "found\n");
}

TEST_F(JobsTest, SetupRunsBeforeTheCommandInTheSameShell) {
  Start();
  auto batch = GivenBatch({"echo $x $(pwd)"});
  batch.setup = "x=5\ncd /";
  Run(batch);
  EXPECT_EQ(Out("0"), "5 /\n");
}

// T-29: the environment of the 2009 note with its aliases; CIG-45.
TEST_F(JobsTest, TheEnvironmentIsCleanAndComplete) {
  setenv("CIGRI_TEST_SECRET", "leaks", 1);
  Start(4, {"--nodes", "2"});
  unsetenv("CIGRI_TEST_SECRET");
  auto batch =
      GivenBatch({"env; cat $CIGRI_NODE_FILE; ls /proc/self/fd | wc -l; read x || echo no input"});
  batch.slots = 3;
  batch.resources = "/core=3";
  Run(batch);
  const std::string text = Out("0");
  for (const std::string line :
       {"CIGRI_CAMPAIGN_ID=7", "CIGRI_JOB_ID=1000", "CIGRI_JOBID=1000", "CIGRI_TASK_INDEX=0",
        "CIGRI_ATTEMPT=1", "CIGRI_JOB_NAME=test", "CIGRI_RESOURCES=/core=3",
        "CIGRI_WALLTIME=0:10:00", "CIGRI_WALLTIME_SECONDS=600", "alpha-1\nalpha-1\nalpha-2",
        "no input"})
    EXPECT_NE(text.find(line + "\n"), text.npos) << line << "\nis not in:\n" << text;
  EXPECT_NE(text.find("CIGRI_WORKDIR=" + dir()), text.npos);
  EXPECT_NE(text.find("CIGRI_NODEFILE=" + dir()), text.npos);
  EXPECT_EQ(text.find("SECRET"), text.npos);
  EXPECT_NE(text.find("\n4\n"), text.npos) << "0, 1, 2 and the one of ls, nothing of ours:\n"
                                           << text;
}

// F6: jobs of several cores fought for the same ones.
TEST_F(JobsTest, ASlotHasACpuOfItsOwn) {
  cpu_set_t usable;
  ASSERT_EQ(sched_getaffinity(0, sizeof usable, &usable), 0);
  if (CPU_COUNT(&usable) < 2) GTEST_SKIP() << "one CPU";
  Start(2, {"--pin-from", "0"});
  const std::string wait =
      "; touch here.$CIGRI_TASK_INDEX; while [ ! -e here.$((1 - "
      "$CIGRI_TASK_INDEX)) ]; do :; done";
  Run(GivenBatch({"grep Cpus_allowed_list /proc/self/status" + wait,
                  "grep Cpus_allowed_list /proc/self/status" + wait}));
  EXPECT_NE(Out("0"), Out("1")) << "both ran at the same time";
  auto wide = GivenBatch({"unset OMP_NUM_THREADS; nproc"});
  wide.slots = 2;
  Run(wide);
  EXPECT_EQ(Out("2"), "2\n");
}

TEST_F(JobsTest, AJobGivesWayToOtherSessionsToo) {
  if (geteuid() != 0) GTEST_SKIP() << "others than root are heard ten times a second";
  if (!fs::exists("/proc/self/autogroup")) GTEST_SKIP() << "this kernel knows no autogroup";
  Start();
  EXPECT_EQ(RunTask(0, "cat /proc/self/autogroup").wait_status, 0);
  const std::string said = Out("0");
  EXPECT_NE(said.find("nice 10\n"), std::string::npos) << said;
}

TEST_F(JobsTest, WithFewerCpusThanSlotsAJobMayUseAll) {
  Start(2, {"--pin-from", "99999"});
  Run(GivenBatch({"unset OMP_NUM_THREADS; nproc"}));
  cpu_set_t usable;
  ASSERT_EQ(sched_getaffinity(0, sizeof usable, &usable), 0);
  EXPECT_EQ(Out("0"), std::to_string(CPU_COUNT(&usable)) + "\n");
}

TEST_F(JobsTest, AMissingDirectoryIsNamed) {
  Start();
  auto batch = GivenBatch({"true"});
  batch.directory = "/no/such/place";
  const auto job = Run(batch)[0];
  EXPECT_EQ(job.cause, EndCause::kBadDirectory);
  EXPECT_EQ(job.wait_status, std::nullopt);
  EXPECT_EQ(job.message,
            "cannot enter the working directory /no/such/place: No such file or directory");
}

TEST_F(JobsTest, AMissingProgramIsTheShells127) {
  Start();
  const auto job = RunOne("./fitt.py 1");
  EXPECT_EQ(job.wait_status, 127 << 8);
  EXPECT_NE(job.message.find("fitt.py: not found"), std::string::npos) << job.message;
}

TEST_F(JobsTest, OutputCanBeReadWhileTheJobRunsAndAfter) {
  Start();
  const auto batch = GivenBatch({"echo begin; echo trouble >&2; touch said; sleep 600"});
  const auto id = driver().Submit(batch)[0];
  ASSERT_TRUE(AwaitFile("said"));
  cluster::RemoteRef ref;
  ref.remote_id = id;
  EXPECT_EQ(driver().ReadOutput(ref, cluster::Stream::kStdout, 0, 100).bytes, "begin\n");
  EXPECT_EQ(driver().ReadOutput(ref, cluster::Stream::kStderr, 0, 100).bytes, "trouble\n");
  driver().Kill({ref});
  AwaitEnds(batch);
  const auto part = driver().ReadOutput(ref, cluster::Stream::kStdout, -3, 2);
  EXPECT_TRUE(part.exists);
  EXPECT_EQ(part.bytes, "in");
  EXPECT_EQ(part.size, 6);
  EXPECT_EQ(part.where, dir() + "/state/output/7/0/0.1.out");
  ref.remote_id = "12_0";
  EXPECT_FALSE(driver().ReadOutput(ref, cluster::Stream::kStdout, 0, 10).exists);
}

TEST_F(JobsTest, ALongJobsOutputGetsItsNameWhileItRuns) {
  Start();
  driver().Submit(GivenBatch({"echo early; sleep 600"}));
  EXPECT_TRUE(AwaitFile("state/output/7/0/0.1.out"));
}

TEST_F(JobsTest, TheFeedReportsEachChangeOnce) {
  Start();
  cluster::PollRequest request;
  request.token = driver().Poll({}).token;
  request.wait = std::chrono::seconds(10);
  driver().Submit(GivenBatch({"true", "exit 4"}));
  std::map<int, RemoteJob> ended;
  int news = 0;
  while (ended.size() < 2) {
    const auto answer = driver().Poll(request);
    ASSERT_FALSE(answer.full);
    EXPECT_EQ(answer.calls, 1);
    ASSERT_FALSE(answer.jobs.empty());
    request.token = answer.token;
    for (const auto& job : answer.jobs) {
      ++news;
      if (job.state != RemoteState::kEnded) continue;
      EXPECT_TRUE(ended.emplace(job.ref.index, job).second);
    }
  }
  EXPECT_LE(news, 6);  // waiting, running, ended of two jobs at most
  request.wait = std::chrono::milliseconds(0);
  EXPECT_TRUE(driver().Poll(request).jobs.empty());
}

TEST_F(JobsTest, AnUnknownTokenGetsTheWholeTruthAboutWhatIsAskedFor) {
  Start();
  const auto batch = GivenBatch({"exit 5", "sleep 600"});
  const auto ids = driver().Submit(batch);
  ASSERT_TRUE(Await([&] { return driver().GetResources({}).used == 1; }));
  cluster::PollRequest request;
  request.token = "never.1";
  for (const auto& id : {ids[0], ids[1], std::string("99_0")}) {
    cluster::RemoteRef ref;
    ref.remote_id = id;
    ref.tag = batch.tag;
    request.jobs.push_back(ref);
  }
  const auto answer = driver().Poll(request);
  EXPECT_TRUE(answer.full);
  std::map<std::string, RemoteJob> jobs;
  for (const auto& job : answer.jobs) jobs[job.ref.remote_id] = job;
  EXPECT_EQ(jobs[ids[0]].wait_status, 5 << 8);
  EXPECT_EQ(jobs[ids[1]].state, RemoteState::kRunning);
  ASSERT_EQ(answer.missing.size(), 1u);
  EXPECT_EQ(answer.missing[0].remote_id, "99_0");
}

TEST_F(JobsTest, ManyJobsAllEndAndAreAllReported) {
  Start(4);
  std::vector<std::string> commands(1200, "echo $CIGRI_TASK_INDEX >> done");
  const auto jobs = Run(GivenBatch(commands));
  for (const auto& [index, job] : jobs) EXPECT_EQ(job.wait_status, 0) << index;
  const std::string text = FileText("done");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1200);
}

// Hole 19: the output of a job filled the disk that the database is on too.
TEST_F(JobsTest, AJobWritesNoLargerFileThanItMay) {
  Start(2, {"--max-file", "1"});
  const auto batch =
      GivenBatch({"exec head -c 3000000 /dev/zero",
                  "truncate -s 1T /proc/self/fd/1; truncate -s 900K /proc/self/fd/1"});
  auto jobs = Run(batch);
  EXPECT_EQ(jobs[0].wait_status, SIGXFSZ) << jobs[0].message;
  EXPECT_EQ(fs::file_size(dir() + "/state/output/7/0/0.1.out"), 1u << 20);
  EXPECT_EQ(fs::file_size(dir() + "/state/output/7/0/1.1.out"), 900u << 10);
  // Somebody outside of the job has its descriptor, and no such limit.
  fs::resize_file(dir() + "/state/output/7/0/1.1.out", std::uintmax_t{1} << 40);
  const auto part = driver().ReadOutput(jobs[1].ref, cluster::Stream::kStdout, 0, 1 << 22);
  EXPECT_EQ(part.size, 1 << 20);
  EXPECT_EQ(part.bytes.size(), 1u << 20);
}

// Hole 3: output that cannot have its name was lost, and the job a success.
TEST_F(JobsTest, AJobWhoseOutputNameIsTakenDoesNotBegin) {
  Start();
  RunTask(0, "echo first");
  const auto job = RunTask(0, "touch begun; echo second");
  EXPECT_EQ(job.cause, EndCause::kLaunchFailed);
  EXPECT_NE(job.message.find("/output/7/0/0.1.out: File exists"), std::string::npos) << job.message;
  EXPECT_EQ(Out("0"), "first\n");
  EXPECT_FALSE(fs::exists(dir() + "/begun"));
}

TEST_F(JobsTest, AJobWhoseOutputNameIsTakenMeanwhileIsNoSuccess) {
  Start();
  const auto job = RunOne("echo forged > state/output/7/0/0.1.out; echo real");
  EXPECT_EQ(job.cause, EndCause::kLaunchFailed);
  EXPECT_FALSE(job.wait_status.has_value());
  EXPECT_NE(job.message.find("0.1.out: File exists"), std::string::npos) << job.message;
}

// All jobs of a user failed until the daemon was started again.
TEST_F(JobsTest, AFolderOfOutputThatSomebodyRemovesIsMadeAgain) {
  Start();
  RunTask(0, "echo a");
  fs::remove_all(dir() + "/state/output/7");
  EXPECT_EQ(RunTask(1, "echo b").wait_status, 0);
  EXPECT_EQ(Out("1"), "b\n");
}

TEST_F(JobsTest, AFolderHoldsAThousandTasks) {
  Start();
  auto batch = GivenBatch({"echo a", "echo b"});
  batch.elements[1].task_index = 123'456;
  Run(batch);
  EXPECT_EQ(FileText("state/output/7/0/0.1.out"), "a\n");
  EXPECT_EQ(FileText("state/output/7/123/123456.1.out"), "b\n");
}

}  // namespace
}  // namespace cigri::localcluster
