// What reaches a program: every case is really run by /bin/sh.
#include "jdl/command.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "core/text.h"
#include "jdl/shell_text.h"

namespace cigri::jdl {
namespace {

// The output of `command`, read by /bin/sh as a job's shell reads it.
std::string Sh(const std::string& command) {
  FILE* pipe = popen(("exec /bin/sh -c " + ShellQuote(command) + " 2>&1").c_str(), "r");
  std::string out;
  std::array<char, 4096> buffer{};
  for (std::size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    out.append(buffer.data(), n);
  pclose(pipe);
  return out;
}

std::string Output(const std::string& exec_file, const std::vector<std::string>& values,
                   const std::vector<std::string>& columns = {}) {
  return Sh(CommandLine(exec_file, kFormatValues, columns, EncodeValues(values), 6));
}

const std::vector<std::string> kNasty = {"plain",
                                         "",
                                         " ",
                                         "two words",
                                         "it's",
                                         "\"",
                                         "$HOME",
                                         "`id`",
                                         "$(id)",
                                         "a;b",
                                         "a&b|c",
                                         "#x",
                                         "~",
                                         "*",
                                         "\\",
                                         "\\n",
                                         "new\nline",
                                         "é",
                                         "caf\xE9",
                                         "\xFF\xC3\xA9",
                                         "-n",
                                         "if",
                                         "A=b",
                                         "2",
                                         "{}",
                                         "{1}",
                                         "%s",
                                         "!x",
                                         "\t",
                                         "'\\''",
                                         "'; echo broken; '",
                                         "\"; echo broken; \"",
                                         "trailing\\",
                                         "\x7f",
                                         "a\rb"};

TEST(CommandLineTest, AValueReachesTheProgramByteForByteWhereverItsPlaceholderStands) {
  for (const auto& value : kNasty) {
    EXPECT_EQ(Output("printf '<%s>'", {value}), "<" + value + ">") << "appended: " << value;
    EXPECT_EQ(Output("printf '<%s>' {}", {value}), "<" + value + ">") << "plain: " << value;
    EXPECT_EQ(Output("printf '<%s>' 'a {} b'", {value}), "<a " + value + " b>") << value;
    EXPECT_EQ(Output("printf '<%s>' \"a {} b\"", {value}), "<a " + value + " b>") << value;
    EXPECT_EQ(Output("printf '<%s>' x{}y", {value}), "<x" + value + "y>") << value;
    EXPECT_EQ(Output("printf '<%s>' \"$(printf '%s.' {})\"", {value}), "<" + value + ".>") << value;
    EXPECT_EQ(Output("H=1; printf '<%s>' $H{}", {value}), "<1" + value + ">") << value;
    EXPECT_EQ(Output("(printf '<%s>' {})", {value}), "<" + value + ">") << value;
  }
}

TEST(CommandLineTest, AValueIsNeverAnOperatorOrAKeyword) {
  EXPECT_EQ(Output("echo {}>/dev/null; echo end", {"2"}), "end\n");
  EXPECT_NE(Output("{}", {"if"}).find("not found"), std::string::npos);
  EXPECT_NE(Output("{} echo x", {"A=b"}).find("not found"), std::string::npos);
}

TEST(CommandLineTest, PlaceholdersAreThoseOfGnuParallel) {
  const std::vector<std::string> values = {"dir/a.b.txt", "w x"};
  const struct {
    const char* exec_file;
    const char* want;
  } cases[] = {{"printf '<%s>' {}", "<dir/a.b.txt><w x>"},
               {"printf '<%s>' {2} {1}", "<w x><dir/a.b.txt>"},
               {"printf '<%s>' {1.}", "<dir/a.b>"},
               {"printf '<%s>' {1/}", "<a.b.txt>"},
               {"printf '<%s>' {1//}", "<dir>"},
               {"printf '<%s>' {1/.}", "<a.b>"},
               {"printf '<%s>' {/}", "<a.b.txt><w x>"},
               {"printf '<%s>' {2//}", "<.>"},
               {"printf '<%s>' {#}", "<7>"},
               {"printf '<%s>' {file/.} {n}", "<a.b><w x>"},
               {"printf '<%s>' \\{} {1}", "<{}><dir/a.b.txt>"},
               {"printf '<%s>' {unknown} {1}", "<{unknown}><dir/a.b.txt>"}};
  for (const auto& c : cases)
    EXPECT_EQ(Output(c.exec_file, values, {"file", "n"}), c.want) << c.exec_file;
}

TEST(CommandLineTest, BracesThatAreNoPlaceholderStayWithTheProgram) {
  EXPECT_EQ(Output("printf 'a b\\n' | awk '{print $2}' #", {"x"}), "b\n");
  EXPECT_EQ(Placeholders("awk '{print $1}' {} ${X} {0}", {}), std::vector<std::string>{"{}"});
}

// The time that filling `text` takes.
template <typename Fill>
double Seconds(const Fill& fill) {
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    const auto began = std::chrono::steady_clock::now();
    fill();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    least = std::min(least, took.count());
  }
  return least;
}

// Each opening brace looked for its end through the whole text: 300 kB of them kept a runner at
// work for all tasks of its clusters.
TEST(CommandLineTest, ATextOfBracesIsReadOnce) {
  const auto seconds = [](std::size_t braces) {
    const std::string text = "true #" + std::string(braces, '{');
    return Seconds([&] { EXPECT_EQ(FillText(text, {}, {"a"}), text); });
  };
  EXPECT_LT(seconds(800'000) / seconds(100'000), 30) << "64 when it grows as the square";
}

// Each `case` looked for quotes around it through all that is open.
TEST(CommandLineTest, ATextOfParenthesesIsReadOnce) {
  const auto seconds = [](int n) {
    std::string text = "true {} " + std::string(static_cast<std::size_t>(n), '(');
    for (int i = 0; i < n; ++i) text += " case ";
    return Seconds([&] { EXPECT_EQ(Placeholders(text, {}).size(), 1u); });
  };
  EXPECT_LT(seconds(16'000) / seconds(2'000), 30) << "64 when it grows as the square";
}

// Each word in braces was compared with the name of each column.
TEST(CommandLineTest, ManyColumnsAreNotLookedThroughForEachWord) {
  const auto seconds = [](int n) {
    std::vector<std::string> columns;
    std::string text = "true {c0} ";
    for (int i = 0; i < n; ++i) {
      columns.push_back("c" + std::to_string(i));
      text += "{d" + std::to_string(i) + "}";
    }
    return Seconds([&] { EXPECT_EQ(Placeholders(text, columns).size(), 1u); });
  };
  EXPECT_LT(seconds(16'000) / seconds(2'000), 30) << "64 when it grows as the square";
}

TEST(CommandLineTest, AJdlLineIsReadOnceByTheShellAsInCigri3) {
  EXPECT_EQ(CommandLine("./fit.sh {}", kFormatLine, {}, "a01 --in 'x y' $HOME", 3),
            "./fit.sh {} a01 --in 'x y' $HOME");
  EXPECT_EQ(Sh(CommandLine("printf '<%s>'", kFormatLine, {}, "'x y' $((1+1)) \\$", 0)),
            "<x y><2><$>");
}

TEST(CommandLineTest, ALineThatIsNoRowIsOneValue) {
  EXPECT_EQ(Sh(CommandLine("printf '<%s>' {}", kFormatValues, {}, "12", 0)), "<12>");
  EXPECT_EQ(ValuesProblem("[\"a\"]", 1), "");
  for (const char* bad : {"", "12", "[1]", "[[\"a\"]]", "[\"a\"", "{}", "[\"a\",\"b\"]"})
    EXPECT_NE(ValuesProblem(bad, 1), "") << bad;
  EXPECT_NE(ValuesProblem("[\"a\\u0000\"]", 1), "");
}

// \u4088 came out as bytes of nothing, so that the row was another one when it was written again.
TEST(CommandLineTest, ARowThatIsNoUtf8HasCharactersBeyondItsBytes) {
  const std::vector<std::string> values = {"\xE4\x82\x88\xC7", "\xC3\xA9"};
  const auto read = DecodeValues("[\"\\u4088\xC7\",\"\xC3\xA9\"]");
  EXPECT_EQ(read, values);
  EXPECT_EQ(DecodeValues(EncodeValues(read)), values);
}

// An apostrophe in a comment made all behind it a text in quotes, and values were not quoted there.
TEST(CommandLineTest, ACommentIsNoTextInQuotesAndHasNoPlaceholders) {
  for (const auto& value : kNasty) {
    const std::string want = "<" + value + ">";
    EXPECT_EQ(Output("# don't\nprintf '<%s>' {}", {value}), want) << value;
    EXPECT_EQ(Output("true # \"don't` {}\nprintf '<%s>' {}", {value}), want) << value;
    EXPECT_EQ(Output("true;#'\\\nprintf '<%s>' {}", {value}), want) << value;
    EXPECT_EQ(Output("printf '<%s>' \"$(#'\nprintf '%s.' {})\"", {value}), "<" + value + ".>");
    EXPECT_EQ(Output("cat >/dev/null <<A <<-\\B\nit's\nA\n\"\n\tB\nprintf '<%s>' {}", {value}),
              want)
        << value;
    EXPECT_EQ(Output("printf '%s' $((1<<2)); printf '<%s>' {}", {value}), "4" + want) << value;
  }
  for (const char* no_comment : {"printf '<%s>' a#'b {}'", "printf '<%s>' \\ #'b {}'",
                                 "printf '<%s>' {}#'b {}'", "printf '<%s>' \"#\"'b {}'"})
    EXPECT_NE(Output(no_comment, {"v"}).find("b v>"), std::string::npos) << no_comment;
}

// Within "${ }" and $(( )) quotes do not quote: '$(touch x)' as a value was run.
TEST(CommandLineTest, AValueStaysLiteralNextToWhatTheShellExpands) {
  for (const auto& value : kNasty) {
    const std::string want = "<" + value + ">";
    for (const char* exec_file :
         {"printf '<%s>' ${u:-{}}", "printf '<%s>' \"${u:-}{}\"", "printf '<%s>' \"${u:-\"\"}{}\"",
          "u=\"${u:-\"}\"}\"; printf '<%s>' {}", "u=${u:-a #'b'}; printf '<%s>' {}",
          "u=\"${u:-it's}\"; printf '<%s>' \"{}\"", "u=$((1 << 2)); printf '<%s>' {}",
          "( (printf '<%s>' {}) )", "[ a = b ] || printf '<%s>' {}",
          "case x in (x) printf '<%s>' {};; esac", "case x in x) printf '<%s>' {};; esac",
          "u=$(case x in x) echo;; esac); printf '<%s>' \"{}\"",
          "printf '<%s>' \"$u$( (printf %s '') )$((1 - 1))\"{} | sed 's/<0/</'"})
      EXPECT_EQ(Output(exec_file, {value}), want) << exec_file;
    const auto pid = Output("printf '%s\\n' \"$$({})\"", {value});
    EXPECT_EQ(pid.substr(pid.find('(')), "(" + value + ")\n") << value;
  }
}

TEST(TemplateTest, AValueWhereNoQuotesQuoteIsRefused) {
  const struct {
    const char *exec_file, *why;
  } cases[] = {{"echo \"${y-{}}\"", "\"${ }\""},
               {"f=\"${OUT:-\"{}\"}\"; echo \"$f\"", "\"${ }\""},
               {"echo \"${a:-${b:-{}}}\"", "\"${ }\""},
               {"echo $(( {} + 1 ))", "$(( ))"},
               {"echo \"$(( (2) + {} ))\"", "$(( ))"},
               {"x=\"$(case a in *) echo \"{}\";; esac)\"", "behind a case"},
               {"echo $'it\\'s' {}", "behind a case"},
               {"echo \"$[ 1 ]\" $[ {} ]", "$["},
               {"echo ${x[{}]}", "place of numbers"},
               {"echo ${x:{}:1}", "place of numbers"},
               {"(( {} > 1 )) && ./x", "place of numbers"},
               {"for ((i = 0; i < {}; i++)); do ./x; done", "place of numbers"},
               {"((echo ')'); echo {})", "or (("},
               {"a[{}]=1", "[ ]="},
               {"a=([1]=x [{}]=2)", "[ ]="},
               {"echo ${name}", "the placeholder is {name}"},
               {"echo \"${1}\"", "the placeholder is {1}"}};
  for (const auto& c : cases)
    EXPECT_NE(TemplateProblem(c.exec_file, {"name"}).find(c.why), std::string::npos)
        << c.exec_file << ": " << TemplateProblem(c.exec_file, {"name"});
}

TEST(TemplateTest, AValueWithinAHereDocumentIsRefused) {
  for (const char* bad : {"cat <<E\n{}\nE", "cat <<'E' x\n{}\nE\n", "cat <<-E\n\t{}\n\tE",
                          "cat <<E\n{}", "cat << \"E F\" # it's\nE\n{}\nE F",
                          "x=\"$(cat <<E\nit's {}\nE\n)\"", "cat <<A; cat <<B\nA\n{}\nB\n"})
    EXPECT_NE(TemplateProblem(bad, {}).find("here-document"), std::string::npos) << bad;
  for (const char* good : {"cat <<E\nx\nE\necho {}", "echo {} <<E\nit's\nE", "echo '<<E'\necho {}",
                           "echo $((1 << 2))\necho {}", "cat <<A <<B\nA\nB\necho {}",
                           "echo \"<<E\"\necho {}", "cat <<<x\necho {}", "# <<E\necho {}"})
    EXPECT_EQ(TemplateProblem(good, {}), "") << good;
}

TEST(TemplateTest, AValueBehindWhatBashComputesIsTaken) {
  for (const char* good :
       {"for ((i = 0; i < (2); i++)); do ./x {} $i; done", "echo $((1 + 2)) {}",
        "x=${a:1:2} y=${a[1]} ./x {}", "echo ${x:-{}} ${x:+{}} ${x#{}} [{}] a[{}]"})
    EXPECT_EQ(TemplateProblem(good, {}), "") << good;
}

// Without a placeholder the values are appended, in quotes: that must be a place where quotes
// quote.
TEST(TemplateTest, AnEndAtWhichNoValueCanStandIsRefused) {
  for (const char* bad : {"a # b", "cat <<E\nx", "cat <<E\n", "cat <<E\nx\nE", "echo 'x", "echo \"x",
                          "echo `x", "echo $(( 1", "echo $[1", "echo \"${x", "cat <<E\\\nx\nE\n"})
    EXPECT_NE(TemplateProblem(bad, {}), "") << bad;
  for (const char* good : {"cat <<E\nx\nE\n", "cat <<E\nx\nE\necho", "cat <<E\\\nx\nEx\n", "a b#c",
                           "a {} # b", "a # b\nc"})
    EXPECT_EQ(TemplateProblem(good, {}), "") << good;
}

TEST(TemplateTest, AValueWithinBackquotesIsRefused) {
  EXPECT_NE(TemplateProblem("echo `cat {}`", {}), "");
  EXPECT_NE(TemplateProblem("echo {3}", {"a", "b"}), "");
  EXPECT_EQ(TemplateProblem("echo \"$(cat {})\" '`{}`'", {}), "");
}

TEST(MacrosTest, HomeAndCampaignBecomeVariablesWhereTheShellWouldExpandThem) {
  const struct {
    const char* text;
    const char* want;
  } cases[] = {{"~/run.sh", "$HOME/run.sh"},
               {"{HOME}/run.sh {CAMPAIGN_ID}", "$HOME/run.sh $CIGRI_CAMPAIGN_ID"},
               {"out{CAMPAIGN_ID}_x", "out${CIGRI_CAMPAIGN_ID}_x"},
               {"\"~/a\" '~/b'", "\"$HOME/a\" '~/b'"},
               {"~bob/x", "~bob/x"},
               {"sed 's/~/{HOME}/'", "sed 's/~/{HOME}/'"},
               {"a \\~ b", "a \\~ b"},
               {"{OAR_JOB_ID}", "{OAR_JOB_ID}"}};
  for (const auto& c : cases) EXPECT_EQ(ExpandMacros(c.text, false), c.want);
  EXPECT_EQ(ExpandMacros("{OAR_JOB_ID}", true), "$OAR_JOB_ID");
  // What was expanded stays as it is when it is read again: rules and --set do that.
  EXPECT_EQ(ExpandMacros("{HOME}mc/run.sh", false), "${HOME}mc/run.sh");
  EXPECT_EQ(ExpandMacros("${HOME}mc/run.sh", false), "${HOME}mc/run.sh");
  EXPECT_EQ(ExpandDirectory("${HOME}mc"), "${HOME}mc");
  EXPECT_EQ(WithCampaignId(ExpandDirectory("~/mc/{CAMPAIGN_ID}"), 12), "$HOME/mc/12");
}

// A NUL closed what nothing closes, and the next byte was read in front of the list of what is open.
TEST(CommandLineTest, ANulInAText) {
  const std::string text("\0'{HOME}'", 9);
  EXPECT_EQ(ExpandMacros(text, false), text);
}

// As GNU parallel 20221122 prints them.
TEST(FillTextTest, PartsOfAPath) {
  const struct {
    const char *value, *want;
  } cases[] = {{"", "||.|"},           {"/", "/||/|"},          {"d/", "d/||.|"},
               {"a//b", "a//b|b|a|b"}, {".x", "|.x|.|"},        {"a.b.c", "a.b|a.b.c|.|a.b"},
               {"a/.x", "a/|.x|a|"},   {"..", ".|..|.|."},      {"a.", "a|a.|.|a"},
               {"a/b/", "a/b/||a|"},   {"//", "//||/|"},        {"x/../y", "x/../y|y|x/..|y"},
               {"/a", "/a|a|/|a"},     {"a/b.c/", "a/b.c/||a|"}};
  for (const auto& c : cases)
    EXPECT_EQ(FillText("{.}|{/}|{//}|{/.}", {}, {c.value}), c.want) << c.value;
}

TEST(FillTextTest, APathTakesValuesAsTheyAre) {
  const std::vector<std::string> columns{"k"};
  EXPECT_EQ(FillText("out/{}.txt", {}, {"it's"}), "out/it's.txt");
  EXPECT_EQ(FillText("{1/.}-{2}", {}, {"d/a.c", "x y"}), "a-x y");
  EXPECT_EQ(FillText("{k}/{#}/{other}", columns, {"v"}), "v/{#}/{other}");
  EXPECT_EQ(FillText("{}", {}, {"a", "b"}), "a b");
}

}  // namespace
}  // namespace cigri::jdl
