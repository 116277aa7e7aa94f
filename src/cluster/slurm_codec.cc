#include "cluster/slurm_codec.h"

#include <simdjson.h>

#include <charconv>

#include "cluster/json_list.h"
#include "cluster/rest_api.h"
#include "core/text.h"
#include "core/whole.h"

namespace cigri::cluster {
namespace {

using simdjson::dom::element;

// More than a batch of ours can have: of a longer list we do not know all, and it costs its bytes.
constexpr std::int64_t kMostTasks = 1'000'000;

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
  if (!value.is_object()) return Whole<int>(Number(value).value_or(0));
  bool found = false;
  const auto signal = Find(value, "signal", &found);
  if (found && signal.is_object())
    for (const char* key : {"id", "signal_id"})
      if (const auto n = NumberAt(signal, key); n && *n > 0) return Whole<int>(*n);
  if (NumberAt(value, "number")) return Whole<int>(*Number(value));
  return (Whole<int>(NumberAt(value, "return_code").value_or(0)) & 0xff) << 8;
}

std::optional<int> TaskAt(const element& object, std::string_view key) {
  const auto n = NumberAt(object, key);
  return n ? std::optional<int>(Whole<int>(*n)) : std::nullopt;
}

void ReadLive(const element& job, SlurmRecord* r) {
  r->array_job_id = Whole<std::int64_t>(NumberAt(job, "array_job_id").value_or(0));
  r->task = TaskAt(job, "array_task_id");
  r->task_string = Text(job, "array_task_string");
  r->comment = Text(job, "comment");
  r->user = Text(job, "user_name");
  r->state = StateAt(job, "job_state");
  r->reason = Text(job, "state_reason");
  r->submitted_at = Seconds(job, "submit_time");
  r->eligible_at = Seconds(job, "eligible_time");
  r->started_at = Seconds(job, "start_time");
  r->ended_at = Seconds(job, "end_time");
}

void ReadStored(const element& job, const element& time, SlurmRecord* r) {
  bool found = false;
  const auto array = Find(job, "array", &found);
  if (found && array.is_object()) {
    r->array_job_id = Whole<std::int64_t>(NumberAt(array, "job_id").value_or(0));
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
  r->eligible_at = Seconds(time, "eligible");
  r->started_at = Seconds(time, "start");
  r->ended_at = Seconds(time, "end");
  // FAILED with exit code 0: slurmdbd had another, which this API lost (v0.0.36 to v0.0.38).
  r->exit_known = r->state != "FAILED" || r->wait_status != 0;
}

SlurmRecord RecordOf(const element& job) {
  SlurmRecord r;
  bool found = false;
  r.job_id = Whole<std::int64_t>(NumberAt(job, "job_id").value_or(0));
  r.name = Text(job, "name");
  r.node = Text(job, "nodes");
  r.partition = Text(job, "partition");
  const auto exit_code = Find(job, "exit_code", &found);
  if (found) r.wait_status = WaitStatus(exit_code);
  const auto time = Find(job, "time", &found);
  if (found && time.is_object())
    ReadStored(job, time, &r);
  else
    ReadLive(job, &r);
  return r;
}

}  // namespace

std::vector<SlurmRecord> ParseSlurmJobs(const std::string& what, std::string body) {
  std::vector<SlurmRecord> records;
  EachInList(what, std::move(body), "jobs", [&](const element& job) {
    records.push_back(RecordOf(job));
    // It may be one of ours: to leave it out would be to say that ours is not there.
    if (records.back().job_id <= 0) ThrowGarbage(what, "a job without an id");
  });
  return records;
}

std::set<int> ParseTaskString(const std::string& text, bool* cut) {
  *cut = false;
  std::set<int> tasks;
  for (const auto& part : Split(text.substr(0, text.find('%')), ',')) {
    const bool goes_on = part.find("...") != part.npos;
    if (goes_on) *cut = true;
    int from = 0, to = 0, step = 1;
    const int n = std::sscanf(part.c_str(), "%d-%d:%d", &from, &to, &step);
    if (n < 1 || goes_on) continue;
    if (n == 1) to = from;
    if (from < 0 || to < from || step < 1) continue;
    const auto room = kMostTasks - static_cast<std::int64_t>(tasks.size());
    if ((to - from) / step >= room) {
      *cut = true;
      continue;
    }
    for (std::int64_t t = from; t <= to; t += step) tasks.insert(tasks.end(), static_cast<int>(t));
  }
  return tasks;
}

SlurmError SlurmErrorOf(const std::string& body) {
  SlurmError first;
  const auto parsed = nlohmann::json::parse(ValidUtf8(body), nullptr, false);
  for (const auto& e : At(parsed, "errors")) {
    SlurmError error;
    error.any = true;
    for (const char* key : {"error_number", "error_code", "errno"})
      if (const auto n = NumberIn(At(e, key)); n != 0) error.number = Whole<int>(n);
    for (const char* key : {"description", "error"})
      if (const auto text = TextIn(e, key); !text.empty())
        error.text += (error.text.empty() ? "" : ": ") + text;
    if (!first.any || (first.number == 0 && error.number != 0)) first = error;
  }
  return first;
}

std::map<std::string, SlurmError> SlurmDeletionErrors(const std::string& body) {
  std::map<std::string, SlurmError> errors;
  const auto parsed = nlohmann::json::parse(ValidUtf8(body), nullptr, false);
  for (const auto& status : At(parsed, "status")) {
    const auto& said = At(status, "error");
    const int code = Whole<int>(NumberIn(At(said, "code")));
    if (code != 0) errors[TextIn(status, "step_id")] = {code, TextIn(said, "message"), true};
  }
  return errors;
}

}  // namespace cigri::cluster
