#include "http/head.h"

#include <algorithm>
#include <charconv>

namespace cigri::http {
namespace {

constexpr std::string_view kEnd = "\r\n\r\n", kLine = "\r\n";
constexpr std::size_t kLongestTarget = 8192, kLongestHeader = 8000;  // httplib refuses at 8192

constexpr std::string_view kMethods[] = {"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"};
// httplib reads no body of the first three: it would be taken for the next request.
constexpr std::size_t kWithoutBody = 3;

struct Refusal {
  int status;
  std::string why;
};

bool IsNameChar(char c) {  // RFC 9110, tchar
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t') || byte == 0x7f;
}

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

std::size_t MethodIndex(std::string_view method) {
  return static_cast<std::size_t>(std::find(std::begin(kMethods), std::end(kMethods), method) -
                                  std::begin(kMethods));
}

std::string_view TakeLine(std::string_view& text) {
  const auto end = text.find(kLine);
  const auto line = text.substr(0, end);
  text.remove_prefix(end + kLine.size());
  return line;
}

void ReadRequestLine(std::string_view line, Head& head) {
  const auto first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last)
    throw Refusal{400, "the first line is no request line"};
  head.method = line.substr(0, first);
  head.target = line.substr(first + 1, last - first - 1);
  head.version = line.substr(last + 1);
  if (head.version != "HTTP/1.1" && head.version != "HTTP/1.0")
    throw Refusal{400, "the version is none of HTTP/1.1 and HTTP/1.0"};
  if (!std::all_of(head.method.begin(), head.method.end(), IsNameChar))
    throw Refusal{400, "the first line is no request line"};
  if (MethodIndex(head.method) == std::size(kMethods))
    throw Refusal{501, "this server does not know the method"};
  if (head.target.size() > kLongestTarget)
    throw Refusal{414, "the address is longer than " + std::to_string(kLongestTarget) + " bytes"};
  const bool plain = std::none_of(head.target.begin(), head.target.end(),
                                  [](char c) { return IsControl(c) || IsBlank(c); });
  if (!plain || head.target.empty() || (head.target[0] != '/' && head.target != "*"))
    throw Refusal{400, "the address in the request line must begin with / and have no blanks"};
}

void ReadHeader(std::string_view line, Head& head) {
  const auto colon = line.find(':');
  const auto name = line.substr(0, colon);
  // Also a blank before the colon, and a continued line (it begins with a blank).
  if (colon == std::string_view::npos || name.empty() ||
      !std::all_of(name.begin(), name.end(), IsNameChar))
    throw Refusal{400, "a header is not of the form Name: value"};
  auto value = line.substr(colon + 1);
  while (!value.empty() && IsBlank(value.front())) value.remove_prefix(1);
  while (!value.empty() && IsBlank(value.back())) value.remove_suffix(1);
  if (std::any_of(value.begin(), value.end(), IsControl))
    throw Refusal{400, "control character in a header"};
  const auto percents = static_cast<std::size_t>(std::count(value.begin(), value.end(), '%'));
  if (line.size() + 2 * percents > kLongestHeader)
    throw Refusal{431, "a header is longer than " + std::to_string(kLongestHeader) + " bytes"};
  head.headers.emplace_back(name, value);
}

std::size_t CountOf(const Head& head, std::string_view name) {
  return static_cast<std::size_t>(
      std::count_if(head.headers.begin(), head.headers.end(),
                    [&](const auto& header) { return SameName(header.first, name); }));
}

// Anything but one plain number would let two readers find two ends of the body (smuggling).
void ReadLength(Head& head) {
  if (CountOf(head, "Transfer-Encoding") != 0)
    throw Refusal{411, "send a Content-Length instead of Transfer-Encoding"};
  if (CountOf(head, "Content-Encoding") != 0) throw Refusal{415, "send the body uncompressed"};
  const auto lengths = CountOf(head, "Content-Length");
  if (lengths == 0) return;
  if (lengths > 1) throw Refusal{400, "more than one Content-Length"};
  const std::string text = head.Value("Content-Length");
  if (text.empty() || text.find_first_not_of("0123456789") != text.npos)
    throw Refusal{400, "Content-Length is no number"};
  const auto read =
      std::from_chars(text.data(), text.data() + text.size(), head.body_bytes);
  if (read.ec != std::errc()) throw Refusal{413, "Content-Length is beyond all limits"};
  if (head.body_bytes != 0 && MethodIndex(head.method) < kWithoutBody)
    throw Refusal{400, "a " + head.method + " request has no body"};
}

void ReadLines(std::string_view text, const HeadLimits& limits, Head& head) {
  ReadRequestLine(TakeLine(text), head);
  while (!text.empty()) {
    if (head.headers.size() == limits.headers)
      throw Refusal{431, "more than " + std::to_string(limits.headers) + " headers"};
    ReadHeader(TakeLine(text), head);
  }
  if (CountOf(head, "Host") > 1) throw Refusal{400, "more than one Host"};
  ReadLength(head);
}

}  // namespace

bool SameName(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

std::string Head::Value(std::string_view name) const {
  const std::string* found = nullptr;
  for (const auto& [key, value] : headers) {
    if (!SameName(key, name)) continue;
    if (found != nullptr) return "";
    found = &value;
  }
  return found == nullptr ? "" : *found;
}

std::optional<Head> ReadHead(std::string_view bytes, const HeadLimits& limits) {
  const auto end = bytes.substr(0, limits.bytes).find(kEnd);
  if (end == std::string_view::npos && bytes.size() < limits.bytes) return std::nullopt;
  Head head;
  try {
    if (end == std::string_view::npos)
      throw Refusal{431, "the headers have more than " + std::to_string(limits.bytes) + " bytes"};
    head.bytes = end + kEnd.size();
    ReadLines(bytes.substr(0, end + kLine.size()), limits, head);
  } catch (const Refusal& refusal) {
    head.status = refusal.status;
    head.fault = refusal.why;
  }
  return head;
}

std::string ForHttplib(const Head& head, std::string_view without) {
  std::string out = head.method + " " + head.target + " " + head.version + "\r\n";
  for (const auto& [name, value] : head.headers) {
    // A part of an answer is never needed, and of thousands of parts httplib makes one in memory.
    if (SameName(name, without) || SameName(name, "Range")) continue;
    out += name + ": ";
    for (const char c : value) {
      out += c;
      if (c == '%') out += "25";
    }
    out += kLine;
  }
  return out + "\r\n";
}

}  // namespace cigri::http
