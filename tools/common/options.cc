#include "tools/common/options.h"

#include <cstdio>

#include "core/text.h"

namespace cigri::tools {
namespace {

std::string Suggestion(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> known;
  for (const auto* option : app.get_options())
    for (const auto& name : option->get_lnames()) known.push_back("--" + name);
  for (int i = 1; i < argc; ++i) {
    const std::string word = Split(argv[i], '=')[0];
    if (!StartsWith(word, "--") || word == "--") continue;
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    if (const auto near = DidYouMean(word, known)) return "did you mean " + *near + "? ";
  }
  return "";
}

}  // namespace

void AddCommonOptions(CLI::App& app, CommonOptions& common) {
  app.set_help_flag("-h,--help", "print this help and end");
  app.set_version_flag("--version", app.get_name() + " " CIGRI_VERSION,
                       "print the version and end");
  app.add_option("--api", common.api,
                 "the API: unix:PATH, http://HOST:PORT/BASE, ssh://HOST[/SOCKET] "
                 "(default: $CIGRI_API, then the configuration, then the embedded grid)");
  app.add_option("--color", common.color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
}

std::optional<int> Parse(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
  } catch (const CLI::CallForAllHelp&) {
    std::fputs(app.help("", CLI::AppFormatMode::All).c_str(), stdout);
  } catch (const CLI::CallForVersion&) {
    std::puts(app.version().c_str());
  } catch (const CLI::ParseError& e) {
    throw Fatal(kExitUsage, e.what(),
                Suggestion(app, argc, argv) + "`" + app.get_name() + " --help` lists the options");
  }
  return 0;
}

}  // namespace cigri::tools
