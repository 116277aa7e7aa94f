// Any bytes as the head of a request: no crash, and what is accepted is read in one way only
// (cmake -DCIGRI_FUZZ=ON; build/tests/fuzz_head).
#include <strings.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "http/head.h"

namespace {

using namespace cigri::http;

void Need(bool truth) {
  if (!truth) std::abort();
}

std::string Undone(std::string text) {
  for (std::size_t at = 0; (at = text.find("%25", at)) != text.npos; ++at) text.erase(at + 1, 2);
  return text;
}

// httplib sees a head of as many lines that says the same, but for Range.
void CheckAccepted(Head head, const HeadLimits& limits) {
  Need(head.bytes <= limits.bytes && head.headers.size() <= limits.headers);
  const std::string text = ForHttplib(head);
  std::erase_if(head.headers,
                [](const auto& header) { return strcasecmp(header.first.c_str(), "range") == 0; });
  Need(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) ==
       head.headers.size() + 2);
  Need(std::count(text.begin(), text.end(), '\n') == std::count(text.begin(), text.end(), '\r'));
  const auto again = ReadHead(text, {.bytes = text.size() + 1, .headers = limits.headers});
  Need(again.has_value() && again->status == 0 && again->bytes == text.size());
  Need(again->target == head.target && again->body_bytes == head.body_bytes);
  for (std::size_t i = 0; i < head.headers.size(); ++i)
    Need(Undone(again->headers[i].second) == head.headers[i].second);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const HeadLimits limits{.bytes = 1024, .headers = 10};
  const auto head = ReadHead(bytes, limits);
  if (!head) return 0;
  Need((head->status == 0) == head->fault.empty());
  if (head->status == 0) CheckAccepted(*head, limits);
  // What follows a head changes nothing in it; nothing is a head before its end.
  if (head->bytes == 0) return 0;
  Need(!ReadHead(bytes.substr(0, head->bytes - 1), limits));
  const auto longer = ReadHead(bytes + "GET / HTTP/1.1\r\n\r\n", limits);
  Need(longer && longer->status == head->status && longer->bytes == head->bytes);
  return 0;
}
