// From a JDL and a parameter to the one line that a job's shell reads.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "jdl/shell_text.h"

namespace cigri::jdl {

/// How parameter lines are to be read.
/// `line`: text that the shell reads after exec_file, as in CiGri 3.
/// `values`: a JSON array of texts, each of which reaches the program byte for byte.
inline constexpr std::string_view kFormatLine = "line";
inline constexpr std::string_view kFormatValues = "values";

/// A parameter line of format `values`: ["a","b c"].
std::string EncodeValues(const std::vector<std::string>& values);
/// The values of such a line; the line itself as the only value when it is none.
std::vector<std::string> DecodeValues(std::string_view line);
/// Why `line` is no line of `columns` values ("" when it is; 0 columns: any number). For the
/// server, which believes no client.
std::string ValuesProblem(std::string_view line, std::size_t columns);

/// The line for the job's shell that runs parameter `line`, the `index`-th (from 0) of its
/// campaign.
///
/// Format `line`: exec_file, a blank, the line; nothing is replaced.
/// Format `values`: in exec_file
///   {}  all values, each an argument of its own      {1} {2} ...  the first, second ... value
///   {name}  the value of column `name`                {#}  index + 1
///   {.} {/} {//} {/.}  value without extension, basename, directory, basename without extension
///   (as GNU parallel; also {1.}, {name/} ...)
/// are replaced by the value, quoted for the place it stands at: a value is always taken
/// literally, also within quotes. \{} and unknown names stay. Without any placeholder all values
/// are appended.
std::string CommandLine(std::string_view exec_file, std::string_view format,
                        const std::vector<std::string>& columns, std::string_view line,
                        std::int64_t index);

inline constexpr std::size_t kCommandBytes = 1 << 20;  ///< most bytes of the command of one task
inline constexpr int kMaxPlaceholders = 1000;          ///< of one exec_file

/// What commands an exec_file makes, by their lengths alone: a short text with many placeholders
/// makes gigabytes of a few parameters. Count before CommandLine() fills.
class CommandSize {
 public:
  /// REQUIRES: `columns` outlives it.
  CommandSize(std::string_view exec_file, std::string_view format,
              const std::vector<std::string>& columns);
  /// The size of CommandLine(exec_file, ..., line, index). Takes as long as the line is, however
  /// many placeholders there are.
  std::size_t Of(std::string_view line, std::int64_t index) const;
  /// No line of at most `bytes` bytes makes a longer command.
  std::size_t AtMost(std::size_t bytes) const;

 private:
  std::string format_;
  const std::vector<std::string>& columns_;
  // Placeholders that are filled alike (their texts and places), and how many there are of each.
  std::map<std::pair<ShellPlace, std::string>, std::size_t> uses_;
  std::size_t fixed_ = 0;  // bytes that are no placeholder
  std::size_t placeholders_ = 0;
};

/// `text` with its placeholders replaced by the values as they are, several with blanks between
/// them: a path or a name, which no shell reads. {#} stays.
std::string FillText(std::string_view text, const std::vector<std::string>& columns,
                     const std::vector<std::string>& values);

/// The placeholders that exec_file has for these columns, in order: "{}", "{name}", "{2.}".
std::vector<std::string> Placeholders(std::string_view exec_file,
                                      const std::vector<std::string>& columns);

/// Why exec_file cannot take values safely ("" when it can): a placeholder, or without any the end,
/// is within backquotes, in a here-document or the like; there are more than kMaxPlaceholders.
std::string TemplateProblem(std::string_view exec_file, const std::vector<std::string>& columns);

/// Why these cannot be names of columns ("" when they can).
std::string ColumnsProblem(const std::vector<std::string>& columns);

}  // namespace cigri::jdl
