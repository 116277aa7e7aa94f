#include "localcluster/api.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/log.h"
#include "core/text.h"
#include "http/server.h"
#include "localcluster/api_json.h"
#include "localcluster/users.h"

namespace cigri::localcluster {
namespace {

using httplib::Request;
using httplib::Response;
using nlohmann::json;

constexpr std::int64_t kMostOutput = 8 << 20;
constexpr std::int64_t kLongestWaitMs = 60'000;
constexpr std::chrono::milliseconds kLookForEnd(100);  // of a job that somebody waits for

std::int64_t Param(const Request& q, const char* name, std::int64_t fallback, std::int64_t least,
                   std::int64_t most) {
  if (!q.has_param(name)) return fallback;
  const std::string text = q.get_param_value(name);
  std::int64_t n = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), n);
  if (r.ec != std::errc() || r.ptr != text.data() + text.size())
    throw Refused(400, "batch", std::string("\"") + name + "\" must be a whole number");
  return std::clamp(n, least, most);
}

// [{"id":...,"tag":...,"only_waiting":...}, ...]
std::vector<JobName> ReadNames(const std::string& body) {
  const json j = json::parse(body, nullptr, false);
  if (!j.is_array()) throw Refused(400, "batch", "the body is not a list of {\"id\", \"tag\"}");
  std::vector<JobName> out;
  for (const auto& e : j) {
    const auto id = e.is_object() ? e.find("id") : e.end();
    if (!e.is_object() || id == e.end() || !id->is_string())
      throw Refused(400, "batch", "each entry of the list needs an \"id\"");
    const auto tag = e.find("tag");
    if (tag != e.end() && !tag->is_string())
      throw Refused(400, "batch", "\"tag\" must be a string");
    const auto only_waiting = e.find("only_waiting");
    if (only_waiting != e.end() && !only_waiting->is_boolean())
      throw Refused(400, "batch", "\"only_waiting\" must be true or false");
    out.push_back({id->get<std::string>(), tag == e.end() ? "" : tag->get<std::string>(),
                   only_waiting != e.end() && only_waiting->get<bool>()});
  }
  return out;
}

// Opens what a job has written, at the place where it is now; nothing when it is not there. The
// daemon may be root: a file of anybody else is not the job's, whatever its name is.
process::Fd OpenOutput(Engine& engine, const JobView& job, const std::string& path, bool err,
                       struct stat* s) {
  process::Fd fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!fd && job.state == State::kRunning) fd = engine.OpenOutput(job, err);
  if (!fd || fstat(fd.get(), s) != 0 || !S_ISREG(s->st_mode)) return process::Fd();
  if (s->st_uid == AccountOf(job.batch->user)->uid) return fd;
  log::warn("{} is not read: it does not belong to {}", path, job.batch->user);
  return process::Fd();
}

json ReadOutput(Engine& engine, const JobView& job, bool err, std::int64_t offset,
                std::int64_t bytes) {
  const std::string path = engine.OutputStem(job) + (err ? ".err" : ".out");
  struct stat s {};
  const process::Fd fd = OpenOutput(engine, job, path, err, &s);
  if (!fd) return {{"exists", false}, {"where", path}};
  // A file that somebody has made longer is read up to there: a hole costs him nothing, and us all.
  s.st_size = std::min(s.st_size, engine.max_file_bytes());
  if (offset < 0) offset = std::max<std::int64_t>(0, s.st_size + offset);
  std::string text(static_cast<std::size_t>(std::clamp<std::int64_t>(s.st_size - offset, 0, bytes)),
                   '\0');
  const ssize_t n = pread(fd.get(), text.data(), text.size(), offset);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return {{"exists", true}, {"size", s.st_size}, {"where", path}, {"bytes", std::move(text)}};
}

class Routes {
 public:
  Routes(http::GuardServer& server, Engine& engine, const ApiOptions& options)
      : engine_(engine), options_(options) {
    // Before the body is read: many connections with 32 MB each would fill the memory.
    server.before = [self = *this](const Request& q, Response& r) {
      if (self.Trusted(q)) return false;
      const std::string length = q.get_header_value("Content-Length");
      Guarded(r, [&] { CheckLength(std::strtoull(length.c_str(), nullptr, 10)); });
      return r.status >= 400;
    };
    Post(server, "/batches", &Routes::Submit);
    Get(server, R"(/tags/([A-Za-z0-9_.\-]+))", &Routes::Tag);
    Get(server, "/tags", &Routes::Tags);
    Get(server, "/changes", &Routes::Changes);
    Post(server, "/lookups", &Routes::Lookups);
    Post(server, "/kills", &Routes::Kills);
    Get(server, "/jobs", &Routes::List);
    Get(server, "/jobs/([0-9_]+)", &Routes::Job);
    Get(server, "/jobs/([0-9_]+)/output", &Routes::Output);
    Get(server, "/resources", &Routes::Resources);
    Get(server, "/health", &Routes::Health);
    Post(server, "/shutdown", &Routes::Shutdown);
  }

