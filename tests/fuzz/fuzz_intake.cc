// Any bytes as the body of a local cluster's POST /batches, from a user and from the grid; as a
// command; as a record that a cigri-job wrote.
#include "core/text.h"
#include "fuzz/need.h"
#include "localcluster/intake.h"
#include "localcluster/plain_command.h"
#include "localcluster/records.h"

namespace {

using namespace cigri::localcluster;
using cigri::fuzz::Need;

bool Deep(std::string_view text) {
  try {
    CheckDepth(text);
    return false;
  } catch (const Refused& e) {
    return true;
  }
}

void TryBody(std::string_view text, bool grid_numbers) {
  const IntakeLimits limits{.slots = 8, .elements = 20, .walltime_s = 3600,
                            .grid_numbers = grid_numbers};
  Intake in;
  try {
    in = ReadBatch(std::string(text), limits);
  } catch (const Refused& e) {
    Need(e.status() >= 400 && e.status() < 500 && e.what()[0] != '\0');
    return;
  }
  const Batch& b = *in.batch;
  Need(b.n >= 1 && b.n <= limits.elements && static_cast<int>(in.jobs.size()) == b.n);
  Need(b.slots >= 1 && b.slots <= limits.slots);
  Need(b.walltime_s >= 1 && b.walltime_s <= limits.walltime_s);
  // They name files, and stand in JSON as they are.
  Need(!b.tag.empty() && b.tag.find_first_of("/\"\\") == b.tag.npos);
  if (!grid_numbers) Need(b.campaign == 0);
  for (int i = 0; i < b.n; ++i) {
    const Job& job = *in.jobs[i];
    Need(job.index == i && !job.command.empty());
    // A NUL would end a word before its time.
    for (const auto& variable : job.env) Need(variable.find('\0') == variable.npos);
    if (!grid_numbers) Need(job.job_id == 0 && job.task_index == -1);
  }
}

void TryRecord(std::string_view line) {
  Record record;
  if (!ParseRecord(line, &record)) return;
  constexpr std::string_view kCauses = "xpwdncolu";
  Need(record.index >= 0 && record.seq >= 0);
  if (record.kind == Record::Kind::kEnd)
    Need(kCauses.find(static_cast<char>(record.cause)) != kCauses.npos);
}

void Try(std::string_view text) {
  if (!Deep(text)) {
    TryBody(text, false);
    TryBody(text, true);
  }
  const std::string command(text);
  if (const auto words = PlainWords(command)) Need(!words->empty());
  PlainExports(command);
  for (const auto& line : cigri::Split(text, '\n')) TryRecord(line);
}

}  // namespace

CIGRI_FUZZ_TARGET(Try)
