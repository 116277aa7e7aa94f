// The script of a job, run by the real shell as a batch scheduler would.
#include "cluster/job_record.h"
#include "cluster/job_script.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "cluster/transfer.h"
#include "core/text.h"
#include "recorded_server.h"
#include "tests/support/await.h"

namespace cigri::cluster {
namespace {

namespace fs = std::filesystem;
using test::BatchOf;

std::string Contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

class JobScriptTest : public testing::Test {
 protected:
  JobScriptTest() {
    char name[] = "/tmp/cigri-script-XXXXXX";
    home_ = mkdtemp(name);
    std::ofstream(home_ / "nodes") << "node1\nnode1\nnode2\n";
  }
  ~JobScriptTest() override { fs::remove_all(home_); }

  // Runs element `index` of `batch` as OAR would, with a process group; the raw wait status.
  int Run(const Batch& batch, int index = 0, ScriptSettings settings = {}) {
    std::ofstream(home_ / "script") << JobScript(batch, settings);
    const auto& element = batch.elements.at(static_cast<std::size_t>(index));
    std::ofstream(home_ / "words") << ElementArguments(element, index);
    const std::string command = "cd / && export HOME=" + home_.string() +
                                " OAR_JOB_ID=77 OAR_NODE_FILE=" + (home_ / "nodes").string() +
                                " && exec setsid sh -c 'set -- $(cat " +
                                (home_ / "words").string() + ") && . " +
                                (home_ / "script").string() + "'";
    return std::system(command.c_str());
  }
  RemoteRef Ref(const Batch& batch, int index = 0) const {
    return {"77",    batch.tag, index, batch.elements.at(static_cast<std::size_t>(index)).job_id,
            "alice", 0};
  }
  std::string Out(const Batch& batch, int index = 0, Stream s = Stream::kStdout) const {
    return Contents(home_ / ".cigri" / OutputPath(Ref(batch, index), s));
  }
  // The file up to its last line with `words`, without it.
  static void WithoutItsEnd(const fs::path& file, const std::string& words = " end\n") {
    const auto text = Contents(file);
    const auto line = text.rfind("cigri1 ", text.rfind(words));
    std::ofstream(file) << text.substr(0, line);
  }
  std::optional<ExitRecord> Record(const Batch& batch, int index = 0) const {
    return ParseExitRecord(Contents(home_ / ".cigri" / RecordPath(Ref(batch, index))),
                           Ref(batch, index));
  }
  fs::path home_;
};

TEST_F(JobScriptTest, ACommandIsReadOnceWhateverItHolds) {
  const std::string values[] = {
      "",   "#x", "it's $HOME `id` \\$x \\\\", "caf\xC3\xA9\xFF", "two\nlines\n",
      "-n", "%s", std::string(100 * 1024, '#')};
  for (const auto& value : values) {
    auto batch = BatchOf({"printf %s " + ShellQuote(value)});
    batch.tag += RandomHex(4);
    EXPECT_EQ(Run(batch), 0);
    EXPECT_TRUE(Out(batch) == value) << value.substr(0, 40);
  }
}

// Seen on a real Slurm: a job was deleted while its script began, which decoded nothing, ran that,
// and had succeeded.
TEST_F(JobScriptTest, ACommandThatCannotBeDecodedWholeIsNotRun) {
  const std::string path = std::getenv("PATH");
  for (const char* decoder : {"exit 1", "kill $$", "exec head -c 10"})
    for (const std::string tool : {"base64", "gzip"}) {
      fs::create_directories(home_ / "bin");
      std::ofstream(home_ / "bin" / tool) << "#!/bin/sh\n" << decoder << "\n";
      fs::permissions(home_ / "bin" / tool, fs::perms::owner_all);
      auto batch = BatchOf({"touch $HOME/ran" + (tool == "gzip" ? std::string(60'000, '\n') : "")});
      batch.tag += RandomHex(4);
      setenv("PATH", ((home_ / "bin").string() + ":" + path).c_str(), 1);
      EXPECT_EQ(Run(batch), kExitCommandLost << 8) << tool << ": " << decoder;
      setenv("PATH", path.c_str(), 1);
      fs::remove_all(home_ / "bin");
      EXPECT_FALSE(fs::exists(home_ / "ran"));
      ASSERT_TRUE(Record(batch));
      EXPECT_EQ(Record(batch)->wait_status, kExitCommandLost << 8) << "no success";
      EXPECT_NE(Out(batch, 0, Stream::kStderr).find("cannot decode the command"),
                std::string::npos);
    }
  RemoteJob job;
  EndByScript(&job, kExitCommandLost << 8);
  EXPECT_EQ(job.cause, EndCause::kLaunchFailed) << "not the user's failure";
}

TEST_F(JobScriptTest, InputsAndOutputsTravelAroundTheCommand) {
  const auto settings = TransferSettings::From({{"transfer_folder", home_ / "node"}});
  auto batch = BatchOf({"echo {} >out; cat in >>out; echo said", "exit 3", ":"});
  batch.directory = home_;
  batch.setup = "export SAID=1\n" + TransferSetup(settings);
  batch.options["moves_files"] = true;
  const std::vector<Transfer> inputs = {{"it's", "in"}}, outputs = {{"out", "results/1"}};
  for (auto& element : batch.elements)
    element.command = TransferCommand(settings, "alice", inputs, outputs, element.command);
  EXPECT_EQ(Run(batch, 0), 217 << 8);
  EXPECT_EQ(Record(batch, 0)->wait_status, 217 << 8);
  batch.tag += "2";
  std::ofstream(home_ / "it's") << "input";
  EXPECT_EQ(Run(batch, 0), 0);
  EXPECT_EQ(Out(batch, 0), "said\n");
  EXPECT_EQ(Contents(home_ / "results/1"), "{}\ninput");
  EXPECT_GT(Record(batch, 0)->measured.transfer_s.value_or(0), 0) << "and how long that took";
  EXPECT_EQ(ParseMeasured(Contents(home_ / ".cigri" / MeasuredPath(Ref(batch)))).at(100).transfer_s,
            Record(batch, 0)->measured.transfer_s);
  EXPECT_EQ(Run(batch, 1), 3 << 8);
  EXPECT_EQ(Run(batch, 2), 218 << 8);
}

TEST_F(JobScriptTest, ArgumentsOfAnElementNeedNoQuotingAnywhere) {
  const auto words =
      ElementArguments({1, 2, 3, "'\"$`#\n\\ \xC3\xA9" + std::string(60000, '#')}, 4);
  EXPECT_EQ(words.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                    "0123456789+/= "),
            std::string::npos);
  EXPECT_LT(words.size(), 1000u) << "long lines are compressed";
}

// CIG-45: the environment of a job.
TEST_F(JobScriptTest, TheEnvironmentAndTheSetupAreThere) {
  auto batch =
      BatchOf({"echo $CIGRI_CAMPAIGN_ID $CIGRI_JOB_ID $CIGRI_TASK_INDEX $CIGRI_ATTEMPT "
               "$greeting; wc -l <$CIGRI_NODE_FILE; echo $CIGRI_WORKDIR; echo \"$0 $#\""});
  batch.setup = "greeting='a # b'";
  batch.directory = "$HOME/it's here";
  fs::create_directory(home_ / "it's here");
  EXPECT_EQ(Run(batch), 0);
  EXPECT_EQ(Out(batch), "12 100 0 1 a # b\n3\n" + home_.string() + "/it's here\nsh 0\n");
}

TEST_F(JobScriptTest, AnEndIsRecordedWithItsWaitStatus) {
  const struct {
    const char* command;
    int status;
  } cases[] = {{"exit 0", 0},         {"exit 3", 3 << 8},    {"exit 255", 255 << 8},
               {"kill -9 $$", 9},     {"kill -TERM $$", 15}, {"nosuchprogram", 127 << 8},
               {"exit 213", 213 << 8}};
  for (const auto& c : cases) {
    auto batch = BatchOf({c.command});
    batch.tag += RandomHex(4);
    const int status = Run(batch);
    const auto record = Record(batch);
    ASSERT_TRUE(record) << c.command;
    EXPECT_EQ(record->wait_status, c.status) << c.command;
    EXPECT_EQ(status, c.status) << c.command;
    EXPECT_EQ(record->remote_id, "77");
    EXPECT_EQ(record->node, "node1");
    EXPECT_GT(record->started_at, 1e9);
  }
}

// 64 MB in one process, some CPU time in another.
constexpr char kHungry[] =
    "dd if=/dev/zero of=/dev/null bs=64M count=1 2>/dev/null; i=0; "
    "while [ $i -lt 200000 ]; do i=$((i+1)); done; ";

TEST_F(JobScriptTest, AJobMeasuresItself) {
  auto batch = BatchOf({std::string(kHungry) + "exit 3", "kill -9 $$"});
  EXPECT_EQ(Run(batch), 3 << 8);
  ASSERT_TRUE(Record(batch));
  const auto measured = Record(batch)->measured;
  EXPECT_GT(measured.cpu_s.value_or(0), 0.01);
  EXPECT_GT(measured.peak_mb.value_or(0), 64);
  EXPECT_LT(measured.peak_mb.value_or(0), 100);
  EXPECT_TRUE(measured.read_mb && measured.written_mb);
  EXPECT_EQ(Run(batch, 1), SIGKILL) << "what stands between passes the signal on";
  const auto together =
      ParseMeasured(Contents(home_ / ".cigri" / MeasuredPath(Ref(batch))));
  ASSERT_EQ(together.size(), 2u) << "of both jobs, to be read with one call";
  EXPECT_EQ(together.at(100).peak_mb, measured.peak_mb);
  EXPECT_LT(together.at(101).peak_mb.value_or(100), 20);
}

// PERL5OPT may name modules that the script's own perl does not have.
TEST_F(JobScriptTest, WithoutPerlTheShellMeasuresCpuTime) {
  setenv("PERL5OPT", "-MNo::Such::Module", 1);
  const auto batch = BatchOf({std::string(kHungry) + "echo $PERL5OPT; exit 3"});
  const int status = Run(batch);
  unsetenv("PERL5OPT");
  EXPECT_EQ(status, 3 << 8);
  EXPECT_EQ(Out(batch), "-MNo::Such::Module\n");
  ASSERT_TRUE(Record(batch));
  EXPECT_GT(Record(batch)->measured.cpu_s.value_or(0), 0.01);
  EXPECT_FALSE(Record(batch)->measured.peak_mb);
}

TEST_F(JobScriptTest, WhatIsNoMeasurementIsNone) {
  const auto measured = ParseMeasured(
      "cigri1 used 1 0m1.5s+2m0.25s - - -\ncigri1 used 2 1.5 2048 x 0\ncigri1 used 3 1.5 20"
      "cigri1 used 4 nan 1 1 1\ncigri1 used x 1 1 1 1\ncigri1 moved 2 1500\n"
      "cigri1 moved 2 x\n");
  ASSERT_EQ(measured.size(), 2u);
  EXPECT_EQ(measured.at(2).transfer_s, 1.5);
  EXPECT_FALSE(measured.at(1).transfer_s);
  EXPECT_NEAR(measured.at(1).cpu_s.value_or(0), 121.75, 1e-9);
  EXPECT_FALSE(measured.at(1).peak_mb);
  EXPECT_EQ(measured.at(2).peak_mb, 2.0);
  EXPECT_FALSE(measured.at(2).read_mb);
  EXPECT_EQ(measured.at(2).written_mb, 0.0);
}

// One job, three elements.
class GroupScriptTest : public JobScriptTest {
 protected:
  static Batch GroupOf(const std::vector<std::string>& commands) {
    auto batch = BatchOf(commands);
    batch.tasks_per_job = static_cast<int>(commands.size());
    return batch;
  }
  // The job's own exit code.
  int RunGroup(const Batch& batch, const std::string& before = "") {
    std::ofstream(home_ / "script") << JobScript(batch, {});
    std::ofstream(home_ / "words") << JobArguments(batch).at(0);
    const std::string command = "cd / && export HOME=" + home_.string() +
                                " OAR_JOB_ID=77 OAR_NODE_FILE=" + (home_ / "nodes").string() +
                                " && exec " + before + " sh -c 'set -- $(cat " +
                                (home_ / "words").string() + ") && . " +
                                (home_ / "script").string() + "'";
    return std::system(command.c_str());
  }
  RemoteRef GroupRef(const Batch& batch, int index) const {
    auto ref = Ref(batch, index);
    ref.tasks_per_job = batch.tasks_per_job;
    return ref;
  }
  GroupLog Log(const Batch& batch) const {
    return ParseGroupLog(Contents(home_ / ".cigri" / GroupPath(GroupRef(batch, 0))));
  }
  static RemoteJob Whole(RemoteState state, EndCause cause = EndCause::kExited) {
    RemoteJob job;
    job.ref.remote_id = "77";
    job.state = state;
    job.cause = cause;
    job.started_at = 100;
    job.ended_at = 200;
    if (cause == EndCause::kExited) job.wait_status = 0;
    return job;
  }
};

TEST_F(GroupScriptTest, EachElementRunsAsIfItWereAlone) {
  const auto batch = GroupOf({"echo $CIGRI_TASK_INDEX $CIGRI_JOB_ID; exit 3", "kill -9 $$",
                              "echo last; echo oops >&2"});
  EXPECT_EQ(RunGroup(batch), 0);
  EXPECT_EQ(Out(batch, 0), "0 100\n");
  EXPECT_EQ(Out(batch, 2), "last\n");
  EXPECT_EQ(Out(batch, 2, Stream::kStderr), "oops\n");
  const int statuses[] = {3 << 8, 9, 0};
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(Record(batch, i)) << i;
    EXPECT_EQ(Record(batch, i)->wait_status, statuses[i]);
    const auto job = InGroup(Whole(RemoteState::kEnded), GroupRef(batch, i), i == 2, Log(batch));
    EXPECT_EQ(job.state, RemoteState::kEnded);
    EXPECT_EQ(job.cause, EndCause::kExited);
    EXPECT_EQ(job.wait_status, statuses[i]);
    EXPECT_TRUE(job.measured.cpu_s) << i;
    EXPECT_EQ(job.ref.job_id, 100 + i);
  }
}

TEST_F(GroupScriptTest, AnEndIsSeenWhileTheJobRunsAndAKillLosesOnlyWhatRan) {
  const auto batch = GroupOf({"true", "touch $HOME/second; sleep 60", "touch $HOME/third"});
  auto job = std::async(std::launch::async, [&] { return RunGroup(batch, "setsid"); });
  ASSERT_TRUE(test::Await([&] { return fs::exists(home_ / "second"); }));
  const auto log = Log(batch);
  const auto seen = [&](int index, const RemoteJob& whole) {
    return InGroup(whole, GroupRef(batch, index), index == 2, log);
  };
  const auto running = Whole(RemoteState::kRunning);
  EXPECT_EQ(seen(0, running).state, RemoteState::kEnded);
  EXPECT_EQ(seen(1, running).state, RemoteState::kRunning);
  EXPECT_EQ(seen(2, running).state, RemoteState::kRunning) << "the last stands for the job";
  EXPECT_EQ(InGroup(running, GroupRef(batch, 2), false, log).state, RemoteState::kWaiting);
  // As OAR kills: all its processes.
  const auto pid = Split(Contents(home_ / ".cigri" / RecordPath(Ref(batch, 1))), ' ').at(5);
  ASSERT_EQ(kill(-std::stoi(pid), SIGKILL), 0);
  EXPECT_NE(job.get(), 0);
  EXPECT_FALSE(fs::exists(home_ / "third"));
  const auto killed = Whole(RemoteState::kEnded, EndCause::kPreempted);
  EXPECT_EQ(seen(0, killed).cause, EndCause::kExited) << "what has ended has ended";
  EXPECT_EQ(seen(1, killed).cause, EndCause::kPreempted);
  EXPECT_EQ(seen(1, killed).job_started_at, 100);
  EXPECT_EQ(seen(2, killed).cause, EndCause::kNotBegun);
  EXPECT_EQ(RunGroup(batch), kExitStartedBefore << 8) << "a second start runs nothing";
  EXPECT_FALSE(fs::exists(home_ / "third"));
}

// What the first start has not begun would be sent again when the job has ended.
TEST_F(GroupScriptTest, ASecondStartEndsAfterTheFirst) {
  const auto batch = GroupOf(
      {"touch $HOME/first; until [ -e $HOME/go ]; do sleep 0.1; done", "echo x >>$HOME/second"});
  auto first = std::async(std::launch::async, [&] { return RunGroup(batch); });
  ASSERT_TRUE(test::Await([&] { return fs::exists(home_ / "first"); }));
  auto second = std::async(std::launch::async, [&] { return RunGroup(batch); });
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(2500)), std::future_status::timeout);
  std::ofstream(home_ / "go") << "";
  EXPECT_EQ(first.get(), 0);
  EXPECT_EQ(second.get(), kExitStartedBefore << 8);
  EXPECT_EQ(Contents(home_ / "second"), "x\n");
  const auto whole = Whole(RemoteState::kEnded, EndCause::kUnknown);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(InGroup(whole, GroupRef(batch, i), i == 1, Log(batch)).wait_status, 0);
}

TEST_F(GroupScriptTest, AfterHalfOfTheWalltimeNoElementBegins) {
  auto batch = GroupOf({"sleep 1.1", "touch $HOME/second"});
  batch.walltime_s = 2;
  EXPECT_EQ(RunGroup(batch), 0);
  EXPECT_FALSE(fs::exists(home_ / "second"));
  const auto job = InGroup(Whole(RemoteState::kEnded), GroupRef(batch, 1), true, Log(batch));
  EXPECT_EQ(job.cause, EndCause::kNotBegun);
}

TEST_F(GroupScriptTest, AFailureRightBeforeTheJobIsKilledIsTheKill) {
  const auto batch = GroupOf({"", "", ""});
  const auto log = ParseGroupLog("cigri1 begins 100 10\ncigri1 768 10 20 n r 100 end\n"
                                 "cigri1 begins 101 20\ncigri1 1280 20 30 n r 101 end\n");
  const auto seen = [&](const RemoteJob& whole, int index) {
    return InGroup(whole, GroupRef(batch, index), false, log);
  };
  EXPECT_EQ(seen(Whole(RemoteState::kRunning), 0).wait_status, 3 << 8) << "another has begun";
  EXPECT_EQ(seen(Whole(RemoteState::kRunning), 1).state, RemoteState::kRunning) << "not known yet";
  EXPECT_EQ(seen(Whole(RemoteState::kEnded), 1).wait_status, 5 << 8);
  EXPECT_EQ(seen(Whole(RemoteState::kEnded, EndCause::kPreempted), 1).cause, EndCause::kPreempted);
}

TEST_F(GroupScriptTest, AnElementThatHasSucceededCountsAlsoWhenItsJobIsKilledBeforeItWritesItsEnd) {
  const auto batch = GroupOf({"true", "true", "exit 3"});
  EXPECT_EQ(RunGroup(batch), 0);
  const auto path = home_ / ".cigri" / GroupPath(GroupRef(batch, 0));
  const auto killed = Whole(RemoteState::kEnded, EndCause::kPreempted);
  const auto seen = [&](int index) {
    return InGroup(killed, GroupRef(batch, index), index == 2, Log(batch));
  };
  WithoutItsEnd(path);
  EXPECT_EQ(seen(2).cause, EndCause::kPreempted) << "that it failed may be the kill";
  WithoutItsEnd(path, "begins 102");
  EXPECT_EQ(seen(1).wait_status, 0);
  WithoutItsEnd(path);
  EXPECT_EQ(seen(1).cause, EndCause::kExited);
  EXPECT_EQ(seen(1).wait_status, 0);
  EXPECT_EQ(seen(1).started_at, Log(batch).begun.at(1));
  EXPECT_TRUE(seen(1).measured.cpu_s);
  EXPECT_EQ(seen(2).cause, EndCause::kNotBegun);
}

TEST_F(GroupScriptTest, AHalfWrittenLineSaysNothing) {
  const auto batch = GroupOf({"", ""});
  const auto log = ParseGroupLog("cigri1 begins 100 10\ncigri1 0 10 20 n r 100 end");
  const auto whole = Whole(RemoteState::kEnded, EndCause::kNodeFailed);
  EXPECT_EQ(InGroup(whole, GroupRef(batch, 0), false, log).cause, EndCause::kNodeFailed);
}

TEST_F(GroupScriptTest, NumbersThatAreNoJobOfItsDoNoHarm) {
  const auto log = ParseGroupLog(
      "cigri1 begins 1e300 10\ncigri1 begins 5 20\ncigri1 0 10 20 n r -9223372036854775808 end\n");
  EXPECT_EQ(log.begun.size(), 2u);
  EXPECT_EQ(log.last_begun, INT32_MIN);
  EXPECT_EQ(log.ends.count(INT32_MIN), 1u);
}

TEST_F(GroupScriptTest, AfterARestoreItsElementsHaveOtherJobIds) {
  const auto log = ParseGroupLog("cigri1 begins 100 10\ncigri1 0 10 20 n r 100 end\n"
                                 "cigri1 begins 101 20\n");
  RemoteRef ref;
  ref.index = 2;
  ref.job_id = 9000;
  ref.tasks_per_job = 2;
  EXPECT_EQ(InGroup(Whole(RemoteState::kRunning), ref, false, log).wait_status, 0);
}

TEST_F(GroupScriptTest, WhatAWalltimeEndsIsChargedToTheFirstElementAlone) {
  const auto log = ParseGroupLog("cigri1 begins 100 10\ncigri1 0 10 20 n r 100 end\n"
                                 "cigri1 begins 101 20\n");
  const auto batch = GroupOf({"", "", ""});
  const auto whole = Whole(RemoteState::kEnded, EndCause::kWalltime);
  EXPECT_EQ(InGroup(whole, GroupRef(batch, 1), false, log).cause, EndCause::kUnknown);
  const auto first = ParseGroupLog("cigri1 begins 100 10\n");
  EXPECT_EQ(InGroup(whole, GroupRef(batch, 0), false, first).cause, EndCause::kWalltime);
  const auto lost = InGroup(Whole(RemoteState::kEnded), GroupRef(batch, 0), false, {});
  EXPECT_EQ(lost.cause, EndCause::kUnknown) << "that nothing is known is no success";
}

// As OAR sends it: to the script alone.
TEST_F(JobScriptTest, ACheckpointSignalReachesTheProgramsThatCatchItAndEndsNoOther) {
  auto batch = BatchOf({"(trap 'touch $HOME/saved' USR2; touch $HOME/ready; while [ ! -e "
                        "$HOME/saved ]; do sleep 0.05; done) & sleep 0.2; sh -c 'sleep 1; exit 3'"});
  batch.options["checkpoint"] = {{"signal", "USR2"}, {"grace", 60}};
  auto job = std::async(std::launch::async, [&] { return Run(batch); });
  ASSERT_TRUE(test::Await([&] { return fs::exists(home_ / "ready"); }));
  const auto pid = Split(Contents(home_ / ".cigri" / RecordPath(Ref(batch, 0))), ' ').at(5);
  ASSERT_EQ(kill(std::stoi(pid), SIGUSR2), 0);
  EXPECT_EQ(job.get(), 3 << 8);
  EXPECT_TRUE(fs::exists(home_ / "saved"));
  ASSERT_TRUE(Record(batch));
  EXPECT_EQ(Record(batch)->wait_status, 3 << 8);
  EXPECT_TRUE(Record(batch)->measured.cpu_s);
}

TEST_F(JobScriptTest, ACheckpointMayBeAskedForAgainAndAgain) {
  auto batch = BatchOf({"n=0; trap 'n=$((n + 1))' HUP; while [ $n -lt 2 ]; do sleep 0.05; done"});
  batch.options["checkpoint"] = {{"signal", "HUP"}, {"grace", 60}, {"every", 1}};
  EXPECT_EQ(Run(batch), 0);
}

// On clusters that do not say why a job has ended, its exit code does.
class CheckpointScriptTest : public JobScriptTest {
 protected:
  CheckpointScriptTest() {
    batch_ = BatchOf({"trap 'exit 9' USR2; : >$READY; while :; do sleep 0.05; done"});
    batch_.setup = "READY=" + (home_ / "ready").string();
    batch_.walltime_s = 3000;
    batch_.options["checkpoint"] = {{"signal", "USR2"}, {"grace", 60}};
    settings_.kind = ScriptSettings::Kind::kSlurm;
    settings_.folder = home_ / ".cigri";
    settings_.shell = "sh";
  }
  // The end of a job to whose process, as `pid_of` finds it, `signal` is sent.
  RemoteJob EndAfter(int signal, const std::function<std::string()>& pid_of) {
    auto job = std::async(std::launch::async, [&] { return Run(batch_, 0, settings_); });
    std::string pid;
    while (!fs::exists(home_ / "ready") || (pid = pid_of()).empty())
      if (job.wait_for(std::chrono::milliseconds(10)) == std::future_status::ready) break;
    // The script may not listen yet.
    while (!pid.empty() && kill(std::stoi(pid), signal) == 0)
      if (job.wait_for(std::chrono::seconds(4)) == std::future_status::ready) break;
    RemoteJob end;
    EndByScript(&end, job.get());
    return end;
  }
  std::string Script() const {
    return Split(Contents(home_ / ".cigri" / RecordPath(Ref(batch_, 0))), ' ').at(5);
  }
  static bool Catches(const std::string& pid, int signal) {
    std::istringstream status(Contents("/proc/" + pid + "/status"));
    for (std::string line; std::getline(status, line);)
      if (StartsWith(line, "SigCgt:"))
        return (std::stoull(line.substr(8), nullptr, 16) >> (signal - 1) & 1) != 0;
    return false;
  }
  Batch batch_;
  ScriptSettings settings_;
};

// 2 s of saving, of a cluster that kills jobs every 10000 s: sqrt(2 * 2 * 10000).
TEST_F(CheckpointScriptTest, WhatACheckpointCostsIsMeasuredAndSaysHowOftenTheNextJobsAreAsked) {
  settings_.cluster_signals = true;
  batch_.options["checkpoint"] = {{"every", "auto"}, {"grace", 50}, {"lifetime", 10000}};
  batch_.elements[0].command =
      "echo $CIGRI_CHECKPOINT_EVERY; [ ! -e $READY ] || exit 0; "
      "trap 'trap \"\" USR2; sleep 2; exit 9' USR2; : >$READY; while :; do sleep 0.05; done";
  EXPECT_EQ(EndAfter(SIGUSR2, [&] { return Script(); }).cause, EndCause::kPreempted);
  EXPECT_EQ(Out(batch_), "1000\n") << "as the grid has estimated it";
  batch_.tag += "2";
  EXPECT_EQ(Run(batch_, 0, settings_), 0);
  const int learnt = std::atoi(Out(batch_).c_str());
  EXPECT_GE(learnt, 200);
  EXPECT_LT(learnt, 1000);
}

TEST_F(CheckpointScriptTest, ACheckpointTravelsToTheNextJobOfItsTask) {
  settings_.cluster_signals = true;
  const auto transfers = TransferSettings::From(
      {{"transfer_folder", home_ / "node"}, {"transfer_base", home_ / "storage"}});
  fs::create_directories(home_ / "storage");
  batch_.setup += "\n" + TransferSetup(transfers);
  const std::vector<Transfer> inputs = {{"checkpoints/12/1/save", "save", true}},
                              outputs = {{"save", "checkpoints/12/1/save", true}};
  batch_.elements[0].command = TransferCommand(
      transfers, "alice", inputs, outputs,
      "[ ! -e save ] || exit 0; trap 'echo 5 >save; exit 9' USR2; : >$READY; "
      "while :; do sleep 0.05; done");
  EXPECT_EQ(EndAfter(SIGUSR2, [&] { return Script(); }).cause, EndCause::kPreempted);
  EXPECT_EQ(Contents(home_ / "storage/checkpoints/12/1/save"), "5\n");
  batch_.tag += "2";
  EXPECT_EQ(Run(batch_, 0, settings_), 0) << Out(batch_, 0, Stream::kStderr);
}

TEST_F(CheckpointScriptTest, AProgramThatEndsWhenTheClusterSignalsWasEvicted) {
  settings_.cluster_signals = true;
  EXPECT_EQ(EndAfter(SIGUSR2, [&] { return Script(); }).cause, EndCause::kPreempted);
  ASSERT_TRUE(Record(batch_));
  EXPECT_EQ(Record(batch_)->wait_status, kExitSavedBeforeEviction << 8);
}

// As clusters kill: TERM to all processes of the job, and KILL when it has ended or its time is up.
TEST_F(CheckpointScriptTest, ATermLeavesTheProgramItsTime) {
  batch_.elements[0].command =
      "trap 'sleep 0.5; exit 0' TERM; : >$READY; while :; do sleep 0.05; done";
  EXPECT_EQ(EndAfter(SIGTERM, [&] { return "-" + Script(); }).wait_status, 0);
  ASSERT_TRUE(Record(batch_));
  EXPECT_EQ(Record(batch_)->wait_status, 0);
}

// What asks for the checkpoint takes its time: `wait` has ended by then, and not with the program.
TEST_F(CheckpointScriptTest, AProgramThatEndsWhileItIsAskedEndsAsItDoes) {
  settings_.cluster_signals = true;
  const auto asked = home_ / "asked";
  std::ofstream(home_ / "awk") << "#!/bin/sh\n: >" << asked.string() << "\nsleep 0.5\n";
  fs::permissions(home_ / "awk", fs::perms::owner_all);
  const std::string path = getenv("PATH");
  setenv("PATH", (home_.string() + ":" + path).c_str(), 1);
  for (const auto& [code, status] : {std::pair{"0", 0}, {"3", kExitSavedBeforeEviction << 8}}) {
    batch_.elements[0].command = "trap '' USR2; : >$READY; until [ -e " + asked.string() +
                                 " ]; do sleep 0.02; done; exit " + code;
    EXPECT_EQ(EndAfter(SIGUSR2, [&] { return Script(); }).wait_status, status);
    ASSERT_TRUE(Record(batch_));
    EXPECT_EQ(Record(batch_)->wait_status, status);
    for (const char* left : {".cigri", "asked", "ready"}) fs::remove_all(home_ / left);
  }
  setenv("PATH", path.c_str(), 1);
}

TEST_F(CheckpointScriptTest, NearTheEndOfItsWalltimeItWasTheWalltime) {
  settings_.cluster_signals = true;
  batch_.walltime_s = 120;  // Slurm may signal a minute before the grace of a minute
  EXPECT_EQ(EndAfter(SIGUSR2, [&] { return Script(); }).cause, EndCause::kWalltime);
}

TEST_F(CheckpointScriptTest, WhereNobodySignalsTheScriptWatchesTheWalltime) {
  settings_.kind = ScriptSettings::Kind::kGridEngine;
  batch_.elements[0].command =
      "trap 'exit 9' USR2; n=0; while [ $n -lt 600 ]; do sleep 0.05; n=$((n + 1)); done";
  batch_.walltime_s = 65;
  RemoteJob end;
  EndByScript(&end, Run(batch_, 0, settings_));
  EXPECT_EQ(end.cause, EndCause::kWalltime);
}

// As Grid Engine announces a suspension, where the program saves its work at USR2: the script alone
// knows what USR1 means, and it ends nothing.
TEST_F(CheckpointScriptTest, WhatGridEngineAnnouncesReachesTheProgramAsItsOwnSignal) {
  settings_.kind = ScriptSettings::Kind::kGridEngine;
  batch_.elements[0].command =
      "trap 'exit 9' USR2; sh -c ': >$READY; sleep 1; : >$READY.2' & while :; do sleep 0.05; done";
  batch_.setup = "export READY=" + (home_ / "ready").string();
  const auto end = EndAfter(SIGUSR1, [&] { return Script(); });
  EXPECT_EQ(end.cause, EndCause::kPreempted) << end.message;
}

// As Grid Engine does it: to all processes of the job.
TEST_F(CheckpointScriptTest, AKillThatGridEngineAnnouncesLeavesTheScriptAndThoseThatIgnoreIt) {
  settings_.kind = ScriptSettings::Kind::kGridEngine;
  batch_.options["checkpoint"] = {{"signal", "HUP"}, {"grace", 60}, {"every", 1}};
  batch_.elements[0].command =
      "n=0; trap 'n=$((n + 1))' HUP; sh -c 'sleep 1; : >$READY.survived' & : >$READY; "
      "while [ $n -lt 4 ] || [ ! -e $READY.survived ]; do sleep 0.05; done; exit 9";
  batch_.setup = "export READY=" + (home_ / "ready").string();
  auto job = std::async(std::launch::async, [&] { return Run(batch_, 0, settings_); });
  ASSERT_TRUE(test::Await([&] { return fs::exists(home_ / "ready"); }));
  const int script = std::stoi(Script());
  // The script may not listen yet.
  ASSERT_TRUE(test::Await(
      [&] {
        return kill(-script, SIGUSR1) != 0 || kill(-script, SIGUSR2) != 0 ||
               job.wait_for(std::chrono::seconds(1)) == std::future_status::ready;
      },
      std::chrono::seconds(60)));
  RemoteJob end;
  EndByScript(&end, job.get());
  EXPECT_EQ(end.cause, EndCause::kPreempted) << end.message;
}

// As Slurm 22.05 does it: TERM to the steps of the job, and nothing to its script.
TEST_F(CheckpointScriptTest, WhatSlurmTellsAStepOfTheJobReachesTheProgram) {
  std::ofstream(home_ / "srun") << "#!/bin/sh\necho $$ >" << (home_ / "step").string()
                                << "\nwhile [ \"$1\" != /bin/sh ]; do shift; done\nexec \"$@\"\n";
  fs::permissions(home_ / "srun", fs::perms::owner_all);
  batch_.walltime_s = 7654;
  setenv("SLURM_JOB_ID", "5", 1);
  const std::string path = getenv("PATH");
  setenv("PATH", (home_.string() + ":" + path).c_str(), 1);
  // A step that is told before it listens would tell nobody.
  const auto end = EndAfter(SIGTERM, [&] {
    const std::string step(Trim(Contents(home_ / "step")));
    return Catches(step, SIGTERM) ? step : "";
  });
  setenv("PATH", path.c_str(), 1);
  unsetenv("SLURM_JOB_ID");
  EXPECT_EQ(end.cause, EndCause::kPreempted);
  EXPECT_NE(std::system("pgrep -fx 'sleep 7594'"), 0) << "the script leaves nothing behind";
}

TEST_F(CheckpointScriptTest, AProgramsOwnSuccessIsOneAndItsOwn212IsAFailure) {
  settings_.cluster_signals = true;
  batch_.elements[0].command = "exit 212";
  EXPECT_EQ(Run(batch_, 0, settings_), 1 << 8);
  EXPECT_NE(Out(batch_, 0, Stream::kStderr).find("kept for checkpoints"), std::string::npos);
  batch_ = BatchOf({"trap 'exit 0' USR2; : >$READY; while :; do sleep 0.05; done"});
  batch_.setup = "READY=" + (home_ / "ready").string();
  batch_.options["checkpoint"] = nlohmann::json::object();
  EXPECT_EQ(EndAfter(SIGUSR2, [&] { return Script(); }).cause, EndCause::kExited);
}

TEST_F(JobScriptTest, AQuietJobLeavesNoFile) {
  const auto batch = BatchOf({"true", "echo x >&2"});
  Run(batch, 0);
  Run(batch, 1);
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(home_ / ".cigri/output"))
    files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 1);
  EXPECT_EQ(Out(batch, 1, Stream::kStderr), "x\n");
}

