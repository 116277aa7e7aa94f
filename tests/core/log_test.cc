// Lines of the log, whatever the texts in them are.
#include "core/log.h"

#include <gtest/gtest.h>

namespace cigri::log {
namespace {

// measured/security.md 17: a request wrote forged lines.
TEST(LogTest, ControlCharactersMakeNoLineAndMoveNoCursor) {
  Init("log_test");
  ::testing::internal::CaptureStderr();
  info("POST {}", "/x\n2026-01-01T00:00:00 I api: forged\x1b[2J\x7f");
  const std::string line = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(line.find("/x\\x0a2026-01-01T00:00:00 I api: forged\\x1b[2J\\x7f\n"), std::string::npos)
      << line;
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

}  // namespace
}  // namespace cigri::log
