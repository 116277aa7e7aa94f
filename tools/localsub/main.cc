// localsub: gives a local cluster a job of its own users, before which best-effort jobs yield.
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/command_line.h"
#include "core/config.h"
#include "core/error.h"
#include "core/text.h"
#include "http/client.h"

namespace cigri {
namespace {

using nlohmann::json;

struct LocalsubOptions {
  std::string cluster = "alpha", socket, directory, walltime = "1:00:00", name;
  int slots = 1;
  bool list = false, wait = false;
  std::vector<std::string> remove, command;
};

std::optional<int> ParseOptions(int argc, char** argv, LocalsubOptions* o) {
  CommandLine line(
      "localsub",
      "Runs a program on a local cluster as one of its own jobs: best-effort jobs make room");
  line.Add({{"-c,--cluster", &o->cluster, "cluster of this machine (alpha)"},
            {"--socket", &o->socket, "socket of its API, when it is not that of `cigri up`"},
            {"-s,--slots", &o->slots, "slots the job takes (1)", {.range = {{1, 100000}}}},
            {"-w,--walltime", &o->walltime, "seconds or h:mm:ss (1:00:00)"},
            {"-d,--directory", &o->directory, "working directory (the present one)"},
            {"-n,--name", &o->name, "name of the job (the program)"},
            {"-W,--wait", &o->wait, "wait for its end; show its output; exit as it did"},
            {"-l,--list", &o->list, "your jobs that wait or run there"},
            {"--delete", &o->remove, "end these jobs"},
            {"command", &o->command, "program and arguments, after --"}});
  line.AddFooter(
      "\nExamples:\n"
      "  localsub -- ./simulate 42         as soon as slots are free\n"
      "  localsub --wait -- make -j4       wait for its end, show its output, exit as it did\n"
      "  localsub -s 4 -w 2:00:00 -- ./simulate\n"
      "  localsub --list\n");
  if (const auto code = line.Read(argc, argv)) return code;
  const int asked = (o->list ? 1 : 0) + (o->remove.empty() ? 0 : 1) + (o->command.empty() ? 0 : 1);
  if (asked != 1)
    throw Fatal(kExitUsage, "say what is to be done: a program, --list or --delete ID",
                "localsub -- ./simulate 42");
  return {};
}

std::string Absolute(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  if (error)
    throw Fatal(kExitBadInput, "the working directory cannot be used: " + error.message(),
                "cd to one that is there, or name one: --directory DIR");
  return absolute.string();
}

std::string TextOf(const json& body) {
  try {
    return body.dump();
  } catch (const json::type_error&) {
    throw Fatal(kExitBadInput, "the program, its arguments, name and directory must be UTF-8",
                "a file of another name is found by a pattern: localsub -- sh -c 'wc caf*'");
  }
}

std::string CallerName() {
  const passwd* pw = getpwuid(geteuid());
  if (pw == nullptr) throw Fatal(kExitConfig, "your user has no name on this machine");
  return pw->pw_name;
}

class Localsub {
 public:
  explicit Localsub(const LocalsubOptions& o) : options_(o), client_(Where(o), {}) {}

  int Run() {
    if (options_.list) return List();
    if (!options_.remove.empty()) return Delete();
    return Submit();
  }

 private:
  static http::Endpoint Where(const LocalsubOptions& o) {
    const std::string path =
        o.socket.empty() ? CigriHome() + "/run/" + o.cluster + ".sock" : Absolute(o.socket);
    return http::Endpoint::Parse("unix:" + path);
  }

  // The answer of a call that went well; else ends with the cluster's own words. `waited`: a job
  // that does not end with its cluster's daemon.
  json Checked(const http::Response& r, const std::string& waited = "") const {
    if (r.outcome != http::Outcome::kAnswered && !waited.empty())
      throw Fatal(kExitUnavailable,
                  "cluster " + options_.cluster + " does not answer, job " + waited +
                      " goes on: " + r.error,
                  "when the cluster is back, `localsub --list` has the job while it runs");
    if (r.outcome != http::Outcome::kAnswered)
      throw Fatal(kExitUnavailable, "cluster " + options_.cluster + " does not answer: " + r.error,
                  "`cigri status` shows the clusters of this machine; --socket names another");
    const json j = json::parse(r.body, nullptr, false);
    if (r.ok()) return j;
    const std::string message = j.is_object() && j.contains("message") && j["message"].is_string()
                                    ? j["message"].get<std::string>()
                                    : "HTTP " + std::to_string(r.status);
    const ExitCode code = r.status == 403   ? kExitNoPermission
                          : r.status == 404 ? kExitNo
                          : r.status == 429 || r.status >= 500 ? kExitTryLater
                                            : kExitBadInput;
    throw Fatal(code, "cluster " + options_.cluster + " refuses: " + message);
  }

