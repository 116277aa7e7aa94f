// docs/policies.md must name what an operator can set and what a reason can say.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "core/text.h"
#include "policy/config.h"
#include "policy/reason.h"

namespace cigri::policy {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = CIGRI_SOURCE_DIR;

std::string Read(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string Page() { return Read(kRoot / "docs/policies.md"); }

std::vector<std::string> Parts(const std::string& cell) {
  std::vector<std::string> parts;
  for (const auto& part : Split(cell, ','))
    if (!Trim(part).empty()) parts.emplace_back(Trim(part));
  return parts;
}

/// Rows of the last table: ids, files, tests, keys, how far.
std::vector<std::vector<std::string>> Features() {
  const std::string page = Page();
  std::vector<std::vector<std::string>> rows;
  for (const auto& line : Split(page.substr(page.find("## Where each feature is")), '\n')) {
    if (!StartsWith(line, "| ") || StartsWith(line, "| ids")) continue;
    auto cells = Split(line, '|');
    rows.emplace_back(cells.begin() + 1, cells.end());
  }
  return rows;
}

/// Names of all suites and all tests there are.
std::set<std::string> Tests() {
  std::set<std::string> names;
  const std::regex test(R"((?:TEST|TEST_F|RC_GTEST_PROP)\(\s*(\w+),\s*(\w+))");
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "tests")) {
    if (entry.path().extension() != ".cc") continue;
    const std::string text = Read(entry.path());
    for (std::sregex_iterator it(text.begin(), text.end(), test), end; it != end; ++it) {
      names.insert((*it)[1]);
      names.insert((*it)[2]);
    }
  }
  return names;
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

TEST(PoliciesPage, HasEveryIdOfTheFiveDocumentsOnce) {
  std::map<std::string, int> seen;
  const std::regex range(R"(([A-Z]+)-(\d+)(?:\.\.(\d+))?)");
  for (const auto& row : Features()) {
    for (const auto& part : Parts(row.at(0))) {
      std::smatch m;
      ASSERT_TRUE(std::regex_match(part, m, range)) << part;
      const int first = std::stoi(m[2]), last = m[3].matched ? std::stoi(m[3]) : first;
      for (int n = first; n <= last; ++n) ++seen[m[1].str() + "-" + std::to_string(n)];
    }
  }
  const std::map<std::string, int> documents = {
      {"TECH", 27}, {"GRID", 46}, {"FBS", 33}, {"CIG", 58}, {"FAIR", 24}};
  std::size_t all = 0;
  for (const auto& [name, last] : documents) {
    for (int n = 1; n <= last; ++n)
      EXPECT_EQ(seen[name + "-" + std::to_string(n)], 1) << name << "-" << n;
    all += static_cast<std::size_t>(last);
  }
  EXPECT_EQ(seen.size(), all) << "an id that is in none of them";
}

TEST(PoliciesPage, NamesFilesTestsAndKeysThatThereAre) {
  const auto tests = Tests();
  std::set<std::string> keys;
  for (const auto& key : KnownKeys()) keys.insert(key.key);
  const std::set<std::string> states = {"grid", "function", "part", "no"};
  for (const auto& row : Features()) {
    ASSERT_GE(row.size(), 5u) << row.at(0);
    for (const auto& file : Parts(row[1]))
      EXPECT_TRUE(fs::exists(kRoot / "src" / file) || fs::exists(kRoot / file)) << file;
    for (const auto& test : Parts(row[2])) EXPECT_EQ(tests.count(test), 1u) << test;
    const std::string far(Trim(row[4]));
    const std::string word = far.substr(0, far.find_first_of(";:,"));
    EXPECT_EQ(states.count(word), 1u) << far;
    const bool there = word == "grid" || word == "part";
    EXPECT_TRUE(!there || !Parts(row[1]).empty()) << row[0];
    EXPECT_TRUE(word == "grid" || far != word) << row[0] << ": say why";
    // A key of the policy stands alone in its quotes; others say whose they are.
    if (row[3].find('(') != std::string::npos) continue;
    for (const auto& key : Parts(row[3])) {
      const bool ours = key.front() == '`' && !StartsWith(key, "`gridadmin");
      EXPECT_TRUE(!ours || keys.count(key.substr(1, key.size() - 2)) == 1) << key;
    }
  }
}

}  // namespace
}  // namespace cigri::policy
