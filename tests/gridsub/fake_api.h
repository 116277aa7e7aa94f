// An API that notes what it was sent and answers as set, and gridsub run as a real process.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/text.h"
#include "http/server.h"
#include "jdl/blocks.h"

namespace cigri::gridsub {

class FakeApi {
 public:
  struct Request {
    std::string method, path, body;
    std::multimap<std::string, std::string> query;
    std::string key;  ///< Idempotency-Key
  };
  FakeApi() {
    char folder[] = "/tmp/gridsub-test-XXXXXX";
    folder_ = mkdtemp(folder);
    using Handler = void (FakeApi::*)(const httplib::Request&, httplib::Response&);
    const auto call = [this](Handler handler) {
      return [this, handler](const httplib::Request& q, httplib::Response& r) {
        const std::lock_guard lock(mutex_);
        requests_.push_back(
            {q.method, q.path, q.body, q.params, q.get_header_value("Idempotency-Key")});
        (this->*handler)(q, r);
      };
    };
    server_.Post("/uploads", call(&FakeApi::NewUpload));
    server_.Put(R"(/uploads/(\d+)/blocks/(\d+))", call(&FakeApi::PutBlock));
    server_.Get("/clusters", call(&FakeApi::Clusters));
    server_.Post("/campaigns", call(&FakeApi::Campaign));
    server_.Get(R"(/campaigns/\d+/progress)", call(&FakeApi::Progress));
    server_.Get(R"(/campaigns/\d+/results)", call(&FakeApi::Results));
    server_.Get(R"(/campaigns/\d+/joblog)", call(&FakeApi::Joblog));
    server_.Get(R"(/.*)", call(&FakeApi::Other));
    server_.Post(R"(/.*)", call(&FakeApi::Other));
    server_.Patch(R"(/.*)", call(&FakeApi::Other));
    server_.Delete(R"(/.*)", call(&FakeApi::Other));
    std::string why;
    if (!server_.BindUnix(socket(), 0600, &why)) throw std::runtime_error(why);
    thread_ = std::thread([this] { server_.Serve(); });
    server_.AwaitServing();
  }
  ~FakeApi() {
    server_.Stop();
    thread_.join();
    std::filesystem::remove_all(folder_);
  }
  std::string socket() const { return folder_ + "/api.sock"; }
  const std::string& folder() const { return folder_; }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
    return folder_ + "/" + name;
  }
  /// The requests so far, as "POST /campaigns"; blocks are left out.
  std::string Calls() {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> calls;
    for (const auto& r : requests_)
      if (r.method != "PUT") calls.push_back(r.method + " " + r.path);
    return Join(calls, ", ");
  }
  /// Their keys, of the requests for `path`.
  std::vector<std::string> Keys(const std::string& path) {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> keys;
    for (const auto& r : requests_)
      if (r.path == path) keys.push_back(r.key);
    return keys;
  }
  Request Last(const std::string& path) {
    const std::lock_guard lock(mutex_);
    for (auto r = requests_.rbegin(); r != requests_.rend(); ++r)
      if (r->path == path) return *r;
    return {};
  }
  /// Lines of the upload, block after block.
  std::vector<std::string> Uploaded() {
    std::vector<std::string> lines;
    for (const auto& block : blocks)
      for (auto& line : jdl::DecodeBlock(block)) lines.push_back(line);
    return lines;
  }

  // What it answers; set before gridsub runs.
  int campaign_status = 201;
  nlohmann::json campaign_answer = {{"id", 7}, {"state", "in_treatment"}};
  std::vector<nlohmann::json> progress;  ///< one after the other; the last one stays
  std::map<std::string, std::pair<int, nlohmann::json>> other;  ///< by path
  std::string joblog;                ///< text of GET .../joblog; "": as `other` says
  std::vector<std::string> results;  ///< of GET .../results, one after the other
  nlohmann::json clusters = {{{"name", "alpha"}}, {{"name", "beta"}, {"enabled", false}}};
  int fail_blocks = 0;   ///< so many PUTs get 503, the block is not kept
  int doubts = 0;        ///< so many POSTs /campaigns are answered with 503, in doubt
  int lose_answers = 0;  ///< so many PUTs are kept, but answered with 503
  std::vector<std::string> blocks;

 private:
  static void Say(httplib::Response& r, int status, const nlohmann::json& body) {
    r.status = status;
    r.set_content(body.dump(), "application/json");
  }
  void NewUpload(const httplib::Request&, httplib::Response& r) { Say(r, 201, {{"id", 3}}); }
  void PutBlock(const httplib::Request& q, httplib::Response& r) {
    const auto k = std::stoul(q.matches[2].str());
    if (fail_blocks > 0 && fail_blocks-- > 0) return Say(r, 503, {{"message", "later"}});
    if (k > blocks.size()) return Say(r, 409, {{"next", blocks.size()}});
    const auto n = std::stoll(q.get_header_value("X-Cigri-Lines"));
    const auto problem = jdl::BlockProblem(q.body, n);
    if (!problem.empty()) return Say(r, 400, {{"message", problem}});
    if (k == blocks.size()) blocks.push_back(q.body);
    if (lose_answers > 0 && lose_answers-- > 0) return Say(r, 503, {{"message", "later"}});
    Say(r, 200, {{"blocks", blocks.size()}});
  }
  void Clusters(const httplib::Request&, httplib::Response& r) {
    Say(r, 200, {{"items", clusters}});
  }
  void Campaign(const httplib::Request&, httplib::Response& r) {
    if (doubts > 0 && doubts-- > 0)
      return Say(r, 503, {{"message", "it may have been carried out"}, {"in_doubt", true}});
    Say(r, campaign_status, campaign_answer);
  }
  void Progress(const httplib::Request&, httplib::Response& r) {
    if (progress.empty()) return Say(r, 404, {{"message", "no such campaign"}});
    Say(r, 200, progress[std::min(asked_++, progress.size() - 1)]);
  }
  void Results(const httplib::Request&, httplib::Response& r) {
    std::string body = "{\"campaign\":7,\"columns\":[]}\n";
    if (fetched_ < results.size()) body += results[fetched_++];
    r.set_content(body, "application/octet-stream");
  }
  void Joblog(const httplib::Request& q, httplib::Response& r) {
    if (joblog.empty()) return Other(q, r);
    r.set_content(joblog, "text/plain");
  }
  void Other(const httplib::Request& q, httplib::Response& r) {
    const auto at = other.find(q.path);
    if (at == other.end()) return Say(r, 404, {{"message", "no such thing"}});
    Say(r, at->second.first, at->second.second);
  }

  http::GuardServer server_;
  std::thread thread_;
  std::string folder_;
  std::mutex mutex_;
  std::vector<Request> requests_;
  std::size_t asked_ = 0, fetched_ = 0;
};

struct Ran {
  int code = -1;
  std::string out, err;
};

inline std::string Slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Runs `gridsub ARGS` (shell text) in `api`'s folder against it.
inline Ran Gridsub(FakeApi& api, const std::string& args, const std::string& input = "",
                   const std::string& before = "") {
  const auto in = api.Write("stdin", input);
  const std::string command =
      "cd " + api.folder() + " && " + before + " CIGRI_API=" + api.socket() +
      " CIGRICONFFILE= " CIGRI_BIN_DIR "/gridsub " + args + " <" + in + " >out 2>err";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, Slurp(api.folder() + "/out"),
          Slurp(api.folder() + "/err")};
}

}  // namespace cigri::gridsub
