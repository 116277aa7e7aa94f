// Driver of the embedded local cluster (docs/localcluster.md): its daemon on a unix socket.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "cluster/drivers.h"
#include "cluster/local_wire.h"
#include "cluster/resource_request.h"
#include "core/text.h"
#include "http/client.h"

namespace cigri::cluster {
namespace {

using http::Outcome;
using http::Response;
using nlohmann::json;

constexpr std::size_t kNamesPerCall = 5000;
// Of 5,000 jobs each: far more than a daemon keeps.
constexpr int kMostPages = 1000;

http::Options ClientOptions(const ClusterConfig& config) {
  http::Options o;
  o.read_timeout = config.call_timeout;
  o.connect_timeout = std::min(config.call_timeout, std::chrono::milliseconds(5000));
  return o;
}

// The cluster's own words in an answer that is a refusal.
std::string ErrorIn(const Response& r) {
  const json j = json::parse(r.body, nullptr, false);
  if (j.is_object() && j.contains("message") && j["message"].is_string()) return j["message"];
  return "HTTP " + std::to_string(r.status);
}

Capabilities KindCapabilities() {
  Capabilities c;
  c.max_array = 5000;
  c.max_bytes = 4u << 20;
  c.revokes = c.feed = c.output = true;
  c.exact_walltime = c.dedicated = true;
  c.time_resolution_s = 0;
  c.remembers = std::chrono::hours(24 * 7);
  c.absence_delay = std::chrono::seconds(0);
  return c;
}

class LocalCluster : public Cluster {
 public:
  explicit LocalCluster(const ClusterConfig& config)
      : config_(config), client_(http::Endpoint::Parse(config.api_url), ClientOptions(config)) {}

  Capabilities capabilities() const override { return KindCapabilities(); }

  std::vector<std::string> Submit(const Batch& batch) override {
    const std::string body = local::BatchBody(batch);
    // A kept connection may have been closed by a daemon that is no more: that would be doubt.
    client_.Close();
    if (std::chrono::steady_clock::now() >= batch.send_by)
      throw SubmitRefused(SubmitRefused::Why::kTemporary, "its time to be sent had passed");
    const Response r = Post("/batches", body);
    if (r.outcome == Outcome::kNotSent)
      throw SubmitRefused(SubmitRefused::Why::kTemporary, r.error);
    if (r.outcome == Outcome::kMaybeSent) throw SubmitInDoubt(r.error);
    if (!r.ok()) Refuse(r);
    return ReadIds(r.body, batch.elements.size());
  }

  // No job is ever held.
  void Release(const Batch&, const std::vector<std::string>&) override {}

  FindResult Find(const std::string& tag, const std::string&, double, bool revoke) override {
    const auto a = local::ReadAnswer(
        Get("/tags/" + http::PercentEncode(tag) + (revoke ? "?revoke=1" : "")).body);
    FindResult found;
    found.jobs = a.jobs;
    found.complete = true;
    found.revoked = a.revoked;
    return found;
  }

  PollResult Poll(const PollRequest& request) override {
    PollResult result;
    local::Answer a = Changes(request.token, request.wait, &result);
    result.full = a.full;
    for (int pages = 1; a.full && a.more; ++pages) {
      auto page = Changes(a.token, {}, &result);
      if (pages == kMostPages || (page.more && page.token == a.token))
        throw CallFailed(CallFailed::Why::kGarbage,
                         "its list of jobs does not end: there is more after page " +
                             std::to_string(pages) + ", \"" + a.token + "\"");
      a.more = page.more;
      a.token = page.token;
    }
    result.token = a.token;
    if (result.full) FindRest(request.jobs, &result);
    return result;
  }