  int Submit() {
    const auto walltime = ParseWalltime(options_.walltime);
    if (!walltime)
      throw Fatal(kExitUsage, "\"" + options_.walltime + "\" is no walltime",
                  "seconds, or h:mm:ss");
    std::vector<std::string> words;
    for (const auto& word : options_.command) words.push_back(ShellQuote(word));
    const json body = {
        {"tag", "local." + RandomHex(8)},
        {"user", CallerName()},
        {"name", options_.name.empty() ? options_.command[0] : options_.name},
        {"directory", Absolute(options_.directory.empty() ? "." : options_.directory)},
        {"best_effort", false},
        {"walltime_s", *walltime},
        {"slots", options_.slots},
        {"elements", json::array({json::object({{"command", Join(words, " ")}})})}};
    const json answer = Checked(client_.Post("/batches", TextOf(body)));
    const std::string id = answer.at("ids").at(0);
    if (!options_.wait) {
      std::printf("JOB_ID=%s\n", id.c_str());
      return kExitOk;
    }
    return Await(id);
  }

  int Await(const std::string& id) {
    json job;
    do {
      job = Checked(client_.Get("/jobs/" + id + "?wait=20000"), id);
    } while (job.value("state", "") != "ended");
    Show(id, "stdout", stdout);
    Show(id, "stderr", stderr);
    const int status = job.value("status", -1);
    if (status >= 0 && WIFEXITED(status)) return WEXITSTATUS(status);
    std::fprintf(stderr, "localsub: job %s: %s %s\n", id.c_str(),
                 job.value("cause", "unknown").c_str(), job.value("message", "").c_str());
    return status >= 0 && WIFSIGNALED(status) ? 128 + WTERMSIG(status) : kExitNo;
  }

  void Show(const std::string& id, const char* stream, FILE* to) {
    constexpr int kPart = 1 << 20;
    for (std::int64_t offset = 0;;) {
      const auto r = client_.Get("/jobs/" + id + "/output?stream=" + stream + "&offset=" +
                                 std::to_string(offset) + "&bytes=" + std::to_string(kPart));
      if (!r.ok() || r.body.empty()) return;
      std::fwrite(r.body.data(), 1, r.body.size(), to);
      offset += static_cast<std::int64_t>(r.body.size());
    }
  }

  int List() {
    const json jobs = Checked(client_.Get("/jobs")).at("jobs");
    std::printf("%-20s %-10s %-8s %-12s %s\n", "Id", "User", "State", "Node", "Tag");
    for (const auto& j : jobs)
      std::printf("%-20s %-10s %-8s %-12s %s\n", j.value("id", "").c_str(),
                  j.value("user", "").c_str(), j.value("state", "").c_str(),
                  j.value("node", "-").c_str(), j.value("tag", "").c_str());
    return kExitOk;
  }

  int Delete() {
    json body = json::array();
    for (const auto& id : options_.remove) {
      Checked(client_.Get("/jobs/" + http::PercentEncode(id)));  // unknown, or another user's
      body.push_back({{"id", id}});
    }
    Checked(client_.Post("/kills", body.dump()));
    return kExitOk;
  }

  const LocalsubOptions& options_;
  http::Client client_;
};

int Main(int argc, char** argv) {
  LocalsubOptions options;
  if (const auto code = ParseOptions(argc, argv, &options)) return *code;
  return Localsub(options).Run();
}

}  // namespace
}  // namespace cigri

int main(int argc, char** argv) { return cigri::RunMain("localsub", cigri::Main, argc, argv); }
