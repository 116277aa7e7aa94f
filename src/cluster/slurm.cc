#include "cluster/slurm.h"

#include <algorithm>

#include "cluster/slurm_array.h"
#include "core/text.h"

namespace cigri::cluster {
namespace {

using Why = CallFailed::Why;

// slurmrestd says the same of a refused token and of a controller that does not answer; it says
// the one at once, the other after 9 s.
constexpr std::chrono::seconds kAtOnce{2};
const std::string kKnown = "v0.0.36 to v0.0." + std::to_string(kNewestSlurmApi);
// slurmctld's number for a token that it does not believe, from 23.02 on with status 511.
constexpr int kBadToken = 1007;
constexpr int kNotFound = 9002, kNothingStored = 9003;

std::string Id(std::int64_t array, int task) {
  return std::to_string(array) + "_" + std::to_string(task);
}

Capabilities KindCapabilities() {
  Capabilities c;
  c.max_array = 1000;  // MaxArraySize is 1001 where nobody raised it
  // The whole script goes to the node of every job of the array.
  c.max_bytes = std::size_t{256} << 10;
  c.hold_release = true;
  c.groups = true;
  return c;
}

RemoteJob JobOf(const RemoteRef& ref, const SlurmRecord& record) {
  RemoteJob job;
  job.ref = ref;
  FillFromSlurmRecord(&job, record);
  return job;
}

}  // namespace

SlurmCluster::SlurmCluster(const ClusterConfig& config, TokenSource tokens)
    : api_(config, std::move(tokens), RestApi::Identity::kSlurm),
      script_(ScriptSettings::From(config, ScriptSettings::Kind::kSlurm)),
      shared_(config.options.value("shared_folder", "")),
      made_at_(std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
                   .count()) {}

Capabilities SlurmCluster::capabilities() const {
  Capabilities c = KindCapabilities();
  const auto& options = api_.config().options;
  c.max_array = options.value("max_array", c.max_array);
  c.max_bytes = options.value("max_bytes", c.max_bytes);
  c.output = shared_.configured();
  c.groups = shared_.configured() && script_.records;
  return c;
}

int SlurmCluster::Version() {
  if (version_ != 0) return version_;
  const auto& given = api_.config().options.value("api_version", "");
  if (!given.empty()) {
    const auto version = SlurmApiVersion(given);
    if (!version)
      throw CallFailed(Why::kServer, "cannot speak api_version \"" + given + "\" to cluster " +
                                         api_.config().name + ": known are " + kKnown);
    return version_ = *version;
  }
  const std::string what = "find the version of " + api_.config().name;
  for (int v = kNewestSlurmApi; v >= kOldestSlurmApi; --v) {
    const auto response =
        api_.Get("/slurm/v0.0." + std::to_string(v) + "/ping", api_.config().auth_user);
    if (response.outcome != http::Outcome::kAnswered) throw api_.Failed(what, response);
    // A refused token is a 500 of a version that is there.
    if (response.status == 200 || response.status == 500) return version_ = v;
    if (response.status != 404) throw api_.Failed(what, response);
  }
  const auto unknown = NewerVersions(api_.config().auth_user);
  throw CallFailed(Why::kServer, "cannot " + what + ": " + api_.url() + " offers none of " +
                                     kKnown + (unknown.empty() ? "" : ", but " + unknown));
}

// The versions that slurmrestd offers and this driver does not know, "" where it does not say.
std::string SlurmCluster::NewerVersions(const std::string& user) try {
  const auto response = api_.Get("/openapi/v3", user);
  return response.ok() ? Join(UnknownSlurmApis(response.body), ", ") : "";
} catch (const CallFailed&) {
  return "";
}

std::string SlurmCluster::Path(const std::string& rest) {
  return "/slurm/v0.0." + std::to_string(Version()) + "/" + rest;
}

std::string SlurmCluster::DbPath(const std::string& rest) {
  return "/slurmdb/v0.0." + std::to_string(Version()) + "/" + rest;
}

std::optional<SlurmCluster::Records> SlurmCluster::GetJobs(const std::string& what,
                                                           const std::string& path,
                                                           const std::string& user) {
  const auto began = std::chrono::steady_clock::now();
  auto response = api_.Get(path, user);
  if (response.ok()) return ParseSlurmJobs(what, std::move(response.body));
  const int number = SlurmErrorOf(response.body).number;
  if (number == kSlurmUnknownJob || number == kNotFound) return std::nullopt;
  ThrowFailed(what, response, user, std::chrono::steady_clock::now() - began);
}

nlohmann::json SlurmCluster::GetJson(const std::string& what, const std::string& path,
                                     const std::string& user) {
  const auto began = std::chrono::steady_clock::now();
  const auto response = api_.Get(path, user);
  if (response.ok()) return ParseAnswer(what, response.body);
  ThrowFailed(what, response, user, std::chrono::steady_clock::now() - began);
}

// The version that was found may be gone: Slurm was upgraded. It is found again at the next call.
void SlurmCluster::NoteAnswer(const http::Response& response) {
  const bool no_route = response.outcome == http::Outcome::kAnswered && response.status == 404 &&
                        !SlurmErrorOf(response.body).any;
  if (no_route && TextIn(api_.config().options, "api_version").empty()) version_ = 0;
}

bool SlurmCluster::SaysBadToken(const http::Response& response) {
  return response.outcome == http::Outcome::kAnswered &&
         (response.status == 511 || SlurmErrorOf(response.body).number == kBadToken);
}

void SlurmCluster::ThrowFailed(const std::string& what, const http::Response& response,
                               const std::string& user, std::chrono::duration<double> took) {
  NoteAnswer(response);
  if (SaysBadToken(response))
    throw CallFailed(Why::kAuth, api_.Failure(what, response) + " (so the token of user " + user +
                                     " is refused)");
  const bool answered = response.outcome == http::Outcome::kAnswered && response.status == 500;
  if (answered && SlurmErrorOf(response.body).number == -1 && took < kAtOnce)
    throw CallFailed(Why::kAuth, api_.Failure(what, response) + " (at once: so the token of user " +
                                     user + " is refused)");
  throw api_.Failed(what, response);
}

PollResult SlurmCluster::Poll(const PollRequest& request) {
  PollResult result;
  const int calls = api_.calls();
  std::map<std::pair<std::string, std::string>, Refs> arrays;
  for (const auto& ref : request.jobs)
    arrays[{ref.cluster_user, SlurmArrayOf(ref.remote_id)}].push_back(ref);
  const bool own_tokens = api_.config().auth_type == "jwt";
  std::set<std::string> without;
  const auto before = std::exchange(begun_, {});
  for (const auto& [key, refs] : arrays) {
    if (without.count(key.first) != 0) continue;
    try {
      PollArray(key.second, refs, before, &result);
    } catch (const CallFailed& e) {
      // One user without a token: their jobs are not read, those of the others are. Where no
      // user may read anything, the resources cannot be read either.
      begun_.merge(Begun(before));  // jobs that were not looked at have begun all the same
      if (e.why() != Why::kAuth || !own_tokens) throw;
      without.insert(key.first);
    }
  }
  result.calls = api_.calls() - calls;
  result.cluster_time = api_.clock();
  return result;
}

// Everybody may read: where the user's token is no more, the grid's own will do.
std::string SlurmCluster::ReaderFor(const std::string& user) {
  const auto& ours = api_.config().auth_user;
  return !api_.TokenError(user).empty() && api_.TokenError(ours).empty() ? ours : user;
}

void SlurmCluster::PollArray(const std::string& array, const Refs& refs, const Begun& before,
                             PollResult* result) {
  const auto records = GetJobs("read array " + array + " of " + api_.config().name,
                               Path("job/" + array), ReaderFor(refs.front().cluster_user));
  // Ids are given out again after a crash of slurmctld: only records with the tag are ours.
  const ArrayView view(records.value_or(Records{}), refs.front().tag);
  Refs unknown;
  std::map<int, Refs> groups;
  for (const auto& ref : refs) {
    const auto* record = ref.tag == refs.front().tag ? view.Of(SlurmTaskOf(ref)) : nullptr;
    if (record == nullptr) {
      unknown.push_back(ref);
      continue;
    }
    if (ref.tasks_per_job > 1) {
      groups[SlurmTaskOf(ref)].push_back(ref);
      continue;
    }
    auto job = JobOf(ref, *record);
    if (job.state == RemoteState::kRunning) job.unresponsive = Unresponsive(job, before);
    if (job.state == RemoteState::kEnded) AskRecord(&job);
    if (job.state == ref.known && job.state != RemoteState::kEnded && !job.unresponsive) continue;
    result->jobs.push_back(std::move(job));
  }
  for (const auto& [task, members] : groups)
    PollGroup(JobOf(members.front(), *view.Of(task)), members, before, result);
  if (!unknown.empty()) Resolve(array, unknown, result);
}

// A job that runs several elements.
void SlurmCluster::PollGroup(RemoteJob whole, const Refs& refs, const Begun& before,
                             PollResult* result) {
  if (whole.state == RemoteState::kRunning) whole.unresponsive = Unresponsive(whole, before);
  AddGroup(shared_, whole, refs, &result->jobs);
}

// Running for slurmctld, and by its record it has not begun, or has ended. Seen: a slurmd that took
// the id for one of before a crash of slurmctld refuses the job, which then "runs" until its
// walltime; by then it may have run already, in a start that slurmctld has forgotten. That there is
// no record counts only where that of another job of this user is there, so that the folder is the
// right one, and for jobs that began after this driver: records of older ones may have been cleaned
// away.
bool SlurmCluster::Unresponsive(const RemoteJob& job, const Begun& before) {
  const auto& ref = job.ref;
  if (!shared_.configured() || !script_.records) return false;
  const auto record_of = [&](const RemoteRef& r) {
    return shared_.Read(r.cluster_user, r.tasks_per_job > 1 ? GroupPath(r) : RecordPath(r), 0,
                        1000);
  };
  const std::pair key{ref.tag, ref.index};
  try {
    const auto record = before.count(key) != 0 ? std::nullopt : std::optional(record_of(ref));
    if (record && ref.tasks_per_job == 1 && ParseExitRecord(record->bytes, ref)) return true;
    if (!record || record->exists) {
      begun_.insert(key);
      recorded_[ref.cluster_user] = ref;
      return false;
    }
    const auto other = recorded_.find(ref.cluster_user);
    return job.started_at >= made_at_ && other != recorded_.end() &&
           record_of(other->second).exists;
  } catch (const std::runtime_error&) {
    return false;  // what cannot be read says nothing
  }
}

void SlurmCluster::AskRecord(RemoteJob* job) {
  if (job->cause == EndCause::kExited) recorded_[job->ref.cluster_user] = job->ref;
  if (job->started_at == 0) return;
  if (const auto record = ReadRecord(job->ref)) AddRecord(job, *record);
}

// slurmctld has forgotten these (MinJobAge), or they were deleted before they started.
void SlurmCluster::Resolve(const std::string& array, const Refs& refs, PollResult* result) {
  const auto stored = GetStored(DbPath("job/" + array), ReaderFor(refs.front().cluster_user));
  for (const auto& ref : refs) {
    if (ResolveOne(ref, stored, result)) continue;
    // While the accounting is away nothing is known: no news, and not "missing".
    if (stored.answer != Stored::Answer::kDown) result->missing.push_back(ref);
  }
}

bool SlurmCluster::ResolveOne(const RemoteRef& ref, const Stored& stored, PollResult* result) {
  const SlurmRecord* last = nullptr;  // a job that was requeued has several: the last counts
  for (const auto& r : stored.records) {
    if (!HasTag(r, ref.tag)) continue;
    const int task = SlurmTaskOf(ref);
    if (r.task == task || (!r.task && TasksOfBitmap(r.task_string).count(task) != 0)) last = &r;
  }
  if (ref.tasks_per_job > 1) return ResolveInGroup(ref, last, result);
  const bool exact = last != nullptr && SlurmEnded(last->state) && last->exit_known;
  if (!exact) {
    if (const auto record = ReadRecord(ref)) {
      RemoteJob job;
      job.ref = ref;
      EndByRecord(&job, *record);
      result->jobs.push_back(std::move(job));
      return true;
    }
  }
  // A record that says RUNNING of a job that slurmctld does not know is no news.
  if (last == nullptr || !SlurmEnded(last->state)) return false;
  result->jobs.push_back(JobOf(ref, *last));
  AskRecord(&result->jobs.back());
  return true;
}

bool SlurmCluster::ResolveInGroup(const RemoteRef& ref, const SlurmRecord* stored,
                                  PollResult* result) {
  if (stored != nullptr && SlurmEnded(stored->state)) {
    const auto whole = JobOf(ref, *stored);
    if (const auto log = ReadGroupLog(shared_, whole))
      result->jobs.push_back(InGroup(whole, ref, false, *log));
    return true;
  }
  const auto record = ReadRecord(ref);
  if (!record) return false;
  result->jobs.emplace_back().ref = ref;
  EndByRecord(&result->jobs.back(), *record);
  return true;
}

SlurmCluster::Stored SlurmCluster::GetStored(const std::string& path, const std::string& user) {
  Stored stored;
  auto response = api_.Get(path, user);
  if (response.outcome == http::Outcome::kAnswered && response.status == 404) return stored;
  const auto error = SlurmErrorOf(response.body);
  // 200 with an empty list also stands for "the database is down".
  if (!response.ok() || (error.any && error.number != kNothingStored)) {
    stored.answer = Stored::Answer::kDown;
    return stored;
  }
  stored.answer = Stored::Answer::kKnown;
  stored.records =
      ParseSlurmJobs("read the accounting of " + api_.config().name, std::move(response.body));
  return stored;
}

std::optional<ExitRecord> SlurmCluster::ReadRecord(const RemoteRef& ref) {
  if (!shared_.configured() || !script_.records) return std::nullopt;
  return ReadExitRecord(shared_, ref);
}

std::vector<RemoteJob> SlurmCluster::Tagged(const Records& records, bool* cut) {
  std::vector<RemoteJob> jobs;
  for (const auto& r : records) {
    std::set<int> tasks = r.task ? std::set<int>{*r.task} : TasksOfBitmap(r.task_string);
    if (tasks.empty()) {
      bool here = false;
      tasks = ParseTaskString(r.task_string, &here);
      *cut = *cut || here;
    }
    const auto array = r.array_job_id != 0 ? r.array_job_id : r.job_id;
    for (const int t : tasks) {
      const auto& tag = IsTag(r.comment) ? r.comment : r.name;
      jobs.push_back(JobOf({Id(array, t), tag, t, 0, r.user, 0}, r));
    }
  }
  return jobs;
}

// The one call that lists the jobs of the whole site (slurmrestd has no filter): for doubts only.
FindResult SlurmCluster::Find(const std::string& tag, const std::string& cluster_user, double since,
                              bool) {
  const auto what = "look for batch " + tag + " on " + api_.config().name;
  auto records = GetJobs(what, Path("jobs"), cluster_user).value_or(Records{});
  std::erase_if(records, [&](const SlurmRecord& r) { return !HasTag(r, tag); });
  FindResult result;
  result.complete = true;
  if (records.empty()) {
    // "uts" and less than ten digits is no time for slurmrestd.
    const auto from = static_cast<std::int64_t>(std::max(1e9, since - 3600));
    const auto stored =
        GetStored(DbPath("jobs?skip_steps=true&job_name=" + http::PercentEncode(tag) +
                         "&start_time=uts" + std::to_string(from)),
                  cluster_user);
    result.complete = stored.answer != Stored::Answer::kDown;
    records = stored.records;
    std::erase_if(records, [&](const SlurmRecord& r) { return !HasTag(r, tag); });
  }
  bool cut = false;
  result.jobs = Tagged(records, &cut);
  for (auto& job : result.jobs) job.ref.cluster_user = cluster_user;
  result.complete = result.complete && !cut;
  return result;
}

// slurmctld forgets what has ended (MinJobAge): the accounting has it.
std::vector<std::string> SlurmCluster::TagsSince(const std::string& prefix, double since) {
  const auto what = "list the jobs of the last time on " + api_.config().name;
  const auto& user = api_.config().auth_user;
  auto records = GetJobs(what, Path("jobs"), user).value_or(Records{});
  const auto from = static_cast<std::int64_t>(std::max(1e9, since - 3600));
  auto stored =
      GetStored(DbPath("jobs?skip_steps=true&start_time=uts" + std::to_string(from)), user);
  if (stored.answer == Stored::Answer::kDown)
    throw CallFailed(CallFailed::Why::kServer, what + ": its accounting does not answer");
  std::move(stored.records.begin(), stored.records.end(), std::back_inserter(records));
  std::set<std::string> tags;
  for (const auto& r : records) {
    const auto& tag = IsTag(r.comment) ? r.comment : r.name;
    if (StartsWith(tag, prefix) && IsTag(tag)) tags.insert(tag);
  }
  return {tags.begin(), tags.end()};
}

std::vector<RemoteJob> SlurmCluster::ListTagged(const std::string& prefix,
                                                const JobFilter& wanted) {
  auto records =
      GetJobs("list jobs of " + api_.config().name, Path("jobs"), api_.config().auth_user)
          .value_or(Records{});
  std::erase_if(records, [&](const SlurmRecord& r) {
    const auto& tag = IsTag(r.comment) ? r.comment : r.name;
    return !StartsWith(tag, prefix) || !IsTag(tag);
  });
  bool cut = false;
  auto jobs = Tagged(records, &cut);
  std::erase_if(jobs, [&](const RemoteJob& job) {
    return wanted && !wanted(job.ref.remote_id, job.ref.tag);
  });
  return jobs;
}

OutputPart SlurmCluster::ReadOutput(const RemoteRef& job, Stream stream, std::int64_t offset,
                                    std::size_t bytes) {
  if (!shared_.configured())
    throw std::runtime_error("cluster " + api_.config().name +
                             " gives no way to read a job's output: Slurm has none, and no "
                             "shared_folder is configured. It is on the cluster, below " +
                             script_.folder + "/" + OutputPath(job, stream));
  return shared_.Read(job.cluster_user, OutputPath(job, stream), offset, bytes);
}

Driver SlurmDriver() {
  const Factory make = [](const ClusterConfig& config, TokenSource tokens) {
    return std::unique_ptr<Cluster>(std::make_unique<SlurmCluster>(config, std::move(tokens)));
  };
  return {"slurm", "Slurm, through slurmrestd", make, KindCapabilities()};
}

}  // namespace cigri::cluster
