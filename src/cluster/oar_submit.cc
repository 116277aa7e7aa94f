// Submission to OAR: what is sent, and what each of its answers means.

#include "cluster/job_environment.h"
#include "cluster/oar.h"
#include "cluster/oar_class.h"
#include "cluster/resource_request.h"
#include "core/pattern.h"
#include "core/text.h"
#include "core/whole.h"
#include "secrets/base64.h"

namespace cigri::cluster {
namespace {

using Why = SubmitRefused::Why;

// The API acts as the first \w+ of the name: "alice-x" would submit as alice.
bool OarCanName(const std::string& user) {
  static const Pattern name("[A-Za-z0-9_]+");
  return name.MatchesAll(user);
}

// The exit status of oarsub in the API's words, nothing when oarsub was not even run.
std::optional<std::string> OarsubStatus(const std::string& words) {
  static const Pattern status("Oarsub command exited with status ([0-9]+)");
  const auto match = status.Find(words);
  if (!match) return std::nullopt;
  return match.Text(1);
}

// Cores and GPUs are of one node, as on every other kind. OAR gives a GPU's cores with it.
std::string ResourceText(const ResourceRequest& resource_request, const ClusterConfig& config) {
  const auto& o = config.options;
  const std::string node = "/" + o.value("node_unit", "nodes") + "=1/";
  if (resource_request.gpus > 0)
    return node + o.value("gpu_unit", "gpu") + "=" + std::to_string(resource_request.gpus);
  return node + o.value("core_unit", "core") + "=" + std::to_string(resource_request.cores);
}

// Names of nodes have no quotes (IsNodeName).
std::string NodeProperty(const Batch& batch) {
  const auto nodes = NodesOf(batch);
  if (!nodes.only.empty()) return "network_address = '" + nodes.only + "'";
  return nodes.excluded.empty()
             ? ""
             : "network_address NOT IN ('" + Join(nodes.excluded, "', '") + "')";
}

void AddProperty(std::string& all, const std::string& need) {
  if (!need.empty()) all = all.empty() ? need : "(" + all + ") AND " + need;
}

std::string Properties(const Batch& batch, const ClusterConfig& config) {
  std::string all = batch.properties;
  const auto add = [&](const std::string& need) { AddProperty(all, need); };
  const auto mem = ResourceRequestOf(batch).mem_mb;
  const auto column = config.options.value("mem_property", "");
  if (mem > 0 && !column.empty()) add(column + " >= " + std::to_string(mem));
  add(NodeProperty(batch));
  return all;
}

std::vector<std::string> Types(const Batch& batch) {
  std::vector<std::string> types;
  if (batch.best_effort) types.push_back("besteffort");
  types.insert(types.end(), batch.job_types.begin(), batch.job_types.end());
  return types;
}

std::size_t JobsOf(const Batch& batch) {
  const auto each = static_cast<std::size_t>(batch.tasks_per_job);
  return (batch.elements.size() + each - 1) / each;
}

// OAR 3's 403 for a request that an admission rule has refused: no word on who asks.
bool RefusedByRule(const http::Response& response) {
  return response.outcome == http::Outcome::kAnswered && response.status == 403 &&
         response.body.find("admission rule") != std::string::npos;
}

[[noreturn]] void ThrowForError(const std::string& text, int status, const std::string& words) {
  const auto oarsub = OarsubStatus(words);
  if (status == 401 || status == 403) throw SubmitRefused(Why::kUser, text);
  if (status == 413 || status == 414) throw SubmitRefused(Why::kBytes, text);
  if (status == 404 || status == 405 || status == 406) throw SubmitRefused(Why::kTemporary, text);
  // 422, 501: OAR 3, before it looks at the job.
  if (status == 400 || status == 422) throw SubmitRefused(Why::kBatch, text);
  if (status == 501) throw SubmitRefused(Why::kBatch, text);
  // The argument list of oarsub was too long for its kernel.
  if (oarsub && *oarsub == "72057594037927935") throw SubmitRefused(Why::kBytes, text);
  // Refused before OAR stored a job: by an admission rule; unknown option, queue, property or user
  // name; syntax. 251 is what 400 with status 8 says of a single job, for an array.
  for (const char* permanent : {"1", "2", "245", "248", "251", "254", "255"})
    if (oarsub && *oarsub == permanent) throw SubmitRefused(Why::kBatch, text);
  throw SubmitInDoubt(text);
}

}  // namespace

std::string OarEscape(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto end = text.find_first_not_of('\\', i);
    const bool special = end != text.npos && (text[end] == '$' || text[end] == '`');
    if (text[i] == '\\' && special) {
      out += std::string(2 * (end - i), '\\');
      i = end - 1;
    } else {
      if (text[i] == '$' || text[i] == '`') out += '\\';
      out += text[i];
    }
  }
  return out;
}

