// Small words about text: quoting, splitting, suggestions, durations for readers.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cigri {

/// `s` as one word of a POSIX shell, byte for byte. REQUIRES: no NUL in `s`.
std::string ShellQuote(std::string_view s);

std::string_view Trim(std::string_view s);
std::vector<std::string> Split(std::string_view s, char separator);
std::string Join(const std::vector<std::string>& parts, std::string_view separator);
std::string Lower(std::string_view s);
std::string ReplaceAll(std::string s, std::string_view from, std::string_view to);
bool StartsWith(std::string_view s, std::string_view prefix);

/// The candidate nearest to `word` (edit distance at most a third of its length, at least 1),
/// for "did you mean"; nothing when none is near.
std::optional<std::string> DidYouMean(std::string_view word,
                                      const std::vector<std::string>& candidates);

/// `s` with U+FFFD in place of each sequence that is not UTF-8.
std::string ValidUtf8(std::string_view s);
bool IsValidUtf8(std::string_view s);
/// Bytes of the whole characters of `s` that `most` bytes can hold. REQUIRES: most >= 4.
std::size_t WholeCharacters(std::string_view s, std::size_t most);

/// One address of mail and nothing else: no name, no second recipient, no parameter of SMTP.
bool IsMailAddress(std::string_view s);

/// Why `s` cannot be a name that others read ("" when it can): longer than `most` bytes, no UTF-8,
/// or characters that steer a terminal (C0, DEL, C1, marks that turn the direction of text).
std::string NameProblem(std::string_view s, std::size_t most);

/// A walltime as users write it: an integer (seconds), or h:mm:ss with mm, ss < 60. Nothing else.
/// Returns seconds, > 0 and < 2^31; nothing when it is not one.
std::optional<int> ParseWalltime(std::string_view s);
/// 3661 -> "1:01:01", the form that ParseWalltime reads and clusters understand.
std::string FormatWalltime(std::int64_t seconds);
/// 93784.0 -> "1 d 2 h", 75 -> "1 min 15 s", 0.4 -> "0.4 s": two units at most, for readers.
std::string HumanDuration(double seconds);
/// A time (s since the epoch) of this day or the next, for readers: "12:30 UTC".
std::string ClockTime(double epoch_s);

/// Lowercase base-16 of `n` random bytes, from the kernel.
std::string RandomHex(int n);

}  // namespace cigri
