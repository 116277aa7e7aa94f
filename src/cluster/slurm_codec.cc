#include "cluster/slurm_codec.h"

#include <simdjson.h>

#include <charconv>
#include <csignal>

#include "cluster/job_script.h"
#include "cluster/rest_api.h"
#include "core/text.h"

namespace cigri::cluster {
namespace {

using simdjson::dom::element;

element Find(const element& object, std::string_view key, bool* found) {
  element value;
  *found = object[key].get(value) == simdjson::SUCCESS;
  return value;
}

// 5, "5" or {"set":true,"infinite":false,"number":5}; nothing for null, unset and infinite.
std::optional<double> Number(const element& value) {
  double d = 0;
  std::string_view text;
  if (value.get(d) == simdjson::SUCCESS) return d;
  std::int64_t n = 0;
  if (value.get(text) == simdjson::SUCCESS &&
      std::from_chars(text.data(), text.data() + text.size(), n).ec == std::errc())
    return static_cast<double>(n);
  if (!value.is_object()) return std::nullopt;
  bool set = true, has = false;
  if (value["set"].get(set) == simdjson::SUCCESS && !set) return std::nullopt;
  const auto inner = Find(value, "number", &has);
  return has && !inner.is_object() ? Number(inner) : std::nullopt;
}

std::optional<double> NumberAt(const element& object, std::string_view key) {
  bool found = false;
  const auto value = Find(object, key, &found);
  return found ? Number(value) : std::nullopt;
}

double Seconds(const element& object, std::string_view key) {
  return NumberAt(object, key).value_or(0);
}

std::string Text(const element& object, std::string_view key) {
  std::string_view text;
  return object[key].get(text) == simdjson::SUCCESS ? std::string(text) : "";
}

// "RUNNING", or the list ["RUNNING", "COMPLETING"], of which COMPLETING hides the rest.
std::string StateIn(const element& value) {
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) return std::string(text);
  simdjson::dom::array list;
  if (value.get(list) != simdjson::SUCCESS) return "";
  std::string first;
  for (const auto item : list) {
    if (item.get(text) != simdjson::SUCCESS) continue;
    if (text == "COMPLETING") return "COMPLETING";
    if (first.empty()) first = text;
  }
  return first;
}

std::string StateAt(const element& object, std::string_view key) {
  bool found = false;
  const auto value = Find(object, key, &found);
  return found ? StateIn(value) : "";
}

// A raw wait status, or {"status":..,"return_code":N,"signal":{"id" or "signal_id":N}}.
int WaitStatus(const element& value) {
  if (!value.is_object()) return static_cast<int>(Number(value).value_or(0));
  bool found = false;
  const auto signal = Find(value, "signal", &found);
  if (found && signal.is_object())
    for (const char* key : {"id", "signal_id"})
      if (const auto n = NumberAt(signal, key); n && *n > 0) return static_cast<int>(*n);
  if (NumberAt(value, "number")) return static_cast<int>(*Number(value));
  return static_cast<int>(NumberAt(value, "return_code").value_or(0)) << 8;
}

std::optional<int> TaskAt(const element& object, std::string_view key) {
  const auto n = NumberAt(object, key);
  return n ? std::optional<int>(static_cast<int>(*n)) : std::nullopt;
}

void ReadLive(const element& job, SlurmRecord* r) {
  r->array_job_id = static_cast<std::int64_t>(NumberAt(job, "array_job_id").value_or(0));
  r->task = TaskAt(job, "array_task_id");
  r->task_string = Text(job, "array_task_string");
  r->comment = Text(job, "comment");
  r->user = Text(job, "user_name");
  r->state = StateAt(job, "job_state");
  r->reason = Text(job, "state_reason");
  r->submitted_at = Seconds(job, "submit_time");
  r->started_at = Seconds(job, "start_time");
  r->ended_at = Seconds(job, "end_time");
}

void ReadStored(const element& job, const element& time, SlurmRecord* r) {
  bool found = false;
  const auto array = Find(job, "array", &found);
  if (found && array.is_object()) {
    r->array_job_id = static_cast<std::int64_t>(NumberAt(array, "job_id").value_or(0));
    r->task = TaskAt(array, "task_id");
    r->task_string = Text(array, "task");
  }
  const auto comment = Find(job, "comment", &found);
  if (found && comment.is_object()) r->comment = Text(comment, "job");
  const auto state = Find(job, "state", &found);
  if (found && state.is_object()) {
    r->state = StateAt(state, "current");
    r->reason = Text(state, "reason");
  }
  r->user = Text(job, "user");
  r->submitted_at = Seconds(time, "submission");
  r->started_at = Seconds(time, "start");
  r->ended_at = Seconds(time, "end");
  // FAILED with exit code 0: slurmdbd had another, which this API lost (v0.0.36 to v0.0.38).
  r->exit_known = r->state != "FAILED" || r->wait_status != 0;
}

SlurmRecord RecordOf(const element& job) {
  SlurmRecord r;
  bool found = false;
  r.job_id = static_cast<std::int64_t>(NumberAt(job, "job_id").value_or(0));
  r.name = Text(job, "name");
  r.node = Text(job, "nodes");
  const auto exit_code = Find(job, "exit_code", &found);
  if (found) r.wait_status = WaitStatus(exit_code);
  const auto time = Find(job, "time", &found);
  if (found && time.is_object())
    ReadStored(job, time, &r);
  else
    ReadLive(job, &r);
  return r;
}

nlohmann::json SetNumber(int n, int version) {
  if (version < 39) return n;
  return {{"set", true}, {"infinite", false}, {"number", n}};
}

}  // namespace

