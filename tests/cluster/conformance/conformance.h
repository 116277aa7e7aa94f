// What every driver must do, whatever fails: docs/develop/write-a-driver.md. The tests are in
// submit_suite.cc and jobs_suite.cc; drivers_test.cc and tests/real/conformance_test.cc name the
// clusters that they run against.
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "tests/cluster/conformance/fault.h"

namespace cigri::conformance {

/// A cluster that the suite may break. Its jobs are of two kinds: "exit N" ends with N, "sleep 300"
/// runs until it is killed.
class TestedCluster {
 public:
  virtual ~TestedCluster() = default;
  /// A driver whose calls end after `timeout`.
  virtual std::unique_ptr<cluster::Cluster> Connect(std::chrono::milliseconds timeout) = 0;
  /// A driver with the options that its check advises, where Connect has others for speed.
  virtual std::unique_ptr<cluster::Cluster> ConnectAsAdvised(std::chrono::milliseconds timeout) {
    return Connect(timeout);
  }
  /// What happens to requests from now on. `garbage` is the body of answers with Fault::kGarbage.
  virtual void Break(Fault fault, Which which, const std::string& garbage) = 0;
  /// How many jobs carry `tag`, as the cluster knows and not as the broken driver says.
  virtual int JobsWithTag(const std::string& tag) = 0;
  /// Who submits.
  virtual std::string user() const = 0;
  /// Changes `batch` to one that the cluster refuses.
  virtual void MakeRefused(cluster::Batch* batch) const = 0;
  /// An id that was never issued.
  virtual std::string UnknownId() const { return "999999"; }
  /// A user there who may not end jobs of user(); "" when the grid may end all of them.
  virtual std::string Stranger() const { return ""; }
  /// Keeps the cluster from looking through all that it remembers; false when that cannot be.
  virtual bool HideHistory() { return false; }
  /// The pause between two polls that wait for a job.
  virtual std::chrono::milliseconds pause() const { return std::chrono::milliseconds(2); }
};

/// Before any job of a test. Real clusters remember the jobs of every run: to look through all of
/// them takes them a minute.
inline double Lately() { return static_cast<double>(std::time(nullptr)) - 900; }

/// One kind of cluster to test. `make` returns nullptr where it cannot run.
struct Kind {
  const char* name;
  std::function<std::unique_ptr<TestedCluster>()> make;
};
inline void PrintTo(const Kind& kind, std::ostream* to) { *to << kind.name; }
/// The name of the test's parameter, for gtest.
inline std::string NameOf(const testing::TestParamInfo<Kind>& info) { return info.param.name; }

/// Bytes that answer nothing, in the shapes in which the answers of schedulers come.
std::vector<std::string> GarbageAnswers();

class ConformanceTest : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// On a busy machine a real scheduler takes half a minute to answer.
  static constexpr std::chrono::milliseconds kPatience{60'000};
  cluster::Cluster& driver() { return *driver_; }
  TestedCluster& tested() { return *tested_; }
  void Break(Fault fault, Which which = Which::kAll, const std::string& garbage = "no answer");
  void Heal() { Break(Fault::kNone); }
  /// For faults that end by a deadline: a driver whose calls end soon.
  std::unique_ptr<cluster::Cluster> Impatient() {
    return tested_->Connect(std::chrono::milliseconds(300));
  }

  cluster::Batch GivenBatch(const std::vector<std::string>& commands);
  std::vector<cluster::RemoteRef> RefsOf(const cluster::Batch& batch,
                                         const std::vector<std::string>& ids) const;
  /// Submits, and releases where jobs are held.
  std::vector<cluster::RemoteRef> GivenJobs(const cluster::Batch& batch);
  cluster::PollResult Poll(const std::vector<cluster::RemoteRef>& refs);
  /// The jobs of `refs` in their order, as soon as `state` is that of all of them.
  std::vector<cluster::RemoteJob> Await(const std::vector<cluster::RemoteRef>& refs,
                                        cluster::RemoteState state);
  /// The remote ids that Find gives for the tag of `batch`, by index. It must be complete.
  std::vector<std::string> Found(const cluster::Batch& batch);
  /// Submits a batch through `with` while submissions fail so that nobody knows their outcome.
  void ExpectInDoubt(cluster::Cluster& with, Fault fault, const std::string& garbage = "");

 private:
  std::unique_ptr<TestedCluster> tested_;
  std::unique_ptr<cluster::Cluster> driver_;
  std::vector<cluster::Batch> batches_;
};

}  // namespace cigri::conformance
