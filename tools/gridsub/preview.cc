#include "tools/gridsub/preview.h"

#include <cstdio>
#include <string>

#include "tools/common/terminal.h"

namespace cigri::gridsub {
namespace {

using nlohmann::json;

std::string Words(const json& value) {
  return tools::Printable(value.is_string() ? value.get<std::string>() : value.dump());
}

void PrintList(const char* title, const json& items) {
  if (!items.is_array() || items.empty()) return;
  std::printf("%s:\n", title);
  for (const auto& item : items) std::printf("  %s\n", Words(item).c_str());
}

void PrintClusters(const json& clusters) {
  if (!clusters.is_array()) return;
  std::printf("Clusters:\n");
  for (const auto& cluster : clusters) {
    const bool matched = cluster.value("matched", false);
    const auto why = cluster.contains("why") ? Words(cluster["why"]) : "";
    std::printf("  %s: %s%s\n", Words(cluster.value("name", json("?"))).c_str(),
                matched ? "yes" : "no", why.empty() ? "" : (", " + why).c_str());
  }
}

}  // namespace

void PrintPreview(const json& body) {
  std::printf("JDL as it would be stored:\n%s\n",
              body.value("jdl", json::object())
                  .dump(2, ' ', false, json::error_handler_t::replace)
                  .c_str());
  PrintList("Changed by admission rules", body.value("changes", json::array()));
  PrintClusters(body.value("clusters", json::array()));
  PrintList("First commands, as the job's shell gets them", body.value("commands", json::array()));
  std::printf("%lld parameters. Nothing was submitted.\n",
              static_cast<long long>(body.value("total_jobs", std::int64_t{0})));
  std::fflush(stdout);
}

}  // namespace cigri::gridsub
