#include "api/admin/cluster_settings.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "api/http/message.h"

namespace cigri::api {
namespace {

using nlohmann::json;

std::string Refusal(const json& body) {
  try {
    CheckClusterSettings(body);
    return "";
  } catch (const ApiError& e) {
    return std::string(e.what()) + " | " + e.hint;
  }
}

// Most of them stood nowhere.
TEST(ClusterSettingsTest, TheManualExplainsEachSetting) {
  std::ifstream file(std::string(CIGRI_SOURCE_DIR) + "/docs/clusters.md");
  const std::string manual((std::istreambuf_iterator<char>(file)), {});
  const auto begin = manual.find("## Settings of a cluster"), end = manual.find("\n## ", begin);
  ASSERT_NE(begin, manual.npos);
  for (const auto& setting : ClusterSettings())
    EXPECT_NE(manual.substr(begin, end - begin).find("`" + setting + "`"), manual.npos) << setting;
}

// F16: PostgreSQL's words about a constraint; hours that closed a cluster for ever.
TEST(ClusterSettingsTest, WhatIsWrongIsNamedWithWhatIsRight) {
  const struct {
    json body;
    const char* words;
  } cases[] = {
      {{{"power", -3}}, "power cannot be \"-3\" | write a whole number of at least 1"},
      {{{"max_calls_per_min", "abc"}}, "max_calls_per_min cannot be \"abc\""},
      {{{"max_waiting", std::string("5\0", 2)}}, "max_waiting cannot be"},
      {{{"max_waiting", 1.5}}, "max_waiting cannot be \"1.5\" | write a whole number"},
      {{{"queue_s", -1}}, "write a number of at least 0"},
      {{{"hours", "22:00-06:00"}}, "is not like 20-8, Sat or Mon-Fri 20-8 | write 22-6"},
      {{{"mode", "open"}}, "possible: observe, limited, unlimited"},
  };
  for (const auto& c : cases)
    EXPECT_NE(Refusal(c.body).find(c.words), std::string::npos) << Refusal(c.body);
  EXPECT_EQ(Refusal({{"power", 50}, {"queue_s", 2.5}, {"hours", "Mon-Fri 20-8,Sat,Sun"},
                     {"max_running", "12"}, {"max_waiting", nullptr}, {"mode", "observe"}}),
            "");
}

TEST(ClusterSettingsTest, ANameIsLettersDigitsAndSomeSigns) {
  EXPECT_NO_THROW(CheckClusterName("luke-2.site_a"));
  for (const char* name : {"", "bad name", "a/b", "\xff"})
    EXPECT_THROW(CheckClusterName(name), ApiError) << name;
}

}  // namespace
}  // namespace cigri::api
