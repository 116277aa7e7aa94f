#include "localcluster/api_json.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "core/text.h"

namespace cigri::localcluster {
namespace {

const char* Word(State s) {
  return s == State::kWaiting ? "waiting" : s == State::kRunning ? "running" : "ended";
}

const char* Word(Cause c) {
  switch (c) {
    case Cause::kExited:
      return "exited";
    case Cause::kPreempted:
      return "preempted";
    case Cause::kWalltime:
      return "walltime";
    case Cause::kDeleted:
      return "deleted";
    case Cause::kNodeFailed:
      return "node_failed";
    case Cause::kBadDirectory:
      return "bad_directory";
    case Cause::kBadOutput:
      return "bad_output";
    case Cause::kLaunchFailed:
      return "launch_failed";
    case Cause::kUnknown:
      break;
  }
  return "unknown";
}

std::string Quoted(const std::string& text) { return nlohmann::json(ValidUtf8(text)).dump(); }

}  // namespace

void AppendJob(const JobView& j, std::string* out) {
  auto to = std::back_inserter(*out);
  fmt::format_to(to, R"({{"id":"{}_{}","tag":"{}","index":{},"job_id":{},"user":"{}","state":"{}")",
                 j.batch->seq, j.index, j.batch->tag, j.index, j.job_id, j.batch->user,
                 Word(j.state));
  fmt::format_to(to, R"(,"submitted":{:.3f})", j.batch->submitted_at);
  if (j.started_at > 0) fmt::format_to(to, R"(,"started":{:.6f})", j.started_at);
  if (j.state == State::kEnded) {
    fmt::format_to(to, R"(,"ended":{:.6f},"cause":"{}")", j.ended_at, Word(j.cause));
    if (j.status >= 0) fmt::format_to(to, R"(,"status":{})", j.status);
    if (const auto& m = j.measured; m.cpu_s >= 0)
      fmt::format_to(to, R"(,"cpu_s":{:.3f},"peak_mb":{:.3f},"read_mb":{:.3f},"written_mb":{:.3f})",
                     m.cpu_s, m.peak_mb, m.read_mb, m.written_mb);
    if (const double s = j.measured.transfer_s; s >= 0)
      fmt::format_to(to, R"(,"transfer_s":{:.3f})", s);
  }
  if (!j.node.empty()) fmt::format_to(to, R"(,"node":"{}")", j.node);
  if (!j.message.empty()) fmt::format_to(to, R"(,"message":{})", Quoted(j.message));
  *out += '}';
}

std::string JobList(const std::vector<JobView>& jobs) {
  std::string out = "[";
  out.reserve(jobs.size() * 280 + 2);
  for (const auto& job : jobs) {
    if (out.size() > 1) out += ',';
    AppendJob(job, &out);
  }
  return out + "]";
}

std::string ErrorJson(int status, const std::string& why, const std::string& message, int limit) {
  nlohmann::json j = {{"status", status},
                      {"title", "Refused"},
                      {"why", why},
                      {"taken", false},
                      {"message", ValidUtf8(message)}};
  if (limit > 0) j["limit"] = limit;
  return j.dump() + "\n";
}

std::string AcceptedJson(std::int64_t seq, int n) {
  std::string out = fmt::format(R"({{"batch":{},"ids":[)", seq);
  for (int i = 0; i < n; ++i)
    fmt::format_to(std::back_inserter(out), R"({}"{}_{}")", i == 0 ? "" : ",", seq, i);
  return out + "]}\n";
}

}  // namespace cigri::localcluster
