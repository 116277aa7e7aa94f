// What the script of a job (job_script.h) leaves behind: where, and what it says of the job.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/cluster.h"

namespace cigri::cluster {

/// Below ScriptSettings::folder: the folders of a batch's output and of its records. `chunk`: the
/// number of 500 elements in a row, so that a folder has at most 1000 entries, or a shell's word.
std::string OutputFolder(const std::string& tag, const std::string& chunk);
std::string RecordFolder(const std::string& tag, const std::string& chunk);

/// Below ScriptSettings::folder: where the job of `ref` leaves its record and its output, and the
/// file in which it leaves its measurements together with its neighbours.
std::string RecordPath(const RemoteRef& ref);
std::string MeasuredPath(const RemoteRef& ref);
std::string OutputPath(const RemoteRef& ref, Stream stream);

/// A host may see a file of a shared folder so much later than the one that made it: NFS remembers
/// for a minute that there was none.
inline constexpr double kLateFileSeconds = 60;

/// Below ScriptSettings::folder: what the job that runs the element `ref` and others has done.
std::string GroupPath(const RemoteRef& ref);

/// What a job's record says.
struct ExitRecord {
  int wait_status = 0;
  double started_at = 0, ended_at = 0;
  std::string node, remote_id;
  std::int64_t job_id = 0;
  Measured measured;
};
/// The record in `text`; nullopt when it is no complete record of job `ref`.
std::optional<ExitRecord> ParseExitRecord(std::string_view text, const RemoteRef& ref);

/// The measurements in `text`, of records or of MeasuredPath, by job.
std::map<std::int64_t, Measured> ParseMeasured(std::string_view text);

/// What a job that runs several elements, one after the other, has written of them. Its first
/// element is 0.
struct GroupLog {
  std::map<int, ExitRecord> ends;
  std::map<int, double> begun;  ///< when, also of those that have ended
  int last_begun = -1;
  bool empty() const { return begun.empty(); }
};
GroupLog ParseGroupLog(std::string_view text);
/// What became of the element `ref`, from what is known of its job (`whole`) and its log. `last`: no
/// element of that job comes after it.
RemoteJob InGroup(const RemoteJob& whole, const RemoteRef& ref, bool last, const GroupLog& log);

/// Fills the end of `job` from the wait status of its script: a program's own, or one of
/// job_script.h's.
void EndByScript(RemoteJob* job, int wait_status);
/// Fills `job` from its record, when that is all there is. A job that TERM ended was ended by
/// somebody whom the record does not name: the cause is then unknown.
void EndByRecord(RemoteJob* job, const ExitRecord& record);

/// What an ended job's record adds to what its cluster says. A job that says itself that it has
/// succeeded has: the cluster may have missed that, or have ended the job in the same second.
void AddRecord(RemoteJob* job, const ExitRecord& record);

/// Whether a job's name is one of our tags: cigri.<campaign>.<grid id>.<random>. CiGri 3 calls its
/// jobs cigri.<campaign>.
bool IsTag(const std::string& name);

}  // namespace cigri::cluster
