// How commands are run for schedulers without a REST API, and what their ends mean.
#include "cluster/command_transport.h"

#include <gtest/gtest.h>

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

TEST(CommandTransportTest, OnlyACommandThatCannotHaveBegunIsReportedAsNotBegun) {
  const auto outcome = [](const std::string& wrapper) {
    return CommandTransport(ConfigOf(wrapper)).Run({"true"}, "alice").outcome;
  };
  EXPECT_EQ(outcome("/nosuchprogram"), Outcome::kNotBegun);
  EXPECT_EQ(outcome("env"), Outcome::kDone);
  EXPECT_EQ(outcome("false"), Outcome::kUnknown) << "it says nothing";
  EXPECT_EQ(outcome("echo"), Outcome::kUnknown) << "an answer without its end";
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

}  // namespace
}  // namespace cigri::cluster
