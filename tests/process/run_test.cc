// What a program gets from process::Run(), what it may cost, and how its end is reported.
#include "process/run.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <thread>

#include "core/text.h"
#include "tests/support/await.h"

namespace cigri::process {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Command Shell(const std::string& script) {
  Command command{.argv = {"/bin/sh", "-c", script}};
  command.time_limit = seconds(60);
  return command;
}

// Whether process `pid` is soon gone or a zombie.
bool Gone(int pid) {
  return test::Await([&] {
    std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
    const std::string stat((std::istreambuf_iterator<char>(in)), {});
    return stat.empty() || stat.find(") Z") != stat.npos;
  });
}

TEST(RunTest, OutputAndErrorsAreReadApart) {
  const auto result = process::Run(Shell("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(result.outcome, Outcome::kExited);
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_FALSE(result.Succeeded());
  EXPECT_TRUE(process::Run(Shell("exit 0")).Succeeded());
}

TEST(RunTest, ErrorsMayComeInTheOrderOfTheOutput) {
  auto command = Shell("echo 1; echo 2 >&2; echo 3");
  command.errors = Errors::kWithOutput;
  EXPECT_EQ(process::Run(command).out, "1\n2\n3\n");
}

TEST(RunTest, ArgumentsReachTheProgramByteForByte) {
  const std::vector<std::string> words{"a b", "", "\"q\"", "$HOME", "it's", "\\", "-x"};
  Command command{.argv = {"printf", "%s|"}};
  command.argv.insert(command.argv.end(), words.begin(), words.end());
  EXPECT_EQ(process::Run(command).out, Join(words, "|") + "|");
}

TEST(RunTest, LargeInputAndOutputPassAtOnce) {
  Command command{.argv = {"cat"}, .input = std::string(3 << 20, 'x')};
  command.output_limit = 8 << 20;
  EXPECT_EQ(process::Run(command).out, command.input);
}

TEST(RunTest, AProgramThatDoesNotReadItsInputIsNoErrors) {
  Command command{.argv = {"true"}, .input = std::string(3 << 20, 'x')};
  EXPECT_TRUE(process::Run(command).Succeeded());
}

TEST(RunTest, TheEnvironmentIsOursOrTheOneThatIsGiven) {
  setenv("CIGRI_TEST_SECRET", "hunter2", 1);
  EXPECT_EQ(process::Run(Shell("echo $CIGRI_TEST_SECRET")).out, "hunter2\n");
  Command command{.argv = {"env"}};
  command.environment = Environment{"A=1", "B="};
  EXPECT_EQ(process::Run(command).out, "A=1\nB=\n");
  unsetenv("CIGRI_TEST_SECRET");
}

TEST(RunTest, NothingElseIsInherited) {
  const int open_here = open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  ASSERT_GE(open_here, 0);
  // 0, 1, 2 and the folder that ls reads.
  EXPECT_EQ(process::Run({.argv = {"ls", "/proc/self/fd"}}).out, "0\n1\n2\n3\n");
  close(open_here);
}

TEST(RunTest, SignalsAreAtTheirDefaults) {
  sigset_t pipe, before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  const auto handler = signal(SIGPIPE, SIG_IGN);
  const auto result = process::Run({.argv = {"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"}});
  signal(SIGPIPE, handler);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(result.out, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST(RunTest, ItStartsInTheFolderThatIsGiven) {
  Command command{.argv = {"pwd"}};
  command.directory = "/usr";
  EXPECT_EQ(process::Run(command).out, "/usr\n");
  command.directory = "/nowhere/at/all";
  EXPECT_EQ(process::Run(command).outcome, Outcome::kNotStarted);
}

TEST(RunTest, ASignalIsNotAnExitCode) {
  const auto command = Shell("kill -9 $$");
  const auto result = process::Run(command);
  EXPECT_EQ(result.outcome, Outcome::kSignalled);
  EXPECT_EQ(HowItEnded(command, result), "it was killed by signal 9");
  EXPECT_EQ(HowItEnded(command, process::Run(Shell("exit 9"))), "it exited with code 9");
}

TEST(RunTest, WhatCannotBeStartedIsNamedAndLeavesNoZombie) {
  for (const char* program : {"/nowhere/at/all", "no-such-program-anywhere", "/etc/passwd", ""}) {
    const auto result = process::Run({.argv = {program}});
    EXPECT_EQ(result.outcome, Outcome::kNotStarted) << program;
    EXPECT_EQ(result.why.find(std::string("cannot start ") + program + ": "), 0u) << result.why;
  }
#ifndef __SANITIZE_THREAD__  // there Spawn does not learn the number of the child
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
#endif
}

TEST(RunTest, AtTheTimeLimitTheWholeGroupIsKilled) {
  auto command = Shell("sleep 300 & echo $!; wait");
  command.time_limit = milliseconds(500);
  const auto result = process::Run(command);
  EXPECT_EQ(result.outcome, Outcome::kTimedOut);
  EXPECT_EQ(HowItEnded(command, result), "it did not end within 0.5 s");
  const int child = std::atoi(result.out.c_str());
  ASSERT_GT(child, 1) << "what it wrote before is kept";
  EXPECT_TRUE(Gone(child));
}

TEST(RunTest, AnEndlessOutputIsCut) {
  Command command{.argv = {"cat", "/dev/zero"}};
  command.output_limit = 100'000;
  const auto result = process::Run(command);
  EXPECT_EQ(result.outcome, Outcome::kOutputTooLong);
  EXPECT_EQ(result.out.size(), 100'000u);
  EXPECT_EQ(HowItEnded(command, result), "it printed more than 100000 bytes");
}

TEST(RunTest, ErrorsBeyondTheirLimitAreDroppedAndTheProgramGoesOn) {
  auto command = Shell("head -c 1000000 /dev/zero >&2; echo done");
  command.errors_kept = 10;
  const auto result = process::Run(command);
  EXPECT_EQ(result.err.size(), 10u);
  EXPECT_EQ(result.out, "done\n");
}

TEST(RunTest, AProgramThatLeavesAProcessBehindHasEnded) {
  // The one that is left holds both pipes; nobody waits for it.
  const auto result = process::Run(Shell("sleep 300 & echo $!"));
  EXPECT_TRUE(result.Succeeded());
  const int left = std::atoi(result.out.c_str());
  ASSERT_GT(left, 1);
  EXPECT_EQ(kill(left, SIGKILL), 0) << "it was to go on";
}

TEST(RunTest, AllThatWasWrittenBeforeTheEndIsRead) {
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(process::Run(Shell("head -c 65000 /dev/zero")).out.size(), 65000u);
}

TEST(RunTest, ManyThreadsRunAtOnce) {
  std::vector<std::future<int>> threads;
  for (int i = 0; i < 8; ++i)
    threads.push_back(std::async(std::launch::async, [i] {
      int good = 0;
      for (int k = 0; k < 20; ++k) {
        const auto word = std::to_string(i) + "-" + std::to_string(k);
        good += process::Run({.argv = {"cat"}, .input = word}).out == word ? 1 : 0;
      }
      return good;
    }));
  for (auto& thread : threads) EXPECT_EQ(thread.get(), 20);
}

// What `argv` writes on its standard output, which it finds at 9 and at our own number too.
std::string Written(const std::vector<std::string>& argv, SpawnOptions options,
                    int* pid = nullptr) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
  const Fd out(ends[0]);
  Fd in(ends[1]);
  options.out = in.get();
  options.descriptors = {{9, in.get()}, {in.get(), in.get()}};
  const pid_t started = Spawn(argv, options);
  if (pid != nullptr) *pid = started;
  in.Close();
  std::string text(1000, '\0');
  std::size_t n = 0;
  for (ssize_t k; (k = read(out.get(), text.data() + n, text.size() - n)) > 0;)
    n += static_cast<std::size_t>(k);
  Reap(started);
  return text.substr(0, n);
}

TEST(SpawnTest, DescriptorsHaveTheNumbersThatAreGiven) {
  EXPECT_EQ(Written({"sh", "-c", "echo a >&9; echo b"}, {}), "a\nb\n");
  // 0, 1, 2, 9, the one that keeps its own number, and the folder that ls reads.
  EXPECT_EQ(Written({"sh", "-c", "ls /proc/self/fd | wc -l"}, {}), "6\n");
}

TEST(SpawnTest, BlockedSignalsAreThoseThatAreNamed) {
  SpawnOptions options;
  options.blocked = {SIGTERM};
  EXPECT_EQ(Written({"grep", "SigBlk", "/proc/self/status"}, options),
            "SigBlk:\t0000000000004000\n");
}

TEST(SpawnTest, AProgramMayHaveAnotherNameAndASessionOfItsOwn) {
  SpawnOptions options;
  options.program = "/bin/sh";
  options.own_session = true;
  int pid = 0;
  const auto text = Written({"its-name", "-c", "cat /proc/$$/cmdline; cut -d' ' -f6 /proc/$$/stat"},
                            options, &pid);
  EXPECT_EQ(text.find(std::string("its-name\0-c", 11)), 0u) << text;
  EXPECT_TRUE(text.ends_with(std::string("\0", 1) + std::to_string(pid) + "\n")) << text;
}

TEST(SpawnTest, AProgramCanDieWithTheThreadThatStartedIt) {
  pid_t pid = 0;
  std::thread([&pid] {
    SpawnOptions options;
    options.death_signal = SIGKILL;
    pid = Spawn({"sleep", "300"}, options);
  }).join();
  const int status = Reap(pid);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

}  // namespace
}  // namespace cigri::process