TEST_F(JobScriptTest, AMissingDirectoryRunsNothingAndSaysSo) {
  auto batch = BatchOf({"touch ran"});
  batch.directory = "/no/such/place";
  EXPECT_EQ(Run(batch), kExitBadDirectory << 8);
  EXPECT_NE(Out(batch, 0, Stream::kStderr).find("no directory /no/such/place"), std::string::npos);
  RemoteJob job;
  EndByScript(&job, Record(batch)->wait_status);
  EXPECT_EQ(job.cause, EndCause::kBadDirectory);
}

TEST_F(JobScriptTest, OutputThatCannotBeWrittenIsSaidAndNothingRuns) {
  auto batch = BatchOf({"touch $HOME/ran"});
  ScriptSettings settings;
  settings.folder = "/proc/nosuch";
  EXPECT_EQ(Run(batch, 0, settings), kExitBadOutput << 8);
  EXPECT_FALSE(fs::exists(home_ / "ran"));
}

// As a folder that is read-only, or has no room for files, and was made before: root may write in
// any.
TEST_F(JobScriptTest, OutputThatCannotBeWrittenIsNotTheProgramsFailure) {
  auto batch = BatchOf({"touch $HOME/ran"});
  for (const char* suffix : {".out", ".err"}) {
    batch.tag += "2";
    const auto stem = ".cigri/" + OutputPath(Ref(batch), Stream::kStdout);
    fs::create_directories(home_ / (stem.substr(0, stem.size() - 4) + suffix));
    EXPECT_EQ(Run(batch), kExitBadOutput << 8) << suffix;
    ASSERT_TRUE(Record(batch));
    EXPECT_EQ(Record(batch)->wait_status, kExitBadOutput << 8);
    EXPECT_FALSE(fs::exists(home_ / "ran"));
  }
}

