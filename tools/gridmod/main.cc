// Changes the priority of campaigns.
#include <cstdio>

#include "core/text.h"
#include "tools/common/options.h"
#include "tools/common/terminal.h"

namespace cigri::gridmod {
namespace {

using nlohmann::json;

struct GridmodOptions {
  tools::CommonOptions common;
  std::vector<std::string> campaigns;
  std::string priority;
  bool verbose = false;
};

// Lists with commas, and lists with blanks, as griddel takes them.
std::vector<std::string> Ids(const std::vector<std::string>& words) {
  std::vector<std::string> ids;
  for (const auto& word : words)
    for (const auto& id : Split(word, ',')) {
      if (id.empty()) continue;
      if (id.size() > 18 || id.find_first_not_of("0123456789") != std::string::npos)
        throw Fatal(kExitUsage, "\"" + id + "\" is no number of a campaign");
      ids.push_back(id);
    }
  return ids;
}

std::optional<int> Read(int argc, char** argv, GridmodOptions& o) {
  CommandLine line("gridmod", "Changes the priority of campaigns.");
  std::vector<std::string> arguments;
  tools::AddCommonOptions(line, o.common);
  line.Add({{"ids", &arguments, "campaigns, as -c"},
            {"-c,--campaigns,--campaign", &o.campaigns, "campaigns: 1,2,3"},
            {"-p,--priority",
             &o.priority,
             "0 (suspended) to 9, or highest, high, above_normal, normal, below_normal, low, "
             "lowest, suspended; operators: urgent",
             {.required = true}},
            {"-v,--verbose", &o.verbose, "also what the admission rules said"}});
  if (const auto code = line.ReadOrThrow(argc, argv)) return code;
  o.campaigns.insert(o.campaigns.end(), arguments.begin(), arguments.end());
  o.campaigns = Ids(o.campaigns);
  if (o.campaigns.empty()) throw Fatal(kExitUsage, "no campaign given", "gridmod -c 12 -p low");
  return std::nullopt;
}

// A word or a number; the API knows which there are.
json Level(const std::string& text) {
  const bool number =
      !text.empty() && text.size() < 4 && text.find_first_not_of("0123456789") == std::string::npos;
  return number ? json(std::stoi(text)) : json(text);
}

void PrintChange(const std::string& id, const json& answer, bool verbose) {
  std::string change = "as it was";
  for (const auto& line : answer["changes"])
    if (const auto text = line.get<std::string>(); StartsWith(text, "priority "))
      change = text.substr(std::string("priority ").size());
  std::printf("campaign %s: priority %s%s\n", id.c_str(), change.c_str(),
              answer.value("priority", 1) == 0 ? " (suspended: nothing is sent)" : "");
  if (!verbose) return;
  for (const auto& note : answer["notes"])
    std::printf("  %s\n", tools::Printable(note.get<std::string>()).c_str());
}

// Prints an error of one campaign; the others are changed all the same.
int Change(tools::Api& api, const std::string& id, const GridmodOptions& o) {
  const auto answer = api.Patch("/campaigns/" + id, {{"set", {{"priority", Level(o.priority)}}}});
  if (answer.ok()) {
    PrintChange(id, answer.body, o.verbose);
    return kExitOk;
  }
  const Fatal refused = tools::Refused(answer, "change campaign " + id);
  std::fprintf(stderr, "gridmod: %s\n", refused.what());
  if (!refused.hint().empty()) std::fprintf(stderr, "HINT: %s\n", refused.hint().c_str());
  return refused.code();
}

int Main(int argc, char** argv) {
  GridmodOptions o;
  if (const auto code = Read(argc, argv, o)) return *code;
  auto api = tools::Connect(o.common);
  int worst = kExitOk;
  for (const auto& id : o.campaigns) worst = std::max(worst, Change(api, id, o));
  return worst;
}

}  // namespace
}  // namespace cigri::gridmod

int main(int argc, char** argv) {
  return cigri::RunMain("gridmod", cigri::gridmod::Main, argc, argv);
}
