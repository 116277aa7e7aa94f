// What OAR says of jobs, read: lists with simdjson, single jobs with events.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/cluster.h"

namespace simdjson::dom {
class element;
}

namespace cigri::cluster {

/// One item of a list of jobs.
struct OarItem {
  std::int64_t id = 0;
  std::string name, state, owner;
  std::vector<std::int64_t> resources;  ///< ids of those that it holds, where lists tell
  std::string details;       ///< the whole item as JSON, where lists have all that single jobs have
  std::optional<int> index;  ///< ours, where lists show the command
};

/// One item of a list of jobs while the list is being read.
struct OarItemView {
  std::int64_t id = 0;
  std::string_view name, state;
  const simdjson::dom::element& all;
  /// To be kept; with the `details` of an ended job when `with_details`.
  OarItem Keep(bool with_details) const;
  /// The directory in which the user's jobs begin, where the list shows it.
  void NoteHome(std::map<std::string, std::string>* homes) const;
};

/// Calls `each` for the items of a list of anything (EachInList); returns how many there are on all
/// its pages.
std::int64_t EachOarItem(const std::string& what, std::string body,
                         const std::function<void(const simdjson::dom::element&)>& each);

/// Reads a list of jobs in the same way.
std::int64_t EachOarJob(const std::string& what, std::string body,
                        const std::function<void(const OarItemView&)>& each);

/// Whether OAR ended the job in its database alone: its node did not say how, or that, it ended.
bool OarExterminated(const nlohmann::json& answer);
bool OarEnded(std::string_view state);
/// On its way to its node: a job that a server that died was launching stays so.
bool OarStarting(std::string_view state);
/// Whether it has begun, or is about to, and neither has ended nor is being ended.
bool OarRuns(std::string_view state);
/// The state of a job that has not ended.
RemoteState OarState(std::string_view state);

/// Fills state, cause, times and words of `job` from GET /jobs/ID. By state first, then by events:
/// a best-effort job may end on its own between the decision to kill it and the kill.
void FillFromOarJob(RemoteJob* job, const nlohmann::json& answer);

/// Our index in the command that OAR shows for a job; nothing when the command is not ours.
std::optional<int> IndexInCommand(const std::string& command);

/// The ids in "OAR_JOB_ID=84" lines, also of an error message; negative ones mean refusal.
std::vector<std::string> OarJobIds(const std::string& text);

}  // namespace cigri::cluster
