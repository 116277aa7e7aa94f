#include <fcntl.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/text.h"
#include "jdl/blocks.h"
#include "tests/tools/grid.h"

namespace cigri::test {
namespace {

std::string Quoted(const std::string& s) { return "'" + ReplaceAll(s, "'", "''") + "'"; }
std::string Num(std::int64_t n) { return std::to_string(n); }

std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

// Knows only how to read output; remote id "lost" cannot be reached.
class PrintingCluster : public cluster::Cluster {
 public:
  explicit PrintingCluster(const std::map<std::string, std::string>& output) : output_(output) {}
  cluster::Capabilities capabilities() const override { return {}; }
  std::vector<std::string> Submit(const cluster::Batch&) override { return {}; }
  void Release(const cluster::Batch&, const std::vector<std::string>&) override {}
  cluster::FindResult Find(const std::string&, const std::string&, double, bool) override {
    return {};
  }
  std::vector<cluster::RemoteJob> ListTagged(const std::string&, const JobFilter&) override {
    return {};
  }
  std::vector<cluster::CheckItem> Check(const std::string&, bool) override { return {}; }
  cluster::KillResult Kill(const std::vector<cluster::RemoteRef>&) override { return {}; }
  cluster::Resources GetResources(const std::vector<std::string>&) override { return {}; }
  cluster::PollResult Poll(const cluster::PollRequest& request) override {
    cluster::PollResult result;
    cluster::RemoteJob job;
    job.ref = request.jobs[0];
    job.state = cluster::RemoteState::kRunning;
    job.node = "node-7";
    result.jobs.push_back(job);
    return result;
  }
  cluster::OutputPart ReadOutput(const cluster::RemoteRef& job, cluster::Stream stream,
                                 std::int64_t offset, std::size_t bytes) override {
    if (job.remote_id == "lost")
      throw cluster::CallFailed(cluster::CallFailed::Why::kUnreachable, "alpha does not answer");
    const auto at =
        output_.find(job.remote_id + (stream == cluster::Stream::kStderr ? ".err" : ""));
    cluster::OutputPart part;
    if (at == output_.end()) return part;
    part.exists = true;
    part.size = static_cast<std::int64_t>(at->second.size());
    const auto from =
        offset < 0 ? std::max<std::int64_t>(0, part.size + offset) : std::min(offset, part.size);
    part.bytes = at->second.substr(static_cast<std::size_t>(from), bytes);
    return part;
  }

