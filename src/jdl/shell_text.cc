#include "jdl/shell_text.h"

#include <cctype>
#include <cstdint>

#include "core/text.h"

namespace cigri::jdl {
namespace {

bool IsNameChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// "$HOME", or "${HOME}" where the next character would be read as part of the name.
std::string Variable(const std::string& name, std::string_view rest) {
  return !rest.empty() && IsNameChar(rest[0]) ? "${" + name + "}" : "$" + name;
}

struct Macro {
  std::string_view text;
  const char* variable;
};
constexpr Macro kMacros[] = {
    {"{HOME}", "HOME"}, {"{CAMPAIGN_ID}", "CIGRI_CAMPAIGN_ID"}, {"{OAR_JOB_ID}", "OAR_JOB_ID"}};

// The replacement of a macro at the begin of `rest` and its length; length 0 when there is none.
std::pair<std::string, std::size_t> MacroAt(std::string_view rest, bool with_job) {
  for (const auto& macro : kMacros) {
    if (!StartsWith(rest, macro.text) || (macro.text == "{OAR_JOB_ID}" && !with_job)) continue;
    return {Variable(macro.variable, rest.substr(macro.text.size())), macro.text.size()};
  }
  // ~name is a home of somebody: CiGri made it $HOMEname, which is nothing; the shell knows better.
  if (rest[0] == '~' && (rest.size() == 1 || !IsNameChar(rest[1]))) return {"$HOME", 1};
  return {"", 0};
}

// ${HOME} is the shell's own, and what {HOME} became before a letter: it stays as it is.
bool IsShells(std::string_view text, std::size_t at) {
  return at > 0 && text[at - 1] == '$' && text[at] == '{';
}

}  // namespace

void ShellWalk::Enter(char c) {
  const ShellPlace now = place();
  if (c == '\'' && now == ShellPlace::kPlain) places_.push_back(ShellPlace::kSingle);
  if (c == '\'' && now == ShellPlace::kSingle) places_.pop_back();
  if (c == '"' && now == ShellPlace::kPlain) places_.push_back(ShellPlace::kDouble);
  if (c == '"' && now == ShellPlace::kDouble) places_.pop_back();
  if (c == '`' && now == ShellPlace::kBackquote) places_.pop_back();
  if (c == '`' && (now == ShellPlace::kPlain || now == ShellPlace::kDouble))
    places_.push_back(ShellPlace::kBackquote);
  if (c == '(' && now == ShellPlace::kPlain) places_.push_back(ShellPlace::kPlain);
  if (c == ')' && now == ShellPlace::kPlain && places_.size() > 1) places_.pop_back();
}

std::string_view ShellWalk::Next() {
  const std::size_t from = at_++;
  const char c = text_[from];
  if (c == '\\' && place() != ShellPlace::kSingle && at_ < text_.size()) {
    ++at_;
  } else if (c == '$' && place() == ShellPlace::kDouble && at_ < text_.size() &&
             text_[at_] == '(') {
    ++at_;  // within "$( )" quotes begin again
    places_.push_back(ShellPlace::kPlain);
  } else {
    Enter(c);
  }
  return text_.substr(from, at_ - from);
}

std::string QuoteAt(ShellPlace place, std::string_view value) {
  std::string escaped = ReplaceAll(std::string(value), "'", "'\\''");
  switch (place) {
    case ShellPlace::kSingle:
      return escaped;  // the quotes around it stand there already
    case ShellPlace::kDouble:
      return "\"'" + escaped + "'\"";
    default:
      // Always quoted: a bare word could become a keyword, an assignment, the 2 of 2>.
      return "'" + escaped + "'";
  }
}

std::string ExpandMacros(std::string_view text, bool with_job) {
  std::string out;
  ShellWalk walk(text);
  while (!walk.AtEnd()) {
    if (walk.place() != ShellPlace::kSingle && !IsShells(text, walk.at())) {
      auto [variable, length] = MacroAt(text.substr(walk.at()), with_job);
      if (length > 0) {
        out += variable;
        walk.Skip(length);
        continue;
      }
    }
    out += walk.Next();
  }
  return out;
}

std::string WithPlainDollars(std::string_view line) {
  const auto begins = [](char c) {
    return IsNameChar(c) || std::string_view("{(?@#").find(c) != std::string_view::npos;
  };
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) {
      const bool expands = line[i + 1] == '$' && i + 2 < line.size() && begins(line[i + 2]);
      if (!expands) out += line[i];
      ++i;
    }
    out += line[i];
  }
  return out;
}

std::string ExpandDirectory(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto rest = text.substr(i);
    auto [variable, length] = MacroAt(rest, false);
    // A ~ that is not the first is part of a name: CiGri made a home in the middle of a path of it.
    const bool stays = StartsWith(rest, "{CAMPAIGN_ID}") || (rest[0] == '~' && i > 0);
    if (length == 0 || stays || IsShells(text, i)) {
      out += text[i++];
      continue;
    }
    out += variable;
    i += length;
  }
  return out;
}

std::string WithCampaignId(std::string directory, std::int64_t campaign_id) {
  return ReplaceAll(std::move(directory), "{CAMPAIGN_ID}", std::to_string(campaign_id));
}

}  // namespace cigri::jdl
