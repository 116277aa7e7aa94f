#include "conformance.h"

#include <algorithm>
#include <thread>

#include "core/text.h"
#include "tests/support/await.h"

namespace cigri::conformance {

using namespace cluster;

std::vector<std::string> GarbageAnswers() {
  return {"",
          "no answer",
          "<html>Bad Gateway</html>",
          "[]",
          "null",
          "5",
          "{}",
          R"({"items":5,"jobs":5,"nodes":5,"ids":5})",
          R"({"items":[5],"jobs":[5],"nodes":[5],"ids":[5],"total":1})",
          R"({"items":[{}],"jobs":[{}],"nodes":[{}],"ids":[{}],"total":1})",
          R"({"job_id":"x","id":"x","ids":["x"],"cmd_output":"OAR_JOB_ID=-5"})",
          R"({"items":[{"id":1,"name":)"};
}

void ConformanceTest::SetUp() {
  tested_ = GetParam().make();
  if (!tested_) GTEST_SKIP() << GetParam().name << " cannot run here";
  driver_ = tested_->Connect(kPatience);
}

// Nothing is left running: the next test may need the slots.
void ConformanceTest::TearDown() {
  if (!tested_) return;
  Heal();
  for (const auto& batch : batches_) {
    std::vector<RemoteRef> refs;
    for (auto& job : driver_->Find(batch.tag, batch.cluster_user, Lately(), false).jobs)
      if (job.state != RemoteState::kEnded) refs.push_back(job.ref);
    if (!refs.empty()) driver_->Kill(refs);
  }
}

void ConformanceTest::Break(Fault fault, Which which, const std::string& garbage) {
  tested_->Break(fault, which, garbage);
}

Batch ConformanceTest::GivenBatch(const std::vector<std::string>& commands) {
  Batch batch;
  batch.tag = "cigri.7.conform." + RandomHex(6);
  batch.campaign_id = 7;
  batch.campaign_name = "conformance";
  batch.grid_user = batch.cluster_user = tested_->user();
  batch.directory = "/tmp";
  batch.walltime_s = 600;
  for (const auto& command : commands) {
    const auto i = static_cast<std::int64_t>(batch.elements.size());
    batch.elements.push_back({1000 + i, 50 + i, 1, command});
  }
  batches_.push_back(batch);
  return batch;
}

std::vector<RemoteRef> ConformanceTest::RefsOf(const Batch& batch,
                                               const std::vector<std::string>& ids) const {
  std::vector<RemoteRef> refs;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    RemoteRef ref;
    ref.remote_id = ids[i];
    ref.tag = batch.tag;
    ref.index = static_cast<int>(i);
    ref.job_id = batch.elements.at(i).job_id;
    ref.cluster_user = batch.cluster_user;
    ref.walltime_s = batch.walltime_s;
    refs.push_back(ref);
  }
  return refs;
}

std::vector<RemoteRef> ConformanceTest::GivenJobs(const Batch& batch) {
  const auto ids = driver_->Submit(batch);
  EXPECT_EQ(ids.size(), batch.elements.size());
  driver_->Release(batch, ids);
  return RefsOf(batch, ids);
}

PollResult ConformanceTest::Poll(const std::vector<RemoteRef>& refs) {
  PollRequest request;
  request.jobs = refs;
  return driver_->Poll(request);
}

std::vector<RemoteJob> ConformanceTest::Await(const std::vector<RemoteRef>& refs,
                                              RemoteState state) {
  std::vector<RemoteJob> jobs;
  const auto all_there = [&] {
    jobs.assign(refs.size(), {});
    std::size_t there = 0;
    for (const auto& job : Poll(refs).jobs)
      for (std::size_t i = 0; i < refs.size(); ++i)
        if (job.ref.remote_id == refs[i].remote_id && job.ref.tag == refs[i].tag &&
            job.state == state) {
          jobs[i] = job;
          ++there;
        }
    return there == refs.size();
  };
  EXPECT_TRUE(test::Await(all_there, std::chrono::seconds(120), tested_->pause()))
      << "not all jobs have reached the state";
  return jobs;
}

std::vector<std::string> ConformanceTest::Found(const Batch& batch) {
  const auto found = driver_->Find(batch.tag, batch.cluster_user, Lately(), false);
  EXPECT_TRUE(found.complete);
  EXPECT_EQ(found.jobs.size(), batch.elements.size());
  std::vector<std::string> ids(batch.elements.size());
  for (const auto& job : found.jobs) {
    EXPECT_EQ(job.ref.tag, batch.tag);
    ids.at(static_cast<std::size_t>(job.ref.index)) = job.ref.remote_id;
  }
  EXPECT_EQ(std::count(ids.begin(), ids.end(), ""), 0) << "an index is missing";
  return ids;
}

}  // namespace cigri::conformance
