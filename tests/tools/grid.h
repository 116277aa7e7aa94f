// A grid of rows: campaigns, jobs and events written straight into the tables, the real API on a
// unix socket before them, and the real tools run against it.
#pragma once
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/http/context.h"
#include "api/http/server.h"
#include "http/client.h"
#include "tests/support/pg.h"

namespace cigri::test {

/// What a program printed and how it ended.
struct Ran {
  int code = -1;
  std::string out, err;
};

/// A cluster whose jobs print what the test says.
class PrintingCluster;

struct CampaignRow {
  std::string user = "";  ///< "": who runs the test
  std::string name = "sweep", state = "in_treatment", type = "default";
  std::int64_t ntasks = 10, next_idx = 0, nb_params = -1;
  std::string format = "line";
  std::vector<std::string> params = {};  ///< none: the parameter is the index
  std::string exec_file = "./fit.sh";
  std::vector<std::string> columns = {};
};

struct DoneRow {
  bool counted = true;
  std::string state = "terminated", exit_class = "none", code = "", message = "";
  int wait_status = 0;
  double took_s = 2;
};

class GridTest : public PgTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// Clusters alpha (1) and beta (2), open and seen just now.
  void GivenClusters();
  /// Its id; first_task_id is 1000 * id.
  std::int64_t GivenCampaign(CampaignRow row = {});
  /// One recorded batch of `n` jobs from task `first_idx`; the first job's id.
  std::int64_t GivenBatch(std::int64_t campaign, int cluster, std::int64_t first_idx, int n,
                          const std::string& state = "recorded");
  void GivenLive(std::int64_t campaign, std::int64_t job, std::int64_t idx, int cluster,
                 const std::string& state);
  void GivenDone(std::int64_t campaign, std::int64_t job, std::int64_t idx, int cluster,
                 DoneRow row = {});
  void GivenCounter(std::int64_t campaign, int cluster, const std::string& state, std::int64_t n,
                    const std::string& kind = "task");

  /// The answer as JSON; fails the test unless its status is `status`.
  nlohmann::json Get(const std::string& path, int status = 200);
  std::string GetText(const std::string& path);
  /// Runs bin/`tool` with these arguments, without a terminal.
  Ran Run(const std::string& tool, const std::vector<std::string>& args);
  /// Who runs the test, as the API sees them.
  const std::string& me() const { return me_; }
  /// Makes the API see nobody as an operator: a uid 0 is one, so callers come by the proxy's
  /// header.
  http::Client::Headers As(const std::string& user) const;
  http::Client& client() { return *client_; }
  const std::string& socket() const { return socket_; }
  /// A folder that goes with the test.
  const std::string& dir() const { return dir_; }

  std::map<std::string, std::string> output_;  ///< remote id -> what PrintingCluster prints

 private:
  std::string dir_, socket_, me_;
  std::unique_ptr<api::Context> context_;
  std::unique_ptr<api::ApiServer> server_;
  std::unique_ptr<http::Client> client_;
};

}  // namespace cigri::test
