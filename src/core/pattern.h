// Regular expressions.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cigri {

/// A POSIX extended regular expression, compiled by the C library. std::regex is not used for
/// patterns of ours: each file that has one takes seconds more to compile.
class Pattern {
 public:
  /// One match, as parts of the text that was searched.
  struct Match {
    std::size_t at = 0;                   ///< where it begins, in bytes
    std::vector<std::string_view> group;  ///< [0] is all of it; what took no part has no data()
    bool Has(std::size_t i) const { return group[i].data() != nullptr; }
    std::string Text(std::size_t i) const { return std::string(group[i]); }
    explicit operator bool() const { return !group.empty(); }
  };

  /// Throws std::invalid_argument, with regcomp's words, for what is no expression.
  explicit Pattern(const std::string& expression);
  ~Pattern();
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  /// The first match at or after byte `from`; false when there is none. The views live as long as
  /// `text`, which may hold any byte.
  Match Find(std::string_view text, std::size_t from = 0) const;
  /// True when all of `text` is a match. REQUIRES: the expression has no ^ and $ of its own.
  bool MatchesAll(std::string_view text) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace cigri
