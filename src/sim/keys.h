// One object of a scenario file, read key by key: each value is checked, what is left over is
// named. Internal to src/sim.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jdl/document.h"

namespace cigri::sim {

class Keys {
 public:
  /// `object` stands at `path` of the document; a fault when it is no object.
  Keys(jdl::Document& doc, std::string path, const nlohmann::json& object);

  bool Has(const std::string& key);
  /// The value of a key, nullptr when it is not given. The key counts as known from now on.
  const nlohmann::json* Find(const std::string& key);

  void Number(const std::string& key, double& out, double least, double most);
  void Whole(const std::string& key, int& out, std::int64_t least, std::int64_t most);
  void Whole(const std::string& key, std::int64_t& out, std::int64_t least, std::int64_t most);
  /// Seconds, or a text as "90 s", "15 min", "6 h", "2 d", "1:30:00".
  void Seconds(const std::string& key, double& out, double least = 0);
  /// Bytes, or a text as "200 MB".
  void Bytes(const std::string& key, double& out);
  void Word(const std::string& key, std::string& out, const std::vector<std::string>& words = {});
  void Bool(const std::string& key, bool& out);
  void Names(const std::string& key, std::vector<std::string>& out);

  /// Faults for keys that nobody asked for, with "did you mean".
  void Done();
  void Fault(const std::string& key, const std::string& message, const std::string& hint = "");
  std::string PathOf(const std::string& key) const { return jdl::Join2(path_, key); }
  const std::string& path() const { return path_; }
  jdl::Document& doc() { return doc_; }

 private:
  jdl::Document& doc_;
  std::string path_;
  const nlohmann::json* object_ = nullptr;
  std::set<std::string> known_;
};

/// "90", "90 s", "15 min", "6 h", "2 d", "1 y", "1:30:00" -> seconds; nothing for anything else.
std::optional<double> ParseDuration(std::string_view text);
/// "2000", "200 MB", "1.5 GB", "1 TB" -> bytes; nothing for anything else.
std::optional<double> ParseBytes(std::string_view text);
/// Puts a fault at the nearest known place at or above `path`.
void FaultAt(jdl::Document& doc, const std::string& path, const std::string& message,
             const std::string& hint = "");

}  // namespace cigri::sim
