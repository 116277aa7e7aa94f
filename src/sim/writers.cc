#include "sim/writers.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "core/text.h"
#include "policy/reason.h"

namespace cigri::sim {

OutFile::OutFile(std::string path) : path_(std::move(path)), part_(path_ + ".part") {
  file_ = std::fopen(part_.c_str(), "wb");
  if (file_ == nullptr)
    throw Fatal(kExitBadInput, "cannot write " + path_ + ": " + std::strerror(errno));
}
OutFile::~OutFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  unlink(part_.c_str());
}
void OutFile::Write(const std::string& text) {
  bad_ = bad_ || std::fwrite(text.data(), 1, text.size(), file_) != text.size();
}
void OutFile::Commit() {
  const bool good = std::fclose(std::exchange(file_, nullptr)) == 0 && !bad_;
  if (good && std::rename(part_.c_str(), path_.c_str()) == 0) return;
  const std::string why = std::strerror(errno);
  unlink(part_.c_str());
  throw Fatal(kExitBadInput, "cannot write " + path_ + ": " + why);
}

namespace {

// RFC 4180.
std::string Cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  return "\"" + ReplaceAll(text, "\"", "\"\"") + "\"";
}
std::string Time(double seconds) { return seconds < 0 ? "" : fmt::format("{:.3f}", seconds); }

}  // namespace

JobTable::JobTable(const Scenario& scenario, std::string path)
    : scenario_(scenario), submitted_(scenario.campaigns.size(), 0), file_(std::move(path)) {
  file_.Write("job,campaign,user,task,kind,cluster,slots,submitted,sent,started,ended,end\n");
}
void JobTable::Submitted(int campaign, double now) { submitted_[campaign] = now; }
void JobTable::Ended(const Attempt& a) {
  const auto& c = scenario_.campaigns[a.campaign];
  file_.Write(fmt::format(
      "{},{},{},{},{},{},{},{},{},{},{},{}\n", a.job, Cell(c.name), Cell(c.user), a.task,
      cigri::ToString(a.kind), Cell(scenario_.clusters[a.cluster].name), a.slots,
      Time(submitted_[a.campaign]), Time(a.sent), Time(a.started), Time(a.ended), ToString(a.end)));
}

std::string SwfTable::Text() {
  std::stable_sort(attempts_.begin(), attempts_.end(),
                   [](const auto& a, const auto& b) { return a.sent < b.sent; });
  std::map<std::string, int> users, groups;
  std::int64_t slots = 0;
  for (const auto& c : scenario_.clusters) slots += c.slots;
  std::string out = fmt::format(
      "; Version: 2.2\n; Computer: simulated by gridsim\n; MaxJobs: {}\n; MaxProcs: {}\n"
      "; Note: the executable is the campaign, the partition the cluster\n",
      attempts_.size(), slots);
  const auto number = [](std::map<std::string, int>& map, const std::string& name) {
    return map.try_emplace(name, static_cast<int>(map.size()) + 1).first->second;
  };
  for (const auto& a : attempts_) {
    const auto& c = scenario_.campaigns[a.campaign];
    const bool ran = a.started >= 0;
    const int status =
        a.end == End::kDone ? 1 : (a.end == End::kFailed || a.end == End::kWalltime ? 0 : 5);
    out += fmt::format("{} {:.3f} {:.3f} {:.3f} {} -1 -1 {} {} -1 {} {} {} {} 1 {} -1 -1\n", a.job,
                       a.sent, ran ? a.started - a.sent : -1.0, ran ? a.ended - a.started : -1.0,
                       a.slots, a.slots, c.walltime_s > 0 ? c.walltime_s : -1, status,
                       number(users, c.user), c.project.empty() ? -1 : number(groups, c.project),
                       a.campaign + 1, a.cluster + 1);
  }
  return out;
}

void Why::Decided(const Moment& moment) {
  any_ = true;
  now_ = moment.now;
  clusters_ = moment.snapshot.clusters;
  result_ = moment.result;
  waiting_.clear(), campaigns_.clear();
  for (const auto& c : moment.snapshot.campaigns) {
    campaigns_.push_back(c.id);
    waiting_.push_back(c.waiting);
  }
}

std::string Why::Text(const Scenario& scenario, std::size_t most) const {
  if (!any_) return "nothing was decided until then\n";
  std::string out = fmt::format("last decided at {} ({:.3f} s)\n", HumanDuration(now_), now_);
  std::map<std::int64_t, std::int64_t> given, given_on;
  for (const auto& g : result_.plan.allocations)
    if (!g.shadow) given[g.campaign] += g.n, given_on[g.cluster] += g.n;
  for (std::size_t k = 0; k < std::min(most, clusters_.size()); ++k)
    out += fmt::format("{}: {} of {} slots free, {} of our jobs run, {} wait, {} given now\n",
                       clusters_[k].name, clusters_[k].free, clusters_[k].max, clusters_[k].running,
                       clusters_[k].waiting + clusters_[k].launching, given_on[clusters_[k].id]);
  policy::Snapshot names;
  names.clusters = clusters_;
  const policy::ReasonTexts texts(names);
  std::size_t shown = 0;
  for (std::size_t i = 0; i < campaigns_.size(); ++i) {
    if (waiting_[i] - given[campaigns_[i]] <= 0) continue;
    if (++shown > most) break;
    const auto& spec = scenario.campaigns[campaigns_[i] - 1];
    out += fmt::format("{} of {}: {} tasks wait, {} given now\n", spec.name, spec.user, waiting_[i],
                       given[campaigns_[i]]);
    for (const auto& r : result_.reasons) {
      if (r.campaign != campaigns_[i]) continue;
      out +=
          fmt::format("  {} [{}]{}\n", texts.Text(r), policy::ToString(r.code), r.main ? " *" : "");
    }
  }
  if (shown == 0) out += "no campaign waits for more\n";
  if (shown > most) out += "... and more (--all has them)\n";
  return out;
}

}  // namespace cigri::sim
