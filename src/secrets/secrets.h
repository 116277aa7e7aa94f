// Secrets of clusters and users: encrypted with a key that is not in the database, or only hashed.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/config.h"

namespace cigri {

/// SECRET_KEY_FILE of the configuration, else secret.key in CigriHome().
std::string SecretKeyFile(const Config& config);

/// Encrypts what the grid must be able to read again: passwords and tokens of clusters. A text
/// looks like "s1:BASE64" and can be distinguished from one that an operator wrote by hand.
class SecretBox {
 public:
  /// Reads the key, when the file exists. Throws Fatal(kExitConfig) when the file cannot be read,
  /// is no key, or may be read by others.
  explicit SecretBox(const std::string& key_file);
  ~SecretBox();
  SecretBox(const SecretBox&) = delete;

  /// Makes the key (mode 0600, its folder 0700) when there is none. Two processes that do so at
  /// once end with the same key.
  std::string Encrypt(std::string_view plain);
  /// A text without the prefix is returned as it is: a row written by hand in SQL.
  /// Throws Fatal(kExitConfig) when there is no key, or another one, or the text was cut. It makes
  /// no key: that would be another one than that of the host which has encrypted the text.
  std::string Decrypt(std::string_view text) const;
  static bool IsEncrypted(std::string_view text);

 private:
  void Read();

  std::string key_file_;
  bool there_ = false;
  unsigned char key_[32]{};
};

/// A new token for the API: "cigri_" and 43 letters and digits of 256 random bits.
std::string RandomToken();
/// What is stored of a token: its hash, 64 digits of base 16. Tokens are random, so no salt.
std::string HashToken(std::string_view token);
/// What may be shown of a secret, to distinguish one from another: "cigri_Ab12...", never more than
/// half.
std::string ShownPart(std::string_view secret);
/// When a JWT ends ("exp", epoch s); nothing when it is none or does not say. Nothing is verified:
/// the cluster does that.
std::optional<std::int64_t> TokenExpiry(std::string_view token);

}  // namespace cigri