// A node at its limit of processes. Root has none.
TEST_F(JobScriptTest, AShellThatCanStartNoProcessIsNotTheProgramsFailure) {
  const auto batch = BatchOf({"touch $HOME/ran"});
  fs::permissions(home_, fs::perms::all);
  for (const auto kind : {ScriptSettings::Kind::kOar, ScriptSettings::Kind::kSlurm}) {
    ScriptSettings settings;
    settings.kind = kind;
    std::ofstream(home_ / "script") << "ulimit -p 0 2>/dev/null || ulimit -u 0\nset -- "
                                    << ElementArguments(batch.elements[0], 0) << "\n"
                                    << JobScript(batch, settings);
    const std::string user =
        geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
    EXPECT_EQ(std::system((user + "env HOME=" + home_.string() + " OAR_NODE_FILE=/dev/null sh " +
                           (home_ / "script").string())
                              .c_str()),
              kExitCommandLost << 8);
    EXPECT_FALSE(fs::exists(home_ / "ran"));
  }
}

TEST_F(JobScriptTest, ATermThatTheProgramSurvivesDoesNotLoseTheRecord) {
  const auto batch = BatchOf({"trap 'exit 5' TERM; kill -TERM $PPID; kill -TERM $$"});
  Run(batch);
  ASSERT_TRUE(Record(batch));
  EXPECT_EQ(Record(batch)->wait_status, 5 << 8);
}