std::optional<int> SlurmApiVersion(const std::string& text) {
  if (!StartsWith(text, "v0.0.")) return std::nullopt;
  int n = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + 5, end, n);
  if (error != std::errc() || at != end || n < kOldestSlurmApi) return std::nullopt;
  return n;
}

nlohmann::json WriteSlurmRequest(const SlurmRequest& r, int version) {
  const bool old = version < 39;
  nlohmann::json job{{"name", r.tag},
                     {"comment", r.tag},
                     {"array", r.array},
                     {"hold", true},
                     {"current_working_directory", "/"},
                     {"standard_output", "/dev/null"},
                     {"standard_error", "/dev/null"},
                     // Whole minutes, rounded up; 0 would mean without limit.
                     {"time_limit", SetNumber((r.walltime_s + 59) / 60, version)},
                     {"tasks", r.tasks},
                     {"cpus_per_task", r.cpus_per_task}};
  // "requeue": false means true in 22.05; no_requeue is taken by all three versions there.
  if (old)
    job["no_requeue"] = true;
  else
    job["requeue"] = false;
  if (r.nodes > 1)
    job["nodes"] = old ? nlohmann::json(r.nodes) : nlohmann::json(std::to_string(r.nodes));
  if (!r.partition.empty()) job["partition"] = r.partition;
  if (!r.account.empty()) job["account"] = r.account;
  if (!r.qos.empty()) job["qos"] = r.qos;
  if (!r.constraints.empty()) job["constraints"] = r.constraints;
  if (r.mem_mb > 0) job["memory_per_node"] = SetNumber(r.mem_mb, version);
  if (r.gpus > 0) {
    const auto n = std::to_string(r.gpus);
    if (old)
      job["gres"] = "gpu:" + n;
    else
      job["tres_per_node"] = "gres/gpu:" + n;
  }
  // All that the job gets: the script finds out HOME and USER itself.
  constexpr char kPath[] = "/usr/local/bin:/usr/bin:/bin";
  if (old)
    job["environment"] = {{"PATH", kPath}};
  else
    job["environment"] = nlohmann::json::array({std::string("PATH=") + kPath});
  if (version < 40) return {{"script", r.script}, {"job", job}};
  job["script"] = r.script;
  return {{"job", job}};
}

std::vector<SlurmRecord> ParseSlurmJobs(const std::string& what, std::string body) {
  thread_local simdjson::dom::parser parser;
  element root;
  body.reserve(body.size() + simdjson::SIMDJSON_PADDING);
  auto error = parser.parse(body).get(root);
  if (error == simdjson::UTF8_ERROR) {
    body = ValidUtf8(body);
    body.reserve(body.size() + simdjson::SIMDJSON_PADDING);
    error = parser.parse(body).get(root);
  }
  simdjson::dom::array jobs;
  if (error != simdjson::SUCCESS || root["jobs"].get(jobs) != simdjson::SUCCESS)
    throw CallFailed(CallFailed::Why::kGarbage, "cannot " + what + ": the answer is no list: " +
                                                    (body.empty() ? "(empty)" : Words(body)));
  std::vector<SlurmRecord> records;
  records.reserve(jobs.size());
  for (const auto job : jobs) records.push_back(RecordOf(job));
  return records;
}