namespace {

std::string HierarchyOf(const Batch& batch, const ClusterConfig& config) {
  std::string text = batch.resources;
  if (const auto resource_request = ResourceRequestOf(batch);
      resource_request.plain && (resource_request.cores > 0 || resource_request.gpus > 0))
    text = ResourceText(resource_request, config);
  if (text.empty()) text = "/" + config.resource_unit + "=" + std::to_string(batch.slots);
  if (text[0] != '/' && text[0] != '{') text = "/" + text;
  return text;
}

/// What one part of a hierarchy asks for: its conditions, and how many of a unit (0: not named).
struct Asked {
  std::vector<std::string> conditions;
  int units = 0;
};

Asked AskedIn(std::string_view text, const std::string& unit) {
  constexpr std::int64_t kMost = 1'000'000;
  Asked asked;
  std::int64_t product = 1;
  while (!text.empty()) {
    const bool condition = text[0] == '{';
    const auto end = std::min(text.size(), text.find_first_of(condition ? "}" : "/{", 1));
    const std::string part(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + (condition ? 1 : 0)));
    if (condition) {
      asked.conditions.push_back("(" + part.substr(1) + ")");
    } else if (const auto equals = part.find('='); equals != part.npos && asked.units == 0) {
      product = std::min(kMost, product * std::max(1, std::atoi(part.c_str() + equals + 1)));
      const std::size_t slash = part[0] == '/' ? 1 : 0;
      if (Trim(std::string_view(part).substr(slash, equals - slash)) == unit)
        asked.units = static_cast<int>(product);
    }
  }
  return asked;
}

}  // namespace

std::string OarResources(const Batch& batch, const ClusterConfig& config) {
  return HierarchyOf(batch, config) + ",walltime=" + FormatWalltime(batch.walltime_s);
}

ResourceClass OarCluster::ResourceClassOf(const Batch& batch) const {
  const auto& config = api_.config();
  const auto gpu = config.options.value("gpu_unit", "gpu");
  const auto text = HierarchyOf(batch, config);
  if (text.find('+') != text.npos) return {};  // parts that ask for different things
  const auto asked = AskedIn(text, gpu);
  std::string properties = Properties(batch, config);
  for (const auto& condition : asked.conditions) AddProperty(properties, condition);
  if (asked.units > 0) return OarClassOf(properties, gpu, asked.units);
  return OarClassOf(properties, "", batch.slots);
}

std::string OarCluster::Words(const std::string& text) const {
  return dialect_->shell_reads_words() ? OarEscape(text) : text;
}

std::string OarCluster::SubmissionBody(const Batch& batch) const {
  const std::string script = Base64(Gzip(JobScript(batch, script_)));
  // The user's login shell may be any: exec, and one word in single quotes, mean the same in all.
  // gzip fails where it has not got all of the script: nothing would run then, which succeeds.
  const std::string command = "exec /bin/sh -c 'script=$(echo " + script +
                              "|base64 -d|gzip -dc)&&eval \"$script\"; exit " +
                              std::to_string(kExitCommandLost) + "' cigri";
  std::string lines;
  for (const auto& job : JobArguments(batch)) lines += job + "\n";
  if (!dialect_->newline_ends_last_line() && !lines.empty()) lines.pop_back();
  const auto resource = Words(OarResources(batch, api_.config()));
  nlohmann::json body{{"command", Words(command)}, {"param_file", lines},   {"name", batch.tag},
                      {"stdout", "/dev/null"},     {"stderr", "/dev/null"}, {"resource", resource}};
  if (dialect_->lists_in_body()) body["resource"] = nlohmann::json::array({resource});
  if (const auto types = Types(batch); !types.empty()) body["type"] = types;
  if (const auto p = Properties(batch, api_.config()); !p.empty()) body["property"] = Words(p);
  if (!batch.project.empty()) body["project"] = Words(batch.project);
  const auto checkpoint = CheckpointOf(batch);
  if (checkpoint && dialect_->signals_before_kills()) {
    body["checkpoint"] = checkpoint->grace_s;
    body["signal"] = checkpoint->number;
  }
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<std::string> OarCluster::Submit(const Batch& batch) {
  const auto jobs = SubmitJobs(batch);
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < batch.elements.size(); ++i)
    ids.push_back(jobs.at(i / static_cast<std::size_t>(batch.tasks_per_job)));
  return ids;
}

