#include "tools/common/events_text.h"

#include "core/text.h"
#include "tools/common/terminal.h"

namespace cigri::tools {
namespace {

using nlohmann::json;

const std::string kDashes = std::string(78, '-') + "\n";

std::string Number(const json& event, const char* key) {
  const auto it = event.find(key);
  return it != event.end() && it->is_number() ? std::to_string(it->get<std::int64_t>()) : "";
}

std::string Head(const json& event) {
  std::string head =
      Number(event, "id") + ": (" + event.value("state", "") + ") " + event.value("code", "");
  if (const auto job = Number(event, "job_id"); !job.empty()) head += " of job " + job;
  head += " at " + event.value("date_open", "");
  if (event.contains("cluster_name") && event["cluster_name"].is_string())
    head += " on " + event["cluster_name"].get<std::string>();
  if (const auto parent = Number(event, "parent"); !parent.empty()) head += " because of " + parent;
  if (event.value("count", std::int64_t{1}) > 1) head += ", " + Number(event, "count") + " times";
  return head + "\n";
}

}  // namespace

std::string EventsText(const json& items) {
  std::string out;
  for (const auto& event : items) {
    out += kDashes + Head(event);
    for (const auto& line : Split(event.value("message", ""), '\n')) out += Printable(line) + "\n";
  }
  return out.empty() ? out : out + kDashes;
}

}  // namespace cigri::tools
