// cigri.conf: no key is accepted that nothing reads, and the keys of CiGri 3 are explained.
#include "core/config.h"

#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

#include "core/config_check.h"
#include "core/error.h"

namespace cigri {
namespace {

namespace fs = std::filesystem;
const fs::path kRoot = CIGRI_SOURCE_DIR;

std::string FileText(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string WarningsOf(const std::string& text) {
  std::string all;
  for (const auto& warning : Config::Parse(text, "cigri.conf").Warnings()) all += warning + "\n";
  return all;
}

// Root in a folder of another user ran that user's NOTIFICATIONS_COMMAND.
TEST(ConfigTest, AFileInTheFolderThatWeAreInIsNotTaken) {
  unsetenv("CIGRICONFFILE");
  unsetenv("CIGRICONFDIR");
  char folder[] = "/tmp/cigri-conf-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const auto before = fs::current_path();
  fs::current_path(folder);
  std::ofstream("cigri.conf") << "NOTIFICATIONS_COMMAND = \"/tmp/theirs\"\n";
  EXPECT_EQ(Config::Load().Get("NOTIFICATIONS_COMMAND"), "");
  setenv("CIGRICONFDIR", folder, 1);
  EXPECT_EQ(Config::Load().file(), std::string(folder) + "/cigri.conf") << "it is named here";
  unsetenv("CIGRICONFDIR");
  fs::current_path(before);
  fs::remove_all(folder);
}

// `cigri up` looks at the values before it starts programs that end at one that is wrong.
TEST(ConfigTest, EachValueThatAProgramReadsAsANumberIsLookedAtBefore) {
  const std::string checked = FileText(kRoot / "src/core/config_check.cc");
  const std::regex call(R"(Get(Int|Double|Bool)\(\s*"([A-Z_]+)\")");
  const std::regex whole(R"r(GetInt\(\s*"([A-Z_]+)",[^,()]*(?:,\s*(\d+))?(?:,\s*(\d+))?\))r");
  int calls = 0, bounds = 0;
  for (const char* folder : {"src", "tools"})
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      if (entry.path().extension() != ".cc") continue;
      const std::string text = FileText(entry.path());
      for (std::sregex_iterator it(text.begin(), text.end(), call), end; it != end; ++it, ++calls)
        EXPECT_NE(checked.find("\"" + (*it)[2].str() + "\""), std::string::npos)
            << entry.path() << " reads " << (*it)[2];
      // The same bounds as there: 0 and any when the call names none.
      for (std::sregex_iterator it(text.begin(), text.end(), whole), end; it != end;
           ++it, ++bounds) {
        const auto least = (*it)[2].matched ? (*it)[2].str() : "0",
                   most = (*it)[3].matched ? (*it)[3].str() : "kAny";
        EXPECT_NE(checked.find("{\"" + (*it)[1].str() + "\", " + least + ", " + most + "}"),
                  std::string::npos)
            << entry.path() << ": " << (*it)[0];
      }
    }
  EXPECT_GT(calls, 15);
  EXPECT_GT(bounds, 12);
  EXPECT_NO_THROW(CheckValues(Config::LoadFile(kRoot / "systemd/cigri.conf")));
  EXPECT_THROW(CheckValues(Config::Parse("LEADER_TERM = \"20000000000\"", "f")), Fatal);
}

TEST(ConfigTest, AnAddressToListenOnHasAPortAndBracketsAroundColons) {
  const auto read = [](const std::string& text) {
    const auto address = ParseListenAddress(text);
    return address ? address->host + " " + std::to_string(address->port) : "";
  };
  EXPECT_EQ(read("127.0.0.1:8080"), "127.0.0.1 8080");
  EXPECT_EQ(read("grid.example.org:0"), "grid.example.org 0");
  EXPECT_EQ(read("[::1]:8080"), "::1 8080");
  EXPECT_EQ(read("[fe80::1%eth0]:8080"), "fe80::1%eth0 8080");
  for (const char* text :
       {"", "8080", ":8080", "::1:8080", "[::1]", "[]:1", "a:b", "a:65536", "a:1x"}) {
    EXPECT_EQ(read(text), "") << text;
    const std::string line = "API_LISTEN = \"" + std::string(text) + "\"";
    try {
      CheckValues(Config::Parse("\n" + line, "f"));
      ADD_FAILURE() << line;
    } catch (const Fatal& e) {
      EXPECT_EQ(e.what(), "f:2: " + line + " is no address");
    }
  }
}

TEST(ConfigTest, AKeyOfCigri3WithoutEffectIsReportedWithWhatHasItHere) {
  EXPECT_EQ(WarningsOf("STRESS_FACTOR = 0.8\nNOTIFICATIONS_XMPP_PORT = 25\nAPI_BASE = /x\n"),
            "cigri.conf:2: NOTIFICATIONS_XMPP_PORT of CiGri 3 has no effect here; instead: "
            "NOTIFICATIONS_COMMAND: a program that sends\n"
            "cigri.conf:1: STRESS_FACTOR of CiGri 3 has no effect here; instead: gridadmin cluster "
            "set NAME stress_limit=NUMBER\n");
  for (const auto& [key, instead] : KeysWithoutEffect())
    EXPECT_NE(WarningsOf(std::string(key) + " = 1").find(instead), std::string::npos) << key;
}

TEST(ConfigTest, ASlipInAKeyIsReportedWithTheKeyThatWasMeant) {
  EXPECT_EQ(WarningsOf("SAFETY_TIK = 5"),
            "cigri.conf:1: unknown key SAFETY_TIK, did you mean SAFETY_TICK?\n");
}

TEST(ConfigTest, EveryKeyThatIsAcceptedIsReadSomewhere) {
  const std::string config = FileText(kRoot / "src/core/config.cc");
  const auto begin = config.find("kKnownKeys = {");
  ASSERT_NE(begin, std::string::npos);
  std::string code = config.substr(0, begin) + config.substr(config.find("Config Config::Parse"));
  for (const char* folder : {"src", "tools"})
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder))
      if (entry.path().extension() == ".cc" && entry.path().filename() != "config.cc")
        code += FileText(entry.path());
  for (const auto& key : KnownKeys())
    EXPECT_NE(code.find('"' + key + '"'), std::string::npos) << key << " is read by nobody";
}

TEST(ConfigTest, TheManualHasEveryKey) {
  std::set<std::string> words;
  for (const auto& entry : fs::directory_iterator(kRoot / "docs")) {
    if (entry.path().extension() != ".md") continue;
    std::string word;
    for (const char c : FileText(entry.path()))
      if (std::isupper(static_cast<unsigned char>(c)) != 0 || c == '_')
        word += c;
      else
        words.insert(std::exchange(word, ""));
  }
  for (const auto& key : KnownKeys()) EXPECT_EQ(words.count(key), 1U) << key;
}

TEST(ConfigTest, TheManualHasTheSameTable) {
  const std::string page = FileText(kRoot / "docs/next-to-cigri3.md");
  for (const auto& [key, instead] : KeysWithoutEffect()) {
    const std::string row = "| `" + std::string(key) + "` | " + instead + " |\n";
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace cigri
