#include "tests/realgrid/five_clusters.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "core/text.h"
#include "tests/realgrid/agreement.h"

namespace cigri::test {
namespace {

const Arguments kAll{"oar1", "oar2", "slurm1", "slurm2", "local"};
std::string slurm1_token, slurm2_token;

// "" = 22.05.
std::string SlurmApi() {
  const char* version = std::getenv("CIGRI_REAL_SLURM_API");
  return version == nullptr ? "" : version;
}

std::string TokenIn(const std::string& lines) {
  const std::string key = "SLURM_REST_TOKEN=";
  for (const auto& line : Split(lines, '\n'))
    if (StartsWith(line, key)) return line.substr(key.size());
  return "";
}

}  // namespace

bool Allowed() {
  const char* wanted = std::getenv("CIGRI_REAL");
  return wanted != nullptr && std::string(wanted) == "1" && geteuid() == 0;
}

int Sized(int whole, int brief) {
  return std::getenv("CIGRI_REAL_SHORT") != nullptr ? brief : whole;
}

std::string SlurmName(int which) {
  const bool newer = !SlurmApi().empty();
  return which == 1 ? (newer ? "gamma" : "alpha") : (newer ? "delta" : "beta");
}

std::string AtSlurm(int which, const std::string& script) {
  const std::string run = "env SLURM_CONF=/var/lib/slurm-clusters/" + SlurmName(which) +
                          "/etc/slurm.conf sh -c " + ShellQuote(script);
  if (SlurmApi().empty()) return run;
  return "IN_DEBIAN_BIND=/var/lib/slurm-clusters " CIGRI_SOURCE_DIR
         "/scripts/clusters/in-debian trixie " +
         run;
}

std::string Shell(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "re");
  std::string out;
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  EXPECT_EQ(pclose(pipe), 0) << command << "\n" << out;
  return out;
}

std::string RunScript(const std::string& script, const std::string& arguments,
                      const std::string& environment) {
  return Shell(environment + " timeout 600 " CIGRI_SOURCE_DIR "/scripts/clusters/" + script + " " +
               arguments + " 2>/dev/null");
}

std::unique_ptr<Grid> FiveClusters::grid_;
std::unique_ptr<CuttingProxy> FiveClusters::proxy_;

void FiveClusters::StartOar() {
  RunScript("oar-up");
  RunScript("oar-up", "", "OAR_INSTANCE=2 OAR_HOSTS=2");
}

void FiveClusters::StartSlurm() {
  const std::string release = SlurmApi().empty() ? "" : "--release trixie ";
  const auto base = [](int i) {
    return std::to_string((SlurmApi().empty() ? 6717 : 6917) + i * 100);
  };
  slurm1_token = TokenIn(RunScript("slurm-up", release + SlurmName(1) + " " + base(1)));
  slurm2_token = TokenIn(RunScript("slurm-up", release + SlurmName(2) + " " + base(2),
                                   "SLURM_UP_DBD=0 SLURM_UP_MINJOBAGE=5"));
}

void FiveClusters::SetUpTestSuite() {
  if (!Allowed()) return;
  StartOar();
  StartSlurm();
  proxy_ = std::make_unique<CuttingProxy>("0", "6768");
  grid_ = std::make_unique<Grid>("local=2");
  grid_->Up();
  AddClusters();
}

// As an operator does it, by hand.
void FiveClusters::AddClusters() {
  const auto add = [](const std::string& name, const Arguments& words, const std::string& login,
                      const std::string& token) {
    Arguments argv{"gridadmin", "cluster", "add", name, "--no-check"};
    argv.insert(argv.end(), words.begin(), words.end());
    grid_->Ok(argv);
    grid_->Ok({"gridadmin", "mapping", "set", "root", name, login});
    if (!token.empty()) grid_->Ok({"gridtoken", "-i", name, "-t", "-"}, token + "\n");
    grid_->Ok({"gridadmin", "cluster", "check", name});
    grid_->Ok({"gridadmin", "cluster", "unlimited", name});
  };
  const auto oar = [&](const std::string& name, int port, const std::string& login) {
    const std::string url = "http://127.0.0.1:" + std::to_string(port) + "/oarapi-cigri";
    add(name,
        {"--kind", "oar2", "--auth", "header", "--url", url, "--set", "option.start_limit_s=60"},
        login, "");
  };
  const auto version = SlurmApi().empty() ? "v0.0.38" : SlurmApi();
  const int shift = SlurmApi().empty() ? 0 : 200;
  const auto slurm = [&](const std::string& name, int port, const std::string& token) {
    add(name,
        {"--kind", "slurm", "--auth", "jwt", "--user", "grid", "--url",
         "http://127.0.0.1:" + std::to_string(port), "--set", "option.partition=normal", "--set",
         "option.best_effort_partition=besteffort", "--set", "option.shared_folder=/home/%u/.cigri",
         "--set", "option.start_limit_s=60", "--set", "option.api_version=" + version},
        "grid", token);
  };
  oar("oar1", 6668, "alice");
  oar("oar2", proxy_->port(), "bob");
  slurm("slurm1", 6820 + shift, slurm1_token);
  slurm("slurm2", 6920 + shift, slurm2_token);
}

