#include "cluster/cluster.h"

#include <set>

#include "cluster/drivers.h"
#include "core/error.h"
#include "core/text.h"

namespace cigri::cluster {

http::Response Cluster::Relayed(const RelayedCall&) {
  http::Response r;
  r.error = "this kind of cluster is not called for other hosts";
  return r;
}

OutputPart Cluster::ReadOutput(const RemoteRef&, Stream, std::int64_t, std::size_t) {
  throw std::runtime_error("this kind of cluster gives no way to read a job's output");
}

std::vector<std::string> Cluster::TagsSince(const std::string& prefix, double) {
  std::set<std::string> tags;
  for (const auto& job : ListTagged(prefix, {})) tags.insert(job.ref.tag);
  return {tags.begin(), tags.end()};
}

std::string Cluster::ExceedsLimit(const Batch&) { return ""; }

std::string Cluster::WhyNot(const Batch& batch) { return ExceedsLimit(batch); }

ResourceClass Cluster::ResourceClassOf(const Batch&) const { return {}; }

std::string Cluster::CredentialError(const std::string&) { return ""; }

std::unique_ptr<Cluster> MakeCluster(const ClusterConfig& config, TokenSource tokens) {
  const auto* driver = FindDriver(config.kind);
  if (driver == nullptr)
    throw Fatal(kExitConfig,
                "cluster " + config.name + " has the unknown kind \"" + config.kind + "\"",
                "known kinds: " + Join(ClusterKinds(), ", "));
  return driver->make(config, std::move(tokens));
}

}  // namespace cigri::cluster
