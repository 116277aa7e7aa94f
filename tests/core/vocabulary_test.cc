// The words of the field (docs/glossary.md), and none of those that were once
// used in their place.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace cigri {
namespace {

namespace fs = std::filesystem;

struct Retired {
  const char* words;        ///< "lane|lanes": lower case; a name is cut at its
                            ///< capitals and "_"
  const char* replacement;  ///< what to write
  /// Beginnings of the paths where the words have their usual meaning.
  std::vector<std::string> allowed = {};
};

const std::vector<Retired> kRetired = {
    {"lane|lanes", "placement"},
    {"tofix", "needs attention"},
    {"twin|twins", "duplicate"},
    {"stray|strays", "orphan"},
    {"sink|sinks",
     "black hole",
     // a sink of bytes or of log lines
     {"src/http/", "src/api/", "src/core/log.cc", "tools/common/", "tools/gridsub/",
      "tools/gridstat/"}},
    {"wish|wishes", "request"},
    {"parcel|parcels", "payload"},
    {"ledger|ledgers", "allocation state"},
    {"law|laws", "conservation of tasks; distribution"},
    {"fold|folds|folded|folding", "apply status updates"},
    {"told", "reported, notified, published"},
    {"beside", "next to, besides"},
    {"anew", "again"},
    {"for ever", "indefinitely"},
    {"misspelt", "mistyped; command not found"},
    {"mend|mends|mending", "fix"},
    {"goes again|go again", "is retried"},
    {"by itself|by themselves", "automatically, on its own"},
    {"people|person|persons", "user, operator", {"examples/"}},
    {"probation", "half-open; black hole"},
    {"proved|proven|unproven", "verified"},
    {"first ten", "canary jobs"},
    {"slow sweep|sweep|sweeps", "poll; full reconciliation", {"tools/gridsub/args.cc"}},
    {"keep waiting", "pending kept"},
    {"wipe|wiped|wipes|flood|floods", "trim; excess pending jobs", {"scripts/clusters/"}},
    {"shut until|shut for|shuts", "circuit breaker: open"},
    {"booked|booking|books", "classified, counted"},
    {"seat|seats", "stage"},
    {"saying the|sentence|sentences", "message"},
    {"scene|scenes", "fixture"},
    {"trouble|troubles", "error, block reason"},
    {"fence|fences|fenced", "revoke"},
    {"set aside", "excluded, drained"},
    {"human span|parse span|spans", "duration"},
    {"standing|standings", "usage summary"},
    {"too short lives", "survival"},
    {"gap hold", "reservation"},
    {"cannot carry|require carried", "exceeds limit"},
    {"passed by", "bypassed"},
    {"rare text", "small optional string"},
    {"try again at|try again in s", "retry at"},
    {"in words for|with words for", "as a readable message"},
    {"at its begin", "at the start"},
    {"draft|drafts", "upload"},
    {"dead almighty", "failed leader"},
    {"free of charge", "uncharged"},
};

// "LaneUse of a lane's" -> " lane use of a lane s ".
std::string Words(const std::string& line) {
  std::string out = " ";
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto c = static_cast<unsigned char>(line[i]);
    if (!std::isalnum(c)) {
      if (out.back() != ' ') out += ' ';
      continue;
    }
    const bool after_small = i > 0 && std::islower(static_cast<unsigned char>(line[i - 1]));
    const bool before_small = i + 1 < line.size() && i > 0 &&
                              std::isupper(static_cast<unsigned char>(line[i - 1])) &&
                              std::islower(static_cast<unsigned char>(line[i + 1]));
    if (std::isupper(c) && (after_small || before_small) && out.back() != ' ') out += ' ';
    out += static_cast<char>(std::tolower(c));
  }
  return out.back() == ' ' ? out : out + ' ';
}

struct Phrase {
  std::string words;  ///< with a blank at both ends
  const Retired* retired;
};
// By their first words, so that a line is read once.
using Phrases = std::unordered_map<std::string, std::vector<Phrase>>;

Phrases AllPhrases() {
  Phrases all;
  for (const auto& retired : kRetired) {
    std::istringstream list(retired.words);
    for (std::string words; std::getline(list, words, '|');)
      all[words.substr(0, words.find(' '))].push_back({' ' + words + ' ', &retired});
  }
  return all;
}

// The retired words in `words`, as Words() made them.
std::vector<const Retired*> Found(const Phrases& phrases, const std::string& words) {
  std::vector<const Retired*> found;
  for (std::size_t at = 0, end = 0; (end = words.find(' ', at + 1)) != std::string::npos;
       at = end) {
    const auto it = phrases.find(words.substr(at + 1, end - at - 1));
    if (it == phrases.end()) continue;
    for (const auto& phrase : it->second)
      if (words.compare(at, phrase.words.size(), phrase.words) == 0)
        found.push_back(phrase.retired);
  }
  return found;
}

bool Allowed(const Retired& retired, const std::string& path) {
  for (const auto& begin : retired.allowed)
    if (path.compare(0, begin.size(), begin) == 0) return true;
  return false;
}

std::vector<fs::path> Sources() {
  const fs::path root = CIGRI_SOURCE_DIR;
  std::vector<fs::path> files = {root / "README.md", root / "check", root / "quickstart"};
  for (const char* folder : {"src", "tools", "sql", "scripts", "docs"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
      if (entry.is_regular_file() && entry.path().extension() != ".png")
        files.push_back(entry.path());
  return files;
}

TEST(VocabularyTest, NoRetiredWordComesBack) {
  const Phrases phrases = AllPhrases();
  std::size_t lines = 0;
  for (const auto& file : Sources()) {
    const std::string path = fs::relative(file, CIGRI_SOURCE_DIR).string();
    std::ifstream in(file);
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number, ++lines;
      for (const Retired* retired : Found(phrases, Words(line)))
        EXPECT_TRUE(Allowed(*retired, path))
            << path << ":" << number << ": write \"" << retired->replacement << "\" for \""
            << retired->words << "\": " << line;
    }
  }
  EXPECT_GT(lines, 10000u) << "the search finds nothing";
}

TEST(VocabularyTest, NamesAreCutIntoTheirWords) {
  EXPECT_EQ(Words("LaneUse lane_use kRESTLane x"), " lane use lane use k rest lane x ");
  const Phrases phrases = AllPhrases();
  EXPECT_EQ(Found(phrases, Words("a LaneBook, and it goes again.")).size(), 2u);
  EXPECT_TRUE(Found(phrases, Words("planes go on again")).empty());
}

// Each term once, in alphabetical order: the page is searched by eye, too.
TEST(VocabularyTest, TheGlossaryIsSorted) {
  std::ifstream in(fs::path(CIGRI_SOURCE_DIR) / "docs/glossary.md");
  std::string last;
  int terms = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.compare(0, 2, "| ") != 0 || line.compare(0, 7, "| term ") == 0) continue;
    std::string term = line.substr(2, line.find(" |", 2) - 2);
    for (char& c : term) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    EXPECT_LT(last, term);
    last = term;
    ++terms;
  }
  EXPECT_GT(terms, 60);
}

}  // namespace
}  // namespace cigri
