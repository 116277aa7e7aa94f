// recorded_oar serve: the API of an OAR 2.5 with 10,000 cores whose answers are shaped as the real
// one's (docs/clusters.md). Takes any submission; its first 10 jobs have ended, all others run.
// Prints its port. recorded_oar poll URL FIRST LAST N: the least that a look at jobs FIRST to LAST
// can cost: the same calls, parsed with simdjson, compared in memory. Prints CPU milliseconds a
// look, of N.
#include <httplib.h>
#include <simdjson.h>
#include <sys/resource.h>

#include <cstdio>
#include <mutex>
#include <unordered_map>

#include "core/text.h"
#include "http/client.h"

namespace {

constexpr int kCores = 10000, kEnded = 10, kPage = 2000;

class RecordedOar {
 public:
  int Serve() {
    server_.set_keep_alive_max_count(1'000'000);
    server_.set_payload_max_length(64u << 20);
    const std::string api = "/oarapi-cigri";
    server_.Post(api + "/jobs.json", [this](auto& q, auto& r) { Json(r, Submit(q.body)); });
    server_.Get(api + "/jobs.json", [this](auto& q, auto& r) {
      Json(r, Jobs(cigri::Split(q.get_param_value("ids"), ':')));
    });
    server_.Get(api + R"(/jobs/(\d+)\.json)",
                [this](auto& q, auto& r) { Json(r, Job(q.matches[1])); });
    server_.Get(api + "/resources/full.json", [](auto& q, auto& r) {
      Json(r, Resources(std::atoi(q.get_param_value("offset").c_str())));
    });
    server_.Get(api + "/resources/resource_id/jobs.json",
                [this](auto&, auto& r) { Json(r, Use()); });
    server_.Get(api + "/stress_factor.json",
                [](auto&, auto& r) { Json(r, R"({"GLOBAL_STRESS":"0"})"); });
    std::printf("%d\n", server_.bind_to_any_port("127.0.0.1"));
    std::fflush(stdout);
    return server_.listen_after_bind() ? 0 : 1;
  }

 private:
  static void Json(httplib::Response& r, const std::string& body) {
    r.set_content(body, "application/json; charset=ISO-8859-1");
  }
  std::string Submit(const std::string& body) {
    const auto field = [&](const std::string& key) {
      const auto at = body.find("\"" + key + "\":\"") + key.size() + 4;
      return body.substr(at, body.find('"', at) - at);
    };
    const std::string lines = field("param_file");
    std::size_t n = 0;
    for (auto at = lines.find("\\n"); at != lines.npos; at = lines.find("\\n", at + 2)) ++n;
    std::lock_guard lock(mutex_);
    const auto first = names_.size() + 1;
    std::string out = R"({"id":)" + std::to_string(first) + R"(,"cmd_output":")";
    for (std::size_t i = 0; i < n; ++i) {
      names_.push_back(field("name"));
      out += "OAR_JOB_ID=" + std::to_string(names_.size()) + "\\n";
    }
    return out + "\"}";
  }
  static bool Ended(std::size_t id) { return id <= kEnded; }
  std::string Jobs(const std::vector<std::string>& ids) {
    std::lock_guard lock(mutex_);
    std::string items;
    for (const auto& text : ids) {
      const auto id = std::stoul("0" + text);
      if (id == 0 || id > names_.size()) continue;
      const std::string link = "/oarapi-cigri/jobs/" + text;
      items += items.empty() ? "" : ",\n";
      items += R"({"owner":"alice","api_timestamp":1795165460,"name":")" + names_[id - 1] +
               R"(","queue":"besteffort","links":[{"rel":"self","href":")" + link +
               R"("},{"rel":"collection","href":")" + link +
               R"(/resources","title":"resources"},)" + R"({"rel":"collection","href":")" + link +
               R"(/nodes","title":"nodes"}],"submission":1795165454,)" + R"("state":")" +
               (Ended(id) ? "Terminated" : "Running") + R"(","id":)" + text + "}";
    }
    return R"({"offset":0,"total":)" + std::to_string(ids.size()) + R"(,"links":[],"items":[)" +
           items + "]}\n\n";
  }
  std::string Job(const std::string& id) {
    std::lock_guard lock(mutex_);
    return R"({"id":)" + id + R"(,"name":")" + names_.at(std::stoul(id) - 1) +
           R"(","owner":"alice","state":"Terminated","exit_code":0,"events":[],"submission_time":1795165454,)"
           R"("start_time":1795165455,"stop_time":1795165456})";
  }
  static std::string Resources(int offset) {
    std::string items;
    const int end = std::min(offset + kPage, kCores);
    for (int i = offset + 1; i <= end; ++i) {
      const auto n = std::to_string(i), host = "node" + std::to_string((i - 1) / 16 + 1);
      items += i == offset + 1 ? "" : ",\n";
      items +=
          R"({"id":)" + n + R"(,"core":)" + n + R"(,"cpu":)" + std::to_string((i - 1) / 8 + 1) +
          R"(,"host":")" + host + R"(","network_address":")" + host +
          R"(","state":"Alive","next_state":"UnChanged","drain":"NO","besteffort":"YES","deploy":"NO",)"
          R"("type":"default","cluster":"recorded","cpuset":0,"desktop_computing":"NO","state_num":1,)"
          R"("finaud_decision":"NO","scheduler_priority":0,"suspended_jobs":"NO","last_job_date":1795165454,)"
          R"("expiry_date":0,"available_upto":2147483647,"api_timestamp":1795165460,"links":[{"rel":"self",)"
          R"("href":"/oarapi-cigri/resources/)" +
          n + R"("}]})";
    }
    return R"({"offset":)" + std::to_string(offset) + R"(,"total":)" + std::to_string(kCores) +
           R"(,"links":[],"items":[)" + items + "]}\n\n";
  }
  std::string Use() {
    std::lock_guard lock(mutex_);
    std::string items;
    for (std::size_t id = kEnded + 1; id <= names_.size() && id - kEnded <= kCores; ++id)
      items += (items.empty() ? "" : ",") + (R"({"resource_id":")" + std::to_string(id - kEnded)) +
               R"(","jobs":[)" + std::to_string(id) + "]}";
    return R"({"offset":0,"items":[)" + items + "]}";
  }

  httplib::Server server_;
  std::mutex mutex_;
  std::vector<std::string> names_;
};

