// OAR 3: the API as it was measured (docs/clusters.md). Lists are paged and can hold whole jobs;
// the identity is a JWT.
#include "cluster/oar.h"
#include "core/text.h"

namespace cigri::cluster {
namespace {

class Oar3 final : public OarDialect {
 public:
  explicit Oar3(int page) : limit_("&limit=" + std::to_string(page)) {}
  std::string Job(const std::string& id) const override { return "/jobs/" + id; }
  std::string JobsByIds(const std::vector<std::string>& ids) const override {
    std::string path = "/jobs?details=1";
    for (const auto& id : ids) path += "&job_ids=" + id;
    return path + limit_;
  }
  std::string JobsOfArray(const std::string& array_id) const override {
    return "/jobs?details=1&array=" + array_id + limit_;
  }
  std::string LiveJobs(const std::string& user) const override {
    return "/jobs?details=1" + OfUser(user) + limit_;
  }
  // OAR 3 takes 0 for no time at all, and lists live jobs only.
  std::string JobsSince(const std::string& user, std::int64_t from) const override {
    return "/jobs?details=1" + OfUser(user) +
           "&start_time=" + std::to_string(std::max<std::int64_t>(from, 1)) + limit_;
  }
  std::string Page(const std::string& list, std::int64_t offset) const override {
    return list + "&offset=" + std::to_string(offset);
  }
  std::string Resources() const override { return "/resources?detailed=true" + limit_; }
  std::string ResourceUse(const std::string&) const override { return ""; }
  std::string Media(const std::string& path, int tail) const override {
    return "/media?path_filename=" + http::PercentEncode(path, true) +
           "&tail=" + std::to_string(tail);
  }
  std::string ArrayDeletion(const std::string& array_id) const override {
    return "/jobs/" + array_id + "/deletions/new?array=true";
  }
  std::string Submission() const override { return "/jobs"; }
  std::string Version() const override { return "/version"; }
  std::string StressFactor() const override { return "/stress_factor"; }
  std::string Identity() const override { return "/whoami"; }
  bool details_in_lists() const override { return true; }
  bool lists_in_body() const override { return true; }
  bool shell_reads_words() const override { return false; }
  bool newline_ends_last_line() const override { return false; }
  bool knows_home() const override { return false; }
  // It is the time of an earlier request.
  bool exact_submission_time() const override { return false; }
  // Its meta-scheduler dies each time that it should evict a job submitted with `checkpoint`: the
  // job is never evicted, and the cluster's own users wait.
  bool signals_before_kills() const override { return false; }
  std::string tried_version() const override { return "3.0"; }

 private:
  std::string limit_;
};

std::unique_ptr<Cluster> MakeOar3(const ClusterConfig& config, TokenSource tokens) {
  return std::make_unique<OarCluster>(config, std::move(tokens),
                                      std::make_unique<Oar3>(config.options.value("page", 500)));
}

}  // namespace

Driver Oar3Driver() { return {"oar3", "OAR 3, through its REST API", MakeOar3, OarCapabilities()}; }

}  // namespace cigri::cluster
