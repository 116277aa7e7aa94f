// What happens when the child itself fails: programs that are no gridadmit stand in for one.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "process/spawn.h"
#include "rules/rules.h"
#include "tests/support/await.h"

namespace cigri::rules {
namespace {

class ChildTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cigri-rules-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    dir_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::string Script(const std::string& body) {
    const std::string path = dir_ + "/program";
    std::ofstream(path) << "#!/bin/sh\nPATH=/usr/bin:/bin\n" << body << "\n";
    chmod(path.c_str(), 0755);
    return path;
  }
  Verdict With(const std::string& body, Mode mode = Mode::kEnforce,
               std::chrono::milliseconds deadline = std::chrono::seconds(10)) {
    Limits limits;
    limits.program = Script(body);
    limits.deadline = deadline;
    Rule rule;
    rule.id = 5;
    rule.name = "slow";
    rule.mode = mode;
    return Admit({rule}, {{"name", "x"}}, {}, {}, limits);
  }

  const std::string& dir() const { return dir_; }

 private:
  std::string dir_;
};

TEST_F(ChildTest, ACrashInARuleIsBlamedOnIt) {
  const Verdict v = With("echo '{\"rule\":0}'; kill -SEGV $$");
  EXPECT_EQ(v.outcome, Outcome::kBroken);
  EXPECT_EQ(v.rule_id, 5);
  EXPECT_NE(v.message.find("rule 5 (slow) failed: it was killed by signal 11"), v.message.npos)
      << v.message;
}

// Hole 25: rules ran as root, with every system call.
TEST_F(ChildTest, GridadmitHasGivenUpItsRightsBeforeItReads) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs system calls that are forbidden (src/rules/confine.cc)";
#endif
  int in[2];
  ASSERT_EQ(pipe(in), 0);
  const process::Fd read_end(in[0]), write_end(in[1]);
  process::SpawnOptions options;
  options.in = read_end.get();
  const pid_t child = process::Spawn({CIGRI_BIN_DIR "/gridadmit"}, options);
  const std::string status = "/proc/" + std::to_string(child) + "/status";
  const auto has = [&](const std::string& line) {
    std::ifstream file(status);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return text.find("\n" + line + "\n") != text.npos;
  };
  EXPECT_TRUE(test::Await([&] { return has("Seccomp:\t2"); }));
  EXPECT_TRUE(has("NoNewPrivs:\t1"));
  if (geteuid() == 0) {
    for (const char* kind : {"Uid", "Gid"})
      EXPECT_TRUE(has(std::string(kind) + ":\t65534\t65534\t65534\t65534")) << kind;
    EXPECT_TRUE(has("Groups:\t ")) << "none";
  }
  kill(child, SIGKILL);
  process::Reap(child);
}

// Among a hundred submissions a second, readers of the API waited for rules: in one session the
// kernel gives these as much of a processor.
TEST_F(ChildTest, RulesRunInASessionThatIsAsNiceAsTheirThread) {
  EXPECT_FALSE(With("cut -d' ' -f6 /proc/$$/stat > " + dir() + "/session; echo $$ > " + dir() +
                    "/pid; exit 3")
                   .ok());
  const auto said = [&](const std::string& name) {
    std::ifstream file(dir() + "/" + name);
    std::string line;
    std::getline(file, line);
    return line;
  };
  EXPECT_NE(said("pid"), "");
  EXPECT_EQ(said("session"), said("pid"));

  if (geteuid() != 0 || !std::filesystem::exists("/proc/self/autogroup")) return;
  int in[2];
  ASSERT_EQ(pipe(in), 0);
  const process::Fd read_end(in[0]), write_end(in[1]);
  process::SpawnOptions options;
  options.in = read_end.get();
  options.own_session = true;
  pid_t child = 0;
  std::thread([&] {
    setpriority(PRIO_PROCESS, 0, 7);
    child = process::Spawn({CIGRI_BIN_DIR "/gridadmit"}, options);
  }).join();
  const std::string group = "/proc/" + std::to_string(child) + "/autogroup";
  EXPECT_TRUE(test::Await([&] {
    std::ifstream file(group);
    std::string line;
    return std::getline(file, line) && line.ends_with(" nice 7");
  }));
  kill(child, SIGKILL);
  process::Reap(child);
}

TEST_F(ChildTest, TheSecondWallOfTimeReadsAsTheFirst) {
  EXPECT_NE(With("echo '{\"rule\":0}'; kill -PROF $$")
                .message.find("rule 5 (slow) failed: it exceeded its limit of time"),
            std::string::npos);
}

TEST_F(ChildTest, ACrashOutsideOfRulesRefusesToo) {
  const Verdict v = With("exit 3");
  EXPECT_EQ(v.outcome, Outcome::kBroken);
  EXPECT_EQ(v.rule_id, 0);
  EXPECT_NE(v.message.find("exited with code 3"), v.message.npos) << v.message;
}

TEST_F(ChildTest, ARuleThatHangsIsEndedAtTheDeadline) {
  const Verdict v =
      With("echo '{\"rule\":0}'; exec sleep 100", Mode::kEnforce, std::chrono::milliseconds(300));
  EXPECT_EQ(v.outcome, Outcome::kBroken);
  EXPECT_NE(v.message.find("rule 5 (slow) failed: it did not end within 0.3 s"), v.message.npos)
      << v.message;
}

TEST_F(ChildTest, ARuleOnTrialThatCrashesRefusesNobody) {
  const Verdict v = With("echo '{\"rule\":0}'; kill -KILL $$", Mode::kWarn);
  EXPECT_TRUE(v.ok());
  ASSERT_EQ(v.notes.size(), 1u);
  EXPECT_NE(v.notes[0].find("signal 9"), std::string::npos);
}

TEST_F(ChildTest, AMissingProgramRefusesEverybody) {
  Limits limits;
  limits.program = "/nowhere/gridadmit";
  const Verdict v = Admit({Rule()}, {{"name", "x"}}, {}, {}, limits);
  EXPECT_EQ(v.outcome, Outcome::kBroken);
  EXPECT_NE(v.message.find("cannot start /nowhere/gridadmit"), v.message.npos) << v.message;
}

TEST_F(ChildTest, TheChildInheritsNothing) {
  setenv("CIGRI_TEST_SECRET", "hunter2", 1);
  const auto seen = "{ env; ls /proc/self/fd | wc -l; } > " + dir() + "/seen; exit 3";
  EXPECT_EQ(With(seen).outcome, Outcome::kBroken);
  unsetenv("CIGRI_TEST_SECRET");
  std::ifstream in(dir() + "/seen");
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_EQ(text.find("hunter2"), std::string::npos);
  // 0, 1, 2 and the one that ls opens.
  EXPECT_NE(text.find("\n4\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace cigri::rules
