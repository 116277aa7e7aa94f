#include "cluster/oar.h"

#include <algorithm>
#include <ctime>
#include <set>

#include "core/text.h"

namespace cigri::cluster {
namespace {

using Why = CallFailed::Why;

// OAR answers GET /jobs/ID in 10 to 30 ms: what a poll may spend on ended jobs. The rest stays
// as it was until the next one.
constexpr int kDetailsPerPoll = 250;
// Under a ceiling on calls a poll leaves most of them to others.
int DetailsPerPoll(const ClusterConfig& config) {
  const int ceiling = config.limiter ? config.limiter->ceiling() : 0;
  return ceiling == 0 ? kDetailsPerPoll : std::clamp(ceiling / 4, 1, kDetailsPerPoll);
}

// Between the clocks of the grid and of a cluster, when a list is cut by time.
constexpr int kClockMargin = 3600;

// Lists are the same for every user: any who may ask will do.
std::string Reader(RestApi* api, std::span<const RemoteRef> refs) {
  for (const auto& ref : refs)
    if (api->TokenError(ref.cluster_user).empty()) return ref.cluster_user;
  return refs.front().cluster_user;
}

}  // namespace

OarCluster::OarCluster(const ClusterConfig& config, TokenSource tokens,
                       std::unique_ptr<OarDialect> dialect)
    : api_(config, std::move(tokens), RestApi::Identity::kOar),
      dialect_(std::move(dialect)),
      script_(ScriptSettings::From(config, ScriptSettings::Kind::kOar)) {
  script_.oar_signals = dialect_->signals_before_kills();
}

Capabilities OarCapabilities() {
  Capabilities c;
  // As base64 with its numbers this stays below mod_fcgid's usual limit of 128 KiB for a body.
  c.max_bytes = 70000;
  c.output = true;
  c.groups = true;
  return c;
}

Capabilities OarCluster::capabilities() const {
  Capabilities c = OarCapabilities();
  const auto& options = api_.config().options;
  c.max_array = options.value("max_array", c.max_array);
  c.max_bytes = options.value("max_bytes", c.max_bytes);
  c.groups = script_.records;
  return c;
}

OarCluster::Items OarCluster::List(const std::string& what, const std::string& path,
                                   const std::string& user) {
  Items all;
  EachOf(what, path, user,
         [&](const OarItemView& item) { all.push_back(item.Keep(dialect_->details_in_lists())); });
  return all;
}

// Calls `each` for the jobs on all pages of a list.
void OarCluster::EachOf(const std::string& what, const std::string& path, const std::string& user,
                        const std::function<void(const OarItemView&)>& each) {
  for (std::int64_t offset = 0, total = 1; offset < total;) {
    const auto before = offset;
    auto page = PageOf(what, path, offset, user);
    if (!page) return;
    total = EachOarJob(what, std::move(*page), [&](const OarItemView& item) {
      ++offset;
      if (!dialect_->knows_home()) item.NoteHome(&homes_);
      each(item);
    });
    if (offset == before) return;
  }
}

std::optional<std::string> OarCluster::PageOf(const std::string& what, const std::string& list,
                                              std::int64_t offset, const std::string& user) {
  if (offset == 0) return api_.GetBody(what, list, user);
  auto response = api_.Get(dialect_->Page(list, offset), user);
  // Jobs have ended since the page before.
  const bool empty = response.outcome == http::Outcome::kAnswered && response.status == 404 &&
                     response.body.find("Empty request") != std::string::npos;
  if (empty) return std::nullopt;
  if (!response.ok()) throw api_.Failed(what, response);
  return std::move(response.body);
}

std::string OarCluster::HomeOf(const RemoteRef& ref) {
  if (const auto known = homes_.find(ref.cluster_user); known != homes_.end()) return known->second;
  const auto response = api_.Get(dialect_->Job(ref.remote_id), ref.cluster_user);
  const auto job = nlohmann::json::parse(ValidUtf8(response.body), nullptr, false);
  // A job runs in its user's home: our submissions name no other directory.
  const auto home = TextIn(job, "launching_directory");
  if (!response.ok() || home.empty() || TextIn(job, "user") != ref.cluster_user)
    return "/home/" + ref.cluster_user;
  return homes_[ref.cluster_user] = home;
}

std::string OarCluster::MediaPath(const std::string& path, const RemoteRef& ref) {
  const bool below_home = StartsWith(script_.folder, "$HOME");
  const auto home = !below_home ? "" : dialect_->knows_home() ? "~" : HomeOf(ref);
  return ReplaceAll(script_.folder, "$HOME", home) + "/" + path;
}

nlohmann::json OarCluster::Details(const OarItem& item, const std::string& user) {
  if (!item.details.empty()) return ParseAnswer("read a job", item.details);
  const auto id = std::to_string(item.id);
  return api_.GetJson("read job " + id + " of " + api_.config().name, dialect_->Job(id), user);
}

RemoteJob OarCluster::JobOf(const OarItem& item, const RemoteRef& ref, int* details_left) {
  RemoteJob job;
  job.ref = ref;
  job.ref.remote_id = std::to_string(item.id);
  if (!OarEnded(item.state)) {
    job.state = OarState(item.state);
    // What a server that died was launching stays so indefinitely; a job that runs all the same
    // ends well.
    job.unresponsive = OarStarting(item.state);
  } else if (item.details.empty() && (*details_left)-- <= 0) {
    job.state = RemoteState::kRunning;  // the next poll tells how it ended
  } else {
    const auto details = Details(item, ref.cluster_user);
    FillFromOarJob(&job, details);
    if (!dialect_->exact_submission_time()) job.submitted_at = 0;
    // OAR has struck it off without an answer of its node: its own record, where there is one,
    // knows better.
    if (!OarExterminated(details) || ref.tasks_per_job > 1) return job;
    bool answered = false;
    if (const auto record = ReadRecord(ref, &answered)) EndByRecord(&job, *record);
    if (!answered) job.state = RemoteState::kRunning;  // the next poll asks again
  }
  return job;
}

PollResult OarCluster::Poll(const PollRequest& request) {
  PollResult result;
  const int calls = api_.calls();
  int details_left = DetailsPerPoll(api_.config());
  const std::span<const RemoteRef> all(request.jobs);
  Groups groups;
  for (std::size_t from = 0, to = 0; from < all.size(); from = to) {
    to = EndOfCall(all, from);
    PollSome(all.subspan(from, to - from), &details_left, &result, &groups);
  }
  PollGroups(groups, &details_left, &result);
  AddMeasured(&result);
  result.calls = api_.calls() - calls;
  result.cluster_time = api_.clock();
  return result;
}

// One call for all jobs that left their measurements in the same file. What cannot be read now is
// not measured: an end is more urgent.
void OarCluster::AddMeasured(PollResult* result) {
  std::map<std::pair<std::string, std::string>, std::vector<RemoteJob*>> files;
  for (auto& job : result->jobs)
    if (script_.records && job.state == RemoteState::kEnded && job.started_at > 0 &&
        job.ref.tasks_per_job == 1)
      files[{job.ref.cluster_user, MeasuredPath(job.ref)}].push_back(&job);
  for (const auto& [file, jobs] : files) try {
      const auto path = MediaPath(file.second, jobs.front()->ref);
      const auto response = api_.Get(dialect_->Media(path, 0), file.first);
      if (response.outcome != http::Outcome::kAnswered) return;
      const auto measured = ParseMeasured(response.ok() ? response.body : "");
      for (auto* job : jobs)
        if (const auto it = measured.find(job->ref.job_id); it != measured.end())
          job->measured = it->second;
    } catch (const CallFailed&) {
      return;
    }
}

// How far the ids from `from` on fit into one call: over about 8 kB of URL the web server answers
// 414 in HTML.
std::size_t OarCluster::EndOfCall(std::span<const RemoteRef> refs, std::size_t from) const {
  constexpr std::size_t kMaxUrl = 7000;
  std::size_t to = from, bytes = 0;
  do bytes += refs[to++].remote_id.size() + (dialect_->details_in_lists() ? 9 : 1);
  while (to < refs.size() && bytes + refs[to].remote_id.size() + 1 <= kMaxUrl);
  return to;
}

// The list is compared while it is read: nothing is kept of the jobs that are as they were.
void OarCluster::PollSome(std::span<const RemoteRef> refs, int* details_left, PollResult* result,
                          Groups* groups) {
  struct Asked {
    std::int64_t id;
    const RemoteRef* ref;
    bool seen = false;
  };
  std::vector<std::string> ids;
  std::vector<Asked> asked;
  for (const auto& ref : refs) {
    ids.push_back(ref.remote_id);
    asked.push_back({std::atoll(ref.remote_id.c_str()), &ref});
  }
  std::stable_sort(asked.begin(), asked.end(), [](auto& a, auto& b) { return a.id < b.id; });
  std::vector<std::pair<const RemoteRef*, OarItem>> news;
  EachOf("list jobs of " + api_.config().name, dialect_->JobsByIds(ids), Reader(&api_, refs),
         [&](const OarItemView& item) {
           auto it = std::lower_bound(asked.begin(), asked.end(), item.id,
                                      [](const Asked& a, std::int64_t id) { return a.id < id; });
           for (; it != asked.end() && it->id == item.id; ++it) {
             // An id that carries another name was given out again: it is not our job.
             if (item.name != it->ref->tag) continue;
             it->seen = true;
             const bool shared = it->ref->tasks_per_job > 1 &&
                                 OarState(item.state) == RemoteState::kRunning;
             if (OarEnded(item.state) || OarStarting(item.state) || shared ||
                 it->ref->known != OarState(item.state))
               news.emplace_back(it->ref, item.Keep(dialect_->details_in_lists()));
           }
         });
  for (const auto& [ref, item] : news) {
    if (ref->tasks_per_job == 1)
      result->jobs.push_back(JobOf(item, *ref, details_left));
    else
      groups->try_emplace(item.id, Group{item}).first->second.members.push_back(ref);
  }
  for (const auto& a : asked)
    if (!a.seen) FindAbsent(*a.ref, details_left, result);
}

// Those that have ended first. Where a poll's calls do not suffice for those that run, the next poll
// goes on with the others.
void OarCluster::PollGroups(const Groups& groups, int* details_left, PollResult* result) {
  const auto turn = [&](const Groups::value_type& group) {
    if (OarEnded(group.second.item.state)) return 0;
    return group.first > last_group_ ? 1 : 2;
  };
  for (int now = 0; now < 3; ++now)
    for (const auto& group : groups)
      if (turn(group) == now) PollGroup(group.second.item, group.second.members, details_left, result);
  last_group_ = read_group_;
}

// A job that runs several elements: one call reads what it has written of all of them.
void OarCluster::PollGroup(const OarItem& item, const std::vector<const RemoteRef*>& refs,
                           int* details_left, PollResult* result) {
  const auto whole = JobOf(item, *refs.front(), details_left);
  GroupLog log;
  if (whole.state == RemoteState::kRunning || whole.state == RemoteState::kEnded) {
    if ((*details_left)-- <= 0) return;  // the next poll asks
    if (whole.state == RemoteState::kRunning) read_group_ = item.id;
    const auto path = MediaPath(GroupPath(*refs.front()), *refs.front());
    const auto response = api_.Get(dialect_->Media(path, 0), refs.front()->cluster_user);
    const bool absent = response.outcome == http::Outcome::kAnswered && response.status == 404;
    if (!response.ok() && !absent) return;
    const double now = api_.clock() > 0 ? api_.clock() : static_cast<double>(std::time(nullptr));
    const bool ended = whole.state == RemoteState::kEnded && whole.started_at > 0;
    if (absent && ended && now - whole.ended_at < kLateFileSeconds) return;
    if (response.ok()) log = ParseGroupLog(response.body);
  }
  const auto* last = *std::max_element(refs.begin(), refs.end(), [](const auto* a, const auto* b) {
    return a->index < b->index;
  });
  for (const auto* ref : refs) {
    auto job = InGroup(whole, *ref, ref == last, log);
    if (job.state == RemoteState::kEnded || job.state != ref->known || job.unresponsive)
      result->jobs.push_back(std::move(job));
  }
}

void OarCluster::FindAbsent(const RemoteRef& ref, int* details_left, PollResult* result) {
  RemoteJob job;
  job.ref = ref;
  if (script_.records && (*details_left)-- <= 0) {
    job.state = RemoteState::kRunning;  // asked for its record in the next poll
  } else if (const auto record = ReadRecord(ref)) {
    EndByRecord(&job, *record);
  } else {
    result->missing.push_back(ref);
    return;
  }
  result->jobs.push_back(std::move(job));
}

std::optional<ExitRecord> OarCluster::ReadRecord(const RemoteRef& ref, bool* answered) {
  if (answered != nullptr) *answered = true;
  if (!script_.records) return std::nullopt;
  const auto path = MediaPath(RecordPath(ref), ref);
  const auto response = api_.Get(dialect_->Media(path, 0), ref.cluster_user);
  if (answered != nullptr) *answered = response.outcome == http::Outcome::kAnswered;
  if (!response.ok()) return std::nullopt;
  return ParseExitRecord(response.body, ref);
}

FindResult OarCluster::Find(const std::string& tag, const std::string& cluster_user, double since,
                            bool) {
  const auto what = "look for batch " + tag + " on " + api_.config().name;
  // Two lists: the one by time leaves out jobs that are just being launched, the one of live jobs
  // those that have ended. In this order a job that ends in between is in the second.
  auto items = List(what, dialect_->LiveJobs(cluster_user), cluster_user);
  const auto from = static_cast<std::int64_t>(std::max(0.0, since - kClockMargin));
  auto ended = List(what, dialect_->JobsSince(cluster_user, from), cluster_user);
  std::move(ended.begin(), ended.end(), std::back_inserter(items));
  std::erase_if(items, [&](const OarItem& item) { return item.name != tag; });
  FindResult result;
  result.jobs = Tagged(std::move(items), cluster_user);
  result.complete = true;
  return result;
}

std::vector<RemoteJob> OarCluster::ListTagged(const std::string& prefix, const JobFilter& wanted) {
  auto items = List("list live jobs of " + api_.config().name, dialect_->LiveJobs(""),
                    api_.config().auth_user);
  std::erase_if(items, [&](const OarItem& item) {
    return !StartsWith(item.name, prefix) || !IsTag(item.name) ||
           (wanted && !wanted(std::to_string(item.id), item.name));
  });
  return Tagged(std::move(items), "");
}

std::vector<std::string> OarCluster::TagsSince(const std::string& prefix, double since) {
  const auto what = "list the jobs of the last time on " + api_.config().name;
  const auto& user = api_.config().auth_user;
  auto items = List(what, dialect_->LiveJobs(""), user);
  const auto from = static_cast<std::int64_t>(std::max(0.0, since - kClockMargin));
  auto ended = List(what, dialect_->JobsSince("", from), user);
  std::move(ended.begin(), ended.end(), std::back_inserter(items));
  std::set<std::string> tags;
  for (const auto& item : items)
    if (StartsWith(item.name, prefix) && IsTag(item.name)) tags.insert(item.name);
  return {tags.begin(), tags.end()};
}

// Gives every job the index that it knows itself; jobs that are not ours are left out.
std::vector<RemoteJob> OarCluster::Tagged(Items items, const std::string& user) {
  const auto order = [](const OarItem& a, const OarItem& b) { return a.id < b.id; };
  const auto same = [](const OarItem& a, const OarItem& b) { return a.id == b.id; };
  // The later of two answers about a job counts.
  std::stable_sort(items.begin(), items.end(), order);
  std::reverse(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end(), same), items.end());
  std::reverse(items.begin(), items.end());
  std::vector<std::optional<int>> indexes(items.size());
  for (std::size_t from = 0, to = 0; from < items.size(); from = to) {
    for (to = from + 1; to < items.size() && items[to].id == items[to - 1].id + 1 &&
                        items[to].name == items[from].name;)
      ++to;
    IndexRun(items, from, to, &indexes);
  }
  std::vector<RemoteJob> jobs;
  int details_left = kDetailsPerPoll;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!indexes[i]) continue;
    const RemoteRef ref{"", items[i].name, *indexes[i], 0, user.empty() ? items[i].owner : user, 0};
    jobs.push_back(JobOf(items[i], ref, &details_left));
  }
  return jobs;
}

