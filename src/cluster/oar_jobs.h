// What OAR says of jobs, read: lists with simdjson, single jobs with events.
#pragma once
#include <functional>
#include <string>
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
  int resources = 0;    ///< how many it holds, where lists tell
  std::string details;  ///< the whole item as JSON, where lists have all that single jobs have
};

/// One page of a list.
struct OarPage {
  std::vector<OarItem> items;
  std::int64_t total = 0;
};

/// Calls `each` for the items of a list of anything; returns how many there are on all its pages.
/// Bytes that are no UTF-8 (somebody's job name) are replaced first. Throws CallFailed(kGarbage)
/// naming `what`.
std::int64_t EachOarItem(const std::string& what, std::string body,
                         const std::function<void(const simdjson::dom::element&)>& each);

/// Reads a list of jobs in the same way. Keeps `details` of ended jobs when `with_details`.
OarPage ParseOarList(const std::string& what, std::string body, bool with_details);

/// Whether OAR ended the job in its books alone: its node did not say how, or that, it ended.
bool OarExterminated(const nlohmann::json& answer);
bool OarEnded(const std::string& state);
/// The state of a job that has not ended.
RemoteState OarState(const std::string& state);

/// Fills state, cause, times and words of `job` from GET /jobs/ID. By state first, then by events:
/// a best-effort job may end by itself between the decision to kill it and the kill.
void FillFromOarJob(RemoteJob* job, const nlohmann::json& answer);

/// Our index in the command that OAR shows for a job; nothing when the command is not ours.
std::optional<int> IndexInCommand(const std::string& command);

/// The ids in "OAR_JOB_ID=84" lines, also of an error message; negative ones mean refusal.
std::vector<std::string> OarJobIds(const std::string& text);

}  // namespace cigri::cluster