double CpuMs() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& t) {
    return 1e3 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_usec);
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

/// The known jobs and units, compared with what the same calls answer.
class Least {
 public:
  Least(const std::string& url, int first, int last)
      : client_(cigri::http::Endpoint::Parse(url), cigri::http::Options()) {
    for (int id = first; id <= last; ++id) {
      known_[id] = "Running";
      if (urls_.empty() || urls_.back().size() > 7000) urls_.push_back("/jobs.json?limit=0&ids=");
      urls_.back() += std::to_string(id) + ":";
    }
  }
  int Look() {
    int same = 0;
    for (const auto& url : urls_)
      Each(url, [&](const auto& item) {
        const auto it = known_.find(item["id"].get_int64());
        std::string_view state = item["state"], name = item["name"];
        same += it != known_.end() && it->second == state && !name.empty();
      });
    std::unordered_map<std::int64_t, bool> units;
    for (int at = 0; at < kCores; at += kPage)
      Each("/resources/full.json?limit=2000&offset=" + std::to_string(at), [&](const auto& item) {
        std::string_view state = item["state"], drain = item["drain"];
        units[item["id"].get_int64()] = state == "Alive" && drain == "NO";
      });
    Each("/resources/resource_id/jobs.json", [&](const auto& item) {
      std::string_view unit = item["resource_id"];
      same += units.count(std::atoll(std::string(unit).c_str())) != 0;
    });
    client_.Get("/stress_factor.json", kAs);
    return same;
  }

 private:
  template <typename F>
  void Each(const std::string& url, const F& each) {
    auto body = client_.Get(url, kAs).body;
    body.reserve(body.size() + simdjson::SIMDJSON_PADDING);
    for (const auto item : parser_.parse(body)["items"].get_array()) each(item);
  }
  const cigri::http::Client::Headers kAs{{"X-Remote-Ident", "alice"},
                                         {"Accept", "application/json"}};
  cigri::http::Client client_;
  simdjson::dom::parser parser_;
  std::vector<std::string> urls_;
  std::unordered_map<std::int64_t, std::string> known_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "serve") return RecordedOar().Serve();
  if (what != "poll" || argc != 6) return 64;
  Least least(argv[2], std::atoi(argv[3]), std::atoi(argv[4]));
  const int n = std::atoi(argv[5]);
  const double before = CpuMs();
  int same = 0;
  for (int i = 0; i < n; ++i) same = least.Look();
  std::printf("%.2f %d\n", (CpuMs() - before) / n, same);
}
