// /openapi.json against the answers of a real grid.
#include "tests/system/grid.h"

namespace cigri::test {
namespace {

class OpenApiTest : public SystemTest {};

TEST_F(OpenApiTest, EveryRouteIsDescribedAndAnswersAsItIsDescribed) {
  const int done = grid().Submit(Arguments{"--wait", "--", "echo {}", ":::", "a", "b"});
  const int failed = grid().Submit(Arguments{"--", "echo bad >&2; exit 3", ":::", "a", "b"});
  ASSERT_TRUE(grid().AwaitOver(failed));
  // What if: of a decision with a campaign in treatment.
  const int waits = grid().Submit(Arguments{"--", "sleep {}", ":::", "300", "301"});
  ASSERT_TRUE(Await([&] {
    const auto plans = grid().Get("/admin/plans/history?limit=1000")["items"];
    return !plans.empty() && !plans.back()["snapshot"]["campaigns"].empty() &&
           plans.back()["snapshot"]["campaigns"].back()["id"] == waits;
  }));
  const auto checked =
      grid().Run({"/usr/bin/python3", "-B", CIGRI_SOURCE_DIR "/tests/system/openapi.py",
                  grid().home() + "/run/api.sock", std::to_string(done), std::to_string(failed)});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
}

TEST_F(OpenApiTest, EveryRouteHasASummary) {
  const json document = grid().Get("/openapi.json");
  EXPECT_EQ(document["openapi"], "3.1.0");
  int routes = 0;
  for (const auto& [path, methods] : document["paths"].items())
    for (const auto& [method, operation] : methods.items()) {
      EXPECT_NE(operation["summary"], "")
          << method << " " << path << " is not in src/api/openapi/descriptions.cc";
      ++routes;
    }
  EXPECT_GT(routes, 100);
}

}  // namespace
}  // namespace cigri::test