std::set<int> ParseTaskString(const std::string& text, bool* cut) {
  *cut = false;
  std::set<int> tasks;
  for (auto part : Split(text.substr(0, text.find('%')), ',')) {
    if (part.find("...") != part.npos) *cut = true;
    int from = 0, to = 0, step = 1;
    const int n = std::sscanf(part.c_str(), "%d-%d:%d", &from, &to, &step);
    if (n < 1 || *cut) continue;
    if (n == 1) to = from;
    if (step < 1 || to - from > 10'000'000) continue;
    for (int t = from; t <= to; t += step) tasks.insert(tasks.end(), t);
  }
  return tasks;
}

bool SlurmEnded(const std::string& state) {
  for (const char* live : {"PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING",
                           "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESIZING", "SIGNALING",
                           "STAGE_OUT", "STOPPED", "SPECIAL_EXIT", "RESV_DEL_HOLD", ""})
    if (state == live) return false;
  return true;
}

namespace {

RemoteState LiveState(const SlurmRecord& r) {
  // An array that could not be launched is held by Slurm too, and waits for a person.
  if (r.state == "PENDING" && StartsWith(r.reason, "JobHeld")) return RemoteState::kHeld;
  for (const char* waiting : {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED",
                              "SPECIAL_EXIT", "RESV_DEL_HOLD"})
    if (r.state == waiting) return RemoteState::kWaiting;
  return RemoteState::kRunning;
}

constexpr struct {
  const char* state;
  EndCause cause;
} kEnds[] = {{"TIMEOUT", EndCause::kWalltime},          {"DEADLINE", EndCause::kWalltime},
             {"CANCELLED", EndCause::kDeleted},         {"PREEMPTED", EndCause::kPreempted},
             {"NODE_FAIL", EndCause::kNodeFailed},      {"BOOT_FAIL", EndCause::kNodeFailed},
             {"LAUNCH_FAILED", EndCause::kLaunchFailed}};

// "Signal 53": slurmstepd could not open the output file.
constexpr int kOutputSignal = 53;

void FillFailed(RemoteJob* job, const SlurmRecord& r) {
  if (!r.exit_known) {
    job->cause = EndCause::kUnknown;
    job->message = "Slurm says FAILED, and its accounting no longer tells the exit code";
  } else if ((r.wait_status & 127) == kOutputSignal) {
    job->cause = EndCause::kBadOutput;
  } else if (r.wait_status == 0) {
    job->cause = EndCause::kLaunchFailed;
  } else {
    EndByScript(job, r.wait_status);
  }
}

void FillEnd(RemoteJob* job, const SlurmRecord& r) {
  job->state = RemoteState::kEnded;
  job->message = r.reason == "None" ? "" : r.reason;
  if (r.state == "COMPLETED") {
    EndByScript(job, 0);
  } else if (r.state == "FAILED") {
    FillFailed(job, r);
  } else if (r.state == "OUT_OF_MEMORY") {
    EndByScript(job, r.wait_status == 0 ? SIGKILL : r.wait_status);
    job->message = "killed: it used more memory than it had asked for";
  } else {
    job->cause = EndCause::kUnknown;
    // "CANCELLED by 1000" in some versions.
    for (const auto& [state, cause] : kEnds)
      if (StartsWith(r.state, state)) job->cause = cause;
    if (job->cause == EndCause::kUnknown) job->message = "Slurm says " + r.state;
  }
}

}  // namespace

void FillFromSlurmRecord(RemoteJob* job, const SlurmRecord& r) {
  job->submitted_at = r.submitted_at;
  if (!SlurmEnded(r.state)) {
    job->state = LiveState(r);
    // For a pending job start_time may be a forecast, for a running one end_time is its limit.
    if (job->state == RemoteState::kRunning) job->started_at = r.started_at;
    if (job->state == RemoteState::kRunning) job->node = r.node;
    if (job->state != RemoteState::kRunning && r.reason != "None") job->message = r.reason;
    return;
  }
  job->started_at = r.started_at;
  job->ended_at = r.ended_at;
  job->node = r.node == "None assigned" ? "" : r.node;
  FillEnd(job, r);
}

SlurmError SlurmErrorOf(const std::string& body) {
  SlurmError first;
  const auto parsed = nlohmann::json::parse(ValidUtf8(body), nullptr, false);
  for (const auto& e : At(parsed, "errors")) {
    SlurmError error;
    error.any = true;
    for (const char* key : {"error_number", "error_code", "errno"})
      if (const auto n = NumberIn(At(e, key)); n != 0) error.number = static_cast<int>(n);
    for (const char* key : {"description", "error"})
      if (const auto text = TextIn(e, key); !text.empty())
        error.text += (error.text.empty() ? "" : ": ") + text;
    if (!first.any || (first.number == 0 && error.number != 0)) first = error;
  }
  return first;
}

}  // namespace cigri::cluster
