#include "clusterdb/token_command.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "core/pattern.h"
#include "core/text.h"
#include "process/run.h"

namespace cigri::clusterdb {
namespace {

constexpr std::size_t kMostOutput = 16384, kMostToken = 8192, kMostErrors = 200;

// Not ours: that may hold the address and password of the database.
process::Environment SmallEnvironment() {
  process::Environment kept{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"};
  for (const char* name : {"HOME", "LANG", "KRB5CCNAME"})
    if (const char* value = std::getenv(name)) kept.push_back(std::string(name) + "=" + value);
  return kept;
}

std::string Filled(const std::string& word, const std::string& user) {
  std::string out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const char next = i + 1 < word.size() ? word[i + 1] : '\0';
    if (word[i] != '%' || (next != 'u' && next != '%')) {
      out += word[i];
      continue;
    }
    out += next == 'u' ? user : "%";
    ++i;
  }
  return out;
}

std::string TokenIn(const std::string& text) {
  std::string token(Trim(text));
  for (const char* head : {"SLURM_JWT=", "Bearer "})
    if (StartsWith(token, head)) token.erase(0, std::strlen(head));
  const auto bad = [](char c) { return c <= ' ' || c > '~'; };
  if (token.empty()) throw std::runtime_error("it printed nothing");
  if (token.size() > kMostToken || std::any_of(token.begin(), token.end(), bad))
    throw std::runtime_error("it did not print one token and nothing else");
  return token;
}

}  // namespace

std::vector<std::string> CommandArguments(const std::string& line) {
  std::vector<std::string> arguments;
  bool in_word = false;
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == '\0' && (c == ' ' || c == '\t' || c == '\n')) {
      in_word = false;
      continue;
    }
    if (!in_word) arguments.emplace_back();
    in_word = true;
    if (c == '\\' && quote != '\'' && i + 1 < line.size())
      arguments.back() += line[++i];
    else if (quote == '\0' && (c == '\'' || c == '"'))
      quote = c;
    else if (c == quote)
      quote = '\0';
    else
      arguments.back() += c;
  }
  if (quote != '\0') throw std::runtime_error(std::string("a quote (") + quote + ") is not closed");
  if (arguments.empty()) throw std::runtime_error("it is empty");
  return arguments;
}

std::string RunTokenCommand(const std::string& command, const std::string& user,
                            std::chrono::milliseconds deadline) {
  // The row may hold "sh -c '... %u'": what is no name of a user never gets there.
  static const Pattern kUser("[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,255}");
  if (!kUser.MatchesAll(user))
    throw std::runtime_error("\"" + user + "\" is no name of a user that it could be given");
  auto arguments = CommandArguments(command);
  for (auto& word : arguments) word = Filled(word, user);
  process::Command run{.argv = arguments};
  run.environment = SmallEnvironment();
  run.time_limit = deadline;
  run.output_limit = kMostOutput;
  run.errors_kept = kMostErrors;
  const auto result = process::Run(run);
  if (!result.Succeeded()) {
    const bool exited = result.outcome == process::Outcome::kExited;
    const std::string said(Trim(ValidUtf8(result.err)));
    throw std::runtime_error(process::HowItEnded(run, result) +
                             (exited && !said.empty() ? ": " + said : ""));
  }
  return TokenIn(result.out);
}

}  // namespace cigri::clusterdb
