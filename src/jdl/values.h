// Values of a JDL read as what they should be; what they are not becomes a fault.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "jdl/document.h"

namespace cigri::jdl {

/// Seconds of a duration: a walltime ("3600", "1:00:00"), "90m", "1h30m", "2d", or Slurm's
/// "1-12:00:00" and "1-12". Nothing when it is none, or 0.
std::optional<int> ParseDuration(std::string_view s);

/// Epoch seconds of "2026-11-23T20:00Z" or "2026-11-23 21:00:30+01:00"; nothing when it is none.
std::optional<std::int64_t> ParseTime(std::string_view s);

/// A value and where it stands. `value` is null when the key is not given; as in CiGri 3 a null or
/// false is as good as not given.
struct Found {
  const nlohmann::json* value = nullptr;
  std::string path;
  explicit operator bool() const { return value != nullptr; }
};

/// The value of `key` in `object`, which stands at `path`.
Found Find(const nlohmann::json& object, const std::string& path, const std::string& key);

// Each returns nothing when the value is not given, or is a fault (then added to `doc`).

std::optional<std::string> ReadText(Document& doc, const Found& found);
/// A name that others read; what NameProblem() refuses is a fault, and "".
std::string ReadName(Document& doc, const Found& found, std::size_t most = 64);
/// A whole number, also as "7".
std::optional<std::int64_t> ReadWhole(Document& doc, const Found& found, std::int64_t least,
                                      std::int64_t most);
/// Seconds: 90, "90" or "0:01:30".
std::optional<int> ReadSeconds(Document& doc, const Found& found, int least = 1);
/// Seconds of a walltime. Where a user wrote it, a number without a unit is hours and "1:30" is an
/// hour and a half, as OAR and CiGri 3 read them, with a warning; elsewhere a number is seconds.
std::optional<int> ReadWalltime(Document& doc, const Found& found);
/// Epoch seconds, as a number or as ParseTime() reads them.
std::optional<std::int64_t> ReadTime(Document& doc, const Found& found);
std::optional<double> ReadPositive(Document& doc, const Found& found);
/// An array of texts.
std::vector<std::string> ReadTexts(Document& doc, const Found& found);
/// true, false, "true", "false".
bool ReadFlag(Document& doc, const Found& found);

}  // namespace cigri::jdl
