// Any bytes as what jobs leave behind on remote clusters (exit records, measurements, the log of
// tasks that share a job), and as tags that clusters give back.
#include <cmath>

#include "cluster/job_record.h"
#include "fuzz/need.h"
#include "runner/tag.h"

namespace {

using namespace cigri;
using fuzz::Need;

void CheckMeasured(const cluster::Measured& m) {
  for (const auto& value : {m.cpu_s, m.peak_mb, m.read_mb, m.written_mb, m.transfer_s})
    Need(!value || *value >= 0);
}

void TryRecord(std::string_view text) {
  cluster::RemoteRef ref;
  ref.job_id = 100;
  if (const auto record = cluster::ParseExitRecord(text, ref)) {
    Need(record->job_id == 100);
    CheckMeasured(record->measured);
    cluster::RemoteJob job;
    cluster::EndByRecord(&job, *record);
    Need(job.state == cluster::RemoteState::kEnded);
  }
  for (const auto& [job, measured] : cluster::ParseMeasured(text)) CheckMeasured(measured);
}

void TryGroup(std::string_view text) {
  const auto log = cluster::ParseGroupLog(text);
  for (const bool over : {false, true}) {
    cluster::RemoteJob whole;
    whole.state = over ? cluster::RemoteState::kEnded : cluster::RemoteState::kRunning;
    for (int i = 0; i < 4; ++i) {
      cluster::RemoteRef ref;
      ref.index = i;
      ref.tasks_per_job = 4;
      const auto job = cluster::InGroup(whole, ref, i == 3, log);
      Need(job.ref.index == i);
      // What nobody has begun is no success.
      if (log.empty() && job.state == cluster::RemoteState::kEnded)
        Need(job.cause != cluster::EndCause::kExited || !job.wait_status);
    }
  }
}

void TryTag(std::string_view text) {
  const std::string grid = "0123456789abcdef", tag(text);
  cluster::IsTag(tag);
  cluster::RemoteRef ref;
  ref.tag = tag;
  Need(cluster::RecordPath(ref).find("records/") == 0);
  const auto content = runner::ReadTag(tag, grid);
  if (!content) return;
  Need(cluster::IsTag(tag) && content->campaign_id >= 0 && content->tasks_per_job >= 1);
  for (const auto idx : content->idxs) Need(idx >= 0);
  // A tag that we make of it says the same.
  if (content->script || content->idxs.empty() || content->campaign_id < 1) return;
  const auto again = runner::ReadTag(
      runner::NewTag(content->campaign_id, grid, content->idxs, content->tasks_per_job), grid);
  Need(again && again->campaign_id == content->campaign_id);
  Need(again->idxs.empty() || again->idxs == content->idxs);
}

void Try(std::string_view text) {
  TryRecord(text);
  TryGroup(text);
  TryTag(text);
}

}  // namespace

CIGRI_FUZZ_TARGET(Try)