TEST_F(JobScriptTest, RecordsOfOldBatchesGo) {
  const auto records = home_ / ".cigri/records";
  for (int i = 0; i < 150; ++i) fs::create_directories(records / ("old" + std::to_string(i)));
  const auto runs = records / "runs";
  fs::create_directories(runs);
  std::ofstream(runs / "0") << "cigri1 began 1 n1 4 4711\n";
  fs::last_write_time(runs, fs::file_time_type::clock::now() - std::chrono::hours(24));
  const auto batch = BatchOf({"true"});
  Run(batch);
  const auto left = std::distance(fs::directory_iterator(records), fs::directory_iterator());
  EXPECT_LE(left, 102);
  EXPECT_TRUE(fs::exists(runs / "0"))
      << "a job that runs needs it: as a lock, and to be distinguished from one that never began";
  EXPECT_TRUE(Record(batch)) << "its own stays";
}

// Seen on a real Slurm: a slurmctld that was killed had forgotten which jobs it had started.
TEST_F(JobScriptTest, ASecondStartOfTheSameJobRunsNothingAndEndsAsTheFirst) {
  const struct {
    const char* end;
    int status;
  } cases[] = {{"exit 0", 0}, {"exit 3", 3 << 8}, {"kill -TERM $$", 15}};
  for (const auto& c : cases) {
    const auto batch = BatchOf({std::string("echo ran >> $HOME/runs; ") + c.end});
    EXPECT_EQ(Run(batch), c.status);
    EXPECT_EQ(Run(batch), c.status) << c.end;
    EXPECT_EQ(Contents(home_ / "runs"), "ran\n") << c.end;
    ASSERT_TRUE(Record(batch));
    EXPECT_EQ(Record(batch)->wait_status, c.status);
    fs::remove_all(home_ / ".cigri");
    fs::remove(home_ / "runs");
  }
}

