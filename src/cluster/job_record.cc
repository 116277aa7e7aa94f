#include "cluster/job_record.h"

#include <algorithm>
#include <charconv>
#include <csignal>

#include "cluster/job_script.h"
#include "core/text.h"
#include "core/whole.h"

namespace cigri::cluster {
namespace {

// tag = cigri.<campaign>.<grid id>.<random>: one folder per campaign of a grid.
std::pair<std::string, std::string> SplitTag(const std::string& tag) {
  const auto first = tag.find('.'), last = tag.rfind('.');
  if (first == tag.npos || first == last) return {"other", tag};
  return {tag.substr(first + 1, last - first - 1), tag.substr(last + 1)};
}

std::optional<double> NumberOf(const std::string& word) {
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || !(number >= 0))
    return std::nullopt;
  return number;
}

std::optional<double> Megabytes(const std::string& kilobytes) {
  const auto number = NumberOf(kilobytes);
  return number ? std::optional(*number / 1024) : std::nullopt;
}

// "1.234", or two of a shell's: "0m1.20s+0m0.034s".
std::optional<double> CpuSeconds(const std::string& word) {
  double sum = 0;
  for (const auto& part : Split(word, '+')) {
    const auto m = part.find('m');
    const auto seconds = NumberOf(m == part.npos ? part : part.substr(m + 1, part.size() - m - 2));
    const auto minutes = NumberOf(m == part.npos ? "0" : part.substr(0, m));
    if (!seconds || !minutes) return std::nullopt;
    sum += *minutes * 60 + *seconds;
  }
  return sum;
}

}  // namespace

std::string OutputFolder(const std::string& tag, const std::string& chunk) {
  const auto [campaign, random] = SplitTag(tag);
  return "output/" + campaign + "/" + random + "." + chunk;
}

std::string RecordFolder(const std::string& tag, const std::string& chunk) {
  return "records/" + tag + "/" + chunk;
}

std::string RecordPath(const RemoteRef& ref) {
  return RecordFolder(ref.tag, std::to_string(ref.index / 500)) + "/" + std::to_string(ref.index);
}

std::string MeasuredPath(const RemoteRef& ref) {
  return RecordFolder(ref.tag, std::to_string(ref.index / 500)) + "/measured";
}

std::string GroupPath(const RemoteRef& ref) {
  const int first = ref.index - ref.index % ref.tasks_per_job;
  return RecordFolder(ref.tag, std::to_string(first / 500)) + "/" + std::to_string(first) +
         ".group";
}

std::string OutputPath(const RemoteRef& ref, Stream stream) {
  return OutputFolder(ref.tag, std::to_string(ref.index / 500)) + "/" + std::to_string(ref.index) +
         (stream == Stream::kStdout ? ".out" : ".err");
}

std::map<std::int64_t, Measured> ParseMeasured(std::string_view text) {
  std::map<std::int64_t, Measured> out;
  for (const auto& line : Split(text, '\n')) {
    // "cigri1 used JOB CPU PEAK READ WRITTEN STATUS END" (of jobs from before an upgrade without the
    // last two) and "cigri1 moved JOB MS"; another job may have been cut off within its line.
    const auto words = Split(line, ' ');
    const bool used = (words.size() == 7 || words.size() == 9) && words[1] == "used";
    const bool moved = words.size() == 4 && words[1] == "moved";
    if (words[0] != "cigri1" || (!used && !moved)) continue;
    std::int64_t job = 0;
    const auto& id = words[2];
    if (std::from_chars(id.data(), id.data() + id.size(), job).ptr != id.data() + id.size())
      continue;
    auto& m = out[job];
    if (used) {
      m.cpu_s = CpuSeconds(words[3]);
      m.peak_mb = Megabytes(words[4]);
      m.read_mb = Megabytes(words[5]);
      m.written_mb = Megabytes(words[6]);
    } else if (const auto ms = NumberOf(words[3])) {
      m.transfer_s = *ms / 1e3;
    }
  }
  return out;
}

