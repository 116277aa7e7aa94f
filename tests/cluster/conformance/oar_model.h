// OAR's API with a memory: as much of it as the driver uses, in the shapes of recorded answers.
#pragma once
#include <map>
#include <mutex>
#include <string>

#include "tests/cluster/conformance/model_job.h"
#include "tests/cluster/recorded_server.h"

namespace cigri::conformance {

/// OAR 2.5, or OAR 3 with pages of two jobs. Jobs start when they are submitted.
class OarModel {
 public:
  explicit OarModel(int version);
  int port() const { return server_.port(); }
  int JobsWithTag(const std::string& tag);

 private:
  using Request = test::RecordedServer::Request;
  test::Answer Handle(const Request& q);
  std::string UserOf(const Request& q) const;
  test::Answer Submit(const Request& q, const std::string& user);
  test::Answer WhoAmI(const std::string& user) const;
  test::Answer Delete(int id, const std::string& user);
  test::Answer DeleteArray(int array, const std::string& user);
  test::Answer List(const std::string& target);
  nlohmann::json Details(const ModelJob& job) const;
  nlohmann::json Item(const ModelJob& job) const;
  bool Listed(const ModelJob& job, const std::string& target) const;
  test::Answer Site(const std::string& path, const std::string& user) const;

  const int version_;
  std::mutex mutex_;
  std::map<int, ModelJob> jobs_;
  test::RecordedServer server_;  // last: it calls the others
};

}  // namespace cigri::conformance
