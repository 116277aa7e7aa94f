#include "tools/common/wait.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/gridsub/fake_api.h"
#include "tools/common/api.h"

namespace cigri::tools {
namespace {

TEST(ProgressTextTest, OneLineSaysHowFarAndUntilWhen) {
  const auto progress = nlohmann::json::parse(R"({"total":16,"done":11,"failed":1,"running":2,
    "clusters":[{"name":"alpha","done":6,"running":1},{"name":"beta","done":5,"running":1},
                {"name":"gamma","done":0,"running":0}],
    "ends_in":[1.2,3.4],"state":"in_treatment"})");
  EXPECT_EQ(ProgressText(progress), "11/16 done  alpha 6  beta 5  1 failed  ends in 2-4 s");
}

TEST(ProgressTextTest, WhatIsMissingIsLeftOut) {
  EXPECT_EQ(ProgressText(nlohmann::json::parse(R"({"total":4,"done":0,"state":"paused"})")),
            "0/4 done  paused");
}

TEST(ProgressTextTest, LongerDurationsAreWrittenForReaders) {
  EXPECT_EQ(ProgressText(nlohmann::json::parse(R"({"total":4,"done":1,"ends_in":[50,3700]})")),
            "1/4 done  ends in 50 s to 1 h 1 min");
  EXPECT_EQ(ProgressText(nlohmann::json::parse(R"({"total":4,"done":1,"ends_in":[7201,7202]})")),
            "1/4 done  ends in 2 h");
}

TEST(SeveralApisTest, ARequestThatWasNotTakenGoesToTheNextOne) {
  gridsub::FakeApi fake;
  Api api("/nowhere/api.sock, unix:" + fake.socket());
  EXPECT_EQ(api.Post("/campaigns", {{"x", 1}}).status, 201);
  EXPECT_EQ(api.address(), "unix:" + fake.socket());
  EXPECT_EQ(api.Get("/clusters").status, 200) << "it stays with the one that answers";
  EXPECT_EQ(fake.Calls(), "POST /campaigns, GET /clusters");
}

TEST(SeveralApisTest, ToolsWaitForOneOfThemAndThenNameAll) {
  std::string socket;
  {
    gridsub::FakeApi gone;
    socket = gone.socket();
  }
  Api api("unix:/nowhere/a.sock,unix:" + socket);
  const auto begin = std::chrono::steady_clock::now();
  try {
    api.Get("/clusters");
    FAIL() << "there is no API";
  } catch (const Fatal& e) {
    EXPECT_EQ(e.code(), kExitUnavailable);
    EXPECT_NE(std::string(e.what()).find("unix:/nowhere/a.sock, unix:" + socket), std::string::npos)
        << e.what();
  }
  EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_THROW(Api("unix:/nowhere/a.sock").Get("/clusters"), Fatal) << "one is not waited for";
}

// Of a host that is paused: the kernel takes the connection, and nobody answers.
int GivenSilent(const std::string& socket) {
  const int silent = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  socket.copy(name.sun_path, sizeof name.sun_path - 1);
  EXPECT_EQ(bind(silent, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  EXPECT_EQ(listen(silent, 64), 0);
  return silent;
}

TEST(SeveralApisTest, AReadingToolLeavesOneThatIsSilent) {
  gridsub::FakeApi fake;
  const std::string socket = fake.folder() + "/silent.sock";
  const int silent = GivenSilent(socket);
  Api api("unix:" + socket + ",unix:" + fake.socket());
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(api.Get("/clusters").status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  EXPECT_EQ(api.address(), "unix:" + fake.socket());
  close(silent);
}

// Measured in storms: the tool waited until a paused one went on, up to a minute; then it left those
// that were only slow, again and again, for 8.6 s.
TEST(SeveralApisTest, OneThatIsSlowIsWaitedForAndNotThoseThatAreSilent) {
  const gridsub::FakeApi folder;
  const std::string socket = folder.folder() + "/silent.sock", path = folder.folder() + "/slow.sock";
  const int silent = GivenSilent(socket);
  http::GuardServer slow;
  slow.Get("/grid", [](const httplib::Request&, httplib::Response& answer) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    answer.set_content("{}", "application/json");
  });
  std::string why;
  ASSERT_TRUE(slow.BindUnix(path, 0600, &why)) << why;
  std::thread thread([&] { slow.Serve(); });
  slow.AwaitServing();
  const auto took = [](const std::string& addresses) {
    Api api(addresses);
    const auto begin = std::chrono::steady_clock::now();
    int status = 0;
    EXPECT_NO_THROW(status = api.Get("/grid").status);
    EXPECT_EQ(status, 200);
    EXPECT_EQ(api.address().substr(api.address().rfind('/')), "/slow.sock");
    return std::chrono::steady_clock::now() - begin;
  };
  const auto alone = took("unix:" + path);
  EXPECT_LT(took("unix:" + socket + ",unix:" + socket + ",unix:" + path), alone * 4);
  const auto copies = "unix:" + path + ",unix:" + path;
  EXPECT_LT(took(copies + "," + copies), alone * 2);
  slow.Stop();
  thread.join();
  close(silent);
}

// They have one database: while it is away the one that says so speaks for those that say nothing.
TEST(SeveralApisTest, WithoutADatabaseAReaderIsToldInTime) {
  gridsub::FakeApi fake;
  fake.other["/grid"] = {503, {{"message", "the database has been unavailable since 10:00:00"}}};
  const std::string socket = fake.folder() + "/silent.sock";
  const int silent = GivenSilent(socket);
  for (const auto& apis : {"unix:" + socket + ",unix:" + socket + ",unix:" + fake.socket(),
                           "unix:" + fake.socket() + ",unix:" + socket + ",unix:" + socket}) {
    Api api(apis);
    const auto begin = std::chrono::steady_clock::now();
    const auto answer = api.Get("/grid");
    EXPECT_EQ(answer.status, 503);
    EXPECT_NE(answer.text.find("unavailable since"), std::string::npos) << answer.text;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30))
        << "the limit of a request, which a silent one would take";
  }
  close(silent);
}

// griddel took it for done, and gridevents -f for fixed; the others asked for a report.
TEST(ApiTest, ALogInPageIsNoApi) {
  const gridsub::FakeApi folder;
  const std::string path = folder.folder() + "/proxy.sock";
  http::GuardServer proxy;
  const auto page = [](const httplib::Request&, httplib::Response& answer) {
    answer.set_content("<html>Who are you?</html>", "text/html");
  };
  proxy.Get("/.*", page), proxy.Post("/.*", page), proxy.Delete("/.*", page);
  std::string why;
  ASSERT_TRUE(proxy.BindUnix(path, 0600, &why)) << why;
  std::thread thread([&] { proxy.Serve(); });
  proxy.AwaitServing();
  Api api("unix:" + path);
  const std::function<void()> calls[] = {
      [&] { api.Get("/clusters"); },
      [&] {
        api.Post("/campaigns", {{"x", 1}});
      },
      [&] { api.Delete("/campaigns/1"); },
      [&] { api.Stream("/campaigns/1/joblog", [](std::string_view) { return true; }); }};
  for (const auto& call : calls) try {
      call();
      ADD_FAILURE() << "it is no answer of an API";
    } catch (const Fatal& e) {
      EXPECT_EQ(e.code(), kExitUnavailable);
      EXPECT_EQ(std::string(e.what()),
                "what answers at unix:" + path + " is no API of CiGri (a log-in page?)");
    }
  proxy.Stop();
  thread.join();
}

TEST(SummaryTextTest, ReportsWhatBecameOfAll) {
  EXPECT_EQ(SummaryText(nlohmann::json::parse(
                R"({"total":16,"done":2,"not_run":14,"preempted":1,"state":"terminated"})")),
            "2 of 16 done, 14 not run, 1 preempted and run again");
}

}  // namespace
}  // namespace cigri::tools
