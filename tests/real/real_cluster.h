// What the tests on real clusters share: bringing them up, and following batches to their ends.
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "tests/cluster/conformance/conformance.h"
#include "tests/support/cutting_proxy.h"

namespace cigri::real {

using conformance::Lately;
using test::CuttingProxy;

/// Whether real clusters may be brought up here: CIGRI_REAL=1, and root.
bool Allowed();
/// Whether OAR 3's source is where oar3-up finds it.
bool HasOar3();
/// Runs a script of scripts/clusters with `environment` ("OAR_INSTANCE=2"); fails the test when it
/// fails. Returns what it wrote.
std::string RunScript(const std::string& script, const std::string& environment = "");
/// Runs a command and returns its output.
std::string Shell(const std::string& command);

/// A batch of `commands` for `user`, with a tag of its own.
cluster::Batch BatchOf(const std::string& user, const std::vector<std::string>& commands);
std::vector<cluster::RemoteRef> RefsOf(const cluster::Batch& batch,
                                       const std::vector<std::string>& ids);
/// Submits and, where jobs are held, releases.
std::vector<cluster::RemoteRef> SubmitAll(cluster::Cluster& cluster, const cluster::Batch& batch);
/// Polls every 0.3 s until `refs` have all ended, or are missing in ten polls in a row; by index.
struct Ends {
  std::map<int, cluster::RemoteJob> jobs;
  std::vector<cluster::RemoteRef> missing;
  int polls = 0, calls = 0;
  bool all = false;
};
Ends Await(cluster::Cluster& cluster, const std::vector<cluster::RemoteRef>& refs,
           std::chrono::seconds patience);
/// Polls until `condition` holds for the jobs of a poll.
bool AwaitPoll(cluster::Cluster& cluster, const std::vector<cluster::RemoteRef>& refs,
               std::chrono::seconds patience,
               const std::function<bool(const cluster::PollResult&)>& condition);

/// A task as `batch` says, which counts in tenths of a second, is evicted twice by `evict` (which
/// returns what Await() has to wait for then) and goes on from its last checkpoint each time. It ends
/// only after that, however late a cluster evicts. `goes_on`: a checkpoint does not end the program.
using Evict = std::function<std::vector<cluster::RemoteRef>(const cluster::RemoteRef& task)>;
void ExpectToGoOnFromCheckpoints(cluster::Cluster& cluster, cluster::Batch batch, bool goes_on,
                                 const Evict& evict);

/// Parameters that shells, JSON, YAML and parameter files like to mangle reach a job of `user` byte
/// for byte.
void ExpectOddValuesToArrive(cluster::Cluster& cluster, const std::string& user);
/// Exit codes and signals are reported as they were. Returns the jobs.
std::map<int, cluster::RemoteJob> ExpectEndsAsTheyWere(cluster::Cluster& cluster,
                                                       const std::string& user);
/// Inputs of jobs of `user` reach their nodes by rsync, and their outputs the storage.
void ExpectFilesToTravel(cluster::Cluster& cluster, const std::string& user);
std::string ReadFile(const std::string& path);

}  // namespace cigri::real