  KillResult Kill(const std::vector<RemoteRef>& jobs) override {
    KillResult result;
    for (std::size_t from = 0; from < jobs.size(); from += kNamesPerCall) {
      const Response r =
          Checked(Post("/kills", local::NamesBody(jobs, from, kNamesPerCall)), "POST /kills");
      const json j = json::parse(r.body, nullptr, false);
      const auto asked = Names(j, "asked");
      // A daemon older than this list goes on until its cluster is restarted.
      const auto begun = j.contains("begun") ? Names(j, "begun") : std::set<std::string>();
      for (std::size_t i = from; i < std::min(jobs.size(), from + kNamesPerCall); ++i) {
        if (asked.count(jobs[i].remote_id) != 0)
          result.asked.push_back(jobs[i]);
        else if (begun.count(jobs[i].remote_id) != 0)
          result.begun.push_back(jobs[i]);
        else  // a job of that id with another tag is not the one meant: that one is gone
          result.gone.push_back(jobs[i]);
      }
    }
    return result;
  }

  Resources GetResources(const std::vector<std::string>&) override {
    return local::ReadResources(Get("/resources").body);
  }

  OutputPart ReadOutput(const RemoteRef& job, Stream stream, std::int64_t offset,
                        std::size_t bytes) override {
    const Response r = Ask("/jobs/" + http::PercentEncode(job.remote_id) +
                           "/output?stream=" + (stream == Stream::kStdout ? "stdout" : "stderr") +
                           "&offset=" + std::to_string(offset) + "&bytes=" + std::to_string(bytes));
    OutputPart part;
    if (r.outcome == Outcome::kAnswered && r.status == 404) return part;
    Checked(r, "GET output");
    const auto header = [&](const char* name) {
      const auto it = r.headers.find(name);
      return it == r.headers.end() ? std::string() : it->second;
    };
    part.exists = header("x-output-exists") == "1";
    part.bytes = r.body;
    part.size = part.exists ? std::atoll(header("x-output-size").c_str()) : 0;
    part.where = header("x-output-where");
    return part;
  }

  std::vector<std::string> TagsSince(const std::string& prefix, double since) override {
    const auto names = Names(Json(Get("/tags?prefix=" + http::PercentEncode(prefix) +
                                      "&since=" + std::to_string(static_cast<long long>(since)))),
                             "tags");
    return {names.begin(), names.end()};
  }

  std::vector<RemoteJob> ListTagged(const std::string& prefix, const JobFilter& wanted) override {
    auto jobs = local::ReadAnswer(Get("/jobs?prefix=" + http::PercentEncode(prefix)).body).jobs;
    std::erase_if(jobs, [&](const RemoteJob& job) {
      return wanted && !wanted(job.ref.remote_id, job.ref.tag);
    });
    return jobs;
  }

  std::vector<CheckItem> Check(const std::string& cluster_user, bool submit) override;

  std::string WhyNot(const Batch& batch) override {
    const Resources r = GetResources({});
    if (batch.slots > r.max)
      return "a job asks for " + std::to_string(batch.slots) + " slots, " + config_.name + " has " +
             std::to_string(r.max);
    return ExceedsLimit(batch);
  }

  std::string ExceedsLimit(const Batch& batch) override {
    const auto resource_request = ResourceRequestOf(batch);
    if (resource_request.gpus > 0)
      return config_.name + " has no GPUs to give: leave gpus out there";
    if (!batch.properties.empty())
      return config_.name + " has no properties to choose by (\"" + batch.properties +
             "\"): leave properties out there";
    if (const auto why = UnknownLevel(batch, config_); !why.empty()) return why;
    const auto memory_mb =
        static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) / (1 << 20);
    if (resource_request.mem_mb > memory_mb)
      return "a job asks for " + std::to_string(resource_request.mem_mb) + " MB of memory, " +
             config_.name + " has " + std::to_string(memory_mb);
    for (const auto& e : batch.elements)
      if (batch.setup.size() + e.command.size() > (1u << 20))
        return "setup and command of a job may be 1 MB on " + config_.name + ", they are " +
               std::to_string((batch.setup.size() + e.command.size()) >> 20) + " MB";
    return "";
  }

