#include "tools/common/failures_text.h"

#include "core/text.h"
#include "tools/common/terminal.h"

namespace cigri::tools {
namespace {

using nlohmann::json;

std::int64_t Int(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number() ? it->get<std::int64_t>() : 0;
}
std::string Str(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}
bool IsNumber(const json& object, const char* key) {
  return object.contains(key) && object[key].is_number();
}

std::string Quoted(std::string_view text) {
  std::string out;
  for (const auto& line : Split(Trim(text), '\n'))
    if (!Trim(line).empty()) out += "       | " + Printable(line) + "\n";
  return out;
}

// The task that stands for all of them.
std::string Sample(const json& sample) {
  if (!sample.is_object()) return "";
  std::string out;
  if (IsNumber(sample, "task")) out += " task " + std::to_string(Int(sample, "task"));
  if (!Str(sample, "params").empty())
    out += " (" + CutTo(Printable(Str(sample, "params")), 40) + ")";
  if (!Str(sample, "cluster").empty()) out += " on " + Printable(Str(sample, "cluster"));
  if (!Str(sample, "node").empty()) out += " " + Printable(Str(sample, "node"));
  if (IsNumber(sample, "exit")) out += ", exit " + std::to_string(Int(sample, "exit"));
  if (IsNumber(sample, "signal")) out += ", signal " + std::to_string(Int(sample, "signal"));
  if (!out.empty()) out = "       e.g." + out + "\n";
  return out + Quoted(Str(sample, "stderr"));
}

// One cluster is named by the sample.
std::string Where(const json& item) {
  const auto clusters = item.value("clusters", json::array());
  std::string out;
  if (clusters.size() > 1)
    for (const auto& name : clusters)
      out += (out.empty() ? "  on " : ", ") + Printable(name.get<std::string>());
  return out;
}

}  // namespace

std::string FailuresText(const json& failures, bool colour) {
  std::string out;
  const auto items = failures.value("items", json::array());
  for (const auto& item : items) {
    const std::string message(Trim(Str(item, "message")));
    const auto end = std::min(message.find('\n'), message.size());
    out +=
        Paint(Tint::kRed,
              "  " + std::to_string(Int(item, "count")) + " x " + Printable(message.substr(0, end)),
              colour);
    out += Paint(Tint::kDim, "  [" + Str(item, "code") + "]" + Where(item), colour) + "\n";
    out += Quoted(message.substr(end));
    if (item.contains("sample")) out += Sample(item["sample"]);
  }
  const auto left = Int(failures, "total") - static_cast<std::int64_t>(items.size());
  if (left > 0) out += "      and " + std::to_string(left) + " more kinds: gridevents lists them\n";
  return out;
}

}  // namespace cigri::tools
