// The pool of sessions that many threads share.
#include <atomic>
#include <thread>

#include "tests/support/pg.h"

namespace cigri {
namespace {

class PoolPgTest : public test::PgTest {};

// One user's requests without a pause held all sessions of the API, and another's waited for their
// luck: 10 times as long as his own work.
TEST_F(PoolPgTest, WhoCameFirstIsServedFirst) {
  constexpr int kGreedy = 4, kSessions = 2;
  db::Pool pool(conninfo(), "test", kSessions);
  std::atomic<int> leases{0};
  std::vector<std::jthread> greedy;
  for (int i = 0; i < kGreedy; ++i)
    greedy.emplace_back([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        auto session = pool.Get();
        ++leases;
        db::Tx(*session).Raw("SELECT 1");
      }
    });
  for (int i = 0; i < 100; ++i) {
    const int before = leases;
    auto session = pool.Get();
    // Those who waited before, and those who had their session and had not counted it.
    EXPECT_LE(leases - before, kGreedy + kSessions) << i;
  }
}

}  // namespace
}  // namespace cigri
