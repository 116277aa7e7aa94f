// The completion that is shipped, run by a real bash against the real tools.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "core/text.h"

namespace cigri {
namespace {

// The first line that `script` prints when the completion is loaded.
std::string Bash(const std::string& words) {
  const std::string script = "PATH=" CIGRI_BIN_DIR ":$PATH; source " CIGRI_SOURCE_DIR
                             "/tools/completion/cigri.bash; " + words + "; echo \"${COMPREPLY[*]}\"";
  FILE* pipe = popen(("bash -c " + ShellQuote(script)).c_str(), "r");
  std::string out;
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  EXPECT_EQ(pclose(pipe), 0);
  return std::string(Trim(out));
}

// What bash offers for `word` after `before` on a command line of `tool`.
std::string Offered(const std::string& tool, const std::string& word, const std::string& before) {
  return Bash("_cigri " + tool + " '" + word + "' '" + before + "'");
}

// What bash offers for the last word of `line`, where `answers` stand in for tools that ask a grid.
std::string OfferedAt(const std::string& line, const std::string& answers = "true") {
  return Bash(answers + "; COMP_WORDS=(" + line + "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _cigri " +
              "\"${COMP_WORDS[0]}\" \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"");
}

TEST(CompletionTest, OffersTheOptionsThatTheToolHas) {
  EXPECT_EQ(Offered("gridstat", "--job", "gridstat"), "--job --joblog");
  EXPECT_EQ(Offered("griddel", "--pu", "griddel"), "--purge");
}

TEST(CompletionTest, OffersTheWordsOfAnOption) {
  EXPECT_EQ(Offered("gridstat", "f", "--params"), "failed");
  EXPECT_EQ(Offered("gridnotify", "", "-s"), "low medium high");
  EXPECT_EQ(Offered("gridmod", "lowe", "-p"), "lowest");
}

TEST(CompletionTest, OffersCommandsAndTheCommandsBelowThem) {
  EXPECT_EQ(OfferedAt("gridadmin clu"), "cluster");
  EXPECT_EQ(OfferedAt("gridadmin token ''"), "list add rotate revoke");
  EXPECT_EQ(OfferedAt("gridadmin drain x --re"), "--reason");
  EXPECT_EQ(OfferedAt("cigri d"), "down doctor");
}

TEST(CompletionTest, OffersClustersAndKeysOfTheGrid) {
  const std::string clusters = "gridclusters() { printf '1: alpha\\n2: beta\\n'; }";
  EXPECT_EQ(OfferedAt("gridadmin drain alp", clusters), "alpha");
  EXPECT_EQ(OfferedAt("gridadmin cluster set b", clusters), "beta");
  EXPECT_EQ(OfferedAt("gridclusters be", clusters), "beta");
  EXPECT_EQ(OfferedAt("gridsub --set wall"), "walltime=");
  const std::string help = "gridadmin() { [ \"$1 $2\" = 'policy show' ] && echo 'policy = \"fifo\"'; }";
  EXPECT_EQ(OfferedAt("gridadmin policy set pol", help), "policy=");
}

}  // namespace
}  // namespace cigri
