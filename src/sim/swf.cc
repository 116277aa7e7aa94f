#include "sim/swf.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>

#include "core/text.h"
#include "core/whole.h"

namespace cigri::sim {
namespace {

constexpr std::size_t kColumns = 18, kMostFaults = 20;
constexpr std::array<std::string_view, kColumns> kNames = {
    "job number",     "submit time",      "wait time", "run time",
    "processors",     "CPU time",         "memory",    "requested processors",
    "requested time", "requested memory", "status",    "user",
    "group",          "executable",       "queue",     "partition",
    "preceding job",  "think time"};

class Reader {
 public:
  void Line(std::string_view line) {
    ++number_;
    line = Trim(line);
    if (line.empty()) return;
    if (line.front() == ';') return Header(line);
    std::array<double, kColumns> v{};
    std::size_t n = 0;
    for (std::size_t at = 0; at < line.size();) {
      const auto begin = line.find_first_not_of(" \t", at);
      if (begin == line.npos) break;
      at = std::min(line.find_first_of(" \t", begin), line.size());
      const std::string_view word = line.substr(begin, at - begin);
      if (n >= kColumns) return Fault("has more than 18 columns");
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), v[n]);
      if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(v[n]))
        return Fault("column " + std::to_string(n + 1) + " (" + std::string(kNames[n]) +
                     ") is no number: \"" + std::string(word.substr(0, 40)) + "\"");
      ++n;
    }
    if (n < kColumns)
      return Fault("has " + std::to_string(n) +
                   " columns; a job has 18, -1 where nothing is known");
    Job(v);
  }
  Swf swf;

 private:
  void Fault(const std::string& what) {
    if (swf.faults.size() < kMostFaults)
      swf.faults.push_back(std::to_string(number_) + ": " + what);
  }
  void Header(std::string_view line) {
    line.remove_prefix(std::min(line.find_first_not_of("; \t"), line.size()));
    const auto colon = line.find(':');
    if (colon == line.npos || Trim(line.substr(0, colon)) != "MaxProcs") return;
    const auto value = Trim(line.substr(colon + 1));
    std::from_chars(value.data(), value.data() + value.size(), swf.max_procs);
  }
  void Job(const std::array<double, kColumns>& v) {
    if (v[1] < 0)
      return Fault("column 2 (submit time) is negative; times are from the trace's start");
    SwfJob job;
    job.id = Whole<std::int64_t>(v[0]);
    job.submit = v[1], job.wait = v[2], job.run = v[3], job.requested_s = v[8];
    const double procs = v[4] > 0 ? v[4] : v[7];
    if (job.run < 0 || procs < 1 || procs > 1e9) {
      ++swf.skipped;
      return;
    }
    job.procs = static_cast<int>(procs);
    job.status = Whole<int>(v[10]), job.user = Whole<int>(v[11]);
    job.group = Whole<int>(v[12]), job.executable = Whole<int>(v[13]);
    job.queue = Whole<int>(v[14]);
    swf.jobs.push_back(job);
  }
  int number_ = 0;
};

// 0 = none.
int WalltimeOf(const SwfJob& job) {
  return static_cast<int>(std::clamp(job.requested_s, 0.0, 1e9));
}

}  // namespace

Swf ReadSwf(std::string_view text) {
  Reader reader;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    reader.Line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  Swf swf = std::move(reader.swf);
  std::stable_sort(swf.jobs.begin(), swf.jobs.end(),
                   [](const auto& a, const auto& b) { return a.submit < b.submit; });
  if (!swf.jobs.empty()) {
    const double first = swf.jobs.front().submit;
    for (auto& job : swf.jobs) job.submit -= first;
  }
  return swf;
}

std::vector<LocalJob> LocalJobs(const Swf& swf, int most_slots) {
  std::vector<LocalJob> jobs;
  for (const auto& job : swf.jobs)
    jobs.push_back({job.submit, job.run, std::min(job.procs, most_slots)});
  return jobs;
}

std::vector<CampaignSpec> Campaigns(const Swf& swf, const CampaignSpec& like, double gap_s) {
  std::vector<CampaignSpec> campaigns;
  std::map<std::tuple<int, int, int>, std::pair<std::size_t, double>> open;  // place, last submit
  for (const auto& job : swf.jobs) {
    const std::tuple key{job.user, job.executable, job.procs};
    const auto it = open.find(key);
    if (gap_s > 0 && it != open.end() && job.submit - it->second.second <= gap_s) {
      CampaignSpec& c = campaigns[it->second.first];
      c.duration.list.push_back(job.run);
      const int walltime_s = WalltimeOf(job);  // it must do for all
      c.walltime_s = walltime_s > 0 && c.walltime_s > 0 ? std::max(c.walltime_s, walltime_s) : 0;
      ++c.tasks;
      it->second.second = job.submit;
      continue;
    }
    open[key] = {campaigns.size(), job.submit};
    CampaignSpec c = like;
    c.name = (like.name.empty() ? "swf" : like.name) + "-" + std::to_string(job.id);
    if (c.user.empty()) c.user = job.user < 0 ? "nobody" : "user" + std::to_string(job.user);
    if (c.project.empty() && job.group >= 0) c.project = "group" + std::to_string(job.group);
    c.at = like.at + job.submit;
    c.tasks = 1;
    c.slots = job.procs;
    c.duration = {Distribution::Kind::kList, 0, 0, {job.run}};
    c.walltime_s = WalltimeOf(job);
    campaigns.push_back(std::move(c));
  }
  return campaigns;
}

}  // namespace cigri::sim
