// The words of the local cluster's API, as its driver writes and reads them.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster.h"

namespace cigri::cluster::local {

/// The body of POST /batches. Throws SubmitRefused when something but a command is no UTF-8.
std::string BatchBody(const Batch& batch);
/// [{"id","tag","only_waiting"}, ...] of refs[from, from + n).
std::string NamesBody(const std::vector<RemoteRef>& refs, std::size_t from, std::size_t n);

struct Answer {
  std::vector<RemoteJob> jobs;
  std::vector<std::string> missing;
  bool full = false, more = false, revoked = false;
  std::string token;
  double time = 0;
  std::optional<Resources> resources;
};
/// An answer with "jobs"; throws CallFailed(kGarbage) when it is not one.
Answer ReadAnswer(const std::string& body);
/// The answer of GET /resources; throws CallFailed(kGarbage) when it is not one.
Resources ReadResources(const std::string& body);

}  // namespace cigri::cluster::local
