// The pool of sessions that many threads share.
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

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

}  // namespace
}  // namespace cigri
