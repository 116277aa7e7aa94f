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

// The part of an array that has not started: one record for all of it.
json HeldRecord(const ModelJob& first, int tasks) {
  auto record = FixtureJson("slurm/array-held")["jobs"][0];
  record["job_id"] = record["array_job_id"] = first.array;
  record["array_task_string"] = "0-" + std::to_string(tasks - 1);
  record["name"] = record["comment"] = first.tag;
  record["user_name"] = first.owner;
  return record;
}

// A task that has started: a record of its own.
json TaskRecord(const ModelJob& job) {
  const bool running = job.state == ModelJob::State::kRunning;
  auto record = FixtureJson(running ? "slurm/array-running" : "slurm/array-done")["jobs"][1];
  record["job_id"] = job.id;
  record["array_job_id"] = job.array;
  record["array_task_id"] = job.index;
  record["name"] = record["comment"] = job.tag;
  record["user_name"] = job.owner;
  if (running) return record;
  record["exit_code"] = job.wait_status;
  record["job_state"] = job.deleted ? "CANCELLED" : job.wait_status == 0 ? "COMPLETED" : "FAILED";
  return record;
}

}  // namespace

SlurmModel::SlurmModel() {
  for (const char* method : {"GET", "POST", "DELETE"})
    server_.OnEach(method, "", [this](const Request& q) { return Handle(q); });
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
  if (parts.at(1) == "slurmdb")
    return Fixture(accounting_ ? "slurm/slurmdb-job-unknown-200" : "slurm/err-slurmdbd-down-200");
  const auto& what = parts.at(3);
  if (what == "jobs") return Says({{"errors", json::array()}, {"jobs", Records(0)}});
  if (what != "job") return Fixture("slurm/" + what);  // ping, partitions, nodes, diag
  const auto& id = parts.at(4);
  if (id == "submit") return Submit(q);
  if (q.method == "DELETE") return Delete(id, q.Header("X-SLURM-USER-NAME"));
  const int array = std::atoi(id.c_str());
  if (q.method == "POST") return Release(array);
  const auto records = Records(array);
  if (records.empty()) return Fixture("slurm/err-unknown-job");
  return Says({{"errors", json::array()}, {"jobs", records}});
}

Answer SlurmModel::Submit(const Request& q) {
  const auto body = json::parse(q.body);
  const int array = jobs_.empty() ? kFirstId : jobs_.rbegin()->first + 1;
  int index = 0;
  for (const auto& element : ElementsIn(body.at("script"))) {
    ModelJob job;
    job.array = array;
    job.index = index;
    job.id = array + index++;
    job.tag = body.at("job").at("name");
    job.owner = q.Header("X-SLURM-USER-NAME");
    job.words = element;
    jobs_[job.id] = job;
  }
  auto answer = FixtureJson("slurm/submit-array");
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

Answer SlurmModel::Release(int array) {
  for (auto& [id, job] : jobs_)
    if (job.array == array) job.Start();
  return Fixture("slurm/array-update-release-200-with-error");
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
  if (named.empty()) return Fixture("slurm/err-delete-unknown");
  if (named.front()->owner != user) return Fixture("slurm/err-delete-foreign");
  for (auto* job : named) job->Delete();
  return Fixture("slurm/delete-running");
}

}  // namespace cigri::conformance
