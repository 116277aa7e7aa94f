#include "jdl/resources.h"

#include <gtest/gtest.h>

namespace cigri::jdl {
namespace {

TEST(ParseResourcesTest, SlotsAreTheProductDownToTheUnit) {
  const struct {
    const char* text;
    const char* unit;
    int n;
    bool exact;
  } cases[] = {{"/resource_id=1", "resource_id", 1, true},
               {"/nodes=2/core=4", "core", 8, true},
               {"core=3", "core", 3, true},
               {"/nodes=2", "core", 2, false},
               {"/core=2/thread=2", "core", 2, true},
               {"{gpu='YES'}/gpu=1+/core=2", "core", 3, false},
               {" /nodes=1 / core=4 ", "core", 4, true},
               {"{mem>64}/nodes=1/{disk='s'}core=2", "core", 2, true}};
  for (const auto& c : cases) {
    const Slots slots = ParseResources(c.text, c.unit);
    EXPECT_EQ(slots.n, c.n) << c.text << ": " << slots.problem;
    EXPECT_EQ(slots.exact, c.exact) << c.text;
  }
}

TEST(ParseResourcesTest, NonsenseIsRefusedWithAMessage) {
  for (const char* text : {"", "/", "core", "core=", "core=0", "core=-1", "core=ALL", "core=1.5",
                           "/nodes=1,walltime=1:0:0", "/walltime=3", "{x", "core=1:00:00", "a b=1",
                           "/nodes=1000000/core=1000000", "core=99999999999", "=3", "core=1+"})
    EXPECT_NE(ParseResources(text, "core").problem, "") << text;
}

}  // namespace
}  // namespace cigri::jdl