 private:
  using Handler = void (Routes::*)(const Request&, Response&);

  static void Guarded(Response& r, const std::function<void()>& body) {
    try {
      body();
    } catch (const Refused& e) {
      r.status = e.status();
      r.set_content(ErrorJson(e.status(), e.why(), e.what(), e.limit()), "application/json");
    } catch (const StoreError& e) {
      log::error("a call failed: {}", e.what());
      r.status = 500;
      r.set_content(ErrorJson(500, "store", "the cluster's store cannot be read or written", 0),
                    "application/json");
    }
  }
  void Get(http::GuardServer& server, const char* path, Handler handler) {
    server.Get(path, [self = *this, handler](const Request& q, Response& r) {
      Guarded(r, [&] { (Routes(self).*handler)(q, r); });
    });
  }
  void Post(http::GuardServer& server, const char* path, Handler handler) {
    server.Post(path, [self = *this, handler](const Request& q, Response& r) {
      Guarded(r, [&] {
        if (!self.Trusted(q)) CheckDepth(q.body);
        (Routes(self).*handler)(q, r);
      });
    });
  }

  static void Answer(Response& r, const std::string& body) {
    r.set_content(body, "application/json");
  }
  bool Trusted(const Request& q) const {
    const auto peer = http::PeerOf(q);
    return peer.unix_socket && (peer.uid == 0 || peer.uid == static_cast<int>(geteuid()) ||
                                options_.trusted.count(peer.user) != 0);
  }
  Caller CallerOf(const Request& q) const { return {Trusted(q), http::PeerOf(q).user}; }
  bool MayActFor(const Request& q, const std::string& user) const {
    return CallerOf(q).MayActFor(user);
  }
  void Demand(const Request& q) const {
    if (!Trusted(q)) throw Refused(403, "user", "only the grid and root may ask this");
  }
  JobView Own(const Request& q) const {
    const auto job = engine_.Get(q.matches[1]);
    if (!job || !MayActFor(q, job->batch->user))
      throw Refused(404, "unknown",
                    "no job " + std::string(q.matches[1]) + " of yours is known here");
    return *job;
  }