// Seen on a real Slurm, whose slurmd killed jobs that a crashed slurmctld had forgotten: three tasks had
// done their work, and did it again.
TEST_F(JobScriptTest, AProgramThatHasSucceededCountsAlsoWhenItsJobIsKilledBeforeItWritesItsEnd) {
  for (const char* perl : {"", "-MNo::Such::Module"})
    for (const int code : {0, 3}) {
      setenv("PERL5OPT", perl, 1);
      const auto batch = BatchOf({"echo ran >> $HOME/runs; exit " + std::to_string(code)});
      EXPECT_EQ(Run(batch), code << 8);
      unsetenv("PERL5OPT");
      const auto whole = Record(batch);
      WithoutItsEnd(home_ / ".cigri" / RecordPath(Ref(batch)));
      ASSERT_EQ(Record(batch).has_value(), code == 0) << perl << "what failed may have been killed";
      if (code == 0) {
        EXPECT_EQ(Record(batch)->wait_status, 0);
        EXPECT_EQ(Record(batch)->job_id, whole->job_id);
        EXPECT_EQ(Record(batch)->node, whole->node);
        EXPECT_EQ(Record(batch)->started_at, whole->started_at);
        EXPECT_LE(Record(batch)->ended_at, whole->ended_at);
        EXPECT_TRUE(Record(batch)->measured.cpu_s);
      }
      EXPECT_EQ(Run(batch), code == 0 ? 0 : kExitStartedBefore << 8);
      EXPECT_EQ(Contents(home_ / "runs"), "ran\n");
      fs::remove_all(home_ / ".cigri");
      fs::remove(home_ / "runs");
    }
}

