// What the daemon of a local cluster answers, read.
#include "cluster/local_wire.h"

#include <gtest/gtest.h>

namespace cigri::cluster::local {
namespace {

TEST(LocalWireTest, AnAnswerThatIsNoneOfOursIsGarbage) {
  for (const char* body :
       {R"({"jobs":[],"missing":[1]})", R"({"jobs":[],"missing":[null]})", R"({"jobs":[{}]})",
        R"({"jobs":[],"resources":{"slots":1,"used":0,"local":-9223372036854775808,
            "waiting_local":1}})"})
    EXPECT_THROW(ReadAnswer(body), CallFailed) << body;
  EXPECT_THROW(ReadResources(R"({"slots":4294967297,"used":0,"local":0,"waiting_local":0})"),
               CallFailed);
}

}  // namespace
}  // namespace cigri::cluster::local