  void Submit(const Request& q, Response& r) {
    const auto accepted = engine_.Submit(q.body, CallerOf(q));
    r.status = 201;
    Answer(r, AcceptedJson(accepted.seq, accepted.n));
  }
  void Tag(const Request& q, Response& r) {
    Demand(q);
    const bool revoke = q.has_param("revoke") && q.get_param_value("revoke") == "1";
    const auto jobs = engine_.Find(q.matches[1], revoke);
    Answer(r, std::string("{\"revoked\":") + (revoke ? "true" : "false") +
                  ",\"jobs\":" + JobList(jobs) + "}\n");
  }
  void Tags(const Request& q, Response& r) {
    Demand(q);
    const std::string prefix = q.has_param("prefix") ? q.get_param_value("prefix") : "";
    const auto since = static_cast<double>(Param(q, "since", 0, 0, 1LL << 60));
    Answer(r, json{{"tags", engine_.TagsSince(prefix, since)}}.dump() + "\n");
  }
  void Changes(const Request& q, Response& r) {
    Demand(q);
    const auto wait = std::chrono::milliseconds(Param(q, "wait", 0, 0, kLongestWaitMs));
    const auto c =
        engine_.ChangesSince(q.has_param("since") ? q.get_param_value("since") : "", wait);
    std::string out = std::string("{\"full\":") + (c.full ? "true" : "false") +
                      ",\"more\":" + (c.more ? "true" : "false") + ",\"token\":\"" + c.token +
                      "\",\"time\":" + std::to_string(WallClock()) +
                      ",\"resources\":" + UsageJson().dump() + ",\"jobs\":";
    Answer(r, out + JobList(c.jobs) + "}\n");
  }
  void Lookups(const Request& q, Response& r) {
    Demand(q);
    std::vector<JobView> jobs;
    json missing = json::array();
    for (const auto& named : ReadNames(q.body)) {
      const auto job = engine_.Get(named.id);
      if (job && (named.tag.empty() || job->batch->tag == named.tag))
        jobs.push_back(*job);
      else
        missing.push_back(named.id);
    }
    Answer(r, "{\"missing\":" + missing.dump(-1, ' ', true, json::error_handler_t::replace) +
                  ",\"jobs\":" + JobList(jobs) + "}\n");
  }
  void Kills(const Request& q, Response& r) {
    json answer;
    for (const char* list : {"gone", "asked", "begun", "foreign"}) answer[list] = json::array();
    std::vector<JobName> names;
    for (auto& name : ReadNames(q.body)) {
      const auto job = Trusted(q) ? std::nullopt : engine_.Get(name.id);
      if (Trusted(q) || (job && MayActFor(q, job->batch->user)))
        names.push_back(std::move(name));
      else
        answer["foreign"].push_back(name.id);
    }
    const auto killed = engine_.Kill(names);
    for (std::size_t i = 0; i < names.size(); ++i)
      answer[killed[i] == Engine::Killed::kGone    ? "gone"
             : killed[i] == Engine::Killed::kAsked ? "asked"
             : killed[i] == Engine::Killed::kBegun ? "begun"
                                                   : "foreign"]
          .push_back(names[i].id);
    Answer(r, answer.dump(-1, ' ', true, json::error_handler_t::replace) + "\n");
  }
  void List(const Request& q, Response& r) {
    const std::string prefix = q.has_param("prefix") ? q.get_param_value("prefix") : "";
    Answer(r, "{\"jobs\":" + JobList(engine_.Live([&](const Batch& b) {
                return StartsWith(b.tag, prefix) && MayActFor(q, b.user);
              })) +
                  "}\n");
  }
  void Job(const Request& q, Response& r) {
    const JobView job = Own(q);
    const auto left =
        std::chrono::milliseconds(Param(q, "wait", 0, 0, kLongestWaitMs)) - http::WaitedFor();
    if (job.state != State::kEnded && left.count() > 0)
      return http::AnswerLater(std::min(left, kLookForEnd));
    std::string out;
    AppendJob(job, &out);
    Answer(r, out + "\n");
  }
  void Output(const Request& q, Response& r) {
    const JobView job = Own(q);
    const bool err = q.has_param("stream") && q.get_param_value("stream") == "stderr";
    const auto offset = Param(q, "offset", 0, -(1LL << 60), 1LL << 60);
    const json part =
        ReadOutput(engine_, job, err, offset, Param(q, "bytes", 65536, 0, kMostOutput));
    // The bytes as they are; what else is to be known in headers.
    r.set_header("X-Output-Exists", part["exists"].get<bool>() ? "1" : "0");
    r.set_header("X-Output-Size", std::to_string(part.value("size", 0LL)));
    r.set_header("X-Output-Where", part["where"].get<std::string>());
    r.set_content(part.value("bytes", std::string()), "application/octet-stream");
  }
  json UsageJson() const {
    const Usage u = engine_.GetUsage();
    return {{"slots", u.slots},
            {"used", u.used},
            {"best_effort", u.best_effort},
            {"local", u.local},
            {"ending", u.ending},
            {"running", u.running},
            {"waiting", u.waiting},
            {"waiting_local", u.waiting_local}};
  }
  void Resources(const Request&, Response& r) { Answer(r, UsageJson().dump() + "\n"); }
  void Health(const Request&, Response& r) {
    Answer(r, json{{"cluster", options_.cluster},
                   {"version", CIGRI_VERSION},
                   {"api", 1},
                   {"instance", engine_.instance()},
                   {"pid", getpid()},
                   {"time", WallClock()}}
                      .dump() +
                  "\n");
  }
  void Shutdown(const Request& q, Response& r) {
    Demand(q);
    const json j = json::parse(q.body, nullptr, false);
    const bool kill = j.is_object() && j.value("kill", json(false)) == json(true);
    options_.shutdown(kill);
    Answer(r, "{}\n");
  }

  Engine& engine_;
  const ApiOptions& options_;
};

}  // namespace

void AddRoutes(http::GuardServer& server, Engine& engine, const ApiOptions& options) {
  Routes(server, engine, options);
}

}  // namespace cigri::localcluster
