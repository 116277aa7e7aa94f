// What every page of the manual promises to its reader: a purpose, an example, short lines, links
// that lead somewhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "core/limits.h"
#include "core/text.h"
#include "tests/docs/page.h"

namespace cigri::test {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

constexpr std::size_t kColumns = 100, kOpening = 25;

std::string Name(const fs::path& page) { return fs::relative(page, CIGRI_SOURCE_DIR).string(); }

// Of UTF-8: bytes that begin a character.
std::size_t Columns(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

// A table row cannot be broken, nor can a command.
bool MayBeLong(const PageLine& line) { return line.code || StartsWith(line.text, "|"); }

/// The first line below the title that is not blank.
std::string Purpose(const std::vector<PageLine>& lines) {
  for (std::size_t i = 1; i < lines.size(); ++i)
    if (!lines[i].text.empty()) return lines[i].code ? "" : lines[i].text;
  return "";
}

bool HasExampleInItsOpening(const std::vector<PageLine>& lines) {
  const auto end = lines.begin() + static_cast<std::ptrdiff_t>(std::min(kOpening, lines.size()));
  return std::any_of(lines.begin(), end, [](const PageLine& line) { return line.code; });
}

/// What the links of a page point to, without those to other hosts.
Lines LinksOf(const std::string& page) {
  static const std::regex kLink(R"(\]\(([^)\s]+)\))");
  Lines links;
  for (const auto& line : LinesOf(page)) {
    if (line.code) continue;
    for (std::sregex_iterator it(line.text.begin(), line.text.end(), kLink), end; it != end; ++it)
      if ((*it)[1].str().find("://") == std::string::npos) links.push_back((*it)[1]);
  }
  return links;
}

// As GitHub makes it from a heading: lower case, blanks to hyphens, other signs left out.
std::string Anchor(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    if (c == ' ') anchor += '-';
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_')
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return anchor;
}

bool HasAnchor(const fs::path& page, const std::string& anchor) {
  for (const auto& line : LinesOf(ReadPage(page)))
    if (!line.code && StartsWith(line.text, "#") &&
        Anchor(line.text.substr(line.text.find_first_not_of("# "))) == anchor)
      return true;
  return false;
}

TEST(PagesTest, EachOpensWithItsTitleAndItsPurpose) {
  ASSERT_GT(Pages().size(), 20u) << "the search finds nothing";
  for (const auto& page : Pages()) {
    const auto lines = LinesOf(ReadPage(page));
    EXPECT_TRUE(StartsWith(lines.at(0).text, "# ")) << Name(page);
    const std::string purpose = Purpose(lines);
    EXPECT_TRUE(!purpose.empty() && purpose.find_first_of("#|-*>") != 0 && purpose.size() > 20)
        << Name(page) << ": say what the page is for, in a sentence, before all else: " << purpose;
  }
}

TEST(PagesTest, EachShowsAnExampleWithinItsFirst25Lines) {
  for (const auto& page : Pages())
    EXPECT_TRUE(HasExampleInItsOpening(LinesOf(ReadPage(page)))) << Name(page);
}

TEST(PagesTest, NoLineOfTextIsOver100Columns) {
  for (const auto& page : Pages()) {
    int number = 0;
    for (const auto& line : LinesOf(ReadPage(page))) {
      ++number;
      if (MayBeLong(line)) continue;
      EXPECT_LE(Columns(line.text), kColumns) << Name(page) << ":" << number;
    }
  }
}

TEST(SqlTest, NoLineIsOver100Columns) {
  std::size_t seen = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(CIGRI_SOURCE_DIR) / "sql")) {
    if (entry.path().extension() != ".sql") continue;
    std::ifstream in(entry.path());
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      ++seen;
      EXPECT_LE(Columns(line), kColumns) << Name(entry.path()) << ":" << ++number;
    }
  }
  EXPECT_GT(seen, 1000u) << "the search finds nothing";
}

TEST(PagesTest, EveryLinkLeadsToAFileAndItsHeading) {
  auto pages = Pages();
  pages.push_back(fs::path(CIGRI_SOURCE_DIR) / "CHANGELOG.md");
  std::size_t seen = 0;
  for (const auto& page : pages)
    for (const auto& link : LinksOf(ReadPage(page))) {
      ++seen;
      const auto hash = std::min(link.find('#'), link.size());
      const fs::path file = hash == 0 ? page : page.parent_path() / link.substr(0, hash);
      EXPECT_TRUE(fs::exists(file)) << Name(page) << " links to " << link;
      if (hash == link.size()) continue;
      EXPECT_TRUE(HasAnchor(file, link.substr(hash + 1))) << Name(page) << " links to " << link;
    }
  EXPECT_GT(seen, 50u) << "the search finds nothing";
}

