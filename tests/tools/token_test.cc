// Where the tools send a user's token.
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/error.h"
#include "tools/common/api.h"

namespace cigri::tools {
namespace {

class TokenTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("CIGRI_TOKEN", "secret", 1); }
  void TearDown() override { unsetenv("CIGRI_TOKEN"); }
};

TEST_F(TokenTest, IsNotSentInClearTextToAnotherHost) {  // measured/security.md 27
  for (const char* url : {"http://10.0.0.1:8080", "http://grid.example", "http://127.example:80",
                          "http://localhost.example"})
    try {
      Api api{url};
      ADD_FAILURE() << url;
    } catch (const Fatal& e) {
      EXPECT_EQ(e.code(), kExitConfig) << url;
      EXPECT_NE(std::string(e.what()).find("CIGRI_TOKEN"), std::string::npos) << e.what();
    }
}

TEST_F(TokenTest, MayGoToLoopbackTlsAndTheSocket) {
  for (const char* url : {"http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1",
                          "https://grid.example", "unix:/run/cigri/api.sock"})
    EXPECT_NO_THROW(Api{url}) << url;
}

TEST_F(TokenTest, WithoutOneHttpIsAllowed) {
  unsetenv("CIGRI_TOKEN");
  EXPECT_NO_THROW(Api{"http://grid.example"});
}

}  // namespace
}  // namespace cigri::tools