namespace {

// "cigri1 WAIT_STATUS START END NODE REMOTE_ID JOB end"
std::optional<ExitRecord> ReadEnd(const std::vector<std::string>& words) {
  if (words.size() != 8 || words[0] != "cigri1" || words[7] != "end") return std::nullopt;
  ExitRecord record;
  try {
    record.wait_status = std::stoi(words[1]);
    record.started_at = std::stod(words[2]);
    record.ended_at = std::stod(words[3]);
    record.job_id = std::stoll(words[6]);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  record.node = words[4];
  record.remote_id = words[5];
  return record;
}

// The measurements of a command that ended with 0: its job has succeeded, also when it was killed
// before it could write its end.
std::optional<ExitRecord> ReadSuccess(const std::vector<std::string>& words) {
  if (words.size() != 9 || words[0] != "cigri1" || words[1] != "used" || words[7] != "0")
    return std::nullopt;
  const auto job = NumberOf(words[2]), at = NumberOf(words[8]);
  if (!job || !at) return std::nullopt;
  ExitRecord record;
  record.job_id = Whole<std::int64_t>(*job);
  record.started_at = record.ended_at = *at;
  return record;
}

// Its last line, before which it says when the job began; else that its command has succeeded.
std::optional<ExitRecord> LastEnd(std::string_view text) {
  const auto last = Trim(text);
  if (auto end = ReadEnd(Split(last.substr(last.rfind('\n') + 1), ' '))) return end;
  std::optional<ExitRecord> success;
  std::vector<std::string> began;
  for (const auto& line : Split(text.substr(0, text.rfind('\n') + 1), '\n')) {
    const auto words = Split(line, ' ');
    if (words.size() == 6 && words[1] == "began") began = words;
    if (const auto record = ReadSuccess(words)) success = record;
  }
  if (success && !began.empty()) {
    success->started_at = NumberOf(began[2]).value_or(success->ended_at);
    success->node = began[3];
    success->remote_id = began[4];
  }
  return success;
}

}  // namespace

std::optional<ExitRecord> ParseExitRecord(std::string_view text, const RemoteRef& ref) {
  const auto measured = ParseMeasured(text);
  auto record = LastEnd(text);
  if (!record || (ref.job_id != 0 && record->job_id != ref.job_id)) return std::nullopt;
  if (const auto it = measured.find(record->job_id); it != measured.end())
    record->measured = it->second;
  return record;
}

namespace {

// An element of the job whose first one is `first`. Both are as somebody wrote them.
int PositionOf(std::int64_t job_id, std::int64_t first) {
  return Whole<int>(static_cast<double>(job_id) - static_cast<double>(first));
}

}  // namespace

GroupLog ParseGroupLog(std::string_view text) {
  GroupLog log;
  const auto measured = ParseMeasured(text);
  // Our job ids follow each other as the elements do. After a restore we call them otherwise.
  std::optional<std::int64_t> first;
  for (const auto& line : Split(text.substr(0, text.rfind('\n') + 1), '\n')) {
    const auto words = Split(line, ' ');
    if (words.size() == 4 && words[0] == "cigri1" && words[1] == "begins") {
      const auto job = NumberOf(words[2]), at = NumberOf(words[3]);
      if (!job || !at) continue;
      if (!first) first = Whole<std::int64_t>(*job);
      log.last_begun = PositionOf(Whole<std::int64_t>(*job), *first);
      log.begun[log.last_begun] = *at;
    } else if (auto record = ReadEnd(words); first && (record || (record = ReadSuccess(words)))) {
      if (const auto it = measured.find(record->job_id); it != measured.end())
        record->measured = it->second;
      const int position = PositionOf(record->job_id, *first);
      if (const auto begun = log.begun.find(position); record->node.empty() && begun != log.begun.end())
        record->started_at = begun->second;
      log.ends[position] = *record;
    }
  }
  return log;
}

RemoteJob InGroup(const RemoteJob& whole, const RemoteRef& ref, bool last, const GroupLog& log) {
  const bool over = whole.state == RemoteState::kEnded;
  const int position = ref.index % ref.tasks_per_job;
  const auto end = log.ends.find(position);
  const auto begun = log.begun.find(position);
  RemoteJob job = whole;
  job.ref = ref;
  job.ref.remote_id = whole.ref.remote_id;
  job.job_started_at = whole.started_at;
  job.measured = {};
  if (begun != log.begun.end()) job.started_at = begun->second;
  if (end != log.ends.end()) job.measured = end->second.measured;
  // A failure of the last that began may be a kill of the job, which its end will tell.
  if (end != log.ends.end() && (end->second.wait_status == 0 || log.last_begun != position ||
                                (over && whole.cause == EndCause::kExited))) {
    job.message.clear();
    EndByScript(&job, end->second.wait_status);
    job.started_at = end->second.started_at;
    job.ended_at = end->second.ended_at;
    if (!end->second.node.empty()) job.node = end->second.node;
  } else if (!over) {
    job.state = begun != log.begun.end() || last ? RemoteState::kRunning : RemoteState::kWaiting;
  } else if (begun == log.begun.end()) {
    if (whole.started_at > 0) job.started_at = job.ended_at;
    const bool none_could = log.empty() && whole.cause != EndCause::kExited;
    if (none_could) return job;
    job.wait_status.reset();
    job.cause = log.empty() ? EndCause::kUnknown : EndCause::kNotBegun;
    job.message = log.empty() ? "its job ended and left no word of it"
                              : "its job ended before its turn";
  } else if (whole.cause == EndCause::kExited ||
             (whole.cause == EndCause::kWalltime && position > 0)) {
    job.cause = EndCause::kUnknown;  // others had used up the walltime: it runs alone next time
    job.wait_status.reset();
    job.message = "the job that it shared with others ended while it ran";
  }
  return job;
}

void EndByScript(RemoteJob* job, int wait_status) {
  job->state = RemoteState::kEnded;
  job->cause = EndCause::kExited;
  job->wait_status = wait_status;
  if (wait_status == kExitCommandLost << 8) {
    job->cause = EndCause::kLaunchFailed;
    job->message =
        "its node could not decode the command: has it base64 and gzip, memory, and room for "
        "processes?";
  } else if (wait_status == kExitBadDirectory << 8) {
    job->cause = EndCause::kBadDirectory;
    job->message = "the working directory is not there, or may not be entered";
  } else if (wait_status == kExitBadOutput << 8) {
    job->cause = EndCause::kBadOutput;
    job->message = "the job cannot write its output: is the disk full, or over quota?";
  } else if (wait_status == kExitSavedBeforeWalltime << 8) {
    job->cause = EndCause::kWalltime;
    job->message = "asked to save its work before the end of its walltime, it has ended";
  } else if (wait_status == kExitSavedBeforeEviction << 8) {
    job->cause = EndCause::kPreempted;
    job->message = "asked to save its work before its eviction, it has ended";
  } else if (wait_status == kExitStartedBefore << 8) {
    job->cause = EndCause::kUnknown;
    job->message =
        "its cluster started it twice; the second start ran nothing, the first left no end";
  }
}

void EndByRecord(RemoteJob* job, const ExitRecord& record) {
  EndByScript(job, record.wait_status);
  job->started_at = record.started_at;
  job->ended_at = record.ended_at;
  job->node = record.node;
  job->measured = record.measured;
  if (record.wait_status != SIGTERM) return;
  job->cause = EndCause::kUnknown;
  job->message = "ended by TERM; the cluster no longer tells who sent it";
}

void AddRecord(RemoteJob* job, const ExitRecord& record) {
  job->measured = record.measured;
  if (record.wait_status == 0 && job->wait_status != 0) EndByRecord(job, record);
}

bool IsTag(const std::string& name) {
  const auto parts = Split(name, '.');
  if (parts.size() != 4 || parts[0] != "cigri") return false;
  return std::none_of(parts.begin(), parts.end(), [](const auto& part) { return part.empty(); });
}

}  // namespace cigri::cluster