// The index stands in a job's command, at the price of a call. An array's ids are consecutive, so
// where the ends of a run of ids are as far apart as their indexes, those between follow. A copy
// that OAR made on its own keeps its index under a new id, and breaks this.
void OarCluster::IndexRun(const Items& items, std::size_t from, std::size_t to,
                          std::vector<std::optional<int>>* indexes) {
  const auto first = IndexOf(items[from]);
  const auto last = to - from == 1 ? first : IndexOf(items[to - 1]);
  const bool even = first && last && *last - *first == static_cast<int>(to - from) - 1;
  for (std::size_t i = from; i < to; ++i)
    (*indexes)[i] =
        even ? std::optional<int>(*first + static_cast<int>(i - from)) : IndexOf(items[i]);
}

std::optional<int> OarCluster::IndexOf(const OarItem& item) {
  if (dialect_->details_in_lists()) return item.index;
  return IndexInCommand(TextIn(Details(item, item.owner), "command"));
}

OutputPart OarCluster::ReadOutput(const RemoteRef& job, Stream stream, std::int64_t offset,
                                  std::size_t bytes) {
  const auto path = MediaPath(OutputPath(job, stream), job);
  // The API can cut at lines only; 40 bytes are a short one.
  const int tail = offset < 0 ? static_cast<int>(bytes / 40 + 10) : 0;
  const auto response = api_.Get(dialect_->Media(path, tail), job.cluster_user);
  OutputPart part;
  part.where = api_.config().name + ":" + path;
  if (response.outcome == http::Outcome::kAnswered && response.status == 404) return part;
  if (!response.ok()) throw api_.Failed("read " + part.where + " of " + job.cluster_user, response);
  part.exists = true;
  const auto size = static_cast<std::int64_t>(response.body.size());
  part.size = tail == 0 ? size : -1;
  const auto from = offset < 0 ? std::max<std::int64_t>(0, size - static_cast<std::int64_t>(bytes))
                               : std::min(offset, size);
  part.bytes = response.body.substr(static_cast<std::size_t>(from), bytes);
  return part;
}

}  // namespace cigri::cluster
