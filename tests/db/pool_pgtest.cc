// The pool of sessions that many threads share.
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "tests/support/await.h"
#include "tests/support/pg.h"

namespace cigri {
namespace {

class PoolPgTest : public test::PgTest {};

// Whether a thread of ours waits.
bool Waits(pid_t thread) {
  std::ifstream in("/proc/self/task/" + std::to_string(thread) + "/stat");
  return std::string(std::istreambuf_iterator<char>(in), {}).find(") S ") != std::string::npos;
}

// One user's requests without a pause held all sessions of the API, and another's waited for their
// luck: 10 times as long as his own work.
TEST_F(PoolPgTest, WhoCameFirstIsServedFirst) {
  db::Pool pool(conninfo(), "test", 1);
  for (int i = 0; i < 20; ++i) {
    std::atomic<pid_t> waiting{0};
    std::atomic<bool> served{false};
    auto session = std::make_unique<db::Pool::Lease>(pool.Get());
    std::jthread other([&] {
      waiting = gettid();
      const auto mine = pool.Get();
      served = true;
    });
    ASSERT_TRUE(test::Await([&] { return waiting != 0 && Waits(waiting); }));
    session.reset();
    const auto again = pool.Get();
    EXPECT_TRUE(served) << i << ": who asks again at once overtakes who waits";
  }
}

// Each session that came back woke all who waited.
TEST_F(PoolPgTest, OnlyWhoIsServedIsWoken) {
  constexpr int kWaiters = 24;
  db::Pool pool(conninfo(), "test", 1);
  auto session = std::make_unique<db::Pool::Lease>(pool.Get());
  std::atomic<pid_t> waiting[kWaiters]{};
  std::atomic<long> most{0};
  const auto wait = [&](int i) {
    const auto switches = [] {
      rusage usage{};
      getrusage(RUSAGE_THREAD, &usage);
      return usage.ru_nvcsw;
    };
    const long before = switches();
    waiting[i] = gettid();
    const auto mine = pool.Get();
    const long now = switches() - before;
    for (long seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
  };
  {
    std::vector<std::jthread> waiters;
    for (int i = 0; i < kWaiters; ++i) {
      waiters.emplace_back(wait, i);
      ASSERT_TRUE(test::Await([&] { return waiting[i] != 0 && Waits(waiting[i]); }));
    }
    session.reset();
  }
  EXPECT_LT(most, kWaiters / 2) << "times that one of them ran before it was served";
}

// A server that is frozen costs whoever waits for it its time-outs, each caller anew.
TEST_F(PoolPgTest, WhileTheDatabaseIsAwayOneThreadWaitsForAllCallers) {
  const int silent = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  ASSERT_EQ(bind(silent, reinterpret_cast<const sockaddr*>(&name), size), 0);
  ASSERT_EQ(listen(silent, 64), 0);
  ASSERT_EQ(getsockname(silent, reinterpret_cast<sockaddr*>(&name), &size), 0);
  const std::string port = std::to_string(ntohs(name.sin_port));
  const auto servers = "host=127.0.0.1,127.0.0.1 port=" + port + "," + port + " connect_timeout=2";
  const auto before = std::chrono::steady_clock::now();
  EXPECT_THROW(db::Connection(servers, "test"), Fatal);
  const auto alone = std::chrono::steady_clock::now() - before;
  db::Pool pool(servers, "test", 4);
  const auto asked = [&] {
    const auto begin = std::chrono::steady_clock::now();
    std::string said;
    try {
      pool.Get();
    } catch (const Fatal& e) {
      EXPECT_EQ(e.code(), kExitUnavailable);
      EXPECT_NE(e.hint().find("running jobs go on"), std::string::npos) << "a user reads it";
      said = e.what();
    }
    return std::pair(std::chrono::steady_clock::now() - begin, said);
  };
  const auto first = asked().first;
  EXPECT_LT(first, alone / 2) << "it waits for each silent server";
  for (int i = 0; i < 3; ++i) {
    const auto [time, said] = asked();
    EXPECT_LT(time, first / 2);
    EXPECT_NE(said.find("the database has been unavailable since "), std::string::npos) << said;
  }
  ::close(silent);
}

TEST_F(PoolPgTest, CallersGoOnWhenTheDatabaseIsThere) {
  const auto folder = std::filesystem::temp_directory_path() / ("cigri-pool-" + RandomHex(6));
  const auto host = conninfo().substr(conninfo().find("host=") + 5);
  if (host[0] != '/') GTEST_SKIP() << "the test server has no socket in a folder";
  db::Pool pool(ReplaceAll(conninfo(), host.substr(0, host.find(' ')), folder.string()), "pooled",
                2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW(pool.Get(), Fatal);
    std::atomic<int> have{0}, most{0};
    const auto is_back = [&] {
      try {
        auto mine = pool.Get();
        const int now = ++have;
        for (int before = most; before < now && !most.compare_exchange_weak(before, now);) {
        }
        db::Tx(*mine).Raw("SELECT pg_sleep(0.02)");
        --have;
        return true;
      } catch (const Fatal&) {
        return false;
      }
    };
    {
      std::vector<std::jthread> callers;
      for (int k = 0; k < 8; ++k) callers.emplace_back([&] { EXPECT_TRUE(test::Await(is_back)); });
      std::filesystem::create_directory_symlink(host.substr(0, host.find(' ')), folder);
    }
    EXPECT_LE(most, 2) << "more than the pool has room for";
    std::filesystem::remove(folder);
    auto session = pool.Get();
    Sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pooled'");
    const auto use = [&] {
      db::Tx tx(*session);
      tx.Raw("SELECT 1");
    };
    EXPECT_THROW(use(), std::exception);
  }
}

}  // namespace
}  // namespace cigri
