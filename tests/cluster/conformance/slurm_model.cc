#include "slurm_model.h"

#include <algorithm>

#include "core/text.h"

namespace cigri::conformance {

using nlohmann::json;
using test::Answer;
using test::Fixture;
using test::FixtureJson;
using test::Says;

namespace {

constexpr int kFirstId = 12;

// The elements in the script: lines "N) set -- WORDS ;;".
std::vector<std::string> ElementsIn(const std::string& script) {
  std::vector<std::string> elements;
  const std::string mark = ") set -- ";
  for (const auto& line : Split(script, '\n')) {
    const auto at = line.find(mark);
    const auto end = line.rfind(" ;;");
    if (at != line.npos && end != line.npos)
      elements.push_back(line.substr(at + mark.size(), end - at - mark.size()));
  }
  return elements;
}

json Number(int n) { return {{"set", true}, {"infinite", false}, {"number", n}}; }

}  // namespace

SlurmModel::SlurmModel(int version)
    : newer_(version > 38), version_("v0.0." + std::to_string(version)) {
  for (const char* method : {"GET", "POST", "DELETE"})
    server_.OnEach(method, "", [this](const Request& q) { return Handle(q); });
}

// The part of an array that has not started: one record for all of it.
json SlurmModel::HeldRecord(const ModelJob& first, int tasks) const {
  auto record = FixtureJson(Name("array-held"))["jobs"][0];
  record["job_id"] = first.array;
  record["array_job_id"] = newer_ ? Number(first.array) : json(first.array);
  record["array_task_string"] = "0-" + std::to_string(tasks - 1);
  record["name"] = record["comment"] = first.tag;
  record["user_name"] = first.owner;
  if (!newer_) return record;
  record["state_reason"] = "BeginTime";
  record["eligible_time"] = Number(static_cast<int>(first.begin_at));
  return record;
}

// A task that has started: a record of its own.
json SlurmModel::TaskRecord(const ModelJob& job) const {
  const bool running = job.state == ModelJob::State::kRunning;
  auto record = FixtureJson(Name(running ? "array-running" : "array-done"))["jobs"][1];
  const std::string state = running            ? "RUNNING"
                            : job.deleted      ? "CANCELLED"
                            : !job.wait_status ? "COMPLETED"
                                               : "FAILED";
  record["job_id"] = job.id;
  record["array_job_id"] = newer_ ? Number(job.array) : json(job.array);
  record["array_task_id"] = newer_ ? Number(job.index) : json(job.index);
  record["name"] = record["comment"] = job.tag;
  record["user_name"] = job.owner;
  record["job_state"] = newer_ ? json::array({state}) : json(state);
  if (running) return record;
  if (newer_)
    record["exit_code"]["return_code"] = Number(job.wait_status >> 8);
  else
    record["exit_code"] = job.wait_status;
  return record;
}

int SlurmModel::JobsWithTag(const std::string& tag) {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(std::count_if(jobs_.begin(), jobs_.end(),
                                        [&](const auto& job) { return job.second.tag == tag; }));
}

Answer SlurmModel::Handle(const Request& q) {
  const std::lock_guard lock(mutex_);
  const auto path = q.target.substr(0, q.target.find('?'));
  const auto parts = Split(path, '/');  // "", "slurm", "v0.0.38", "job", "12_0"
  if (parts.size() < 4 || parts[2] != version_) return Fixture("slurm/err-404");
  if (parts.at(1) == "slurmdb")
    return Fixture(accounting_ ? Name("slurmdb-job-unknown-200")
                   : newer_    ? "slurm24/err-slurmdbd-down"
                               : "slurm/err-slurmdbd-down-200");
  const auto& what = parts.at(3);
  if (what == "jobs") return Says({{"errors", json::array()}, {"jobs", Records(0)}});
  if (what != "job") return Fixture(Name(what));  // ping, partitions, nodes, diag
  const auto& id = parts.at(4);
  if (id == "submit") return Submit(q);
  if (q.method == "DELETE") return Delete(id, q.Header("X-SLURM-USER-NAME"));
  const int array = std::atoi(id.c_str());
  if (q.method == "POST") return Release(array, json::parse(q.body));
  const auto records = Records(array);
  if (records.empty()) return Fixture(Name("err-unknown-job"));
  return Says({{"errors", json::array()}, {"jobs", records}});
}

Answer SlurmModel::Submit(const Request& q) {
  const auto body = json::parse(q.body);
  const int array = jobs_.empty() ? kFirstId : jobs_.rbegin()->first + 1;
  int index = 0;
  for (const auto& element : ElementsIn((newer_ ? body.at("job") : body).at("script"))) {
    ModelJob job;
    job.array = array;
    job.index = index;
    job.id = array + index++;
    job.tag = body.at("job").at("name");
    job.owner = q.Header("X-SLURM-USER-NAME");
    job.words = element;
    if (newer_) job.begin_at = body.at("job").at("begin_time").at("number");
    jobs_[job.id] = job;
  }
  auto answer = FixtureJson(Name("submit-array"));
  answer["job_id"] = array;
  return Says(answer);
}

// All records, or those of one array.
json SlurmModel::Records(int array) const {
  json records = json::array();
  std::map<int, int> held;  // tasks by array
  for (const auto& [id, job] : jobs_) {
    if (array != 0 && job.array != array) continue;
    if (job.state == ModelJob::State::kHeld)
      ++held[job.array];
    else
      records.push_back(TaskRecord(job));
  }
  for (const auto& [first, tasks] : held) records.push_back(HeldRecord(jobs_.at(first), tasks));
  return records;
}

Answer SlurmModel::Release(int array, const json& body) {
  const bool begin = !newer_ || body.at("begin_time").at("number") == 1;
  for (auto& [id, job] : jobs_)
    if (job.array == array && begin) job.Start();
  return Fixture(newer_ ? "slurm24/update-release" : "slurm/array-update-release-200-with-error");
}

// "12" names all tasks of an array, "12_3" one.
std::vector<ModelJob*> SlurmModel::Named(const std::string& id) {
  const auto parts = Split(id, '_');
  std::vector<ModelJob*> named;
  for (auto& [number, job] : jobs_)
    if (std::to_string(job.array) == parts[0] &&
        (parts.size() == 1 || std::to_string(job.index) == parts[1]))
      named.push_back(&job);
  return named;
}

Answer SlurmModel::Delete(const std::string& id, const std::string& user) {
  const auto named = Named(id);
  if (newer_) return DeleteNewer(id, named, user);
  if (named.empty()) return Fixture("slurm/err-delete-unknown");
  if (named.front()->owner != user) return Fixture("slurm/err-delete-foreign");
  for (auto* job : named) job->Delete();
  return Fixture("slurm/delete-running");
}

// 200 whatever became of the jobs: an error for each that was not deleted.
Answer SlurmModel::DeleteNewer(const std::string& id, const std::vector<ModelJob*>& named,
                               const std::string& user) {
  auto answer = FixtureJson("slurm24/delete-running");
  const auto refuse = [&](const std::string& fixture, const std::string& of) {
    auto status = FixtureJson("slurm24/" + fixture)["status"][0];
    status["step_id"] = of;
    answer["status"].push_back(status);
  };
  if (named.empty()) refuse("delete-unknown-200", id);
  for (auto* job : named) {
    const auto of = std::to_string(job->array) + "_" + std::to_string(job->index);
    if (job->owner != user)
      refuse("delete-foreign-200", of);
    else if (job->state == ModelJob::State::kEnded)
      refuse("delete-already-done", of);
    else
      job->Delete();
  }
  return Says(answer);
}

}  // namespace cigri::conformance
