#include "tools/gridsim/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "core/pluralize.h"
#include "core/text.h"
#include "sim/keys.h"
#include "sim/writers.h"

namespace cigri::gridsim {
namespace {

using nlohmann::json;

void Print(const std::string& text) { std::fputs(text.c_str(), stdout); }

sim::ReadResult Checked(const GridsimOptions& o, const std::string& text, const std::string& name,
                        const std::string& folder, const std::string& policy) {
  auto edits = EditsOf(o);
  if (!policy.empty()) edits.policy = policy;
  auto read = sim::ReadScenario(text, folder, edits);
  for (const auto& fault : read.faults)
    std::fprintf(stderr, "%s\n", jdl::Text(fault, fault.line > 0 ? name : "gridsim").c_str());
  if (!read.faults.empty())
    throw Fatal(kExitBadInput, name + " has " + Pluralize(read.faults.size(), "fault"));
  return read;
}

void Notes(const sim::ReadResult& read, bool warn) {
  for (const auto& note : read.scenario.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  if (!warn) return;
  for (const auto& odd : read.warnings)
    std::fprintf(stderr, "warning: %s: %s\n", odd.key.c_str(), odd.message.c_str());
}

std::string LabelOf(const GridsimOptions& o, const sim::Scenario& scenario) {
  return o.policy.empty() ? ToString(scenario.policy.policy) : o.policy;
}

int Why(const GridsimOptions& o, const sim::Scenario& scenario) {
  const auto at = sim::ParseDuration(o.why);
  if (!at || *at < 0) throw Fatal(kExitUsage, "--why " + o.why + " is no time", "--why \"2 h\"");
  sim::Why why;
  sim::Engine(scenario, {&why}).Run(*at);
  Print(why.Text(scenario, o.all ? SIZE_MAX : 20));
  return kExitOk;
}

int One(const GridsimOptions& o, const sim::Scenario& scenario) {
  sim::Collector collector(scenario);
  sim::SwfTable swf(scenario);
  sim::Gantt gantt(scenario);
  std::unique_ptr<sim::JobTable> jobs;
  std::unique_ptr<sim::OutFile> swf_file, gantt_file;  // a path that is none is reported at once
  std::vector<sim::Observer*> observers = {&collector};
  if (!o.jobs.empty())
    observers.push_back((jobs = std::make_unique<sim::JobTable>(scenario, o.jobs)).get());
  if (!o.swf.empty()) swf_file = std::make_unique<sim::OutFile>(o.swf), observers.push_back(&swf);
  if (!o.gantt.empty())
    gantt_file = std::make_unique<sim::OutFile>(o.gantt), observers.push_back(&gantt);
  const auto totals = sim::Engine(scenario, observers).Run();
  const auto report = collector.Finish(totals, LabelOf(o, scenario));
  if (jobs != nullptr) jobs->Commit();
  if (swf_file != nullptr) swf_file->Write(swf.Text()), swf_file->Commit();
  if (gantt_file != nullptr)
    gantt_file->Write(gantt.Svg(std::max(report.makespan_s, 1e-3))), gantt_file->Commit();
  Print(o.json ? sim::ToJson(report).dump(2) + "\n" : sim::ToText(report, o.all ? SIZE_MAX : 20));
  return kExitOk;
}

// To what no scheduler can beat, and to one that knows the future.
void AddDistances(const sim::Scenario& scenario, std::vector<sim::Report>& reports) {
  const double least = sim::LeastMakespan(scenario);
  const auto foresees = std::find_if(reports.begin(), reports.end(), [](const auto& r) {
    return r.label == sim::kClairvoyant;
  });
  for (auto& r : reports) {
    const bool whole = r.totals.not_done == 0;
    if (whole && least > 0) r.to_bound = r.makespan_s / least;
    if (whole && foresees->totals.not_done == 0 && foresees->campaign_slowdown > 0)
      r.to_clairvoyant = r.campaign_slowdown / foresees->campaign_slowdown;
  }
}

}  // namespace

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  std::ifstream in(path, std::ios::binary);
  if (in) text << in.rdbuf();
  if (!in || in.bad()) throw Fatal(kExitBadInput, "cannot read " + path);
  return text.str();
}

int RunText(const GridsimOptions& o, const std::string& text, const std::string& name,
            const std::string& folder) {
  if (o.compare.empty()) {
    const auto read = Checked(o, text, name, folder, "");
    Notes(read, true);
    if (o.check) {
      Print(name + ": " + Pluralize(read.scenario.clusters.size(), "cluster") + ", " +
            Pluralize(read.scenario.campaigns.size(), "campaign") + ", nothing wrong\n");
      return kExitOk;
    }
    return o.why.empty() ? One(o, read.scenario) : Why(o, read.scenario);
  }
  std::vector<sim::ReadResult> reads;  // all are checked before the first is run
  std::vector<std::string> compared = o.compare;
  if (std::find(compared.begin(), compared.end(), sim::kClairvoyant) == compared.end())
    compared.emplace_back(sim::kClairvoyant);
  for (const auto& policy : compared) reads.push_back(Checked(o, text, name, folder, policy));
  Notes(reads.front(), false);
  std::unique_ptr<sim::OutFile> plot;
  if (!o.plot.empty()) plot = std::make_unique<sim::OutFile>(o.plot);
  std::vector<sim::Report> reports;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    sim::Collector collector(reads[i].scenario);
    const auto totals = sim::Engine(reads[i].scenario, {&collector}).Run();
    reports.push_back(collector.Finish(totals, compared[i]));
  }
  AddDistances(reads.front().scenario, reports);
  if (plot != nullptr) plot->Write(sim::PlotSvg(reports, reads[0].scenario.name)), plot->Commit();
  json all = json::array();
  for (const auto& r : reports) all.push_back(sim::ToJson(r));
  Print(o.json ? all.dump(2) + "\n" : sim::CompareText(reports));
  return kExitOk;
}

}  // namespace cigri::gridsim