// docs/cigri3-faults.md: a fault whose test has gone is not excluded any more.
TEST(PagesTest, EachFaultOfCigri3HasATestThatExists) {
  static const std::regex kNamed("`([A-Z]\\w+\\.\\w+)`");
  static const std::regex kTest(R"(TEST(?:_F|_P)?\((\w+), (\w+)\))");
  std::set<std::string> tests;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(CIGRI_SOURCE_DIR) / "tests")) {
    if (entry.path().extension() != ".cc") continue;
    const std::string text = ReadPage(entry.path());
    for (std::sregex_iterator it(text.begin(), text.end(), kTest), end; it != end; ++it)
      tests.insert((*it)[1].str() + "." + (*it)[2].str());
  }
  std::size_t seen = 0;
  for (const auto& line : LinesOf(ReadPage(fs::path(CIGRI_SOURCE_DIR) / "docs/cigri3-faults.md"))) {
    if (!StartsWith(line.text, "| ") || StartsWith(line.text, "| fault")) continue;
    std::sregex_iterator it(line.text.begin(), line.text.end(), kNamed), end;
    EXPECT_NE(it, end) << "no test in: " << line.text;
    for (; it != end; ++it, ++seen)
      EXPECT_EQ(tests.count((*it)[1]), 1u) << (*it)[1] << ": there is no such test";
  }
  EXPECT_GT(seen, 40u) << "the search finds nothing";
}

TEST(PagesTest, EveryPageOfTheManualIsReachedFromTheReadme) {
  Lines reached{(fs::path(CIGRI_SOURCE_DIR) / "README.md").string()};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const fs::path page = reached[i];
    for (const auto& link : LinksOf(ReadPage(page))) {
      const auto file = page.parent_path() / link.substr(0, link.find('#'));
      const auto path = file.lexically_normal().string();
      if (file.extension() == ".md" &&
          std::find(reached.begin(), reached.end(), path) == reached.end())
        reached.push_back(path);
    }
  }
  for (const auto& page : Pages())
    EXPECT_NE(std::find(reached.begin(), reached.end(), page.lexically_normal().string()),
              reached.end())
        << Name(page);
}

TEST(LimitsTest, ThePageHasTheTableOfTheCode) {
  const std::string page = ReadPage(fs::path(CIGRI_SOURCE_DIR) / "docs/security.md");
  for (const auto& limit : limits::kAll)
    EXPECT_NE(page.find("| `" + std::string(limit.name) + "` | " + std::to_string(limit.value) +
                        " | " + limit.unit + " | " + limit.scope + " | " + limit.answer + " |\n"),
              std::string::npos)
        << limit.name;
}

TEST(ConsoleExamplesTest, CommandsHaveTheOutputBelowThem) {
  const auto examples = ConsoleExamplesOf(
      "# X\n\n```\n$ not this\n```\n\n```console\n$ one\nout 1\n\nout 2\n$ cat <<E\n> $ two\n> "
      "E\n```\n"
      "$ nor this\n");
  ASSERT_EQ(examples.size(), 2u);
  EXPECT_EQ(examples[0].line, 8);
  EXPECT_EQ(examples[0].command, "one");
  EXPECT_EQ(examples[0].output, (Lines{"out 1", "", "out 2"}));
  EXPECT_EQ(examples[1].command, "cat <<E\n$ two\nE");
  EXPECT_EQ(examples[1].output, Lines{});
}

TEST(ConsoleExamplesTest, ThreeDotsStandForTextAndForLines) {
  const struct {
    Lines shown, output;
    bool same;
  } cases[] = {
      {{}, {}, true},
      {{}, {"more"}, false},
      {{"a"}, {"a  "}, true},
      {{"a"}, {"a b"}, false},
      {{"a"}, {}, false},
      {{"..."}, {}, true},
      {{"...", "z"}, {"x", "y", "z"}, true},
      {{"...", "z"}, {"x", "z", "y"}, false},
      {{"a", "..."}, {"a", "b", "c"}, true},
      {{"up in ... s"}, {"up in 0.9 s"}, true},
      {{"up in ... s"}, {"is up in 0.9 s"}, false},
      {{"up in ... s"}, {"up in 0.9 s."}, false},
      {{"... a ... b"}, {"1 a 2 b"}, true},
      {{"... a ... b"}, {"1 b 2 a"}, false},
      {{"a...a"}, {"a"}, false},
  };
  for (const auto& c : cases)
    EXPECT_EQ(IsAsShown(c.shown, c.output), c.same)
        << Join(c.shown, "/") << " against " << Join(c.output, "/");
}

}  // namespace
}  // namespace cigri::test
