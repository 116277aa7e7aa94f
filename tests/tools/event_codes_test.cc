// Every event code has a runbook line, and no code is used that has none.
#include "core/event_codes.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "core/text.h"

namespace cigri {
namespace {

namespace fs = std::filesystem;

const std::string kDocs = std::string(CIGRI_SOURCE_DIR) + "/docs/events.md";

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string Table() {
  std::string out = "| code | class | opened by | meaning | what to do |\n|---|---|---|---|---|\n";
  for (const auto& e : kEventCodes)
    out += "| " + std::string(e.code) + " | " + std::string(e.cls) + " | " +
           std::string(e.opened_by) + " | " + std::string(e.meaning) + " | " +
           std::string(e.what_to_do) + " |\n";
  return out;
}

TEST(EventCodesTest, TheRunbookInDocsIsThisTable) {
  std::string docs = ReadFile(kDocs);
  const auto begin = docs.find("| code |");
  ASSERT_NE(begin, std::string::npos);
  if (std::getenv("CIGRI_WRITE_DOCS") != nullptr)
    std::ofstream(kDocs) << docs.substr(0, begin) + Table();
  EXPECT_EQ(ReadFile(kDocs).substr(begin), Table())
      << "docs/events.md differs from src/core/event_codes.h: run this test with "
         "CIGRI_WRITE_DOCS=1";
}

TEST(EventCodesTest, NoCodeStandsTwiceAndEachSaysWhatToDo) {
  std::set<std::string_view> seen;
  for (const auto& e : kEventCodes) {
    EXPECT_TRUE(seen.insert(e.code).second) << e.code;
    EXPECT_FALSE(e.meaning.empty() || e.what_to_do.empty()) << e.code;
  }
}

// What looks like a code and is none: words of HTTP, settings that are handed on by name.
const std::set<std::string> kNoEvents = {"PROBATION",  // a word for placement.held
                                         "RESTORED",   // of the view placement_blocks
                                         "USAGE",
                                         "DELETE",
                                         "HEAD",
                                         "OPTIONS",
                                         "PATCH",
                                         "POST",
                                         "HTTP_X_CIGRI_USER",
                                         "DEFAULT_JOB_RESOURCES",
                                         "DEFAULT_JOB_WALLTIME",
                                         "DEFAULT_CLUSTERS",
                                         "NULL",
                                         "STDERR_TAIL",
                                         "LOG_JOBS",
                                         "SELECT"};

// Words in quotes of one file: those of reasons (docs/policies.md) are no events.
std::set<std::string> ReasonCodes() {
  static const std::regex kWord("\"([A-Z][A-Z0-9_]{3,})\"");
  std::set<std::string> words;
  const std::string text = ReadFile(fs::path(CIGRI_SOURCE_DIR) / "src/policy/reason.cc");
  for (std::sregex_iterator it(text.begin(), text.end(), kWord), end; it != end; ++it)
    words.insert((*it)[1]);
  return words;
}

// The folders that open events or end jobs. Words on lines that read the configuration or the
// environment are settings.
std::set<std::string> CodesUsed() {
  static const std::regex kWord("[\"']([A-Z][A-Z0-9]{3,}(_[A-Z0-9]+)*)[\"']");
  static const std::regex kSetting(
      "[Cc]onfig|Get\\(|GetInt|GetBool|GetDouble|getenv|Has\\(|setenv|Key");
  std::set<std::string> used;
  for (const char* folder :
       {"src/updator", "src/runner", "src/nikita", "src/almighty", "src/metascheduler",
        "src/predictor", "src/api", "src/module", "sql/queries"}) {
    const fs::path root = fs::path(CIGRI_SOURCE_DIR) / folder;
    if (!fs::exists(root)) continue;
    for (const auto& file : fs::recursive_directory_iterator(root)) {
      if (!file.is_regular_file()) continue;
      for (const auto& line : Split(ReadFile(file.path()), '\n')) {
        if (std::regex_search(line, kSetting)) continue;
        for (std::sregex_iterator it(line.begin(), line.end(), kWord), end; it != end; ++it)
          if (!StartsWith((*it)[1].str(), "CIGRI_")) used.insert((*it)[1]);
      }
    }
  }
  return used;
}

TEST(EventCodesTest, EveryCodeInTheSourcesHasARunbookLine) {
  std::set<std::string> known = kNoEvents;
  for (const auto& e : kEventCodes) known.insert(std::string(e.code));
  known.merge(ReasonCodes());
  const auto used = CodesUsed();
  EXPECT_TRUE(used.count("EXIT_ERROR")) << "the search finds nothing: fix it";
  for (const auto& code : used)
    EXPECT_TRUE(known.count(code))
        << code << ": add it to src/core/event_codes.h with its runbook line, or, when "
        << "it is no event, to kNoEvents here";
}

// Documented and raised by nobody would be a promise that is not kept.
TEST(EventCodesTest, EveryCodeIsRaisedSomewhere) {
  std::string text;
  for (const char* folder : {"src", "sql/queries", "tools"})
    for (const auto& file : fs::recursive_directory_iterator(fs::path(CIGRI_SOURCE_DIR) / folder))
      if (file.is_regular_file() && file.path().filename() != "event_codes.h")
        text += ReadFile(file.path());
  for (const auto& e : kEventCodes) {
    if (e.opened_by == "operator") continue;  // by their own words
    const std::string code(e.code);
    EXPECT_TRUE(text.find('"' + code + '"') != text.npos ||
                text.find('\'' + code + '\'') != text.npos)
        << code;
  }
}

}  // namespace
}  // namespace cigri
