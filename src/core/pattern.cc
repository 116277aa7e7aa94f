#include "core/pattern.h"

#include <regex.h>

#include <stdexcept>

namespace cigri {

struct Pattern::Compiled {
  regex_t regex{};
};

Pattern::Pattern(const std::string& expression) : compiled_(std::make_unique<Compiled>()) {
  const int fault = regcomp(&compiled_->regex, expression.c_str(), REG_EXTENDED);
  if (fault == 0) return;
  char words[200];
  regerror(fault, &compiled_->regex, words, sizeof words);
  throw std::invalid_argument("\"" + expression + "\" is no regular expression: " + words);
}

Pattern::~Pattern() { regfree(&compiled_->regex); }

Pattern::Match Pattern::Find(std::string_view text, std::size_t from) const {
  std::vector<regmatch_t> parts(compiled_->regex.re_nsub + 1);
  parts[0].rm_so = static_cast<regoff_t>(from);
  parts[0].rm_eo = static_cast<regoff_t>(text.size());
  const int flags = REG_STARTEND | (from == 0 ? 0 : REG_NOTBOL);
  Match match;
  // A view without data is not a text for regexec.
  const char* const data = text.data() == nullptr ? "" : text.data();
  if (regexec(&compiled_->regex, data, parts.size(), parts.data(), flags) != 0) return match;
  match.at = static_cast<std::size_t>(parts[0].rm_so);
  for (const auto& part : parts) {
    const auto length = static_cast<std::size_t>(part.rm_eo - part.rm_so);
    match.group.push_back(part.rm_so < 0 ? std::string_view()
                                         : std::string_view(data + part.rm_so, length));
  }
  return match;
}

bool Pattern::MatchesAll(std::string_view text) const {
  const Match match = Find(text);
  return match && match.at == 0 && match.group[0].size() == text.size();
}

}  // namespace cigri