 private:
  const std::map<std::string, std::string>& output_;
};

void GridTest::SetUp() {
  PgTest::SetUp();
  char name[] = "/tmp/cigri-tools-XXXXXX";
  ASSERT_NE(mkdtemp(name), nullptr);
  dir_ = name;
  socket_ = dir_ + "/api.sock";
  me_ = getpwuid(geteuid())->pw_name;
  Config config;
  config.Set("API_TRUSTED_PROXY", "127.0.0.1");
  config.Set("SECRET_KEY_FILE", dir_ + "/secret.key");
  context_ = std::make_unique<api::Context>(config, conninfo());
  context_->make_cluster = [this](const clusterdb::ClusterRow&) {
    return std::make_unique<PrintingCluster>(output_);
  };
  server_ = std::make_unique<api::ApiServer>(*context_, api::AllRoutes());
  server_->ListenUnix(socket_);
  const int port = server_->ListenTcp("127.0.0.1:0");
  client_ = std::make_unique<http::Client>(
      http::Endpoint::Parse("http://127.0.0.1:" + std::to_string(port)), http::Options());
  GivenClusters();
}

void GridTest::TearDown() {
  client_.reset();
  server_.reset();
  context_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(dir_, ignored);
  PgTest::TearDown();
}

void GridTest::GivenClusters() {
  Sql("INSERT INTO clusters (id, name, kind, api_url, mode, ssh_host) VALUES (1, 'alpha', 'local', "
      "'unix:/nowhere', 'unlimited', 'front'), (2, 'beta', 'local', 'unix:/nowhere', 'unlimited', "
      "NULL);INSERT INTO cluster_status (cluster_id, polled_at, answered_at) VALUES (1, now(), "
      "now()), (2, now(), now())");
}

std::int64_t GridTest::GivenCampaign(CampaignRow row) {
  if (row.user.empty()) row.user = me_;
  if (!row.params.empty()) row.ntasks = static_cast<std::int64_t>(row.params.size());
  if (row.nb_params < 0) row.nb_params = row.ntasks;
  const auto id = Sql("SELECT coalesce(max(id), 0) + 1 FROM campaigns")[0][0].as<std::int64_t>();
  const std::string n = Num(id), wanted = row.state == "terminated" ? "in_treatment" : row.state;
  Sql("INSERT INTO campaigns (id, grid_user, name, type, state, wanted, nb_params, first_task_id, "
      "format, columns, "
      "jdl, submission_time) VALUES (" +
      n + "," + Quoted(row.user) + "," + Quoted(row.name) + "," + Quoted(row.type) + "," +
      Quoted(row.state) + "," + Quoted(wanted) + "," + Num(row.nb_params) + "," + Num(1000 * id) +
      "," + Quoted(row.format) + "," + Quoted(db::Array(row.columns)) +
      ",'{\"name\": \"x\"}', '2026-11-20 08:40:15')");
  Sql("INSERT INTO campaign_cursor VALUES (" + n + "," + Num(row.ntasks) + "," + Num(row.next_idx) +
      ")");
  for (const char* cluster : {"1", "2"})
    Sql("INSERT INTO campaign_clusters (campaign_id, cluster_id, exec_file, resources, walltime_s, "
        "cluster_login) "
        "VALUES (" +
        n + "," + cluster + "," + Quoted(row.exec_file) + ", '/resource_id=1', 3600, 'me')");
  std::string upload = "NULL";
  if (!row.params.empty()) {
    upload = n;
    Sql("INSERT INTO uploads (id, grid_user, published) VALUES (" + n + ",'x',true)");
    for (std::size_t off = 0; off < row.params.size(); off += 1000) {
      const std::vector<std::string> lines(
          row.params.begin() + static_cast<long>(off),
          row.params.begin() + static_cast<long>(std::min(off + 1000, row.params.size())));
      Sql("INSERT INTO params_chunk (upload_id, block, off, n, longest, params) VALUES (" + n +
          "," + std::to_string(off / 1000) + "," + std::to_string(off) + "," +
          std::to_string(lines.size()) + ",1," + Quoted(jdl::EncodeBlock(lines)) + ")");
    }
  }
  if (row.ntasks > 0)
    Sql("INSERT INTO segments VALUES (" + n + ",0," + Num(row.ntasks) + "," + upload + ")");
  return id;
}

std::int64_t GridTest::GivenBatch(std::int64_t campaign, int cluster, std::int64_t first_idx, int n,
                                  const std::string& state) {
  const auto job =
      Sql("SELECT coalesce(max(first_job_id + n), 41) FROM batches")[0][0].as<std::int64_t>();
  Sql("INSERT INTO batches (first_job_id, kind, campaign_id, cluster_id, n, first_idx, slots, tag, "
      "state, epoch, "
      "send_by) VALUES (" +
      Num(job) + ",'task'," + Num(campaign) + "," + Num(cluster) + "," + Num(n) + "," +
      Num(first_idx) + ",1,'cigri.x." + Num(job) + "','" + state + "',1,now())");
  return job;
}

void GridTest::GivenLive(std::int64_t campaign, std::int64_t job, std::int64_t idx, int cluster,
                         const std::string& state) {
  Sql("INSERT INTO live (job_id, campaign_id, idx, kind, batch_id, element, cluster_id, remote_id, "
      "attempt, slots, "
      "state, started_at) SELECT " +
      Num(job) + "," + Num(campaign) + "," + Num(idx) + ",'task',id," + Num(job) +
      " - first_job_id," + Num(cluster) + ",'r" + Num(job) + "',1,1,'" + state +
      "',now() FROM batches WHERE " + Num(job) + " >= first_job_id AND " + Num(job) +
      " < first_job_id + n");
}

void GridTest::GivenDone(std::int64_t campaign, std::int64_t job, std::int64_t idx, int cluster,
                         DoneRow row) {
  Sql("INSERT INTO done (job_id, campaign_id, idx, batch_id, cluster_id, attempt, kind, counted, "
      "state, exit_class, code, wait_status, slots, submitted_at, started_at, ended_at, node, "
      "remote_id, message) SELECT " +
      Num(job) + "," + Num(campaign) + "," + Num(idx) + ",id," + Num(cluster) + ",1,'task'," +
      (row.counted ? "true" : "false") + ",'" + row.state + "','" + row.exit_class + "','" +
      row.code + "'," + Num(row.wait_status) +
      ",1,'2026-11-20 09:00:00','2026-11-20 09:00:01',timestamptz '2026-11-20 09:00:01' + "
      "interval '" +
      std::to_string(row.took_s) + " s','node-1','r" + Num(job) + "'," + Quoted(row.message) +
      " FROM batches WHERE " + Num(job) + " >= first_job_id AND " + Num(job) +
      " < first_job_id + n");
}

void GridTest::GivenCounter(std::int64_t campaign, int cluster, const std::string& state,
                            std::int64_t n, const std::string& kind) {
  Sql("INSERT INTO counters (campaign_id, cluster_id, kind, state, writer, n) VALUES (" +
      Num(campaign) + "," + Num(cluster) + ",'" + kind + "','" + state + "','updator'," + Num(n) +
      ")");
}

http::Client::Headers GridTest::As(const std::string& user) const {
  return {{"X-Cigri-User", user}};
}

nlohmann::json GridTest::Get(const std::string& path, int status) {
  const auto response = client_->Get(path, As(me_));
  EXPECT_EQ(response.status, status) << path << ": " << response.error << response.body;
  return nlohmann::json::parse(response.body, nullptr, false);
}

std::string GridTest::GetText(const std::string& path) {
  const auto response = client_->Get(path, As(me_));
  EXPECT_EQ(response.status, 200) << path << ": " << response.body;
  return response.body;
}

Ran GridTest::Run(const std::string& tool, const std::vector<std::string>& args) {
  const std::string out = dir_ + "/out", err = dir_ + "/err";
  std::string command = "env -i PATH=/usr/bin:/bin TZ=UTC LANG=C.UTF-8 CIGRI_HOME=" + dir_ +
                        " CIGRI_API=unix:" + socket_ + " " CIGRI_BIN_DIR "/" + tool;
  for (const auto& arg : args) command += " " + ShellQuote(arg);
  const int rc = std::system((command + " >" + out + " 2>" + err + " </dev/null").c_str());
  return {WIFEXITED(rc) ? WEXITSTATUS(rc) : -1, ReadFile(out), ReadFile(err)};
}

}  // namespace cigri::test
