// docs/policies.md must name what an operator can set and what a reason can say.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "policy/config.h"
#include "policy/reason.h"

namespace cigri::policy {
namespace {

std::string Page() {
  std::ifstream file(CIGRI_SOURCE_DIR "/docs/policies.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(PoliciesPage, ListsEveryKeyEveryReasonAndEveryPreset) {
  const std::string page = Page();
  for (const auto& key : KnownKeys())
    EXPECT_NE(page.find("| `" + key.key + "` |"), std::string::npos) << key.key;
  for (const auto code : AllCodes())
    EXPECT_NE(page.find("| `" + std::string(ToString(code)) + "` |"), std::string::npos)
        << ToString(code);
  for (const auto& preset : Presets())
    EXPECT_NE(page.find("`" + preset.name + "`"), std::string::npos) << preset.name;
}

}  // namespace
}  // namespace cigri::policy
