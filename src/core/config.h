// cigri.conf: lines KEY = "value", as CiGri 3 reads them, and better (docs/operations.md).
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cigri {

/// The configuration of one process: a file read once at start. Values may hold '#'; a comment
/// begins with '#' outside quotes; quotes may be left out; the last definition of a key wins.
class Config {
 public:
  Config() = default;
  /// Reads `text`; throws Fatal(kExitConfig, "FILE:LINE: ...") on a line that is no KEY = "value".
  static Config Parse(std::string_view text, const std::string& file);
  /// Reads the first that exists of $CIGRICONFFILE, $CIGRICONFDIR/cigri.conf,
  /// /etc/cigri/cigri.conf; an empty configuration when none does. A file named by
  /// $CIGRICONFFILE must exist.
  static Config Load();
  static Config LoadFile(const std::string& path);

  /// The file it came from, "" when there was none.
  const std::string& file() const { return file_; }
  std::string Get(const std::string& key, const std::string& fallback = "") const;
  /// Throws Fatal(kExitConfig) naming file and line when the value is not a number in range.
  std::int64_t GetInt(const std::string& key, std::int64_t fallback, std::int64_t least = 0,
                      std::int64_t most = 1'000'000'000) const;
  double GetDouble(const std::string& key, double fallback) const;
  bool GetBool(const std::string& key, bool fallback) const;
  /// `FILE:LINE: KEY = "value"`, with which an error about a value begins.
  std::string Named(const std::string& key) const;
  bool Has(const std::string& key) const { return values_.count(key) != 0; }
  void Set(const std::string& key, const std::string& value) { values_[key] = {value, 0}; }
  /// Keys that have no effect: "FILE:LINE: unknown key X, did you mean Y", or what has the effect
  /// here of a key of CiGri 3.
  std::vector<std::string> Warnings() const;

 private:
  struct Value {
    std::string text;
    int line = 0;
  };
  std::string file_;
  std::map<std::string, Value> values_;
};

/// Where a TCP server listens; port 0: any that is free.
struct ListenAddress {
  std::string host;  ///< a name or a numeric address, without brackets
  int port = 0;
};
/// "127.0.0.1:8080", "host:8080", "[::1]:8080"; nothing for anything else.
std::optional<ListenAddress> ParseListenAddress(const std::string& text);
inline constexpr const char* kListenAddressHint = "write it as 127.0.0.1:8080 or [::1]:8080";

/// Every key that some program reads. The manual has each.
const std::vector<std::string>& KnownKeys();

/// A key of CiGri 3 that nothing here reads, and what has its effect here (the manual has the same
/// words: docs/next-to-cigri3.md). Besides these: NOTIFICATIONS_XMPP_*.
struct KeyWithoutEffect {
  const char* key;
  const char* instead;
};
const std::vector<KeyWithoutEffect>& KeysWithoutEffect();

/// $CIGRI_HOME, else /var/lib/cigri for root, else ${XDG_STATE_HOME:-~/.local/state}/cigri:
/// where an embedded grid keeps its state (docs/design.md section 11).
std::string CigriHome();
std::string HostName();

/// What DATABASE_HOST, _PORT, _NAME, _USER_NAME, _USER_PASSWORD and _SSL_MODE say, as a libpq
/// conninfo string; "" when they name no database.
std::string ConfiguredDatabase(const Config& config);

/// How a module reaches the database: $CIGRI_DB (a libpq conninfo string, set by `cigri` for its
/// children), else ConfiguredDatabase, else PG* variables, else the embedded server below
/// CigriHome().
std::string DatabaseConninfo(const Config& config);

}  // namespace cigri
