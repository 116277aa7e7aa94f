// A site's program that makes tokens: what it gets, what is taken from it, what it may cost.
#include "clusterdb/token_command.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "clusterdb/user_tokens.h"
#include "core/text.h"
#include "secrets/base64.h"
#include "tests/support/await.h"

namespace cigri::clusterdb {
namespace {

using std::chrono::milliseconds;

// A JWT that expires `left_s` from now; nobody checks its signature here.
std::string Jwt(std::int64_t left_s) {
  const auto claims = Base64Url("{\"exp\":" + std::to_string(std::time(nullptr) + left_s) + "}");
  return "eyJhbGciOiJIUzI1NiJ9." + claims + ".c2ln";
}

class TokenCommandTest : public testing::Test {
 protected:
  TokenCommandTest() : dir_("/tmp/cigri-token-" + RandomHex(6)) {
    std::filesystem::create_directories(dir_);
  }
  ~TokenCommandTest() override { std::filesystem::remove_all(dir_); }
  std::string Script(const std::string& text) {
    const auto file = dir_ + "/script";
    std::ofstream(file) << "#!/bin/sh\n" << text;
    std::filesystem::permissions(file, std::filesystem::perms(0700));
    return file;
  }
  std::string Text(const std::string& name) const {
    std::ifstream in(dir_ + "/" + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // Why there was no token; "" when there was one.
  static std::string ErrorOf(const std::string& command, const std::string& user = "alice",
                             milliseconds deadline = std::chrono::seconds(20)) {
    try {
      RunTokenCommand(command, user, deadline);
      return "";
    } catch (const std::runtime_error& e) {
      return e.what();
    }
  }
  std::string dir_;
};

TEST_F(TokenCommandTest, ArgumentsAreSplitAsAShellDoesAndNothingIsExpanded) {
  using Arguments = std::vector<std::string>;
  EXPECT_EQ(CommandArguments("scontrol token  username=%u"),
            (Arguments{"scontrol", "token", "username=%u"}));
  EXPECT_EQ(CommandArguments("a 'b c' \"d 'e\" f\\ g ''"),
            (Arguments{"a", "b c", "d 'e", "f g", ""}));
  EXPECT_EQ(CommandArguments("a $HOME ;rm *"), (Arguments{"a", "$HOME", ";rm", "*"}));
  EXPECT_THROW(CommandArguments("a 'b"), std::runtime_error);
  EXPECT_THROW(CommandArguments("  "), std::runtime_error);
}

TEST_F(TokenCommandTest, ItGetsTheUserAndNothingOfOurs) {
  setenv("CIGRI_DB", "password=hunter2", 1);
  const auto command =
      Script("env > " + dir_ + "/env; ls /proc/self/fd > " + dir_ + "/fds; echo \"$1|$2|$3\" > " +
             dir_ + "/args; cat; echo SLURM_JWT=tok");
  EXPECT_EQ(RunTokenCommand(command + " user=%u '100%% $HOME' %x", "al.ice-1"), "tok");
  EXPECT_EQ(Text("args"), "user=al.ice-1|100% $HOME|%x\n");
  EXPECT_EQ(Text("env").find("hunter2"), std::string::npos);
  const auto fds = Text("fds");  // 0, 1, 2, and the folder that ls reads
  EXPECT_EQ(std::count(fds.begin(), fds.end(), '\n'), 4) << fds;
  unsetenv("CIGRI_DB");
}

TEST_F(TokenCommandTest, OneTokenInAnyUsualDressIsTaken) {
  EXPECT_EQ(RunTokenCommand("echo eyJ.a.b", "alice"), "eyJ.a.b");
  EXPECT_EQ(RunTokenCommand("echo Bearer eyJ.a.b", "alice"), "eyJ.a.b");
  EXPECT_EQ(RunTokenCommand("sh -c 'echo SLURM_JWT=%u'", "alice"), "alice");
}

TEST_F(TokenCommandTest, EveryWayToFailIsReportedWithoutWhatItPrinted) {
  EXPECT_EQ(ErrorOf("true"), "it printed nothing");
  EXPECT_EQ(ErrorOf("echo secret words"), "it did not print one token and nothing else");
  EXPECT_EQ(ErrorOf("sh -c 'echo secret; echo no ticket for %u >&2; exit 3'"),
            "it exited with code 3: no ticket for alice");
  EXPECT_EQ(ErrorOf("sh -c 'kill -9 $$'"), "it was killed by signal 9");
  EXPECT_NE(ErrorOf("/nowhere/at/all").find("cannot start /nowhere/at/all: No such file"),
            std::string::npos);
  EXPECT_NE(ErrorOf("yes secret").find("more than 16384 bytes"), std::string::npos);
  for (const char* user : {"", "-rf", "a b", "$(id)", "a;b", "a\nb", "é"})
    EXPECT_NE(ErrorOf("echo x", user).find("no name of a user"), std::string::npos) << user;
}

TEST_F(TokenCommandTest, OneThatHangsIsEndedWithAllItHasStarted) {
  const auto command = Script("sleep 300 & echo $! > " + dir_ + "/pid; wait");
  EXPECT_NE(ErrorOf(command, "alice", milliseconds(500)).find("did not end within"),
            std::string::npos);
  const int child = std::atoi(Text("pid").c_str());
  ASSERT_GT(child, 1);
  EXPECT_TRUE(test::Await([&] {  // a zombie that waits for init is ended too
    std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
    const std::string text((std::istreambuf_iterator<char>(stat)), {});
    return text.empty() || text.find(") Z") != text.npos;
  })) << "the program's child lives on";
}

TEST_F(TokenCommandTest, ATokenIsUsedAgainUntilNearItsExpiry) {
  EXPECT_EQ(KeepFor(std::nullopt), 60);
  EXPECT_EQ(KeepFor(300), 270);
  EXPECT_EQ(KeepFor(620), 560);
  EXPECT_EQ(KeepFor(86400), 600) << "a site may change its key";
  EXPECT_EQ(KeepFor(-5), 0);

  const auto given = [](const std::string&) { return std::string("given"); };
  UserTokens lasting(Script("echo x >> " + dir_ + "/runs; echo " + Jwt(3600) + "-$1") + " %u",
                     given);
  const auto first = lasting.Of("alice");
  EXPECT_EQ(lasting.Of("alice"), first);
  EXPECT_NE(lasting.Of("bob"), first);
  EXPECT_EQ(Text("runs"), "x\nx\n") << "one run a user";

  std::filesystem::remove(dir_ + "/runs");
  UserTokens over(Script("echo x >> " + dir_ + "/runs; echo " + Jwt(-1)), given);
  over.Of("alice");
  over.Of("alice");
  EXPECT_EQ(Text("runs"), "x\nx\n") << "one that is over is never used again";
}

TEST_F(TokenCommandTest, WhatTheUserGaveIsTheFallback) {
  std::string stored = "given";
  const auto given = [&](const std::string&) { return stored; };
  EXPECT_EQ(UserTokens("", given).Of("alice"), "given");
  EXPECT_EQ(UserTokens("false", given).Of("alice"), "given");
  stored = "";
  EXPECT_EQ(UserTokens("", given).Of("alice"), "");
  try {
    UserTokens("sh -c 'echo no ticket >&2; exit 1'", given).Of("alice");
    FAIL() << "there is no token";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "it exited with code 1: no ticket");
  }
}

}  // namespace
}  // namespace cigri::clusterdb
