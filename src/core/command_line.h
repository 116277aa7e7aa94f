// The command line of a program: a table of options, read by CLI11, which only command_line.cc
// includes (its templates cost ten seconds of compilation in every file that uses them).
#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cigri {

/// Where the value of an option goes. It keeps its value when the option is not given. A bool is
/// a flag: the option takes no value and sets it to true.
using OptionTarget = std::variant<bool*, int*, std::int64_t*, double*, std::string*,
                                  std::optional<std::int64_t>*, std::vector<std::string>*>;

/// What a value must be, and how it is given.
struct OptionRules {
  struct Range {
    double least, most;
  };
  bool required = false;
  std::optional<Range> range = {};  ///< both ends included; only for int and double
  bool positive = false;            ///< a number above 0
  std::vector<std::string> one_of = {};
  bool value_optional = false;  ///< the option may stand without its value
  /// Each time the option is given it takes one value; else a list takes all words that follow.
  bool one_value_each = false;
  char separator = '\0';                   ///< splits a value into several
  std::string initial = "";                ///< the value when it is not given, shown by --help
  std::vector<std::string> excludes = {};  ///< options added before that cannot be given with it
};

/// One line of the table.
struct Option {
  /// "-c,--campaign"; or a word without dashes: an argument known by its position.
  std::string names;
  OptionTarget target;  ///< must live until the command line has been read
  std::string help = "";
  OptionRules rules = {};
};

/// What a program, or one of its commands, takes. -h,--help is always there.
class CommandLine {
 public:
  CommandLine(const std::string& program, const std::string& description);
  CommandLine(const CommandLine&) = delete;
  ~CommandLine();

  /// Adds `options`; --help lists them in the order in which they were added. Returns itself.
  CommandLine& Add(std::initializer_list<Option> options);
  /// Adds the command `name`; exactly one command must then be given. `chosen` is called when the
  /// whole line has been read and is this one. The command lives as long as the program's line.
  CommandLine& AddCommand(const std::string& name, const std::string& description,
                          std::function<void()> chosen = nullptr);
  /// The program's options may also stand after a command. REQUIRES: no command added yet.
  void AllowOptionsAfterCommands();
  /// The first word that belongs to no option ends the options: it and all behind it go to `rest`.
  /// REQUIRES: no argument known by its position.
  void TakeRest(std::vector<std::string>* rest);
  /// Changes what --help says of itself.
  void DescribeHelp(const std::string& text);
  /// Adds --version, which prints `text`.
  void AddVersion(const std::string& text, const std::string& help);
  /// Text at the end of --help.
  void AddFooter(const std::string& text);

  /// Reads the command line. Nothing: go on. Else the exit code to end with: kExitOk when --help
  /// or --version was printed, kExitUsage when a fault was printed on stderr.
  std::optional<int> Read(int argc, const char* const* argv);
  /// The same, but throws Fatal(kExitUsage) for a fault, with "did you mean" for an unknown long
  /// option.
  std::optional<int> ReadOrThrow(int argc, const char* const* argv);

  /// Whether the option ("--watch") was given. REQUIRES: it is in the table.
  bool Given(const std::string& option) const;
  /// Whether this command was given.
  bool Chosen() const;
  /// The name of the program or of this command.
  const std::string& name() const;
  /// What --help prints.
  std::string Help() const;

 private:
  struct App;
  explicit CommandLine(std::unique_ptr<App> app);
  std::unique_ptr<App> app_;
};

}  // namespace cigri
