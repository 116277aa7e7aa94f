// Changes the priority of campaigns, and sends some of their tasks before the others.
#include <cstdio>

#include "core/limits.h"
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
  json tasks;  ///< to be boosted; null: none
  bool verbose = false;
};

bool IsNumber(const std::string& text, std::size_t most_digits = 18) {
  return !text.empty() && text.size() <= most_digits &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

// Lists with commas, and lists with blanks, as griddel takes them.
std::vector<std::string> Ids(const std::vector<std::string>& words) {
  std::vector<std::string> ids;
  for (const auto& word : words)
    for (const auto& id : Split(word, ',')) {
      if (id.empty()) continue;
      if (!IsNumber(id)) throw Fatal(kExitUsage, "\"" + id + "\" is no number of a campaign");
      ids.push_back(id);
    }
  return ids;
}

// "4,10-20": tasks by their index from 0. More than the API takes at once are refused here, before
// a range of all that there are fills the memory.
json TasksOf(const std::string& text) {
  constexpr std::int64_t kMost = limits::kBoostedTasks.value;
  json tasks = json::array();
  for (const auto& part : Split(text, ',')) {
    const auto ends = Split(part, '-');
    const bool numbers = ends.size() <= 2 && IsNumber(ends.front()) && IsNumber(ends.back());
    const auto first = numbers ? std::stoll(ends.front()) : 0;
    const auto last = numbers ? std::stoll(ends.back()) : -1;
    if (last < first)
      throw Fatal(kExitUsage, "\"" + part + "\" in --boost is neither a task nor a range of tasks",
                  "tasks by their index from 0, like 4,10-20");
    if (last - first >= kMost - static_cast<std::int64_t>(tasks.size()))
      throw Fatal(kExitUsage,
                  "--boost " + text + " has more than " + std::to_string(kMost) + " tasks");
    for (auto task = first; task <= last; ++task) tasks.push_back(task);
  }
  return tasks;
}

std::optional<int> Read(int argc, char** argv, GridmodOptions& o) {
  CommandLine line("gridmod",
                   "Changes the priority of campaigns, and which of their tasks go first.");
  std::vector<std::string> arguments;
  std::string boost;
  tools::AddCommonOptions(line, o.common);
  line.Add(
      {{"ids", &arguments, "campaigns, as -c"},
       {"-c,--campaigns,--campaign", &o.campaigns, "campaigns: 1,2,3"},
       {"-p,--priority", &o.priority,
        "0 (suspended) to 9, or highest, high, above_normal, normal, below_normal, low, "
        "lowest, suspended; operators: urgent"},
       {"-b,--boost", &boost, "tasks to be sent before the others, by their index from 0: 4,10-20"},
       {"-v,--verbose", &o.verbose, "also what the admission rules said"}});
  if (const auto code = line.ReadOrThrow(argc, argv)) return code;
  o.campaigns.insert(o.campaigns.end(), arguments.begin(), arguments.end());
  o.campaigns = Ids(o.campaigns);
  if (o.campaigns.empty()) throw Fatal(kExitUsage, "no campaign given", "gridmod -c 12 -p low");
  if (o.priority.empty() == boost.empty())
    throw Fatal(kExitUsage, "give one of -p and --boost",
                "gridmod 12 -p low, or gridmod 12 --boost 4,10-20");
  if (!boost.empty()) o.tasks = TasksOf(boost);
  return std::nullopt;
}

// A word or a number; the API knows which there are.
json Level(const std::string& text) {
  return IsNumber(text, 3) ? json(std::stoi(text)) : json(text);
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
  const std::string path = "/campaigns/" + id;
  const auto answer = o.tasks.is_null()
                          ? api.Patch(path, {{"set", {{"priority", Level(o.priority)}}}})
                          : api.Post(path + "/boost", {{"tasks", o.tasks}});
  if (answer.ok()) {
    if (o.tasks.is_null())
      PrintChange(id, answer.body, o.verbose);
    else
      std::printf("campaign %s: %s\n", id.c_str(), answer.body.value("message", "").c_str());
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