 private:
  [[noreturn]] void Refuse(const Response& r) const {
    const json j = json::parse(r.body, nullptr, false);
    const bool taken = !j.is_object() || j.value("taken", json(true)) != json(false);
    if (r.status >= 500 && taken) throw SubmitInDoubt(ErrorIn(r));
    if (!j.is_object()) throw SubmitRefused(SubmitRefused::Why::kBatch, ErrorIn(r));
    using Why = SubmitRefused::Why;
    const std::string word =
        j.contains("why") && j["why"].is_string() ? j["why"].get<std::string>() : "";
    const Why why = word == "user"                             ? Why::kUser
                    : word == "limit"                          ? Why::kLimit
                    : word == "temporary" || word == "revoked" ? Why::kTemporary
                                                               : Why::kBatch;
    throw SubmitRefused(why, ErrorIn(r), Number(j, "limit"));
  }

  static std::vector<std::string> ReadIds(const std::string& body, std::size_t n) {
    const json j = json::parse(body, nullptr, false);
    std::vector<std::string> ids;
    if (j.is_object() && j.contains("ids") && j["ids"].is_array())
      for (const auto& id : j["ids"])
        if (id.is_string() && id != "") ids.push_back(id);
    if (ids.size() != n)
      throw SubmitInDoubt("the answer does not name the " + std::to_string(n) + " jobs", ids);
    return ids;
  }

  Response Checked(Response r, const std::string& what) const {
    using Why = CallFailed::Why;
    const auto fail = [&](Why why, const std::string& reason) {
      return CallFailed(why, config_.name + ": " + what + ": " + reason);
    };
    if (r.outcome == Outcome::kNotSent) throw fail(Why::kUnreachable, r.error);
    if (r.outcome == Outcome::kMaybeSent) throw fail(Why::kTimeout, r.error);
    if (r.status == 401 || r.status == 403) throw fail(Why::kAuth, ErrorIn(r));
    if (!r.ok()) throw fail(r.status >= 500 ? Why::kServer : Why::kGarbage, ErrorIn(r));
    return r;
  }
  Response Relayed(const RelayedCall& call) override {
    return call.method == "POST" ? client_.Post(call.path, call.body)
                                 : client_.Get(call.path, {}, call.timeout);
  }
  Response Ask(const std::string& path, std::chrono::milliseconds wait = {}) {
    const auto timeout = wait + config_.call_timeout;
    if (config_.relay) return config_.relay({"GET", path, "", timeout});
    return client_.Get(path, {}, timeout);
  }
  Response Post(const std::string& path, const std::string& body) {
    if (config_.relay) return config_.relay({"POST", path, body, config_.call_timeout});
    return client_.Post(path, body);
  }
  Response Get(const std::string& path, std::chrono::milliseconds wait = {}) {
    return Checked(Ask(path, wait), "GET " + path.substr(0, path.find('?')));
  }
  json Json(const Response& r) const {
    json j = json::parse(r.body, nullptr, false);
    if (!j.is_object())
      throw CallFailed(CallFailed::Why::kGarbage,
                       config_.name + ": the answer is not a JSON object");
    return j;
  }
  static int Number(const json& j, const char* key) {
    const auto it = j.find(key);
    return it != j.end() && it->is_number_integer() ? it->get<int>() : 0;
  }
  static std::set<std::string> Names(const json& j, const char* key) {
    std::set<std::string> names;
    if (!j.is_object() || !j.contains(key) || !j[key].is_array())
      throw CallFailed(CallFailed::Why::kGarbage,
                       std::string("the answer has no list \"") + key + "\"");
    for (const auto& name : j[key])
      if (name.is_string() && name != "") names.insert(name);
    return names;
  }

  local::Answer Changes(const std::string& token, std::chrono::milliseconds wait,
                        PollResult* into) {
    auto a = local::ReadAnswer(Get("/changes?since=" + http::PercentEncode(token) +
                                       "&wait=" + std::to_string(wait.count()),
                                   wait)
                                   .body);
    ++into->calls;
    into->cluster_time = a.time;
    into->resources = a.resources;
    std::move(a.jobs.begin(), a.jobs.end(), std::back_inserter(into->jobs));
    return a;
  }

