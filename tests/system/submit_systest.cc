// Campaigns as users submit them, from the command line to what their jobs wrote.
#include <signal.h>

#include "tests/system/grid.h"

namespace cigri::test {
namespace {

class SubmitTest : public SystemTest {};

TEST_F(SubmitTest, AProgramAndItsValuesRunOnceEachAndTheExitCodeIsZero) {
  const auto done = grid().Run({"gridsub", "--wait", "--", "sh", "-c", "echo \"$1\" >> out", "job",
                                "{}", ":::", "a", "b", "c", "d", "e"});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_EQ(grid().SortedLines("out"), (Words{"a", "b", "c", "d", "e"}));
}

}  // namespace
}  // namespace cigri::test
