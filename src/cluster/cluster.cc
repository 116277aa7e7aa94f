#include "cluster/cluster.h"

#include "core/error.h"
#include "core/text.h"

namespace cigri::cluster {

// One line per kind: its factory lives in the file of that kind.
std::unique_ptr<Cluster> MakeLocal(const ClusterConfig&, TokenSource);
std::unique_ptr<Cluster> MakeOar2(const ClusterConfig&, TokenSource);
std::unique_ptr<Cluster> MakeOar3(const ClusterConfig&, TokenSource);
std::unique_ptr<Cluster> MakeSlurm(const ClusterConfig&, TokenSource);

namespace {
const std::map<std::string, Factory>& Factories() {
  static const std::map<std::string, Factory> factories{
      {"local", MakeLocal},
      {"oar2", MakeOar2},
      {"oar3", MakeOar3},
      {"slurm", MakeSlurm},
  };
  return factories;
}
}  // namespace

void Cluster::Release(const Batch&, const std::vector<std::string>&) {}

OutputPart Cluster::ReadOutput(const RemoteRef&, Stream, std::int64_t, std::size_t) {
  throw std::runtime_error("this kind of cluster gives no way to read a job's output");
}

std::vector<RemoteJob> Cluster::ListTagged(const std::string&, const JobFilter&) { return {}; }

std::vector<CheckItem> Cluster::Check(const std::string&, bool) { return {}; }

std::string Cluster::CannotCarry(const Batch&) { return ""; }

std::string Cluster::WhyNot(const Batch& batch) { return CannotCarry(batch); }

std::string Cluster::CredentialTrouble(const std::string&) { return ""; }

std::unique_ptr<Cluster> MakeCluster(const ClusterConfig& config, TokenSource tokens) {
  const auto it = Factories().find(config.kind);
  if (it == Factories().end())
    throw Fatal(kExitConfig,
                "cluster " + config.name + " has the unknown kind \"" + config.kind + "\"",
                "known kinds: " + Join(ClusterKinds(), ", "));
  return it->second(config, std::move(tokens));
}

std::vector<std::string> ClusterKinds() {
  std::vector<std::string> kinds;
  for (const auto& [kind, factory] : Factories()) kinds.push_back(kind);
  return kinds;
}

}  // namespace cigri::cluster
