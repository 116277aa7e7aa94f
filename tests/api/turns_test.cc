#include "api/submit/turns.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/support/await.h"

namespace cigri::api {
namespace {

TEST(TurnsTest, AUserWithManyWaitsForHimselfAndNotTheOthersForHim) {
  Turns turns(1);
  auto first = std::make_unique<Turns::Turn>(turns, "bob");
  std::vector<std::string> served;  // only who has the turn writes
  std::vector<std::jthread> threads;
  for (const char* user : {"bob", "bob", "bob", "ann"}) {
    threads.emplace_back([&served, &turns, user] {
      const Turns::Turn turn(turns, user);
      served.emplace_back(user);
    });
    const int waiting = static_cast<int>(threads.size());
    ASSERT_TRUE(test::Await([&] { return turns.waiting() == waiting; }));
  }
  first.reset();
  threads.clear();
  EXPECT_EQ(served, (std::vector<std::string>{"bob", "ann", "bob", "bob"}));
}

TEST(TurnsTest, SoManyAtOnceAndNoMore) {
  Turns turns(2);
  auto one = std::make_unique<Turns::Turn>(turns, "ann");
  const Turns::Turn two(turns, "ann");
  std::jthread third([&] { const Turns::Turn turn(turns, "bob"); });
  EXPECT_TRUE(test::Await([&] { return turns.waiting() == 1; }));
  one.reset();
  third.join();
  EXPECT_EQ(turns.waiting(), 0);
}

}  // namespace
}  // namespace cigri::api
