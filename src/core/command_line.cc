#include "core/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

#include "core/error.h"
#include "core/text.h"

namespace cigri {
namespace {

// The target decides whether --help and the check speak of whole numbers.
void CheckRange(CLI::Option& option, const OptionTarget& target, const OptionRules::Range& range) {
  if (std::holds_alternative<double*>(target))
    option.check(CLI::Range(range.least, range.most));
  else
    option.check(CLI::Range(static_cast<int>(range.least), static_cast<int>(range.most)));
}

// CLI11's own check names its limit by 309 digits.
void CheckPositive(CLI::Option& option, const OptionTarget& target) {
  const auto check = [target](const std::string& text) -> std::string {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool number = !text.empty() && *end == '\0';
    const bool whole = !std::holds_alternative<double*>(target);
    if (number && value > 0 && (!whole || value == std::floor(value))) return "";
    return std::string(whole ? "a whole number from 1 on" : "a number above 0") + ", not \"" +
           text + "\"";
  };
  option.check(CLI::Validator(check, "POSITIVE"));
}

// "--results --wait": the value was forgotten, and the option behind it would be lost.
void RefuseOptionsAsValues(CLI::App& app, CLI::Option& option) {
  option.check(CLI::Validator(
      [&app](const std::string& text) -> std::string {
        const bool known = StartsWith(text, "--") && app.get_option_no_throw(text) != nullptr;
        return known ? "needs a value, and " + text + " is an option" : "";
      },
      ""));
}

void ApplyRules(CLI::App& app, CLI::Option& option, const Option& line) {
  const OptionRules& rules = line.rules;
  if (rules.required) option.required();
  if (rules.range) CheckRange(option, line.target, *rules.range);
  if (rules.positive) CheckPositive(option, line.target);
  if (!rules.one_of.empty()) option.check(CLI::IsMember(rules.one_of));
  if (rules.value_optional) option.expected(0, 1);
  if (rules.separator != '\0') option.delimiter(rules.separator);
  if (rules.one_value_each) option.allow_extra_args(false);
  if (!rules.initial.empty()) option.default_val(rules.initial);
  for (const auto& other : rules.excludes) option.excludes(app.get_option(other));
}

void AddOption(CLI::App& app, const Option& line) {
  CLI::Option* option = std::visit(
      [&](auto* target) {
        if constexpr (std::is_same_v<decltype(target), bool*>)
          return app.add_flag(line.names, *target, line.help);
        else
          return app.add_option(line.names, *target, line.help);
      },
      line.target);
  ApplyRules(app, *option, line);
  if (!std::holds_alternative<bool*>(line.target)) RefuseOptionsAsValues(app, *option);
}

// The command that was chosen, or the last one of several below each other; else the program.
const CLI::App& Chosen(const CLI::App& app) {
  for (const auto* command : app.get_subcommands()) return Chosen(*command);
  return app;
}

// The shortest name that begins with what was typed, else the one that is most like it.
std::string Suggestion(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> known;
  for (const auto* at : {&app, &Chosen(app)})
    for (const auto* option : at->get_options())
      for (const auto& name : option->get_lnames()) known.push_back("--" + name);
  std::stable_sort(known.begin(), known.end(),
                   [](const auto& a, const auto& b) { return a.size() < b.size(); });
  for (int i = 1; i < argc; ++i) {
    const std::string word = Split(argv[i], '=')[0];
    if (!StartsWith(word, "--") || word == "--") continue;
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    const auto begins = std::find_if(known.begin(), known.end(), [&](const std::string& name) {
      return word.size() > 4 && StartsWith(name, word);
    });
    if (begins != known.end()) return "did you mean " + *begins + "? ";
    if (const auto near = DidYouMean(word, known)) return "did you mean " + *near + "? ";
  }
  return "";
}

// The words of CLI11, where ours help more.
std::string Explained(const CLI::App& app, const std::string& what, int argc,
                      const char* const* argv) {
  constexpr std::string_view kNoNumber = "Could not convert: ";
  const auto equals = what.find(" = ");
  if (StartsWith(what, kNoNumber) && equals != what.npos) {
    const auto name = what.substr(kNoNumber.size(), equals - kNoNumber.size());
    const auto* option = Chosen(app).get_option_no_throw(name);
    if (option != nullptr && option->get_expected_max() == 0) return name + " takes no value";
    return what.substr(kNoNumber.size(), equals - kNoNumber.size()) + " is a number, not \"" +
           what.substr(equals + 3) + "\"";
  }
  constexpr std::string_view kOnce = ": At Most 1 required but received ";
  if (const auto at = what.find(kOnce); at != what.npos) {
    const auto name = what.substr(0, at);
    const auto* option = Chosen(app).get_option_no_throw(name);
    const auto means = option != nullptr ? " (" + option->get_description() + ")" : "";
    return name + " is given " + what.substr(at + kOnce.size()) + " times; it takes one value" +
           means;
  }
  if (what != "A subcommand is required") return what;
  // "gridadmin cluster bogus": what is missing is a command of `cluster`.
  const CLI::App& above = Chosen(app);
  std::vector<std::string> names;
  for (const auto* command : above.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  const bool named = &above != &app;
  const auto* const* begin = argv + 1;
  if (named) begin = std::find(argv + 1, argv + argc, above.get_name());
  if (named && begin != argv + argc) ++begin;
  const auto* const* word =
      std::find_if(begin, argv + argc, [](const char* w) { return w[0] != '-'; });
  const std::string whose = named ? above.get_name() + " " : "";
  return (word != argv + argc ? "there is no \"" + whose + *word + "\""
                              : "say what to do" + (named ? " with " + above.get_name() : "")) +
         "; there are " + Join(names, ", ");
}

}  // namespace

struct CommandLine::App {
  std::unique_ptr<CLI::App> root;  // only of the program itself
  CLI::App* app = nullptr;
  std::vector<std::string>* rest = nullptr;
  std::vector<std::unique_ptr<CommandLine>> commands;
};

CommandLine::CommandLine(const std::string& program, const std::string& description)
    : app_(std::make_unique<App>()) {
  app_->root = std::make_unique<CLI::App>(description, program);
  app_->app = app_->root.get();
}

CommandLine::CommandLine(std::unique_ptr<App> app) : app_(std::move(app)) {}

CommandLine::~CommandLine() = default;

CommandLine& CommandLine::Add(std::initializer_list<Option> options) {
  for (const auto& option : options) AddOption(*app_->app, option);
  return *this;
}

CommandLine& CommandLine::AddCommand(const std::string& name, const std::string& description,
                                     std::function<void()> chosen) {
  auto command = std::make_unique<App>();
  command->app = app_->app->add_subcommand(name, description);
  if (chosen) command->app->callback(std::move(chosen));
  app_->app->require_subcommand(1);
  if (app_->root) app_->app->set_help_all_flag("--help-all", "the help of all commands");
  app_->commands.emplace_back(new CommandLine(std::move(command)));
  return *app_->commands.back();
}

void CommandLine::AllowOptionsAfterCommands() { app_->app->fallthrough(); }

void CommandLine::TakeRest(std::vector<std::string>* rest) { app_->rest = rest; }

void CommandLine::DescribeHelp(const std::string& text) {
  app_->app->set_help_flag("-h,--help", text);
}

void CommandLine::AddVersion(const std::string& text, const std::string& help) {
  app_->app->set_version_flag("--version", text, help);
}

void CommandLine::AddFooter(const std::string& text) { app_->app->footer(text); }

std::optional<int> CommandLine::Read(int argc, const char* const* argv) {
  try {
    app_->app->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& e) {
    return app_->app->exit(e) == 0 ? kExitOk : kExitUsage;
  }
}

std::optional<int> CommandLine::ReadOrThrow(int argc, const char* const* argv) {
  CLI::App& app = *app_->app;
  try {
    app.prefix_command(app_->rest != nullptr);
    app.parse(argc, argv);
    if (app_->rest == nullptr) return std::nullopt;
    *app_->rest = app.remaining();
    const std::string first = app_->rest->empty() ? "" : app_->rest->front();
    if (StartsWith(first, "-") && first != "-") throw CLI::ExtrasError({first});
    return std::nullopt;
  } catch (const CLI::Success& asked) {  // --help or --version
    return app.exit(asked);
  } catch (const CLI::ParseError& e) {
    throw Fatal(kExitUsage, Explained(app, e.what(), argc, argv),
                Suggestion(app, argc, argv) + "`" + app.get_name() + " --help` lists the options");
  }
}

bool CommandLine::Given(const std::string& option) const { return app_->app->count(option) > 0; }

bool CommandLine::Chosen() const { return app_->app->parsed(); }

const std::string& CommandLine::name() const { return app_->app->get_name(); }

std::string CommandLine::Help() const { return app_->app->help(); }

}  // namespace cigri
