#include "cluster/local_wire.h"

#include <simdjson.h>

#include <algorithm>

#include "cluster/job_environment.h"
#include "core/text.h"

namespace cigri::cluster::local {
namespace {

using nlohmann::json;

// A command that is no UTF-8 cannot stand in JSON: each byte goes as the code point of its number.
std::string CodePoints(const std::string& bytes) {
  std::string out;
  for (unsigned char c : bytes) {
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else {
      out += static_cast<char>(0xc0 | c >> 6);
      out += static_cast<char>(0x80 | (c & 0x3f));
    }
  }
  return out;
}

json ElementBody(const Batch& batch, const Element& e, int index,
                 const std::vector<std::pair<std::string, std::string>>& common) {
  json j = {
      {"index", index}, {"job_id", e.job_id}, {"task_index", e.task_index}, {"attempt", e.attempt}};
  if (IsValidUtf8(e.command)) {
    j["command"] = e.command;
  } else {
    j["command"] = CodePoints(e.command);
    j["bytes"] = true;
  }
  json env = json::object();
  for (auto& [name, value] : JobEnvironment(batch, e))
    if (std::find(common.begin(), common.end(), std::pair(name, value)) == common.end())
      env[name] = value;
  j["env"] = std::move(env);
  return j;
}

std::string_view Text(const simdjson::dom::element& e, const char* key) {
  std::string_view text;
  return e[key].get(text) == simdjson::SUCCESS ? text : std::string_view();
}

double Real(const simdjson::dom::element& e, const char* key) {
  double number = 0;
  return e[key].get(number) == simdjson::SUCCESS ? number : 0;
}

std::optional<double> Known(const simdjson::dom::element& e, const char* key) {
  double number = 0;
  return e[key].get(number) == simdjson::SUCCESS ? std::optional(number) : std::nullopt;
}

bool Flag(const simdjson::dom::element& e, const char* key) {
  bool flag = false;
  return e[key].get(flag) == simdjson::SUCCESS && flag;
}

[[noreturn]] void Garbage(const std::string& what) {
  throw CallFailed(CallFailed::Why::kGarbage, "the local cluster's answer " + what);
}

RemoteState StateOf(std::string_view word) {
  if (word == "waiting") return RemoteState::kWaiting;
  if (word == "running") return RemoteState::kRunning;
  if (word == "ended") return RemoteState::kEnded;
  Garbage("has the unknown state \"" + std::string(word) + "\"");
}

EndCause CauseOf(std::string_view word) {
  static const std::map<std::string_view, EndCause> causes = {
      {"exited", EndCause::kExited},
      {"preempted", EndCause::kPreempted},
      {"walltime", EndCause::kWalltime},
      {"deleted", EndCause::kDeleted},
      {"node_failed", EndCause::kNodeFailed},
      {"bad_directory", EndCause::kBadDirectory},
      // Output lies in the cluster's own folder: that it cannot be written is never its user's
      // fault.
      {"bad_output", EndCause::kLaunchFailed},
      {"launch_failed", EndCause::kLaunchFailed}};
  const auto it = causes.find(word);
  return it == causes.end() ? EndCause::kUnknown : it->second;
}

RemoteJob ReadJob(const simdjson::dom::element& e) {
  RemoteJob job;
  std::int64_t index = -1, job_id = 0, status = 0;
  job.ref.remote_id = Text(e, "id");
  job.ref.tag = Text(e, "tag");
  if (job.ref.remote_id.empty() || job.ref.tag.empty() ||
      e["index"].get(index) != simdjson::SUCCESS)
    Garbage("has a job without id, tag or index");
  if (e["job_id"].get(job_id) == simdjson::SUCCESS) job.ref.job_id = job_id;
  job.ref.index = static_cast<int>(index);
  job.ref.cluster_user = Text(e, "user");
  job.state = StateOf(Text(e, "state"));
  if (job.state == RemoteState::kEnded) job.cause = CauseOf(Text(e, "cause"));
  if (e["status"].get(status) == simdjson::SUCCESS) job.wait_status = static_cast<int>(status);
  job.submitted_at = Real(e, "submitted");
  job.started_at = Real(e, "started");
  job.ended_at = Real(e, "ended");
  job.node = Text(e, "node");
  job.message = Text(e, "message");
  job.measured = {Known(e, "cpu_s"), Known(e, "peak_mb"), Known(e, "read_mb"),
                  Known(e, "written_mb"), Known(e, "transfer_s")};
  return job;
}

Resources ResourcesOf(const simdjson::dom::element& e) {
  std::int64_t slots = 0, used = 0, local = 0, waiting = 0;
  if (e["slots"].get(slots) != simdjson::SUCCESS || e["used"].get(used) != simdjson::SUCCESS ||
      e["local"].get(local) != simdjson::SUCCESS ||
      e["waiting_local"].get(waiting) != simdjson::SUCCESS)
    Garbage("does not tell its slots");
  constexpr std::int64_t kMost = 1 << 30;
  for (const auto n : {slots, used, local, waiting})
    if (n < 0 || n > kMost) Garbage("does not tell its slots");
  Resources r;
  r.max = static_cast<int>(slots);
  // Slots that waiting local jobs ask for are not free for us.
  r.used = static_cast<int>(std::max(used, local + std::min(waiting, slots - local)));
  if (local > 0)
    r.note = std::to_string(local) + " of " + std::to_string(slots) + " slots taken by local jobs";
  return r;
}

}  // namespace

std::string BatchBody(const Batch& b) {
  // What all elements share is sent once: an array of 5,000 consists mostly of it.
  const auto common = JobEnvironment(b, b.elements.front());
  json elements = json::array(), env = json::object();
  for (const auto& [name, value] : common) env[name] = value;
  for (std::size_t i = 0; i < b.elements.size(); ++i)
    elements.push_back(ElementBody(b, b.elements[i], static_cast<int>(i), common));
  const json j = {{"tag", b.tag},
                  {"user", b.cluster_user},
                  {"campaign", b.campaign_id},
                  {"name", b.campaign_name},
                  {"directory", b.directory},
                  {"setup", b.setup},
                  {"best_effort", b.best_effort},
                  {"walltime_s", b.walltime_s},
                  {"slots", b.slots},
                  {"env", std::move(env)},
                  {"elements", std::move(elements)}};
  try {
    return j.dump();
  } catch (const json::type_error&) {
    throw SubmitRefused(SubmitRefused::Why::kBatch,
                        "directory, setup and names must be UTF-8 on a local cluster");
  }
}

std::string NamesBody(const std::vector<RemoteRef>& refs, std::size_t from, std::size_t n) {
  json j = json::array();
  for (std::size_t i = from; i < std::min(refs.size(), from + n); ++i)
    j.push_back(
        {{"id", refs[i].remote_id}, {"tag", refs[i].tag}, {"only_waiting", refs[i].only_waiting}});
  return j.dump(-1, ' ', false, json::error_handler_t::replace);
}

Answer ReadAnswer(const std::string& body) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::array jobs, missing;
  if (parser.parse(body).get(root) != simdjson::SUCCESS) Garbage("is not JSON");
  if (root["jobs"].get(jobs) != simdjson::SUCCESS) Garbage("has no list of jobs");
  Answer a;
  a.full = Flag(root, "full");
  a.more = Flag(root, "more");
  a.revoked = Flag(root, "revoked");
  a.token = Text(root, "token");
  a.time = Real(root, "time");
  simdjson::dom::element resources;
  if (root["resources"].get(resources) == simdjson::SUCCESS) a.resources = ResourcesOf(resources);
  a.jobs.reserve(jobs.size());
  for (const auto& e : jobs) a.jobs.push_back(ReadJob(e));
  if (root["missing"].get(missing) == simdjson::SUCCESS)
    for (const auto& e : missing) {
      std::string_view id;
      if (e.get(id) != simdjson::SUCCESS) Garbage("names what is missing by no text");
      a.missing.emplace_back(id);
    }
  return a;
}

Resources ReadResources(const std::string& body) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(body).get(root) != simdjson::SUCCESS) Garbage("is not JSON");
  return ResourcesOf(root);
}

}  // namespace cigri::cluster::local
