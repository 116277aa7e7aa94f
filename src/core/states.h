// The states of the domain, with the words that SQL, JSON, logs and the manual use for them.
// One test compares each with its SQL type (tests/db/states_pgtest.cc).
#pragma once
#include <optional>
#include <string_view>
#include <vector>

namespace cigri {

/// A campaign: what a user asked for is `wanted`, what is is `state` (docs/states.md).
enum class CampaignState { kInTreatment, kPaused, kCancelled, kTerminated };

/// What a batch of jobs is for. Only task, replica and test jobs belong to tasks.
enum class BatchKind { kTask, kReplica, kTest, kPrologue, kEpilogue };

/// One POST to a cluster, from intent to certainty (docs/design.md section 5).
enum class BatchState { kIntended, kRecorded, kRefused, kInDoubt, kAbandoned };

/// A job, one attempt of a task on one cluster. `launching` has no live row: its batch is not yet
/// recorded. `terminated` (exit 0) and `event` (any other end) have a done row instead.
enum class JobState { kLaunching, kSubmitted, kRemoteWaiting, kRunning, kTerminated, kEvent };

/// Whose fault an end is (docs/design.md section 8). Only `program` counts against the user.
enum class ExitClass { kNone, kProgram, kInfrastructure, kPreemption, kOurKill };

/// A cluster's willingness, set by its operator.
enum class ClusterMode { kObserve, kLimited, kUnlimited };

std::string_view ToString(CampaignState s);
std::string_view ToString(BatchKind s);
std::string_view ToString(BatchState s);
std::string_view ToString(JobState s);
std::string_view ToString(ExitClass s);
std::string_view ToString(ClusterMode s);

/// The enum value written `word`, or nothing: FromString<JobState>("running").
template <typename Enum>
std::optional<Enum> FromString(std::string_view word);

/// All words of an enum, in the order of its values.
template <typename Enum>
const std::vector<std::string_view>& EnumNames();

}  // namespace cigri
