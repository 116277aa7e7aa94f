// --from-history: the grid's own past, read from its API.
#include "sim/history.h"

#include <fmt/format.h>

#include <ctime>

#include "sim/writers.h"
#include "tools/gridsim/run.h"

namespace cigri::gridsim {
namespace {

using nlohmann::json;

// Seconds since 1970, or 2026-01-31, or 2026-01-31T12:00:00Z: as a number for the API.
std::string Epoch(const std::string& option, const std::string& text) {
  if (text.find_first_not_of("0123456789.") == text.npos) return text;
  for (const char* format :
       {"%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%MZ", "%Y-%m-%d"}) {
    std::tm tm{};
    const char* end = strptime(text.c_str(), format, &tm);
    if (end != nullptr && *end == '\0') return std::to_string(timegm(&tm));
  }
  throw Fatal(kExitUsage, option + " " + text + " is no time",
              option + " 2026-01-31T12:00:00Z (UTC)");
}

json Read(const GridsimOptions& o) {
  if (!o.history.empty()) {
    json answer = json::parse(TextOf(o.history), nullptr, false);
    if (answer.is_object() && answer.contains("items")) return answer;
    throw Fatal(kExitBadInput, o.history + " is no answer of GET /admin/plans/history");
  }
  std::string path = "/admin/plans/history?limit=" + std::to_string(std::min(o.limit, 1000));
  if (!o.from.empty()) path += "&from=" + Epoch("--from", o.from);
  if (!o.until.empty()) path += "&until=" + Epoch("--until", o.until);
  auto api = tools::Connect(o.common);
  json answer = tools::Expect(api.Get(path), "read the history of decisions");
  if (answer.value("more", false))
    std::fprintf(stderr, "note: there is more than was read: --from, --until, --limit\n");
  return answer;
}

int Replay(const GridsimOptions& o, const json& answer) {
  const auto all = sim::Replay(answer);
  std::size_t same = 0;
  json different = json::array();
  for (const auto& one : all) {
    same += one.same;
    if (one.same) continue;
    different.push_back({{"id", one.id}, {"now", one.at}, {"difference", one.difference}});
    if (!o.json) std::printf("decision %ld at %.3f: %s\n", one.id, one.at, one.difference.c_str());
  }
  if (o.json)
    std::puts(json({{"decisions", all.size()}, {"same", same}, {"different", different}})
                  .dump(2)
                  .c_str());
  else
    std::printf("%zu decisions taken again, %zu the same\n", all.size(), same);
  if (all.empty()) std::fprintf(stderr, "note: no decision was stored in that time\n");
  return same == all.size() ? kExitOk : kExitNo;
}

double MeanOf(const json& duration) {
  if (!duration.is_array()) return duration.get<double>();
  double sum = 0;
  for (const auto& one : duration) sum += one.get<double>();
  return duration.empty() ? 0 : sum / static_cast<double>(duration.size());
}

// Some hundred decisions say when all ends, if they come often while one task runs.
void DecideSeldom(json& scenario) {
  double tasks = 0, task_s = 0, slot_s = 0, slots = 0;
  for (const auto& c : scenario["campaigns"]) {
    const double n = c["tasks"], mean = MeanOf(c["duration"]);
    tasks += n;
    task_s += n * mean;
    slot_s += n * mean * c.value("slots", 1.0);
  }
  for (const auto& c : scenario["clusters"]) slots += c.value("slots", 1.0);
  if (tasks <= 0 || slots <= 0) return;
  scenario["cycle"] = std::max(1.0, std::min(slot_s / slots / 500, task_s / tasks / 60));
}

// At most `most` tasks in all. Of a campaign that has more than its part some are simulated, each as
// much longer: its work stays the same.
std::string Coarse(const std::string& text, int most, std::vector<std::string>& notes) {
  json scenario = json::parse(text);
  auto& campaigns = scenario["campaigns"];
  const auto part = std::max<std::int64_t>(1, most / static_cast<std::int64_t>(campaigns.size()));
  for (auto& c : campaigns) {
    const std::int64_t tasks = c["tasks"], times = (tasks + part - 1) / part;
    if (times <= 1) continue;
    const std::int64_t taken = (tasks + times - 1) / times;
    const double longer = static_cast<double>(tasks) / static_cast<double>(taken);
    const auto stretch = [&](json& seconds) { seconds = seconds.get<double>() * longer; };
    if (c["duration"].is_array())
      for (auto& one : c["duration"]) stretch(one);
    else stretch(c["duration"]);
    if (c.contains("min_duration")) stretch(c["min_duration"]);
    c["tasks"] = taken;
    notes.push_back(fmt::format("the {} tasks of campaign {} are taken as {} that last as much longer",
                                tasks, c["name"].get<std::string>(), taken));
  }
  DecideSeldom(scenario);
  return scenario.dump(1) + "\n";
}

}  // namespace

int RunHistory(const GridsimOptions& o) {
  const json answer = Read(o);
  if (o.replay) return Replay(o, answer);
  std::vector<std::string> notes;
  std::string text;
  try {
    text = sim::ScenarioOf(answer, notes);
  } catch (const std::invalid_argument& e) {
    throw Fatal(kExitNo, e.what(), "snapshots are stored while campaigns are in treatment");
  }
  if (o.coarse != 0) text = Coarse(text, o.coarse, notes);
  for (const auto& note : notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  if (!o.save.empty()) {
    sim::OutFile file(o.save);
    file.Write(text);
    file.Commit();
  }
  return RunText(o, text, "history", "");
}

}  // namespace cigri::gridsim
