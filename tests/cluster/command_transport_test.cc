// How commands are run for schedulers without a REST API, and what their ends mean.
#include "cluster/command_transport.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace cigri::cluster {
namespace {

using Outcome = CommandResult::Outcome;

ClusterConfig ConfigOf(const std::string& wrapper) {
  ClusterConfig config;
  config.name = "digitalis";
  config.api_url = "local:";
  config.auth_user = "alice";
  config.options = {{"command_wrapper", wrapper}, {"environment", {{"GREETING", "it's $HOME"}}}};
  config.call_timeout = std::chrono::milliseconds(500);
  return config;
}

TEST(CommandTransportTest, WordsEnvironmentAndInputArriveAsTheyAre) {
  CommandTransport transport(ConfigOf("env WHO=%u"));
  const auto r = transport.Run(
      {"sh", "-c", "printf '%s|%s|%s|' \"$WHO\" \"$GREETING\" \"$1\"; cat; echo oops >&2; exit 3",
       "x", "a 'b' $c `d`"},
      "bob", "line\n");
  EXPECT_EQ(r.outcome, Outcome::kDone);
  EXPECT_EQ(r.code, 3);
  EXPECT_EQ(r.out, "bob|it's $HOME|a 'b' $c `d`|line\n");
  EXPECT_EQ(r.err, "oops\n");
}

// A user reads the environment of his processes in /proc: the password of the database was there.
TEST(CommandTransportTest, WhatRunsAsAUserKnowsNothingOfTheDatabase) {
  setenv("CIGRI_DB", "host=db password=secret", 1);
  setenv("PGPASSWORD", "secret", 1);
  setenv("SGE_ROOT", "/opt/sge", 1);
  const auto r = CommandTransport(ConfigOf("env")).Run({"env"}, "bob");
  for (const char* name : {"CIGRI_DB", "PGPASSWORD", "SGE_ROOT"}) unsetenv(name);
  EXPECT_EQ(r.out.find("secret"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("SGE_ROOT=/opt/sge\n"), std::string::npos) << r.out;
}

TEST(CommandTransportTest, OnlyACommandThatCannotHaveBegunIsReportedAsNotBegun) {
  const auto outcome = [](const std::string& wrapper) {
    return CommandTransport(ConfigOf(wrapper)).Run({"true"}, "alice").outcome;
  };
  EXPECT_EQ(outcome("/nosuchprogram"), Outcome::kNotBegun);
  EXPECT_EQ(outcome("env"), Outcome::kDone);
  EXPECT_EQ(outcome("false"), Outcome::kUnknown) << "it says nothing";
  EXPECT_EQ(outcome("echo"), Outcome::kUnknown) << "an answer without its end";
}

class CountingLimiter : public CallLimiter {
 public:
  void Before(Clock::time_point) override {}
  void After(bool answered, const std::string&) override { unanswered += answered ? 0 : 1; }
  double WaitFor(int) override { return 0; }
  int ceiling() override { return 0; }
  int unanswered = 0;
};

// A line of a user's own shell, before the connection was lost, was taken for ssh's: the jobs had
// been taken, and were sent again.
TEST(CommandTransportTest, OnlyTheLastWordsOfSshSayThatNothingHasBegun) {
  char folder[] = "/tmp/cigri-ssh-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string ssh = std::string(folder) + "/ssh";
  const auto ran = [&](const std::string& script, int* unanswered = nullptr) {
    std::ofstream(ssh) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(ssh, std::filesystem::perms::owner_all);
    auto config = ConfigOf(ssh);
    config.call_timeout = std::chrono::seconds(20);
    const auto limiter = std::make_shared<CountingLimiter>();
    config.limiter = limiter;
    const auto result = CommandTransport(config).Run({"echo", "42"}, "bob");
    if (unanswered != nullptr) *unanswered = limiter->unanswered;
    return result;
  };
  const std::string noise = "echo 'bash: /etc/profile.d/site.sh: Permission denied' >&2; ";
  const auto lost = ran(noise + "echo 'Connection to x closed by remote host.' >&2; exit 255");
  EXPECT_EQ(lost.outcome, Outcome::kUnknown);
  EXPECT_EQ(ran(noise + "exit 255").outcome, Outcome::kUnknown);
  const auto noisy = ran(noise + "echo welcome; exec \"$@\"");
  EXPECT_EQ(noisy.outcome, Outcome::kDone);
  EXPECT_EQ(noisy.out, "42\n") << "what a profile prints is no answer";
  const auto away = ran("echo 'ssh: connect to host x port 22: Connection refused' >&2; exit 255");
  EXPECT_EQ(away.outcome, Outcome::kNotBegun);
  EXPECT_FALSE(away.denied);
  int unanswered = -1;
  const auto kept_out =
      ran("echo 'bob@x: Permission denied (publickey).' >&2; exit 255", &unanswered);
  EXPECT_EQ(kept_out.outcome, Outcome::kNotBegun);
  EXPECT_TRUE(kept_out.denied) << "this user alone";
  EXPECT_EQ(unanswered, 0) << "the host is there for the others";
  std::filesystem::remove_all(folder);
}

TEST(CommandTransportTest, NothingBeginsAfterItsTime) {
  CommandTransport transport(ConfigOf("env"));
  const auto r = transport.Run({"true"}, "alice", "", CallLimiter::Clock::now());
  EXPECT_EQ(r.outcome, Outcome::kNotBegun);
  EXPECT_EQ(transport.calls(), 0);
}

TEST(CommandTransportTest, AUserWhoseNameWouldBeAnOptionIsRefused) {
  CommandTransport transport(ConfigOf("env"));
  for (const char* name : {"-oProxyCommand=id", "a b", "a;b", "$(id)", "a@b"})
    EXPECT_THROW(transport.Run({"true"}, name), CallFailed) << name;
}

// Two hosts: `there` is reached, from here nothing is begun unless `wrapper` can be started.
TEST(CommandTransportTest, WhatCannotBeginHereIsRunByTheHostThatHasTheCluster) {
  CommandTransport there(ConfigOf("env WHO=%u"));
  auto config = ConfigOf("/nosuchprogram");
  std::vector<bool> reports;
  config.other_host.call = [&](const RelayedCall& call) { return there.Relayed(call, {"sh"}); };
  config.other_host.report = [&](bool answered) { reports.push_back(answered); };
  CommandTransport here(config);
  const std::string bytes("a\0\xff\n", 4);
  const auto r = here.Run({"sh", "-c", "echo $WHO $1; cat; echo oops >&2; exit 3", "x", "it's"},
                          "bob", bytes);
  EXPECT_EQ(r.outcome, Outcome::kDone) << r.why;
  EXPECT_EQ(r.code, 3);
  EXPECT_EQ(r.out, "bob it's\n" + bytes);
  EXPECT_EQ(r.err, "oops\n");
  EXPECT_EQ(reports, std::vector<bool>{true});
}

TEST(CommandTransportTest, ACallerWhoseCallsAreMadeThereFirstGetsThemFromHereWhenTheyCannotBe) {
  CommandTransport there(ConfigOf("env WHERE=there"));
  auto config = ConfigOf("env WHERE=here");
  bool away = false;
  config.other_host.call = [&](const RelayedCall& call) {
    return away ? http::Response() : there.Relayed(call, {"sh"});
  };
  config.other_host.calls_first = [] { return true; };
  CommandTransport here(config);
  const auto where = [&] { return here.Run({"sh", "-c", "echo $WHERE"}, "bob").out; };
  EXPECT_EQ(where(), "here\n") << "the first one shows that it is reached from here";
  EXPECT_EQ(where(), "there\n");
  away = true;
  EXPECT_EQ(where(), "here\n");
}

TEST(CommandTransportTest, AnotherHostGetsNoOtherProgramAndNoOddUser) {
  CommandTransport there(ConfigOf("env"));
  const std::string sh("1\0sh\0", 5), user = "alice";
  const auto call = [&](const std::string& body, const std::string& whom) {
    return there.Relayed({"RUN", "", body, std::chrono::seconds(1), whom}, {"qstat", "qdel"});
  };
  EXPECT_EQ(call(sh, user).outcome, http::Outcome::kNotSent);
  EXPECT_EQ(call(sh, user).error, "another host may only run qdel, qstat here");
  EXPECT_EQ(call("5", user).outcome, http::Outcome::kNotSent) << "no words";
  EXPECT_THROW(call(std::string("1\0qstat\0", 8), "-oProxyCommand=id"), CallFailed);
  for (const std::string body : {"", "x", "99999999999999999999"})
    EXPECT_THROW(call(body, user), std::logic_error) << body;
}

}  // namespace
}  // namespace cigri::cluster
