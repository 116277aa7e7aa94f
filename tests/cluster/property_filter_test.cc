#include "cluster/property_filter.h"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

namespace cigri::cluster {
namespace {

bool Accepts(const std::string& text) {
  const std::map<std::string, std::string> resource{
      {"cluster", "luke"}, {"mem", "16000"}, {"gpu", "NO"}, {"empty", ""}};
  return PropertyFilter(text).Accepts([&](const std::string& name) {
    const auto it = resource.find(name);
    return it == resource.end() ? std::string() : it->second;
  });
}

TEST(PropertyFilterTest, ComparesAndCombinesAsOarDoes) {
  const struct {
    const char* text;
    bool want;
  } cases[] = {{"", true},
               {"cluster='luke'", true},
               {"cluster = \"froggy\"", false},
               {"cluster != 'froggy' AND mem >= 16000", true},
               {"mem > 9000", true},
               {"mem > '9000'", true},
               {"gpu='YES' or (cluster='luke' and mem<=16000)", true},
               {"not gpu='YES'", true},
               {"NOT (gpu = 'NO')", false},
               {"gpu <> 'NO' OR nosuch = 'x'", false},
               {"cluster in ('leia', 'luke')", true},
               {"cluster NOT IN ('leia','luke')", false},
               {"mem IN (8000,16000) and gpu in ('NO')", true},
               {"not mem in (8000, 9000)", true},
               {"empty = ''", true}};
  for (const auto& c : cases) EXPECT_EQ(Accepts(c.text), c.want) << c.text;
}

TEST(PropertyFilterTest, SaysWhereATextCannotBeRead) {
  for (const char* text : {"cluster", "cluster=", "='x'", "cluster='luke' mem=1", "(mem=1",
                           "cluster='luke", "cluster like 'l%'", "mem=1 and",
                           "mem in 1", "mem in ()", "mem in (1", "mem not = 1"}) {
    EXPECT_THROW(PropertyFilter{text}, std::runtime_error) << text;
  }
  EXPECT_THROW(PropertyFilter{std::string(100000, '(')}, std::runtime_error);
}

// Each went a step down in the tree, and a long row of them through the end of the stack: a user's
// campaign ended the API of all.
TEST(PropertyFilterTest, ARowOfComparisonsHasALimit) {
  const auto row = [](const std::string& first, const std::string& next, int n,
                      const std::string& end) {
    std::string text = first;
    for (int i = 1; i < n; ++i) text += next;
    return text + end;
  };
  EXPECT_TRUE(Accepts(row("empty = ''", " or mem=1", 1000, "")));
  for (const auto& text :
       {row("mem=1", " or mem=1", 400'000, ""), row("mem=1", " and mem=1", 400'000, ""),
        row("mem in (1", ", 1", 400'000, ")"), row("mem in ('1'", " '1'", 400'000, ")")})
    EXPECT_THROW(PropertyFilter{text}, std::runtime_error) << text.substr(0, 20);
}

}  // namespace
}  // namespace cigri::cluster
