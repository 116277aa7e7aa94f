#include "oar_model.h"

#include <algorithm>

#include "core/text.h"
#include "query.h"

namespace cigri::conformance {

using nlohmann::json;
using test::Answer;
using test::Fixture;
using test::FixtureJson;
using test::Says;

namespace {

constexpr int kFirstId = 84, kCores = 32;

// The path without prefix, query and the ".json" of OAR 2.
std::string PathOf(const std::string& target) {
  auto path = target.substr(0, target.find('?'));
  const std::string prefix = "/oarapi-cigri";
  if (StartsWith(path, prefix)) path = path.substr(prefix.size());
  const auto dot = path.rfind(".json");
  return dot == path.npos ? path : path.substr(0, dot);
}

}  // namespace

OarModel::OarModel(int version) : version_(version) {
  for (const char* method : {"GET", "POST", "DELETE"})
    server_.OnEach(method, "", [this](const Request& q) { return Handle(q); });
}

int OarModel::JobsWithTag(const std::string& tag) {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(std::count_if(jobs_.begin(), jobs_.end(),
                                        [&](const auto& job) { return job.second.tag == tag; }));
}

Answer OarModel::Handle(const Request& q) {
  const std::lock_guard lock(mutex_);
  const auto path = PathOf(q.target);
  const auto parts = Split(path, '/');  // "", "jobs", "84"
  const auto user = UserOf(q);
  if (q.method == "POST" && path == "/jobs") return Submit(q, user);
  // "/jobs/array/84/deletions/new", "/jobs/84/deletions/new"
  if (q.method == "POST")
    return DeleteArray(std::atoi(parts.at(version_ == 2 ? 3 : 2).c_str()), user);
  if (path == "/jobs") return List(q.target);
  if (parts.at(1) != "jobs") return Site(path, user);
  const int id = std::atoi(parts.at(2).c_str());
  if (q.method == "DELETE") return Delete(id, user);
  if (jobs_.count(id) != 0) return Says(Details(jobs_.at(id)));
  return version_ == 3 ? Fixture("oar3/err_job_unknown_500") : Says({{"code", 404}}, 404);
}

// By a header, or by a token, which here is the name itself.
std::string OarModel::UserOf(const Request& q) const {
  if (version_ == 2) return q.Header("X-Remote-Ident");
  const auto token = q.Header("Authorization");
  return StartsWith(token, "Bearer ") ? token.substr(7) : "";
}

Answer OarModel::Submit(const Request& q, const std::string& user) {
  const auto body = json::parse(q.body);
  if (version_ == 3 && user.empty()) return Fixture("oar3/err_noauth_post");
  if (version_ == 3 && body.value("property", "").find("nosuch") != std::string::npos)
    return Fixture("oar3/err_unknown_property");
  if (body.value("property", "").find("nosuch") != std::string::npos)
    return Says({{"code", 500},
                 {"title", "Oar server error"},
                 {"message",
                  "Oarsub command exited with status 251: [ADMISSION RULE] Modify resource "
                  "description with type constraints\nSimple array job submission is used\nBad "
                  "resource request (ERROR:  column \"nosuch\" does not exist\n"}},
                500);
  const int first = jobs_.empty() ? kFirstId : jobs_.rbegin()->first + 1;
  std::string words = "Simple array job submission is used\n";
  const auto file = body.at("param_file").get<std::string>();
  // OAR 3 makes a job also of what follows the last newline.
  for (const auto& line : Split(version_ == 3 ? file : std::string(Trim(file)), '\n')) {
    ModelJob job;
    job.array = first;
    job.id = first + static_cast<int>(std::count(words.begin(), words.end(), '='));
    job.tag = body.at("name");
    job.owner = user;
    job.words = line;
    job.Start();
    words += "OAR_JOB_ID=" + std::to_string(job.id) + "\n";
    jobs_[job.id] = job;
  }
  if (version_ == 3) return Says({{"id", first}});
  auto answer = FixtureJson("oar/post_array_param_201");
  answer["cmd_output"] = words + "OAR_ARRAY_ID=" + std::to_string(first) + "\n";
  answer["id"] = first;
  return Says(answer, 201);
}

// A job as GET /jobs/ID shows it.
json OarModel::Details(const ModelJob& job) const {
  const std::string of = version_ == 3 ? "oar3/" : "oar/";
  auto shown = FixtureJson(of + (job.state != ModelJob::State::kEnded ? "job_running"
                                 : job.deleted                        ? "job_deleted_running"
                                                                      : "job_terminated"));
  shown["id"] = job.id;
  shown["array_id"] = job.array;
  shown["name"] = job.tag;
  shown[version_ == 3 ? "user" : "owner"] = job.owner;
  shown["command"] = "exec /bin/sh -c 'eval x' cigri " + job.words;
  if (job.state == ModelJob::State::kEnded && !job.deleted) shown["exit_code"] = job.wait_status;
  return shown;
}

bool OarModel::Listed(const ModelJob& job, const std::string& target) const {
  if (const auto ids = QueryOf(target, version_ == 2 ? "ids" : "job_ids"); !ids.empty()) {
    const auto id = std::to_string(job.id);
    for (const auto& list : ids)
      for (const auto& one : Split(list, ':'))
        if (one == id) return true;
    return false;
  }
  if (const auto array = QueryOf(target, "array"); !array.empty())
    return array[0] == std::to_string(job.array);
  if (const auto user = QueryOf(target, "user"); !user.empty() && user[0] != job.owner)
    return false;
  const auto from = QueryOf(target, version_ == 2 ? "from" : "start_time");
  const bool all = !from.empty() && (version_ == 2 || from[0] != "0");  // OAR 3: 0 is no time
  return all || job.state != ModelJob::State::kEnded;
}

// A job as a list shows it: OAR 3 shows all of it.
json OarModel::Item(const ModelJob& job) const {
  const auto details = Details(job);
  if (version_ == 3) return details;
  return {{"id", job.id},
          {"name", job.tag},
          {"owner", job.owner},
          {"state", details["state"]},
          {"queue", "besteffort"}};
}

Answer OarModel::List(const std::string& target) {
  json items = json::array();
  for (const auto& [id, job] : jobs_)
    if (Listed(job, target)) items.push_back(id);
  const auto total = items.size();
  const auto offset = QueryOf(target, "offset");
  if (version_ == 3 && !offset.empty() && std::stoul(offset[0]) >= total)
    return Fixture("oar3/jobs_offset_beyond");
  if (version_ == 3) items = Page(items, target);
  for (auto& item : items) item = Item(jobs_.at(item.get<int>()));
  return Says({{"items", items}, {"total", total}, {"offset", 0}, {"links", json::array()}});
}

Answer OarModel::Delete(int id, const std::string& user) {
  const auto it = jobs_.find(id);
  if (version_ == 3) {  // 200 in any case
    if (it == jobs_.end()) return Fixture("oar3/delete_unknown");
    if (it->second.owner != user) return Fixture("oar3/delete_other_users");
    const bool over = it->second.state == ModelJob::State::kEnded;
    it->second.Delete();
    return Fixture(over ? "oar3/delete_terminated" : "oar3/delete_running");
  }
  // OAR says the same of a job that is not there and of another user's.
  if (it == jobs_.end() || it->second.owner != user) return Fixture("oar/delete_unknown_400");
  const bool ended = it->second.state == ModelJob::State::kEnded;
  it->second.Delete();
  return Fixture(ended ? "oar/delete_terminated_202" : "oar/delete_running_202");
}

Answer OarModel::DeleteArray(int array, const std::string& user) {
  bool refused = false;
  for (auto& [id, job] : jobs_) {
    if (job.array != array) continue;
    if (job.owner == user)
      job.Delete();
    else
      refused = true;
  }
  if (version_ == 3) return Fixture(refused ? "oar3/delete_other_users" : "oar3/delete_array");
  return Fixture("oar/array_deletions_202");
}

// What does not concern jobs.
Answer OarModel::WhoAmI(const std::string& user) const {
  auto answer = FixtureJson(version_ == 3 ? "oar3/whoami" : "oar/whoami");
  answer["authenticated_user"] = user;
  return Says(answer);
}

Answer OarModel::Site(const std::string& path, const std::string& user) const {
  if (path == "/version") return Fixture(version_ == 3 ? "oar3/version" : "oar/version");
  if (path == "/whoami") return WhoAmI(user);
  if (path == "/stress_factor")
    return Fixture(version_ == 3 ? "oar3/stress_factor" : "oar/stress_factor");
  json items = json::array();
  for (int i = 1; i <= kCores && path != "/resources/resource_id/jobs"; ++i)
    items.push_back({{"id", i}, {"state", "Alive"}, {"drain", "NO"}});
  const bool known = StartsWith(path, "/resources");
  return known ? Says({{"items", items}, {"total", items.size()}}) : Says({{"code", 404}}, 404);
}

}  // namespace cigri::conformance