TEST_F(JobScriptTest, ASecondStartWhileTheFirstRunsWaitsForItsEnd) {
  const auto batch =
      BatchOf({"echo ran >> $HOME/runs; until [ -e $HOME/go ]; do sleep 0.1; done; exit 4"});
  const auto record = home_ / ".cigri" / RecordPath(Ref(batch));
  auto first = std::async(std::launch::async, [&] { return Run(batch); });
  ASSERT_TRUE(test::Await([&] { return fs::exists(home_ / "runs"); }));
  EXPECT_FALSE(Record(batch)) << "it has begun, not ended";
  auto second = std::async(std::launch::async, [&] { return Run(batch); });
  // Only an end lets it go: it has looked when it sleeps between two polls.
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(1500)), std::future_status::timeout);
  std::ofstream(home_ / "go") << "";
  EXPECT_EQ(first.get(), 4 << 8);
  EXPECT_EQ(second.get(), 4 << 8);
  EXPECT_EQ(Contents(home_ / "runs"), "ran\n");
}

TEST_F(JobScriptTest, ASecondStartAfterAFirstThatLeftNoEndRunsNothingAndSaysThatNobodyKnows) {
  const auto batch = BatchOf({"touch $HOME/ran"});
  const auto record = home_ / ".cigri" / RecordPath(Ref(batch));
  const auto now = std::to_string(std::time(nullptr));
  // Its process is gone (no pid is that high); its walltime is exceeded; it could not even write.
  for (const auto& mark :
       {"cigri1 began " + now + " node1 77 99999999\n",
        std::string("cigri1 began 1000000000 elsewhere 77 1\n"), std::string()}) {
    fs::create_directories(record.parent_path());
    std::ofstream(record) << mark;
    EXPECT_EQ(Run(batch), kExitStartedBefore << 8) << mark;
    EXPECT_FALSE(fs::exists(home_ / "ran")) << mark;
  }
  RemoteJob job;
  EndByScript(&job, kExitStartedBefore << 8);
  EXPECT_EQ(job.cause, EndCause::kUnknown);
}

