// The completion that is shipped, run by a real bash against the real tools.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "core/text.h"

namespace cigri {
namespace {

// What bash offers for `word` after `before` on a command line of `tool`.
std::string Offered(const std::string& tool, const std::string& word, const std::string& before) {
  const std::string script = "PATH=" CIGRI_BIN_DIR ":$PATH; source " CIGRI_SOURCE_DIR
                             "/tools/completion/cigri.bash; _cigri " +
                             tool + " '" + word + "' '" + before + "'; echo \"${COMPREPLY[*]}\"";
  FILE* pipe = popen(("bash -c " + ShellQuote(script)).c_str(), "r");
  std::string out;
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  EXPECT_EQ(pclose(pipe), 0);
  return std::string(Trim(out));
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

}  // namespace
}  // namespace cigri
