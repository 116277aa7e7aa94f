#include "cluster/oar_jobs.h"

#include <simdjson.h>

#include <charconv>

#include "cluster/job_record.h"
#include "cluster/json_list.h"
#include "cluster/rest_api.h"
#include "core/text.h"
#include "core/whole.h"

namespace cigri::cluster {
namespace {

std::int64_t IntegerOf(const simdjson::dom::element& value) {
  std::int64_t n = 0;
  if (value.get(n) == simdjson::SUCCESS) return n;
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS)
    std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

std::int64_t IntegerAt(const simdjson::dom::element& object, std::string_view key) {
  simdjson::dom::element value;
  return object[key].get(value) == simdjson::SUCCESS ? IntegerOf(value) : 0;
}

std::string_view TextAt(const simdjson::dom::element& object, std::string_view key) {
  std::string_view text;
  return object[key].get(text) == simdjson::SUCCESS ? text : std::string_view();
}

// The events that tell why OAR ended a job, the telling ones first: a walltime or a best-effort
// kill also leaves a FRAG_JOB_REQUEST "User root".
constexpr struct {
  const char* type;
  EndCause cause;
} kCauseEvents[] = {
    {"BESTEFFORT_KILL", EndCause::kPreempted},
    {"WALLTIME", EndCause::kWalltime},
    {"WORKING_DIRECTORY", EndCause::kBadDirectory},
    {"WORKING_DIRECTOR", EndCause::kBadDirectory},  // OAR 3
    {"OUTPUT_FILES", EndCause::kBadOutput},
    {"RESUBMIT_JOB_AUTOMATICALLY", EndCause::kNodeFailed},
    {"PING_CHECKER_NODE_SUSPECTED", EndCause::kNodeFailed},
    {"FRAG_JOB_REQUEST", EndCause::kDeleted},
};

const nlohmann::json* EventOf(const nlohmann::json& answer, const char* type) {
  for (const auto& event : At(answer, "events"))
    if (TextIn(event, "type") == type) return &event;
  return nullptr;
}

// The cause and the text of the first event that has one; else the last message of OAR.
std::optional<EndCause> CauseOf(const nlohmann::json& answer, std::string* words) {
  for (const auto& [type, cause] : kCauseEvents)
    if (const auto* event = EventOf(answer, type)) {
      *words = type + (": " + TextIn(*event, "description"));
      return cause;
    }
  const auto& events = At(answer, "events");
  if (events.is_array() && !events.empty())
    *words = TextIn(events.back(), "type") + ": " + TextIn(events.back(), "description");
  return std::nullopt;
}

std::string NodeOf(const nlohmann::json& answer) {
  const auto& nodes = At(answer, "nodes");
  return nodes.is_array() && !nodes.empty() ? TextIn(nodes[0], "network_address") : "";
}

// OAR asks for a checkpoint before it kills for its own users, and before the walltime. A job that
// then ends on its own, without a success, has only been faster.
std::optional<EndCause> CauseOfCheckpoint(const nlohmann::json& answer) {
  const auto* event = EventOf(answer, "CHECKPOINT");
  if (event == nullptr) return std::nullopt;
  const auto words = TextIn(*event, "description");
  if (words.find("metasched") != words.npos) return EndCause::kPreempted;
  if (words.find("sarko") != words.npos) return EndCause::kWalltime;
  return std::nullopt;
}

void FillEnd(RemoteJob* job, const nlohmann::json& answer) {
  const auto& code = At(answer, "exit_code");
  std::string words;
  auto cause = CauseOf(answer, &words);
  if (!cause) cause = CauseOfCheckpoint(answer);
  job->state = RemoteState::kEnded;
  // Exit 0 is a success, whoever was killing.
  if (code.is_number() && (code == 0 || !cause)) {
    EndByScript(job, Whole<int>(code.get<double>()));
    return;
  }
  if (code.is_number()) job->wait_status = Whole<int>(code.get<double>());
  job->message = ErrorText(words);
  const bool terminated = TextIn(answer, "state") == "Terminated";
  job->cause = cause.value_or(terminated ? EndCause::kUnknown : EndCause::kLaunchFailed);
}

}  // namespace

std::int64_t EachOarItem(const std::string& what, std::string body,
                         const std::function<void(const simdjson::dom::element&)>& each) {
  return IntegerAt(EachInList(what, std::move(body), "items", each), "total");
}

std::int64_t EachOarJob(const std::string& what, std::string body,
                        const std::function<void(const OarItemView&)>& each) {
  return EachOarItem(what, std::move(body), [&](const simdjson::dom::element& item) {
    const auto id = IntegerAt(item, "id");
    // It may be one of ours: to leave it out would be to say that ours is not there.
    if (id <= 0) ThrowGarbage(what, "a job without an id");
    each({id, TextAt(item, "name"), TextAt(item, "state"), item});
  });
}

OarItem OarItemView::Keep(bool with_details) const {
  const auto owner = TextAt(all, "owner");  // OAR 3: user
  OarItem item{id,
               std::string(name),
               std::string(state),
               std::string(owner.empty() ? TextAt(all, "user") : owner),
               {},
               "",
               std::nullopt};
  if (with_details) item.index = IndexInCommand(std::string(TextAt(all, "command")));
  simdjson::dom::array resources;
  if (with_details && all["resources"].get(resources) == simdjson::SUCCESS)
    for (const auto resource : resources) item.resources.push_back(IntegerAt(resource, "id"));
  if (with_details && OarEnded(state)) item.details = simdjson::minify(all);
  return item;
}

void OarItemView::NoteHome(std::map<std::string, std::string>* homes) const {
  const auto home = TextAt(all, "launching_directory");
  const auto user = std::string(TextAt(all, "user"));
  // Only of a job of ours: others begin where their user said.
  if (home.empty() || !IsTag(std::string(name)) || homes->count(user) != 0) return;
  (*homes)[user] = std::string(home);
}

bool OarExterminated(const nlohmann::json& answer) {
  return EventOf(answer, "EXTERMINATE_JOB") != nullptr;
}

bool OarEnded(std::string_view state) { return state == "Terminated" || state == "Error"; }

bool OarStarting(std::string_view state) { return state == "toLaunch" || state == "Launching"; }

RemoteState OarState(std::string_view state) {
  if (state == "Hold") return RemoteState::kHeld;
  for (const char* waiting : {"Waiting", "toLaunch", "Launching", "toAckReservation"})
    if (state == waiting) return RemoteState::kWaiting;
  return RemoteState::kRunning;  // Running, Suspended, Resuming, Finishing, toError
}

bool OarRuns(std::string_view state) {
  if (OarEnded(state) || state == "toError") return false;
  return OarStarting(state) || OarState(state) == RemoteState::kRunning;
}

void FillFromOarJob(RemoteJob* job, const nlohmann::json& answer) {
  job->submitted_at = NumberIn(At(answer, "submission_time"));
  job->started_at = NumberIn(At(answer, "start_time"));
  job->ended_at = NumberIn(At(answer, "stop_time"));
  job->node = NodeOf(answer);
  const auto state = TextIn(answer, "state");
  if (OarEnded(state))
    FillEnd(job, answer);
  else
    job->state = OarState(state);
}

std::optional<int> IndexInCommand(const std::string& command) {
  // "... cigri INDEX JOB TASK ATTEMPT b DATA": job_script.h. The script stands before it as base64.
  const auto at = command.rfind("' cigri ");
  if (at == command.npos) return std::nullopt;
  const auto words = Split(std::string_view(command).substr(at + 8), ' ');
  if (words.size() < 6) return std::nullopt;
  int index = -1;
  const auto [end, error] =
      std::from_chars(words[0].data(), words[0].data() + words[0].size(), index);
  if (error != std::errc() || *end != '\0' || index < 0) return std::nullopt;
  return index;
}

std::vector<std::string> OarJobIds(const std::string& text) {
  static constexpr std::string_view kKey = "OAR_JOB_ID=";
  std::vector<std::string> ids;
  for (auto at = text.find(kKey); at != text.npos; at = text.find(kKey, at + 1)) {
    const auto from = at + kKey.size();
    const auto to = text.find_first_not_of("0123456789", from);
    if (const auto id = text.substr(from, to - from); !id.empty() && id != "0") ids.push_back(id);
  }
  return ids;
}

}  // namespace cigri::cluster
