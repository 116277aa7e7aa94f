#include "localcluster/plain_command.h"

#include <algorithm>
#include <string_view>

namespace cigri::localcluster {
namespace {

using Words = std::vector<std::string>;

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kPlainSigns = "@%+=:,./-";

// What dash, bash, ksh or busybox take for their own, in order. `true` and `false` are not among
// them: the programs of that name do the same.
constexpr std::string_view kShellWords[] = {
    ".",       ":",        "[",      "alias",   "autoload",  "bg",       "bind",      "break",
    "builtin", "caller",   "case",   "cd",      "chdir",     "command",  "compgen",   "complete",
    "compopt", "continue", "coproc", "declare", "dirs",      "disown",   "do",        "done",
    "echo",    "elif",     "else",   "enable",  "esac",      "eval",     "exec",      "exit",
    "export",  "fc",       "fg",     "fi",      "for",       "function", "functions", "getopts",
    "hash",    "help",     "hist",   "history", "if",        "in",       "integer",   "jobs",
    "kill",    "let",      "local",  "logout",  "mapfile",   "popd",     "print",     "printf",
    "pushd",   "pwd",      "r",      "read",    "readarray", "readonly", "return",    "select",
    "set",     "shift",    "shopt",  "source",  "stop",      "suspend",  "test",      "then",
    "time",    "times",    "trap",   "type",    "typeset",   "ulimit",   "umask",     "unalias",
    "unset",   "until",    "wait",   "whence",  "while"};

bool IsPlain(char c) {
  for (const auto kind : {kLetters, kDigits, kPlainSigns})
    if (kind.find(c) != kind.npos) return true;
  return false;
}

bool IsName(std::string_view s) {
  return !s.empty() && kDigits.find(s[0]) == kDigits.npos &&
         std::all_of(s.begin(), s.end(), [](char c) {
           return kLetters.find(c) != kLetters.npos || kDigits.find(c) != kDigits.npos;
         });
}

// The lines of a script in words; nothing where a character means more to a shell.
std::optional<std::vector<Words>> LinesOf(std::string_view text) {
  std::vector<Words> lines(1);
  bool in_word = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ' || c == '\t' || c == '\n') {
      in_word = false;
      if (c == '\n' && !lines.back().empty()) lines.emplace_back();
      continue;
    }
    if (!in_word) lines.back().emplace_back();
    in_word = true;
    std::string& word = lines.back().back();
    if (c == '\'') {
      const auto end = text.find('\'', i + 1);
      if (end == text.npos) return {};
      word += text.substr(i + 1, end - i - 1);
      i = end;
    } else if (c == '"') {
      const auto end = text.find('"', i + 1);
      const auto quoted = text.substr(i + 1, end - i - 1);
      if (end == text.npos || quoted.find_first_of("$`\\") != quoted.npos) return {};
      word += quoted;
      i = end;
    } else if (c == '\\' && i + 1 < text.size() && text[i + 1] == '\'') {
      word += text[++i];
    } else if (IsPlain(c)) {
      word += c;
    } else {
      return {};
    }
  }
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace

std::optional<Words> PlainExports(const std::string& setup) {
  const auto lines = LinesOf(setup);
  if (!lines) return {};
  Words exports;
  for (const auto& line : *lines) {
    if (line.size() < 2 || line[0] != "export") return {};
    for (std::size_t i = 1; i < line.size(); ++i) {
      const auto equals = line[i].find('=');
      if (equals == line[i].npos || !IsName(line[i].substr(0, equals))) return {};
      exports.push_back(line[i]);
    }
  }
  return exports;
}

std::optional<Words> PlainWords(const std::string& command) {
  const auto lines = LinesOf(command);
  if (!lines || lines->size() != 1) return {};
  const Words& words = lines->front();
  const bool replaces = words[0] == "exec" && words.size() > 1 && words[1][0] != '-';
  const std::string& program = words[replaces ? 1 : 0];
  if (program.empty() || program.find('=') != program.npos ||
      std::binary_search(std::begin(kShellWords), std::end(kShellWords), std::string_view(program)))
    return {};
  return words;
}

}  // namespace cigri::localcluster
