#include "fuzz/answers.h"

#include <algorithm>

#include "core/text.h"
#include "fuzz/need.h"
#include "process/run.h"

namespace {

std::vector<std::string> parts;
std::size_t calls = 0;

constexpr std::size_t kMostCalls = 200;

// Pages that never end are a finding, too.
const std::string& NextPart() {
  cigri::fuzz::Need(++calls < kMostCalls);
  return parts[std::min(calls, parts.size()) - 1];
}

cigri::http::Response NextResponse() {
  using cigri::http::Outcome;
  const std::string& part = NextPart();
  cigri::http::Response r;
  r.outcome = Outcome::kAnswered;
  r.status = 200;
  r.headers = {{"date", "Fri, 20 Nov 2026 10:00:00 GMT"}};
  const char mark = part.empty() ? ' ' : part[0];
  for (const auto& [of, status] : {std::pair{2, 500}, {3, 404}, {6, 400}, {7, 401}})
    if (mark == of) r.status = status;
  if (mark == 4) r = {.outcome = Outcome::kMaybeSent, .error = "cut"};
  if (mark == 5) r = {.outcome = Outcome::kNotSent, .error = "nobody"};
  if (r.outcome == Outcome::kAnswered) r.body = r.status != 200 ? part.substr(1) : part;
  return r;
}

}  // namespace

namespace cigri::http {

struct Client::Impl {
  Endpoint endpoint;
};
Client::Client(Endpoint endpoint, Options) : impl_(new Impl{std::move(endpoint)}) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
const Endpoint& Client::endpoint() const { return impl_->endpoint; }
void Client::Close() {}
Response Client::Get(const std::string&, const Headers&, std::chrono::milliseconds) {
  return NextResponse();
}
Response Client::Delete(const std::string&, const Headers&) { return NextResponse(); }
Response Client::Post(const std::string&, const std::string&, const std::string&, const Headers&,
                      std::chrono::milliseconds) {
  return NextResponse();
}

}  // namespace cigri::http

namespace cigri::process {

// A command ends with what CommandTransport has its shell write behind it.
Result Run(const Command&) {
  const auto r = NextResponse();
  if (r.outcome == http::Outcome::kNotSent) return {Outcome::kNotStarted, 0, "", "", r.error};
  if (r.outcome == http::Outcome::kMaybeSent) return {Outcome::kTimedOut, 0, "", "", ""};
  const int code = r.status == 200 ? 0 : 1;
  return {Outcome::kExited, 0, r.body + "\ncigri-end " + std::to_string(code) + "\n",
          code == 0 ? "" : r.body};
}
std::string HowItEnded(const Command&, const Result&) { return "it ended"; }

}  // namespace cigri::process

namespace cigri::fuzz {
namespace {

using namespace cigri::cluster;

const std::string kUser = "ann", kTag = "cigri.7.0123456789abcdef.00112233";

std::vector<RemoteRef> Asked(const std::string& kind) {
  const std::string between = kind == "slurm" || kind == "local" ? "_" : ".";
  std::vector<RemoteRef> refs;
  for (int i = 0; i < 3; ++i) {
    RemoteRef ref;
    // The numbers of the fixtures.
    ref.remote_id = kind == "oar2" || kind == "oar3"
                        ? std::to_string(4 + i)
                        : "12" + between + std::to_string(kind == "gridengine" ? i + 1 : i);
    ref.tag = kTag;
    ref.index = i;
    ref.job_id = 100 + i;
    ref.cluster_user = kUser;
    ref.walltime_s = 60;
    refs.push_back(ref);
  }
  return refs;
}

Batch BatchOf() {
  Batch batch;
  batch.tag = kTag;
  batch.grid_user = batch.cluster_user = kUser;
  batch.campaign_name = "fuzz";
  batch.resources = "/nodes=1";
  for (int i = 0; i < 3; ++i) batch.elements.push_back({100 + i, i, 1, "true"});
  return batch;
}

void CheckJob(const RemoteJob& job) {
  Need(job.state >= RemoteState::kHeld && job.state <= RemoteState::kEnded);
  Need(job.cause >= EndCause::kExited && job.cause <= EndCause::kUnknown);
  Need(!job.ref.remote_id.empty() && !job.ref.tag.empty());
}

bool IsAsked(const std::vector<RemoteRef>& asked, const RemoteRef& ref) {
  return std::any_of(asked.begin(), asked.end(), [&](const auto& one) {
    return one.remote_id == ref.remote_id && one.tag == ref.tag && one.index == ref.index &&
           one.job_id == ref.job_id;
  });
}

// A poll of a feed tells of jobs that nobody asked for.
void CheckPoll(const PollResult& result, const std::vector<RemoteRef>& asked, bool feed) {
  for (const auto& job : result.jobs) {
    CheckJob(job);
    Need(feed || IsAsked(asked, job.ref));
  }
  for (const auto& ref : result.missing) {
    Need(IsAsked(asked, ref));
    if (feed) continue;
    for (const auto& job : result.jobs) Need(job.ref.job_id != ref.job_id);
  }
}

void CheckKill(const KillResult& result, const std::vector<RemoteRef>& asked) {
  Need(result.gone.size() + result.asked.size() + result.failed.size() == asked.size());
}

template <typename Call>
void Calling(const ClusterConfig& config, std::string_view text, Call call) {
  Answer(text);
  const auto driver = MakeCluster(config, [](const std::string&) { return "token"; });
  try {
    call(*driver);
  } catch (const CallFailed&) {
  }
}

}  // namespace

void Answer(std::string_view text) {
  parts = Split(text, '\x01');
  calls = 0;
}

void CallAll(const ClusterConfig& config, std::string_view text) {
  const auto asked = Asked(config.kind);
  Calling(config, text, [&](Cluster& c) {
    CheckPoll(c.Poll({asked, "1", {}}), asked, c.capabilities().feed);
    // What was learnt from the first answer meets a second one.
    CheckPoll(c.Poll({asked, "", {}}), asked, c.capabilities().feed);
  });
  Calling(config, text, [&](Cluster& c) {
    for (const auto& job : c.Find(kTag, kUser, 1e9, false).jobs) CheckJob(job);
  });
  Calling(config, text, [&](Cluster& c) { CheckKill(c.Kill(asked), asked); });
  Calling(config, text, [&](Cluster& c) {
    const auto r = c.GetResources({"gpu", R"({"gpus":true})", R"({"unit":"gpu"})"});
    Need(r.max >= 0 && r.used >= 0 && r.unavailable >= 0 && r.free() >= 0);
  });
  Calling(config, text, [&](Cluster& c) {
    for (const auto& job : c.ListTagged("cigri.", {})) CheckJob(job);
  });
  Calling(config, text, [&](Cluster& c) {
    for (const auto& tag : c.TagsSince("cigri.", 1e9)) Need(!tag.empty());
  });
  Calling(config, text, [&](Cluster& c) {
    const auto batch = BatchOf();
    try {
      const auto ids = c.Submit(batch);
      Need(ids.size() == batch.elements.size());
      for (const auto& id : ids) Need(!id.empty());
      c.Release(batch, ids);
    } catch (const SubmitRefused&) {
    } catch (const SubmitInDoubt&) {
    }
  });
}

}  // namespace cigri::fuzz
