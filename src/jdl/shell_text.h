// Where in a line for the shell a place is: plain, in quotes, in backquotes. What is put there by
// us must be quoted for exactly that.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cigri::jdl {

/// How the shell reads the text at a place.
enum class ShellPlace {
  kPlain,
  kSingle,
  kDouble,
  kBackquote,
  kComment,
  kHereDocument,
  kArithmetic,  ///< within $(( )), where quotes do not quote
  kParameter,   ///< within "${ }": shells differ in what quotes mean there
  kUnclear      ///< behind something that shells read in several ways
};

/// Walks a text for the shell from left to right. Knows quotes, \, $( ), $(( )), ${ }, backquotes,
/// comments and here-documents.
class ShellWalk {
 public:
  explicit ShellWalk(std::string_view text) : text_(text) {}
  bool AtEnd() const { return at_ >= text_.size(); }
  std::size_t at() const { return at_; }
  ShellPlace place() const { return unclear_ ? ShellPlace::kUnclear : frames_.back().place; }
  /// Takes one character, or several that belong together: a \ and what it protects, $( and the
  /// like. Returns what was taken.
  std::string_view Next();
  /// Goes over `n` bytes that are no part of the line's own syntax (a placeholder).
  void Skip(std::size_t n);

 private:
  // What is open, and the character that closes it; none: nothing does.
  struct Frame {
    ShellPlace place;
    char close;
    bool quoted;  // it is "", or within
  };
  bool Has(std::string_view here) const { return text_.substr(at_, here.size()) == here; }
  void Open(ShellPlace place, char close) {
    frames_.push_back({place, close, place == ShellPlace::kDouble || frames_.back().quoted});
  }
  bool TakeDollar();
  void TakeOne(char c);
  void NoteUnclear();
  void AnnounceHereDocument();
  void EnterHereDocuments();
  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Frame> frames_{{ShellPlace::kPlain, '\0', false}};
  bool unclear_ = false;
  bool word_begins_ = true;  // at at_, which makes a # there a comment
  struct HereDocument {
    std::string end;  // the line behind it
    bool tabs;        // which may begin with tabs
  };
  // Where the next of something is, looked for once: `what`, or any character of it.
  struct Ahead {
    std::string_view what;
    bool any = false;
    std::size_t found = 0;
    std::size_t From(std::string_view text, std::size_t at);
  };
  Ahead newline_{"\n"}, assigned_{"]="}, appended_{"]+="}, closing_{"))"};
  Ahead quoting_{"'\"`\\#", true};
  std::vector<HereDocument> announced_;  // they begin with the next line
  std::size_t here_ends_ = 0;            // of those that are read now: behind the last end
};

/// `value` as text that the shell reads back byte for byte at such a place.
/// REQUIRES: place is plain or within quotes; no NUL in `value`.
std::string QuoteAt(ShellPlace place, std::string_view value);

/// CiGri's macros in a line for the shell: ~ and {HOME} become $HOME, {CAMPAIGN_ID} becomes
/// $CIGRI_CAMPAIGN_ID and, `with_job`, {OAR_JOB_ID} becomes $OAR_JOB_ID. Nothing changes within
/// single quotes, where the shell would not expand them either, and `~name` is left to the shell.
std::string ExpandMacros(std::string_view text, bool with_job);

/// A line of a prologue or epilogue with `\$` as `$` where an expansion begins (`\$HOME`, `\$1`,
/// `\${x}`, `\$(date)`): CiGri 3's scripts pass a shell on their way, so users protect each `$`.
std::string WithPlainDollars(std::string_view line);

/// CiGri's macros in a directory, which no shell reads: a leading ~ and {HOME} become $HOME;
/// {CAMPAIGN_ID} stays until the number is known (WithCampaignId).
std::string ExpandDirectory(std::string_view text);
std::string WithCampaignId(std::string directory, std::int64_t campaign_id);

}  // namespace cigri::jdl
