// What is asked of jobs: an answer is what the cluster says, and no answer is an exception.
#include <algorithm>
#include <set>

#include "conformance.h"

namespace cigri::conformance {

using namespace cluster;
using Failure = CallFailed::Why;

namespace {

// Why `call` fails; nothing when it answers.
std::optional<Failure> FailureOf(const std::function<void()>& call) {
  try {
    call();
    return std::nullopt;
  } catch (const CallFailed& e) {
    return e.why();
  }
}

struct Call {
  const char* name;
  std::function<void(Cluster&)> make;
};

// The calls whose empty answer would be believed, about `ref`.
std::vector<Call> CallsAbout(const RemoteRef& ref) {
  PollRequest poll;
  poll.jobs = {ref};
  return {{"Find", [=](Cluster& c) { c.Find(ref.tag, ref.cluster_user, 0, false); }},
          {"Poll", [=](Cluster& c) { c.Poll(poll); }},
          {"GetResources", [](Cluster& c) { c.GetResources({}); }},
          {"ListTagged", [](Cluster& c) { c.ListTagged("cigri.7.conform.", {}); }}};
}

bool Has(const std::vector<RemoteRef>& refs, const RemoteRef& ref) {
  return std::any_of(refs.begin(), refs.end(),
                     [&](const RemoteRef& r) { return r.remote_id == ref.remote_id; });
}

// In how many lists of `result` the job is.
int Lists(const KillResult& result, const RemoteRef& ref) {
  const bool failed = std::any_of(result.failed.begin(), result.failed.end(), [&](const auto& f) {
    return f.first.remote_id == ref.remote_id;
  });
  return (Has(result.gone, ref) ? 1 : 0) + (Has(result.asked, ref) ? 1 : 0) +
         (Has(result.begun, ref) ? 1 : 0) + (failed ? 1 : 0);
}

}  // namespace

TEST_P(ConformanceTest, AClusterThatCannotBeReachedIsNotAnEmptyOne) {
  const auto refs = GivenJobs(GivenBatch({"sleep 300"}));
  Break(Fault::kNoConnection);
  for (const auto& call : CallsAbout(refs[0]))
    EXPECT_EQ(FailureOf([&] { call.make(driver()); }), Failure::kUnreachable) << call.name;
  EXPECT_EQ(FailureOf([&] { driver().Kill(refs); }), Failure::kUnreachable);
}

TEST_P(ConformanceTest, AnAnswerThatDoesNotComeEndsAtTheDeadline) {
  const auto refs = GivenJobs(GivenBatch({"sleep 300"}));
  const auto impatient = Impatient();
  Break(Fault::kSilence);
  for (const auto& call : CallsAbout(refs[0]))
    EXPECT_TRUE(FailureOf([&] { call.make(*impatient); })) << call.name;
}

TEST_P(ConformanceTest, AnAnswerThatIsCutIsNoAnswer) {
  const auto refs = GivenJobs(GivenBatch({"sleep 300"}));
  for (const auto fault : {Fault::kAnswerLost, Fault::kAnswerCut, Fault::kServerError}) {
    Break(fault);
    for (const auto& call : CallsAbout(refs[0]))
      EXPECT_TRUE(FailureOf([&] { call.make(driver()); }))
          << call.name << ", fault " << static_cast<int>(fault);
  }
}

TEST_P(ConformanceTest, GarbageIsNoAnswer) {
  const auto refs = GivenJobs(GivenBatch({"sleep 300"}));
  for (const auto& garbage : GarbageAnswers()) {
    Break(Fault::kGarbage, Which::kAll, garbage);
    for (const auto& call : CallsAbout(refs[0]))
      EXPECT_TRUE(FailureOf([&] { call.make(driver()); })) << call.name << ": " << garbage;
  }
}

TEST_P(ConformanceTest, ATagThatNobodyHasUsedIsCompletelyAbsent) {
  const auto found = driver().Find("cigri.7.conform.never", tested().user(), Lately(), false);
  EXPECT_TRUE(found.complete);
  EXPECT_TRUE(found.jobs.empty());
}

TEST_P(ConformanceTest, ATagIsNotAbsentWhileTheClusterCannotLookThroughItsHistory) {
  if (!tested().HideHistory()) GTEST_SKIP() << "this kind looks through all or fails";
  const auto found = driver().Find("cigri.7.conform.never", tested().user(), 0, false);
  EXPECT_FALSE(found.complete);
}

TEST_P(ConformanceTest, ARunningJobIsFoundByItsTag) {
  const auto batch = GivenBatch({"sleep 300", "sleep 300"});
  const auto refs = GivenJobs(batch);
  Await(refs, RemoteState::kRunning);
  const auto ids = Found(batch);
  EXPECT_EQ(ids[1], refs[1].remote_id);
}

TEST_P(ConformanceTest, AnEndedJobIsFoundByItsTagWithItsEnd) {
  const auto batch = GivenBatch({"exit 9"});
  const auto refs = GivenJobs(batch);
  Await(refs, RemoteState::kEnded);
  const auto found = driver().Find(batch.tag, batch.cluster_user, Lately(), false);
  ASSERT_EQ(found.jobs.size(), 1u);
  EXPECT_EQ(found.jobs[0].state, RemoteState::kEnded);
  EXPECT_EQ(found.jobs[0].wait_status, 9 << 8);
}

// After `cigri restore`: what is left out here may run twice.
TEST_P(ConformanceTest, EndedAndLiveJobsAreAmongTheTagsOfTheLastTime) {
  const auto ended = GivenBatch({"exit 9"});
  Await(GivenJobs(ended), RemoteState::kEnded);
  const auto live = GivenBatch({"sleep 300"});
  GivenJobs(live);
  const auto tags = driver().TagsSince("cigri.7.conform.", Lately());
  EXPECT_EQ(std::count(tags.begin(), tags.end(), ended.tag), 1);
  EXPECT_EQ(std::count(tags.begin(), tags.end(), live.tag), 1);
}

TEST_P(ConformanceTest, AnIdThatWasNeverIssuedIsMissing) {
  auto refs = GivenJobs(GivenBatch({"sleep 300"}));
  auto unknown = refs[0];
  unknown.remote_id = tested().UnknownId();
  refs.push_back(unknown);
  const auto result = Poll(refs);
  EXPECT_EQ(result.missing.size(), 1u);
  EXPECT_TRUE(Has(result.missing, unknown));
}

TEST_P(ConformanceTest, AnIdThatCarriesAnotherTagIsMissing) {
  auto ref = GivenJobs(GivenBatch({"sleep 300"})).at(0);
  ref.tag = "cigri.7.conform.another";
  const auto result = Poll({ref});
  EXPECT_TRUE(Has(result.missing, ref));
  for (const auto& job : result.jobs) EXPECT_NE(job.ref.tag, ref.tag);
}

TEST_P(ConformanceTest, AJobThatIsAsKnownMayBeLeftOutButIsNeverMissing) {
  auto refs = GivenJobs(GivenBatch({"sleep 300"}));
  Await(refs, RemoteState::kRunning);
  refs[0].known = RemoteState::kRunning;
  EXPECT_TRUE(Poll(refs).missing.empty());
}

TEST_P(ConformanceTest, ARunningJobIsKilled) {
  const auto refs = GivenJobs(GivenBatch({"sleep 300", "sleep 300"}));
  Await(refs, RemoteState::kRunning);
  const auto result = driver().Kill({refs[0]});
  EXPECT_TRUE(Has(result.asked, refs[0]));
  EXPECT_EQ(Await({refs[0]}, RemoteState::kEnded)[0].cause, EndCause::kDeleted);
  Await({refs[1]}, RemoteState::kRunning);
}

TEST_P(ConformanceTest, AWholeArrayIsKilled) {
  const auto refs = GivenJobs(GivenBatch(std::vector<std::string>(5, "sleep 300")));
  Await(refs, RemoteState::kRunning);
  const auto result = driver().Kill(refs);
  for (const auto& ref : refs) EXPECT_EQ(Lists(result, ref), 1);
  for (const auto& job : Await(refs, RemoteState::kEnded)) EXPECT_EQ(job.cause, EndCause::kDeleted);
}

TEST_P(ConformanceTest, AJobThatIsToEndOnlyWhileItWaitsGoesOnWhenItHasBegun) {
  auto refs = GivenJobs(GivenBatch(std::vector<std::string>(5, "sleep 300")));
  Await(refs, RemoteState::kRunning);
  for (auto& ref : refs) ref.only_waiting = true;
  for (const auto& some : {std::vector<RemoteRef>{refs[0]}, refs}) {
    const auto result = driver().Kill(some);
    for (const auto& ref : some) EXPECT_EQ(Lists(result, ref), 1);
    for (const auto& ref : some) EXPECT_TRUE(Has(result.begun, ref));
  }
  Await(refs, RemoteState::kRunning);
  for (auto& ref : refs) ref.only_waiting = false;
  EXPECT_TRUE(Has(driver().Kill(refs).asked, refs[0]));
}

TEST_P(ConformanceTest, AnEndedJobKeepsItsEndWhenItIsKilled) {
  const auto refs = GivenJobs(GivenBatch({"exit 0"}));
  Await(refs, RemoteState::kEnded);
  const auto result = driver().Kill(refs);
  EXPECT_EQ(Lists(result, refs[0]), 1);
  const auto job = Await(refs, RemoteState::kEnded)[0];
  EXPECT_EQ(job.cause, EndCause::kExited);
  EXPECT_EQ(job.wait_status, 0);
}

TEST_P(ConformanceTest, AnUnknownJobIsNotReportedAsAskedToEnd) {
  auto unknown = GivenJobs(GivenBatch({"sleep 300"})).at(0);
  unknown.remote_id = tested().UnknownId();
  const auto result = driver().Kill({unknown});
  EXPECT_EQ(Lists(result, unknown), 1);
  EXPECT_FALSE(Has(result.asked, unknown));
}

TEST_P(ConformanceTest, AJobThatCarriesAnotherTagIsNotKilled) {
  const auto refs = GivenJobs(GivenBatch(std::vector<std::string>(5, "sleep 300")));
  Await(refs, RemoteState::kRunning);
  auto others = refs;
  for (auto& ref : others) ref.tag = "cigri.7.conform.another";
  for (const auto& some : {std::vector<RemoteRef>{others[0]}, others}) {
    const auto result = driver().Kill(some);
    for (const auto& ref : some) EXPECT_EQ(Lists(result, ref), 1);
    for (const auto& ref : some) EXPECT_FALSE(Has(result.asked, ref));
  }
  Await(refs, RemoteState::kRunning);
}

TEST_P(ConformanceTest, AnotherUsersJobIsNotKilled) {
  if (tested().Stranger().empty()) GTEST_SKIP() << "the grid may end all jobs there";
  const auto refs = GivenJobs(GivenBatch({"sleep 300"}));
  Await(refs, RemoteState::kRunning);
  auto others = refs;
  others[0].cluster_user = tested().Stranger();
  const auto result = driver().Kill(others);
  EXPECT_EQ(Lists(result, others[0]), 1);
  EXPECT_FALSE(Has(result.asked, others[0]));
  Await(refs, RemoteState::kRunning);
}

TEST_P(ConformanceTest, LiveJobsAreListedByThePrefixOfTheirTag) {
  const auto mine = GivenJobs(GivenBatch({"sleep 300", "sleep 300"}));
  const auto other = GivenJobs(GivenBatch({"sleep 300"}));
  Await({mine[0], mine[1], other[0]}, RemoteState::kRunning);
  const auto tags = [&](const std::string& prefix, const Cluster::JobFilter& wanted) {
    std::multiset<std::string> all;
    for (const auto& job : driver().ListTagged(prefix, wanted)) all.insert(job.ref.tag);
    return all;
  };
  EXPECT_EQ(tags(mine[0].tag, {}).size(), 2u);
  EXPECT_EQ(tags("cigri.7.conform.", {}).count(other[0].tag), 1u);
  EXPECT_EQ(tags("cigri.nobody.", {}).size(), 0u);
  const auto not_mine = [&](const std::string&, const std::string& tag) {
    return tag != mine[0].tag;
  };
  EXPECT_EQ(tags("cigri.7.conform.", not_mine).count(mine[0].tag), 0u);
}

TEST_P(ConformanceTest, ResourcesAddUp) {
  const auto r = driver().GetResources({});
  EXPECT_GT(r.max, 0);
  EXPECT_GE(r.used, 0);
  EXPECT_GE(r.unavailable, 0);
}

TEST_P(ConformanceTest, AResourceClassIsCountedOrLeftOut) {
  auto batch = GivenBatch({"exit 0"});
  EXPECT_EQ(driver().ResourceClassOf(batch).request, "") << "any slot will do";
  batch.options["gpus"] = 2;
  const auto gpus = driver().ResourceClassOf(batch);
  EXPECT_EQ(gpus.units, gpus.request.empty() ? 1 : 2);
  const auto plain = driver().GetResources({});
  EXPECT_TRUE(plain.classes.empty());
  const auto r = driver().GetResources({gpus.request, "of another kind", "{}", ""});
  EXPECT_EQ(r.max, plain.max);
  for (const auto& [request, count] : r.classes) {
    EXPECT_EQ(request, gpus.request) << "what it did not make it does not count";
    EXPECT_NE(count.name, "");
    EXPECT_GE(count.free, 0);
    EXPECT_LE(count.free, count.total);
  }
}

TEST_P(ConformanceTest, ACheckOfAHealthyClusterFindsNoFault) {
  const auto driver = tested().ConnectAsAdvised(kPatience);
  const auto items = driver->Check(tested().user(), false);
  ASSERT_FALSE(items.empty());
  EXPECT_EQ(items[0].what, "reachable");
  for (const auto& item : items)
    EXPECT_NE(item.verdict, CheckItem::Verdict::kFail) << item.what << ": " << item.detail;
}

TEST_P(ConformanceTest, ACheckNamesWhatIsWrongAndDoesNotThrow) {
  Break(Fault::kNoConnection);
  const auto items = driver().Check(tested().user(), true);
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].what, "reachable");
  EXPECT_EQ(items[0].verdict, CheckItem::Verdict::kFail);
  EXPECT_NE(items[0].detail, "");
  for (const auto& garbage : GarbageAnswers()) {
    Break(Fault::kGarbage, Which::kAll, garbage);
    const auto found = driver().Check(tested().user(), false);
    EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](const CheckItem& item) {
      return item.verdict == CheckItem::Verdict::kFail;
    })) << garbage;
  }
}

TEST_P(ConformanceTest, LimitsAndCredentialsAreReportedWithoutACall) {
  const auto batch = GivenBatch({"exit 0"});
  Break(Fault::kNoConnection);
  EXPECT_EQ(driver().ExceedsLimit(batch), "");
  EXPECT_EQ(driver().CredentialError(tested().user()), "");
}

TEST_P(ConformanceTest, OutputThatCannotBeReadIsAnError) {
  if (driver().capabilities().output) GTEST_SKIP() << "this kind gives output";
  const auto refs = GivenJobs(GivenBatch({"exit 0"}));
  EXPECT_THROW(driver().ReadOutput(refs[0], Stream::kStdout, 0, 10), std::runtime_error);
}

}  // namespace cigri::conformance
