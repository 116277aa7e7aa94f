// OAR 2.5: the API as it was measured (docs/clusters.md).
#include "cluster/oar.h"
#include "core/text.h"

namespace cigri::cluster {
namespace {

class Oar2 final : public OarDialect {
 public:
  std::string Job(const std::string& id) const override { return "/jobs/" + id + ".json"; }
  std::string JobsByIds(const std::vector<std::string>& ids) const override {
    return "/jobs.json?limit=0&ids=" + Join(ids, ":");
  }
  std::string JobsOfArray(const std::string& array_id) const override {
    return "/jobs.json?limit=0&array=" + array_id;
  }
  std::string LiveJobs(const std::string& user) const override {
    return "/jobs.json?limit=0" + OfUser(user);
  }
  std::string JobsSince(const std::string& user, std::int64_t from) const override {
    return "/jobs.json?limit=0" + OfUser(user) + "&from=" + std::to_string(from);
  }
  std::string Page(const std::string& list, std::int64_t offset) const override {
    return list + "&offset=" + std::to_string(offset);
  }
  std::string Resources() const override { return "/resources/full.json?limit=2000"; }
  std::string ResourceUse(const std::string& property) const override {
    return "/resources/" + http::PercentEncode(property) + "/jobs.json";
  }
  std::string Media(const std::string& path, int tail) const override {
    const auto rooted = path[0] == '/' ? path : "/" + path;
    return "/media" + http::PercentEncode(rooted, true) +
           (tail == 0 ? "" : "?tail=" + std::to_string(tail));
  }
  std::string ArrayDeletion(const std::string& array_id) const override {
    return "/jobs/array/" + array_id + "/deletions/new.json";
  }
  std::string Submission() const override { return "/jobs.json"; }
  std::string Version() const override { return "/version.json"; }
  std::string StressFactor() const override { return "/stress_factor.json"; }
  std::string Identity() const override { return "/whoami.json"; }
  bool details_in_lists() const override { return false; }
  bool lists_in_body() const override { return false; }
  bool shell_reads_words() const override { return true; }
  bool newline_ends_last_line() const override { return true; }
  bool knows_home() const override { return true; }
  bool exact_submission_time() const override { return true; }
  bool signals_before_kills() const override { return true; }
  std::string tried_version() const override { return "2.5"; }
};

std::unique_ptr<Cluster> MakeOar2(const ClusterConfig& config, TokenSource tokens) {
  return std::make_unique<OarCluster>(config, std::move(tokens), std::make_unique<Oar2>());
}

}  // namespace

Driver Oar2Driver() {
  return {"oar2", "OAR 2.5, through its REST API", MakeOar2, OarCapabilities()};
}

}  // namespace cigri::cluster
