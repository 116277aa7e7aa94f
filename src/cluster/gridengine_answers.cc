#include "cluster/gridengine_answers.h"

#include <algorithm>
#include <ctime>

#include "cluster/job_record.h"
#include "cluster/rest_api.h"
#include "core/text.h"

namespace cigri::cluster::gridengine {
namespace {

double TimeOf(const std::string& text, const char* format) {
  std::tm tm{};
  tm.tm_isdst = -1;
  if (strptime(text.c_str(), format, &tm) == nullptr) return 0;
  return static_cast<double>(mktime(&tm));
}

// "failed" of qacct: why Grid Engine could not run the job to its end.
void FillEnd(RemoteJob* job, const Task& t, std::int64_t walltime_s) {
  constexpr int kKilled = 100, kWalltime = 37, kNoDirectory = 27, kNoOutput = 26;
  job->state = RemoteState::kEnded;
  if (t.failed == 0) {
    // Our script ends with 128 + signal when a signal ended the command.
    const int code = t.exit_status;
    const bool signalled = (code >= 129 && code <= 143) || code == 152 || code == 153;
    return EndByScript(job, signalled ? code - 128 : (code & 0xff) << 8);
  }
  job->message = "Grid Engine says failed " + std::to_string(t.failed);
  if (t.failed == kNoDirectory || t.failed == kNoOutput) {
    job->cause = t.failed == kNoOutput ? EndCause::kBadOutput : EndCause::kBadDirectory;
  } else if (t.failed == kWalltime) {
    job->cause = EndCause::kWalltime;
  } else if (t.failed != kKilled) {
    job->cause = EndCause::kLaunchFailed;
  } else {
    // From outside: by qdel, or at h_rt.
    const bool over =
        walltime_s > 0 && t.ended_at - t.started_at >= static_cast<double>(walltime_s);
    job->cause = over ? EndCause::kWalltime : EndCause::kDeleted;
  }
}

}  // namespace

void Garbage(const std::string& what, const std::string& text) {
  throw CallFailed(CallFailed::Why::kGarbage,
                   "cannot " + what + ": the answer cannot be read: " + ErrorText(text));
}

pugi::xml_document ReadXml(const std::string& what, const std::string& text) {
  pugi::xml_document xml;
  if (!xml.load_buffer(text.data(), text.size()) || !xml.child("job_info")) Garbage(what, text);
  return xml;
}

// What no host has is no number of slots, and sums of it none either.
int SlotsIn(const pugi::xml_node& queue, const char* key) {
  return std::clamp(std::atoi(queue.child_value(key)), 0, 100'000);
}

std::vector<Task> ReadQstat(const std::string& what, const std::string& text) {
  const auto xml = ReadXml(what, text);
  std::vector<Task> tasks;
  constexpr char kIso[] = "%Y-%m-%dT%H:%M:%S";
  for (const auto& found : xml.select_nodes("//job_list")) {
    const auto item = found.node();
    Task t;
    t.job = item.child_value("JB_job_number");
    if (t.job.empty()) Garbage(what, text);
    t.name = item.child_value("JB_name");
    t.owner = item.child_value("JB_owner");
    t.state = item.child_value("state");
    t.number = std::max(1, std::atoi(item.child_value("tasks")));
    t.submitted_at = TimeOf(item.child_value("JB_submission_time"), kIso);
    t.started_at = TimeOf(item.child_value("JAT_start_time"), kIso);
    const std::string queue = item.child_value("queue_name");  // all.q@node1
    t.node = queue.substr(std::min(queue.size(), queue.find('@') + 1));
    tasks.push_back(std::move(t));
  }
  return tasks;
}

// Blocks of lines "key   value", each after a line of "=".
std::vector<Task> ReadQacct(const std::string& what, const std::string& text) {
  std::vector<Task> tasks;
  constexpr char kLong[] = "%a %b %d %H:%M:%S %Y";
  for (const auto& line : Split(text, '\n')) {
    if (StartsWith(line, "====")) {
      tasks.emplace_back().ended = true;
      continue;
    }
    if (tasks.empty()) continue;
    auto& t = tasks.back();
    const auto space = line.find(' ');
    const auto key = line.substr(0, space);
    const auto value = space == line.npos ? "" : std::string(Trim(line.substr(space)));
    if (key == "jobnumber") t.job = value;
    if (key == "taskid") t.number = std::max(1, std::atoi(value.c_str()));
    if (key == "jobname") t.name = value;
    if (key == "owner") t.owner = value;
    if (key == "hostname") t.node = value;
    if (key == "qsub_time") t.submitted_at = TimeOf(value, kLong);
    if (key == "start_time") t.started_at = TimeOf(value, kLong);
    if (key == "end_time") t.ended_at = TimeOf(value, kLong);
    if (key == "failed") t.failed = std::atoi(value.c_str());
    if (key == "exit_status") t.exit_status = std::atoi(value.c_str());
    // Its times are local: the hour that a change of clocks repeats is two.
    if (key == "ru_wallclock" && t.started_at > 0 && t.ended_at > 0)
      t.started_at = t.ended_at - std::max(0.0, std::atof(value.c_str()));
  }
  if (tasks.empty() || tasks.back().job.empty()) Garbage(what, text);
  return tasks;
}

double FlushTime(const std::string& configuration) {
  double general = 15, own = -1;
  for (auto word : Split(configuration, ' ')) {
    int h = 0, m = 0, s = 0;
    if (std::sscanf(word.c_str(), "flush_time=%d:%d:%d", &h, &m, &s) == 3)
      general = h * 3600.0 + m * 60.0 + s;
    if (std::sscanf(word.c_str(), "accounting_flush_time=%d:%d:%d", &h, &m, &s) == 3)
      own = h * 3600.0 + m * 60.0 + s;
  }
  return own >= 0 ? own : general;
}

std::string IdOf(const Task& t) { return t.job + "." + std::to_string(t.number); }
std::string ArrayOf(const std::string& id) { return id.substr(0, id.find('.')); }

RemoteJob JobOf(const Task& t, const RemoteRef& ref) {
  RemoteJob job;
  job.ref = ref;
  job.submitted_at = t.submitted_at;
  job.started_at = t.started_at;
  job.node = t.node;
  if (t.ended) {
    job.ended_at = t.ended_at;
    FillEnd(&job, t, ref.walltime_s);
  } else if (t.state.find('h') != t.state.npos) {
    job.state = RemoteState::kHeld;
  } else if (t.state.find_first_of("rtsSTdR") != t.state.npos) {
    job.state = RemoteState::kRunning;
  } else {
    job.state = RemoteState::kWaiting;
    if (t.state.find('E') != t.state.npos)
      job.message = "Grid Engine could not start it (state " + t.state + ")";
  }
  return job;
}

}  // namespace cigri::cluster::gridengine
