#include "jdl/shell_text.h"

#include <algorithm>
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

// Whether what is within ${ } has numbers that bash computes: x[1], x:1:2; not x:-word.
bool Computes(std::string_view parameter) {
  std::size_t i = 0;
  while (i < parameter.size() && (IsNameChar(parameter[i]) || parameter[i] == '!')) ++i;
  const auto rest = parameter.substr(i, 2);
  return StartsWith(rest, "[") || (rest.size() == 2 && rest[0] == ':' &&
                                   std::string_view("-=+?").find(rest[1]) == rest.npos);
}

}  // namespace

std::size_t ShellWalk::Ahead::From(std::string_view text, std::size_t at) {
  if (found <= at) found = any ? text.find_first_of(what, at) : text.find(what, at);
  return found;
}

// What a $ begins; at_ is at it.
bool ShellWalk::TakeDollar() {
  const ShellPlace now = frames_.back().place;
  if (now == ShellPlace::kSingle || now == ShellPlace::kBackquote || now == ShellPlace::kComment)
    return false;
  if (Has("$$")) {
    at_ += 2;
  } else if (Has("$((")) {
    at_ += 3;
    Open(ShellPlace::kArithmetic, ')');
    Open(ShellPlace::kArithmetic, ')');
  } else if (Has("$(")) {
    at_ += 2;  // quotes begin again
    Open(ShellPlace::kPlain, ')');
  } else if (Has("${")) {
    at_ += 2;
    const bool plain = now == ShellPlace::kPlain;
    Open(plain && Computes(text_.substr(at_))      ? ShellPlace::kArithmetic
         : plain || now == ShellPlace::kArithmetic ? now
                                                   : ShellPlace::kParameter,
         '}');
  } else {
    return false;
  }
  return true;
}

void ShellWalk::TakeOne(char c) {
  ++at_;
  const Frame now = frames_.back();
  if (now.close != '\0' && c == now.close) {
    frames_.pop_back();
  } else if (now.place == ShellPlace::kPlain) {
    if (c == '\'') Open(ShellPlace::kSingle, '\'');
    if (c == '"') Open(ShellPlace::kDouble, '"');
    if (c == '`') Open(ShellPlace::kBackquote, '`');
    if (c == '(') Open(ShellPlace::kPlain, ')');
    if (c == '#' && word_begins_ && now.close != '}') Open(ShellPlace::kComment, '\n');
  } else if (c == '`' &&
             (now.place == ShellPlace::kDouble || now.place == ShellPlace::kParameter)) {
    Open(ShellPlace::kBackquote, '`');
  } else if (c == '"' && now.place == ShellPlace::kParameter) {
    Open(ShellPlace::kParameter, '"');
  } else if (c == '(' && now.place == ShellPlace::kArithmetic) {
    Open(ShellPlace::kArithmetic, ')');
  }
  if (c == '\n' && frames_.back().place == ShellPlace::kPlain) EnterHereDocuments();
}

// The patterns of a case have a ) that closes nothing: within "$( )" nobody can say where that
// ends.
// $'it\'s' is one text for some shells, and for others not; $[ ], ((")")) and the x of a[x]=1 are
// arithmetic for some.
void ShellWalk::NoteUnclear() {
  const ShellPlace now = frames_.back().place;
  if (Has("$[") && now != ShellPlace::kSingle && now != ShellPlace::kComment) unclear_ = true;
  if (now != ShellPlace::kPlain) return;
  if (word_begins_ && frames_.back().quoted && (Has("case ") || Has("case\t") || Has("case\n")))
    unclear_ = true;
  const std::size_t line = newline_.From(text_, at_);
  if (Has("[") && std::min(assigned_.From(text_, at_), appended_.From(text_, at_)) < line)
    unclear_ = true;
  if (word_begins_ && Has("((") &&
      quoting_.From(text_, at_) < std::min(closing_.From(text_, at_), line))
    unclear_ = true;
  if (Has("$'") && text_.substr(at_, text_.find('\'', at_ + 2) - at_).back() == '\\')
    unclear_ = true;
}

// The word behind the `<<` at at_ - 2, with its quotes removed.
void ShellWalk::AnnounceHereDocument() {
  std::size_t i = at_;
  HereDocument here{"", i < text_.size() && text_[i] == '-'};
  if (here.tabs) ++i;
  while (i < text_.size() && (text_[i] == ' ' || text_[i] == '\t')) ++i;
  char quote = '\0';
  for (; i < text_.size(); ++i) {
    const char c = text_[i];
    if (quote == '\0' && std::string_view(" \t\n;&|()<>").find(c) != text_.npos) break;
    if (c == quote)
      quote = '\0';
    else if (quote == '\0' && (c == '\'' || c == '"'))
      quote = c;
    else if (c != '\\' || quote == '\'')
      here.end += c;
    else if (++i < text_.size() && text_[i] != '\n')  // a line may go on in the next one
      here.end += text_[i];
  }
  announced_.push_back(here);
}

// At the begin of a line.
void ShellWalk::EnterHereDocuments() {
  if (announced_.empty()) return;
  std::size_t i = at_;
  for (const auto& here : announced_) {
    bool over = false;
    while (!over && i < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', i), text_.size());
      std::string_view line = text_.substr(i, end - i);
      if (here.tabs) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      over = line == here.end && end < text_.size();  // appended text would be on a last line
      i = std::min(end + 1, text_.size());
    }
    if (!over) i = text_.size() + 1;
  }
  announced_.clear();
  here_ends_ = i;
  if (at_ < here_ends_) Open(ShellPlace::kHereDocument, '\0');
}

void ShellWalk::Skip(std::size_t n) {
  at_ += n;
  word_begins_ = false;
  if (frames_.back().place == ShellPlace::kHereDocument && at_ >= here_ends_) {
    frames_.pop_back();
    word_begins_ = true;
  }
}

std::string_view ShellWalk::Next() {
  const std::size_t from = at_;
  const ShellPlace now = frames_.back().place;
  const char c = text_[at_];
  if (now == ShellPlace::kHereDocument) {
    Skip(1);
    return text_.substr(from, 1);
  }
  NoteUnclear();
  if (c == '\\' && at_ + 1 < text_.size() && now != ShellPlace::kSingle &&
      now != ShellPlace::kComment) {
    at_ += 2;
  } else if (now == ShellPlace::kPlain && word_begins_ && Has("((")) {
    at_ += 2;
    Open(ShellPlace::kArithmetic, ')');
    Open(ShellPlace::kArithmetic, ')');
  } else if (now == ShellPlace::kPlain && Has("<<<")) {
    at_ += 3;  // a word, not a document
  } else if (now == ShellPlace::kPlain && Has("<<")) {
    at_ += 2;
    AnnounceHereDocument();
  } else if (c != '$' || !TakeDollar()) {
    TakeOne(c);
  }
  const auto taken = text_.substr(from, at_ - from);
  word_begins_ =
      std::string_view(" \t\n;&|()<>`").find(taken.back()) != text_.npos && taken[0] != '\\';
  return taken;
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
