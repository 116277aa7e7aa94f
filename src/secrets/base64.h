// Base64 in its two alphabets (RFC 4648), by libsodium.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace cigri {

/// With + and / and padded to a multiple of four, as `base64 -d` reads it.
std::string Base64(std::string_view bytes);
/// With - and _ and without padding, as in a JWT.
std::string Base64Url(std::string_view bytes);
/// The bytes of what Base64Url() writes; nothing when `text` is anything else.
std::optional<std::string> FromBase64Url(std::string_view text);

}  // namespace cigri