void FiveClusters::TearDownTestSuite() {
  if (!Allowed()) return;
  if (grid_) grid_->Down();
  grid_.reset();
  proxy_.reset();
  if (std::getenv("CIGRI_REAL_KEEP") != nullptr) return;
  RunScript("oar-down", "--all");
  RunScript("slurm-down", SlurmName(1));
  RunScript("slurm-down", SlurmName(2));
}

void FiveClusters::SetUp() {
  if (!Allowed())
    GTEST_SKIP() << "needs CIGRI_REAL=1 and root: it installs and starts OAR and Slurm";
  StartOar();  // gives back nodes that OAR has come to suspect
  grid().set_work(::testing::UnitTest::GetInstance()->current_test_info()->name());
  std::filesystem::permissions(grid().work(), std::filesystem::perms(0777));
}

void FiveClusters::TearDown() {
  if (!Allowed()) return;
  if (HasFailure()) std::fprintf(stderr, "%s\n", grid().Log().c_str());
  for (const auto& campaign : grid().Get("/campaigns").value("items", json::array()))
    grid().Run({"griddel", std::to_string(campaign.value("id", 0))});
  EXPECT_TRUE(Await([] { return Number("SELECT count(*) FROM live") == 0; }, Seconds(180)))
      << "jobs that do not end after griddel";
}

int FiveClusters::Submit(const std::string& name, int n, const std::string& command,
                         const json& more, const std::vector<std::string>& clusters) {
  const std::string out = grid().work() + "/" + name + ".out";
  { std::ofstream make(out); }
  std::filesystem::permissions(out, std::filesystem::perms(0666));
  grid().Script(name, "#!/bin/sh\nset -e\n" + command + "\necho $1 >> " + name + ".out\n");
  json jdl{{"name", name}, {"exec_file", "./" + name}, {"exec_directory", grid().work()},
           {"nb_jobs", n}, {"walltime", "300s"},       {"clusters", json::object()}};
  for (const auto& cluster : clusters.empty() ? kAll : clusters)
    jdl["clusters"][cluster] = json::object();
  if (more.is_object()) jdl.update(more);
  return grid().Submit(jdl);
}

void FiveClusters::ExpectEachOnce(int id, const std::string& name, int n, Seconds limit) {
  EXPECT_TRUE(grid().AwaitOver(id, limit)) << name << " " << grid().Progress(id);
  EXPECT_EQ(grid().Progress(id).value("done", 0), n) << name << " " << grid().Progress(id);
  std::map<std::string, int> times;
  for (const auto& index : grid().SortedLines(name + ".out")) ++times[index];
  for (int index = 0; index < n; ++index) {
    const int ran = times[std::to_string(index)];
    EXPECT_EQ(ran, 1) << name << " task " << index << ":" << (ran == 1 ? "" : Attempts(id, index));
  }
  EXPECT_EQ(times.size(), static_cast<std::size_t>(n)) << name << ": who are the others?";
}

std::string FiveClusters::Attempts(int campaign, int index) {
  std::string lines;
  for (const auto& row : Rows(AttemptsAt(std::to_string(campaign), index)))
    lines += "\n  " + Join(row, " ");
  return lines;
}

void FiveClusters::ExpectConservation() {
  Result check;
  EXPECT_TRUE(Await(
      [&] {
        check = grid().Run({"gridadmin", "check"});
        return check.code == 0;
      },
      Seconds(30)))
      << check.out << check.err;
}

std::vector<Arguments> FiveClusters::Rows(const std::string& query) {
  const std::string conninfo = std::string(Trim(Slurp(grid().home() + "/conninfo")));
  const auto text = Shell("psql -XqAt -v ON_ERROR_STOP=1 '" + ReplaceAll(conninfo, "'", "'\\''") +
                          "' -c 'SET search_path = cigri, public' -c \"" + query + "\"");
  std::vector<Arguments> rows;
  for (const auto& line : Split(text, '\n'))
    if (!line.empty()) rows.push_back(Split(line, '|'));
  return rows;
}

int FiveClusters::Number(const std::string& query) {
  const auto rows = Rows(query);
  return rows.empty() ? 0 : std::atoi(rows[0][0].c_str());
}

}  // namespace cigri::test