// One id for each job.
std::vector<std::string> OarCluster::SubmitJobs(const Batch& batch) {
  if (const auto why = WhyNot(batch); !why.empty()) throw SubmitRefused(Why::kBatch, why);
  if (!OarCanName(batch.cluster_user))
    throw SubmitRefused(Why::kUser, "user \"" + batch.cluster_user + "\" cannot submit to " +
                                        api_.config().name +
                                        ": OAR would act as another user, whose name is the part "
                                        "before the first sign that is no letter, digit or _");
  if (const auto error = api_.TokenError(batch.cluster_user); !error.empty())
    throw SubmitRefused(Why::kToken, error);
  const std::string what =
      "submit " + std::to_string(batch.elements.size()) + " jobs to " + api_.config().name;
  const auto response = api_.PostBatch(dialect_->Submission(), SubmissionBody(batch), batch);
  if (RefusedByRule(response)) throw SubmitRefused(Why::kBatch, api_.Failure(what, response));
  if (response.outcome == http::Outcome::kAnswered &&
      (response.status == 401 || response.status == 403))
    throw SubmitRefused(api_.RefusalKind(),
                        api_.Failure(what, response) + ": " + api_.Refused(batch.cluster_user));
  // OAR 3 names the array only.
  if (response.ok() && OarJobIds(response.body).empty())
    if (auto ids = IdsOfArray(batch, response.body); !ids.empty()) return ids;
  return ReadOarSubmission(api_, what, response, JobsOf(batch));
}

// The jobs of an array whose first is named in `answer`; none when the answer names none. Throws
// SubmitInDoubt when they cannot be listed, or are not those of `batch`.
std::vector<std::string> OarCluster::IdsOfArray(const Batch& batch, const std::string& answer) {
  const auto parsed = nlohmann::json::parse(ValidUtf8(answer), nullptr, false);
  const auto first = Whole<std::int64_t>(NumberIn(At(parsed, "id")));
  if (first <= 0) return {};
  std::vector<std::string> ids{std::to_string(first)};
  if (JobsOf(batch) == 1) return ids;
  const auto what = "list array " + ids[0] + " of " + api_.config().name;
  try {
    std::vector<std::int64_t> numbers;
    for (const auto& item : List(what, dialect_->JobsOfArray(ids[0]), batch.cluster_user))
      if (item.name == batch.tag) numbers.push_back(item.id);
    std::sort(numbers.begin(), numbers.end());
    if (numbers.size() == JobsOf(batch)) {
      ids.clear();
      for (const auto id : numbers) ids.push_back(std::to_string(id));
      return ids;
    }
  } catch (const CallFailed& e) {
    throw SubmitInDoubt(e.what(), ids);
  }
  throw SubmitInDoubt("cannot " + what + ": it has not the jobs that were submitted", ids);
}

std::vector<std::string> ReadOarSubmission(const RestApi& api, const std::string& what,
                                           const http::Response& response, std::size_t n) {
  const auto text = api.Failure(what, response);
  if (response.outcome == http::Outcome::kNotSent) throw SubmitRefused(Why::kTemporary, text);
  if (response.outcome == http::Outcome::kMaybeSent) throw SubmitInDoubt(text);
  const auto answer = nlohmann::json::parse(ValidUtf8(response.body), nullptr, false);
  const auto words = TextIn(answer, response.ok() ? "cmd_output" : "message");
  auto ids = OarJobIds(words);
  if (response.ok() && ids.size() == n) return ids;
  // A scheduler that is down answers 500 "Job is killed" and runs the jobs when it is back.
  if (!ids.empty() || response.ok())
    throw SubmitInDoubt(response.ok()
                            ? "cannot " + what + ": the answer names " +
                                  std::to_string(ids.size()) + " jobs: " + ErrorText(words)
                            : text,
                        ids);
  if (!answer.is_object() && response.status >= 500) throw SubmitInDoubt(text);
  ThrowForError(text, response.status, words);
}

}  // namespace cigri::cluster