TEST_F(JobScriptTest, AHalfWrittenOrForeignRecordIsNone) {
  const RemoteRef ref{"77", "cigri.1.g.r", 0, 100, "alice", 0};
  EXPECT_TRUE(ParseExitRecord("cigri1 0 1 2 node 77 100 end\n", ref));
  EXPECT_TRUE(ParseExitRecord("cigri1 began 1 node 77 4711\ncigri1 0 1 2 node 77 100 end\n", ref));
  for (const char* text : {"", "cigri1 began 1 node 77 4711\n", "cigri1 0 1 2 node 77 100",
                           "cigri1 used 100 1 1 1 1 0 5", "cigri1 used 101 1 1 1 1 0 5\n",
                           "cigri1 used 100 1 1 1 1 256 5\n", "cigri1 used 100 1 1 1 1 0 x\n",
                           "cigri1 used 100 1 1 1 1\n",  // of a job from before an upgrade
                           "cigri1 0 1 2 node 77 101 end", "cigri1 x 1 2 node 77 100 end", "hello"})
    EXPECT_FALSE(ParseExitRecord(text, ref)) << text;
}

TEST(ExitRecordTest, ATermIsNobodysFaultUntilItIsKnownWhoSentIt) {
  RemoteJob job;
  EndByRecord(&job, {15, 1000, 1005, "n1", "77", 100});
  EXPECT_EQ(job.cause, EndCause::kUnknown);
  EndByRecord(&job, {9 << 8, 1000, 1005, "n1", "77", 100});
  EXPECT_EQ(job.cause, EndCause::kExited);
  EXPECT_EQ(job.node, "n1");
}

TEST(TagTest, IsDistinguishedFromTheNamesOfCigri3) {
  EXPECT_TRUE(IsTag("cigri.12.g1.abcd"));
  for (const char* name :
       {"cigri.12", "cigri", "", "cigri..g1.abcd", "a.12.g1.abcd", "cigri.1.2.3.4"})
    EXPECT_FALSE(IsTag(name)) << name;
}

TEST(HomeWordTest, OnlyALeadingHomeIsExpanded) {
  EXPECT_EQ(HomeWord(""), "\"$HOME\"");
  EXPECT_EQ(HomeWord("$HOME/a b"), "\"$HOME\"'/a b'");
  EXPECT_EQ(HomeWord("~/x"), "\"$HOME\"/x");
  EXPECT_EQ(HomeWord("/data/$HOME"), "'/data/$HOME'");
  EXPECT_EQ(HomeWord("$HOMER"), "'$HOMER'");
}

}  // namespace
}  // namespace cigri::cluster