  // A full answer lists the jobs that have not ended; the ends of the others are looked up.
  void FindRest(const std::vector<RemoteRef>& asked, PollResult* result) {
    std::set<std::pair<std::string, std::string>> seen;
    for (const auto& job : result->jobs) seen.emplace(job.ref.remote_id, job.ref.tag);
    std::vector<RemoteRef> rest;
    for (const auto& ref : asked)
      if (seen.count({ref.remote_id, ref.tag}) == 0) rest.push_back(ref);
    for (std::size_t from = 0; from < rest.size(); from += kNamesPerCall) {
      const Response r = Checked(
          client_.Post("/lookups", local::NamesBody(rest, from, kNamesPerCall)), "POST /lookups");
      const auto a = local::ReadAnswer(r.body);
      ++result->calls;
      std::copy(a.jobs.begin(), a.jobs.end(), std::back_inserter(result->jobs));
      const std::set<std::string> missing(a.missing.begin(), a.missing.end());
      for (std::size_t i = from; i < std::min(rest.size(), from + kNamesPerCall); ++i)
        if (missing.count(rest[i].remote_id) != 0) result->missing.push_back(rest[i]);
    }
  }

  CheckItem CheckTestJob(const std::string& cluster_user);

  ClusterConfig config_;
  http::Client client_;
};

std::vector<CheckItem> LocalCluster::Check(const std::string& cluster_user, bool submit) {
  using Verdict = CheckItem::Verdict;
  const std::string where = client_.endpoint().Text();
  std::vector<CheckItem> items;
  json health;
  try {
    health = Json(Get("/health"));
  } catch (const CallFailed& e) {
    return {{"reachable", Verdict::kFail,
             std::string(e.what()) + ". Is localcluster running? `cigri status` shows it"}};
  }
  items.push_back({"reachable", Verdict::kOk, where});
  items.push_back(
      {"version", Verdict::kOk, "localcluster " + health.value("version", std::string("?"))});
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const double skew = std::abs(now - health.value("time", 0.0));
  items.push_back(
      {"clock", skew < 5 ? Verdict::kOk : Verdict::kWarn, HumanDuration(skew) + " apart"});
  try {
    ListTagged("cigri.check.", {});
    const Resources r = GetResources({});
    items.push_back({"authorised", Verdict::kOk, "may act for all users there"});
    items.push_back({"limits", Verdict::kOk, std::to_string(r.max) + " slots, 5000 jobs an array"});
  } catch (const CallFailed& e) {
    items.push_back({"authorised", Verdict::kFail, e.what()});
  }
  items.push_back(submit ? CheckTestJob(cluster_user)
                         : CheckItem{"test job", Verdict::kSkipped, "not asked for"});
  return items;
}

CheckItem LocalCluster::CheckTestJob(const std::string& cluster_user) {
  using Verdict = CheckItem::Verdict;
  Batch batch;
  batch.tag = "cigri.check." + RandomHex(8);
  batch.grid_user = batch.cluster_user = cluster_user;
  batch.campaign_name = "check";
  batch.directory = "/";
  batch.walltime_s = 60;
  batch.elements.push_back({1, -1, 1, "true"});
  try {
    const std::string token = Poll({}).token;
    const auto ids = Submit(batch);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    PollRequest request{{}, token, std::chrono::milliseconds(1000)};
    while (std::chrono::steady_clock::now() < end) {
      const auto answer = Poll(request);
      request.token = answer.token;
      for (const auto& job : answer.jobs) {
        if (job.ref.remote_id != ids[0] || job.state != RemoteState::kEnded) continue;
        if (job.cause == EndCause::kExited && job.wait_status == 0)
          return {"test job", Verdict::kOk, "ran `true` as " + cluster_user + " on " + job.node};
        return {"test job", Verdict::kFail, "`true` did not end well: " + job.message};
      }
    }
    return {"test job", Verdict::kWarn, "waits since 20 s: is the cluster full?"};
  } catch (const std::runtime_error& e) {
    return {"test job", Verdict::kFail, e.what()};
  }
}

// The signature of every kind; no token is needed here.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
std::unique_ptr<Cluster> MakeLocal(const ClusterConfig& config, TokenSource) {
  return std::make_unique<LocalCluster>(config);
}

}  // namespace

Driver LocalDriver() {
  return {"local", "the batch scheduler of an embedded grid", MakeLocal, KindCapabilities()};
}

}  // namespace cigri::cluster
