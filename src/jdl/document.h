// A JDL as read: values, where each stands, and what was wrong already at reading.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "jdl/blocks.h"

namespace cigri::jdl {

/// A fault before its place is known as line and column.
struct RawFault {
  std::size_t offset = 0;
  std::string key, message, hint;
  auto operator<=>(const RawFault&) const = default;
};

/// What "params" held: the elements are never made into JSON values.
struct ParamsRead {
  bool given = false;  ///< an array
  std::size_t begin = 0, end = 0;
  Lines lines;
  bool rows = false;           ///< elements are arrays: format values
  std::size_t row_length = 0;  ///< of the first row; others must have the same
};

struct Document {
  nlohmann::json root;
  std::map<std::string, std::size_t> where;      ///< key path -> offset of the value
  std::map<std::string, std::size_t> key_where;  ///< key path -> offset of the key
  ParamsRead params;
  std::set<RawFault> faults, warnings;
  int unknown_keys = 0;   ///< that were warned of
  bool whole = false;     ///< read to its end
  bool has_text = false;  ///< false for FromJson: faults have no place

  void Fault(const std::string& path, const std::string& message, const std::string& hint = "");
  void FaultAtKey(const std::string& path, const std::string& message, const std::string& hint);
  /// So many faults that no other is kept: what would only make more of them may stop.
  bool Full() const;
  /// Warns of a key that nobody knows. More than a hundred are one fault: to look for what each
  /// might have meant took 17 s for 90,000 of them.
  void WarnOfUnknown(const std::string& path, const std::string& key);
  void Warn(const std::string& path, const std::string& message, const std::string& hint = "");
};

/// Reads JSON with // and /* */ comments. Top-level keys come in lower case; a key given twice, a
/// NUL, too much depth or size are faults; after a syntax error `whole` is false.
Document Read(std::string_view text);

struct Fault;  // jdl.h
/// Offsets to lines and columns, in one walk: the faults come sorted.
std::vector<Fault> Placed(const std::set<RawFault>& raw, std::string_view text, bool has_text);

/// Text of a user's for a message: at most 60 characters, nothing that steers a terminal.
std::string Shown(std::string_view text);

/// "clusters" + "luke" -> "clusters.luke"
std::string Join2(const std::string& path, const std::string& key);

}  // namespace cigri::jdl
