#include "db/params.h"

#include <fmt/format.h>

#include <pqxx/pqxx>

#include "core/text.h"

namespace cigri::db {
namespace {

template <typename T, typename Write>
std::string Braces(const std::vector<T>& values, Write write) {
  std::string out = "{";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out += ',';
    write(out, values[i]);
  }
  return out + "}";
}

void Quoted(std::string& out, const std::string& value) {
  out += '"';
  for (char c : TextOf(value)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

constexpr auto kWritePlain = [](std::string& out, const auto& value) { out += TextOf(value); };

template <typename Write>
auto OrNull(Write write) {
  return [write](std::string& out, const auto& value) {
    if (value)
      write(out, *value);
    else
      out += "NULL";
  };
}

}  // namespace

std::string TextOf(std::int64_t value) { return std::to_string(value); }
std::string TextOf(double value) { return pqxx::to_string(value); }
std::string TextOf(bool value) { return value ? "t" : "f"; }
std::string TextOf(std::string_view value) {
  const bool good = value.find('\0') == value.npos && IsValidUtf8(value);
  return good ? std::string(value) : ReplaceAll(ValidUtf8(value), {"\0", 1}, "\xEF\xBF\xBD");
}

std::string Array(const std::vector<std::int64_t>& values) { return Braces(values, kWritePlain); }
std::string Array(const std::vector<int>& values) {
  return Braces(values, [](std::string& out, int v) { out += std::to_string(v); });
}
std::string Array(const std::vector<double>& values) { return Braces(values, kWritePlain); }
std::string Array(const std::vector<bool>& values) {
  return Braces(values, [](std::string& out, bool v) { out += TextOf(v); });
}
std::string Array(const std::vector<std::string>& values) { return Braces(values, Quoted); }
std::string Array(const std::vector<std::optional<std::string>>& values) {
  return Braces(values, OrNull(Quoted));
}
std::string Array(const std::vector<std::optional<std::int64_t>>& values) {
  return Braces(values, OrNull(kWritePlain));
}
std::string Array(const std::vector<std::optional<double>>& values) {
  return Braces(values, OrNull(kWritePlain));
}

std::string Bytea(std::string_view bytes) {
  const auto* begin = reinterpret_cast<const unsigned char*>(bytes.data());
  return fmt::format("\\x{:02x}", fmt::join(begin, begin + bytes.size(), ""));
}

}  // namespace cigri::db
