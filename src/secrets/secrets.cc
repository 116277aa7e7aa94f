#include "secrets/secrets.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "secrets/base64.h"

namespace cigri {
namespace {

constexpr std::string_view kPrefix = "s1:";
constexpr std::size_t kKey = crypto_secretbox_KEYBYTES, kNonce = crypto_secretbox_NONCEBYTES,
                      kMac = crypto_secretbox_MACBYTES;

void InitSodium() {
  if (sodium_init() < 0) throw Fatal(kExitSoftware, "cannot start libsodium");
}

std::string RandomBytes(std::size_t n) {
  InitSodium();
  std::string bytes(n, '\0');
  randombytes_buf(bytes.data(), n);
  return bytes;
}

[[noreturn]] void CannotRead(const std::string& file, const std::string& why,
                             const std::string& hint = "") {
  throw Fatal(kExitConfig, "cannot use the key file " + file + ": " + why, hint);
}

// Writes a new key under a name of its own and links it into place: whoever comes second keeps
// the first one's key, and nobody ever reads half of one.
void MakeKey(const std::string& file) {
  const auto folder = std::filesystem::path(file).parent_path();
  std::error_code ignored;
  if (std::filesystem::create_directories(folder, ignored)) chmod(folder.c_str(), 0700);
  const std::string fresh = file + "." + RandomHex(8);
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) CannotRead(file, std::string("cannot create it: ") + std::strerror(errno));
  const std::string text = Base64Url(RandomBytes(kKey)) + "\n";
  const bool written =
      write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(fd) == 0;
  close(fd);
  const bool linked = written && (link(fresh.c_str(), file.c_str()) == 0 || errno == EEXIST);
  const int why = errno;
  unlink(fresh.c_str());
  if (!linked) CannotRead(file, std::string("cannot create it: ") + std::strerror(why));
}

std::string ReadKey(const std::string& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) CannotRead(file, std::strerror(errno));
  struct stat st {};
  char text[256];
  const bool known = fstat(fd, &st) == 0;
  const ssize_t n = read(fd, text, sizeof text);
  close(fd);
  if (known && (st.st_mode & 077) != 0)
    CannotRead(file, "others may read it", "chmod 600 " + ShellQuote(file));
  const std::string key =
      n < 0 ? "" : FromBase64Url(Trim({text, static_cast<std::size_t>(n)})).value_or("");
  if (key.size() != kKey)
    CannotRead(file, "it holds no key", "put the right one back: secrets cannot be read without");
  return key;
}

}  // namespace

std::string SecretKeyFile(const Config& config) {
  return config.Get("SECRET_KEY_FILE", CigriHome() + "/secret.key");
}

SecretBox::SecretBox(const std::string& key_file) : key_file_(key_file) {
  InitSodium();
  if (access(key_file.c_str(), F_OK) == 0 || errno != ENOENT) Read();
}

void SecretBox::Read() {
  std::string key = ReadKey(key_file_);
  std::memcpy(key_, key.data(), kKey);
  sodium_memzero(key.data(), key.size());
  there_ = true;
}

SecretBox::~SecretBox() { sodium_memzero(key_, sizeof key_); }

std::string SecretBox::Encrypt(std::string_view plain) {
  if (!there_) {
    MakeKey(key_file_);
    Read();
  }
  std::string sealed = RandomBytes(kNonce);
  sealed.resize(kNonce + kMac + plain.size());
  auto* bytes = reinterpret_cast<unsigned char*>(sealed.data());
  crypto_secretbox_easy(bytes + kNonce, reinterpret_cast<const unsigned char*>(plain.data()),
                        plain.size(), bytes, key_);
  return std::string(kPrefix) + Base64Url(sealed);
}

std::string SecretBox::Decrypt(std::string_view text) const {
  if (!IsEncrypted(text)) return std::string(text);
  const std::string where = key_file_ + " on " + HostName();
  constexpr const char* kHint =
      "copy the key file of the host where it was set to the same place, or set the secret again";
  if (!there_)
    throw Fatal(kExitConfig, "cannot decrypt a stored secret: there is no key file " + where,
                kHint);
  const std::string sealed = FromBase64Url(text.substr(kPrefix.size())).value_or("");
  const auto* bytes = reinterpret_cast<const unsigned char*>(sealed.data());
  if (sealed.size() >= kNonce + kMac) {
    std::string plain(sealed.size() - kNonce - kMac, '\0');
    if (crypto_secretbox_open_easy(reinterpret_cast<unsigned char*>(plain.data()), bytes + kNonce,
                                   sealed.size() - kNonce, bytes, key_) == 0)
      return plain;
  }
  throw Fatal(kExitConfig, "cannot decrypt a stored secret: it has another key than " + where,
              kHint);
}

bool SecretBox::IsEncrypted(std::string_view text) { return StartsWith(text, kPrefix); }

std::string RandomToken() { return "cigri_" + Base64Url(RandomBytes(32)); }

std::string HashToken(std::string_view token) {
  InitSodium();
  unsigned char hash[32];
  crypto_generichash(hash, sizeof hash, reinterpret_cast<const unsigned char*>(token.data()),
                     token.size(), nullptr, 0);
  char hex[2 * sizeof hash + 1];
  return sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
}

std::string ShownPart(std::string_view secret) {
  return std::string(secret.substr(0, std::min<std::size_t>(10, secret.size() / 2))) + "...";
}

std::optional<std::int64_t> TokenExpiry(std::string_view token) {
  const auto parts = Split(token, '.');
  if (parts.size() != 3) return std::nullopt;
  const auto payload = nlohmann::json::parse(FromBase64Url(parts[1]).value_or(""), nullptr, false);
  if (!payload.is_object() || !payload.contains("exp") || !payload["exp"].is_number())
    return std::nullopt;
  return payload["exp"].get<std::int64_t>();
}

}  // namespace cigri
