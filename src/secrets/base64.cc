#include "secrets/base64.h"

#include <sodium.h>

#include <cstring>

namespace cigri {
namespace {

constexpr int kUrlSafe = sodium_base64_VARIANT_URLSAFE_NO_PADDING;

std::string Encode(std::string_view bytes, int variant) {
  std::string text(sodium_base64_encoded_len(bytes.size(), variant), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                    bytes.size(), variant);
  text.resize(std::strlen(text.c_str()));
  return text;
}

}  // namespace

std::string Base64(std::string_view bytes) { return Encode(bytes, sodium_base64_VARIANT_ORIGINAL); }

std::string Base64Url(std::string_view bytes) { return Encode(bytes, kUrlSafe); }

std::optional<std::string> FromBase64Url(std::string_view text) {
  std::string bytes(text.size(), '\0');
  std::size_t n = 0;
  if (sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(),
                        text.size(), nullptr, &n, nullptr, kUrlSafe) != 0)
    return std::nullopt;
  bytes.resize(n);
  return bytes;
}

}  // namespace cigri
