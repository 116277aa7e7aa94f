// CiGri 3's own clients and the scripts of its users: what they ask below API_BASE is answered as
// CiGri 3 did. The requests are those of the clients of 3.2.1.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "process/run.h"
#include "tests/api/api_fixture.h"

namespace cigri::test {
namespace {

using nlohmann::json;

class Cigri3PgTest : public ApiTest {
 protected:
  void Configure(Config& config) override { config.Set("API_READ_PARAM_FILES", "true"); }

  Answer Client(const std::string& method, const std::string& path, const json& body = nullptr,
                const std::string& user = "alice") {
    return Ask(user, method, "/cigri-api" + path, body, {{"User-Agent", "Ruby"}});
  }
  // Nobody's files are read as root.
  static std::string User() { return geteuid() == 0 ? "nobody" : Me(); }
  // As gridsub of 3.2.1 sends a JDL.
  Answer Gridsub(const std::string& jdl, const std::string& user = User()) {
    return Ask(user, "POST", "/cigri-api/campaigns", jdl, {{"User-Agent", "Ruby"}});
  }
  std::string File(const std::string& name, const std::string& text, mode_t mode = 0644) {
    const std::string path = dir_ / name;
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }
  // A terminated campaign of alice's, one of whose tasks has failed.
  std::int64_t Failed() {
    const auto id = Submit({{"nb_jobs", 2}});
    const auto n = std::to_string(id);
    Sql("UPDATE campaigns SET state = 'terminated' WHERE id = " + n);
    Sql("INSERT INTO events (class, code, campaign_id, cluster_id, job_id, count, message) VALUES "
        "('job', 'EXIT_ERROR', " +
        n + ", 1, 7, 2, 'exit code 1')");
    return id;
  }
};

std::vector<std::string> KeysOf(const std::string& body) {
  std::vector<std::string> keys;
  const auto page = nlohmann::ordered_json::parse(body);
  for (const auto& [key, value] : page.items()) keys.push_back(key);
  return keys;
}

// README.md, doc/documentation/example.json and tmp/test1.json of CiGri 3, with its cluster names
// mapped to ours (one is unknown) and the parameter files where they can be read.
TEST_F(Cigri3PgTest, TheCompleteExamplesOfCigri3AreAccepted) {
  Sql("INSERT INTO clusters (name, kind, api_url) VALUES ('gamma', 'local', 'unix:/nowhere')");
  const auto params = File("povray_params.txt", "p1 1\n  p2 2\np3 3\n");
  const auto readme = Gridsub(R"({
  "name": "povray_demo",
  "resources": "core=1",
  "exec_file": "\$HOME/povray/start.bash",
  "exec_directory": "\$HOME/povray",
  "param_file": ")" + params + R"(",
  "test_mode": "true",
  "type": "best-effort",
  "prologue": ["set -e", "source /applis/ciment/v2/env.bash", "module load irods", "cd \\$HOME",
    "imkdir -p povray_results/\\$CIGRI_CAMPAIGN_ID", "iget -r -f povray"],
  "clusters": {
    "alpha": {"walltime": "00:10:00", "max_jobs": 50},
    "fontaine": {"walltime": "00:10:00"},
    "beta": {"project": "test", "walltime": "00:5:00"},
    "gamma": {"walltime": "00:10:00"}
  }
})");
  ASSERT_EQ(readme.status, 201) << readme.body;
  EXPECT_EQ(readme.body["total_jobs"], 3);
  EXPECT_EQ(One("SELECT prologue FROM campaign_clusters LIMIT 1"),
            "set -e\nsource /applis/ciment/v2/env.bash\nmodule load irods\ncd $HOME\n"
            "imkdir -p povray_results/$CIGRI_CAMPAIGN_ID\niget -r -f povray");
  EXPECT_EQ(One("SELECT params FROM params_chunk"), "p1 1\np2 2\np3 3\n");
  EXPECT_NE(readme.body["notes"].dump().find("fontaine"), std::string::npos);

  const auto example = Gridsub(R"({
  "name": "povray_demo",
  "resources": "core=1",
  "exec_file": "{HOME}/povray/start.bash",
  "exec_directory": "{HOME}/povray/{CAMPAIGN_ID}",
  "param_file": ")" + params + R"(",
  "test_mode": "false",
  "type": "best-effort",
  "prologue": ["set -e", "mkdir -p {HOME}/povray/{CAMPAIGN_ID}", "cd {HOME}"],
  "epilogue": ["rm -rf ~/povray"],
  "clusters": {"alpha": {"project": "test", "walltime": "00:5:00"},
               "ceciccluster": {"walltime": "00:10:00"}}
})");
  EXPECT_EQ(example.status, 201) << example.body;

  const auto test1 = Gridsub(R"({
  "name": "test1",
  "resources": "core=1",
  "exec_file": "$HOME/cigri-3/tmp/test1.sh",
  "test_mode": "false",
  "clusters": {
    "alpha": {"type": "normal", "walltime": "300",
      "prologue": ["mkdir -p $HOME/workdir", "touch alpha_prologue_\$1_campaign_works", "exit 1"]},
    "beta": {"walltime": "3600"}
  },
  "prologue": ["mkdir $HOME/workdir"],
  "epilogue": ["cd $HOME/workdir", "touch epilogue_works"],
  "params": ["param1 1", "param2 2"]
})");
  ASSERT_EQ(test1.status, 201) << test1.body;
  EXPECT_NE(test1.body["notes"].dump().find("300:00:00"), std::string::npos) << test1.body;
}

TEST_F(Cigri3PgTest, AParameterFileIsReadAsItsUserAndNoOther) {
  const auto jdl = [](const std::string& path) {
    return json{{"name", "x"},
                {"exec_file", "./x"},
                {"param_file", path},
                {"clusters", {{"alpha", json::object()}}}}
        .dump();
  };
  const std::string user = User();
  if (geteuid() == 0) {
    std::filesystem::permissions(dir_, std::filesystem::perms(0755));
    const auto secret = File("secret", "key\n", 0600);  // the API's: root may read it
    const auto a = Gridsub(jdl(secret), user);
    EXPECT_EQ(a.status, 400);
    EXPECT_EQ(a.body["faults"][0]["key"], "param_file");
    EXPECT_NE(a.body.dump().find("Permission denied"), std::string::npos) << a.body;
    EXPECT_EQ(Gridsub(jdl(File("open", "a\n")), "root").status, 400) << "no files of root";
  }
  EXPECT_EQ(Gridsub(jdl(File("open", "a\n\nb b\n")), user).body.value("total_jobs", 0), 3);
  EXPECT_EQ(Gridsub(jdl(File("empty", "")), user).status, 400);
  EXPECT_EQ(Gridsub(jdl(File("nul", std::string("a\0b\n", 4))), user).status, 400);
  EXPECT_EQ(Gridsub(jdl("relative"), user).status, 400);
  EXPECT_EQ(Gridsub(jdl("$PATH/x"), user).status, 400);
  EXPECT_EQ(Gridsub(jdl("/nowhere/x"), user).status, 400);
  EXPECT_EQ(Gridsub(jdl(File("open", "a\n")), "nobody-here").status, 400);
  EXPECT_EQ(One("SELECT count(*) FROM campaigns"), "1");
}

TEST_F(Cigri3PgTest, LinksHaveNoPrefixThatTheClientPutsBeforeThem) {
  const auto id = Submit({{"nb_jobs", 250}});
  std::string path = "/campaigns/" + std::to_string(id) + "/jobs?limit=100&offset=0";
  int jobs = 0;
  for (int pages = 0; !path.empty() && pages < 5; ++pages) {  // as gridstat -f walks
    const auto page = Client("GET", path);
    ASSERT_EQ(page.status, 200) << path;
    jobs += static_cast<int>(page.body["items"].size());
    path.clear();
    for (const auto& link : page.body["links"])
      if (link["rel"] == "next") path = link["href"];
  }
  EXPECT_EQ(jobs, 250);
}

TEST_F(Cigri3PgTest, ACampaignWithFailedTasksIsAliveUntilItsEventsAreClosed) {
  const auto id = Failed();
  const std::string path = "/campaigns/" + std::to_string(id);
  EXPECT_EQ(Client("GET", path).body["state"], "in_treatment");
  const auto list = Client("GET", "/campaigns");
  ASSERT_EQ(list.body["total"], 1) << list.body;
  EXPECT_EQ(list.body["items"][0]["state"], "in_treatment");
  EXPECT_EQ(list.body["items"][0]["has_events"], true);
  const auto own = Ask("alice", "GET", path);
  EXPECT_EQ(own.body["state"], "terminated") << "our own tools see what is";
  EXPECT_EQ(Ask("alice", "GET", "/cigri-api" + path, nullptr, {{"X-Cigri-Api", "2"}}).body["state"],
            "terminated");
  EXPECT_EQ(Client("DELETE", path + "/events").status, 202);
  EXPECT_EQ(Client("GET", path).body["state"], "terminated");
  EXPECT_EQ(Client("GET", "/campaigns").body["items"].size(), 0u);
}

TEST_F(Cigri3PgTest, AnEventSaysHowOftenAndNoEventsAreNotFound) {
  const auto id = Failed();
  const std::string path = "/campaigns/" + std::to_string(id) + "/events";
  const auto events = Client("GET", path);
  ASSERT_EQ(events.status, 200);
  EXPECT_EQ(events.body["items"][0]["message"], "exit code 1 (2 times; the job is the last)");
  const auto event = Client("GET", "/events/" + events.body["items"][0]["id"].dump());
  EXPECT_EQ(event.body["message"], events.body["items"][0]["message"]) << event.body;
  Client("DELETE", path);
  const auto none = Client("GET", path);
  EXPECT_EQ(none.status, 404);
  EXPECT_EQ(none.body["title"], "Not found");
  EXPECT_EQ(Client("GET", "/events").status, 404);
  EXPECT_EQ(Ask("alice", "GET", path).status, 200) << "our own tools get an empty list";
}

TEST_F(Cigri3PgTest, AMarkedJobBelongsToItsCampaignAndEnds) {
  const auto id = Submit({{"nb_jobs", 5}});
  const auto n = std::to_string(id);
  Sql("INSERT INTO batches (id, tag, campaign_id, cluster_id, kind, first_job_id, n, first_idx, "
      "slots, state, epoch, send_by) VALUES (1, 'cigri.t', " +
      n + ", 1, 'task', 100, 3, 0, 1, 'recorded', 1, now())");
  Sql("INSERT INTO live (job_id, campaign_id, idx, batch_id, cluster_id, attempt, kind, slots, "
      "state, element, remote_id) VALUES (100, " +
      n + ", 0, 1, 1, 1, 'task', 1, 'running', 0, '5')");
  const auto mark = [&](int job) {
    return Client(
        "POST", "/events",
        json{{"class", "job"}, {"code", "MANUAL_EVENT"}, {"job_id", job}, {"message", "marked"}},
        "oscar");
  };
  EXPECT_EQ(mark(100).status, 201);
  EXPECT_EQ(mark(101).status, 201);
  EXPECT_EQ(mark(99999999).status, 400);
  EXPECT_EQ(One("SELECT string_agg(campaign_id || ' ' || job_id || ' ' || count, ',' ORDER BY id) "
                "FROM events WHERE code = 'MANUAL_EVENT'"),
            n + " 100 1," + n + " 101 1");
  EXPECT_EQ(Client("GET", "/campaigns/" + n + "/events").body["items"].size(), 2u);
  EXPECT_EQ(One("SELECT string_agg(job_id || ' ' || asked_by, ',') FROM job_requests"),
            "100 oscar");
  EXPECT_EQ(Client("POST", "/events",
                   json{{"class", "cluster"},
                        {"code", "CLUSTER_MANUALLY_DISABLED"},
                        {"cluster_id", 777},
                        {"message", "x"}},
                   "oscar")
                .status,
            400);
}

TEST_F(Cigri3PgTest, TheStoredJdlHasItsParameters) {
  const auto id = Submit({{"params", {"a 1", "b \"2\"\n", "c"}}, {"test_mode", true}});
  const std::string path = "/campaigns/" + std::to_string(id) + "/jdl";
  const auto jdl = Client("GET", path).body;
  EXPECT_EQ(jdl["params"], (json{"a 1", "b \"2\"\n", "c"}));
  EXPECT_EQ(jdl["clusters"]["alpha"]["walltime"], "1:00:00");
  EXPECT_EQ(jdl["clusters"]["alpha"]["test_mode"], "true");
  const auto again = Gridsub(jdl.dump(), "alice");
  EXPECT_EQ(again.body.value("total_jobs", 0), 3) << again.body;
  const auto jdl_again = Client("GET", "/campaigns/" + again.body["id"].dump() + "/jdl").body;
  EXPECT_EQ(jdl_again["clusters"], jdl["clusters"]) << "without the setup that makes OAR.cigri.*";
  EXPECT_FALSE(Ask("alice", "GET", path).body.contains("params"));
  const auto counted = Submit({{"nb_jobs", 2500}});
  EXPECT_EQ(Client("GET", "/campaigns/" + std::to_string(counted) + "/jdl").body["params"].size(),
            2500u);
}

TEST_F(Cigri3PgTest, AJobLeavesItsOutputWhereScriptsOfCigri3GatherIt) {
  const auto a =
      Gridsub(R"({"name":"o","nb_jobs":1,"exec_file":"x","clusters":{"alpha":{}}})", "alice");
  ASSERT_EQ(a.status, 201) << a.body;
  const std::string setup = One("SELECT setup FROM campaign_clusters");
  const auto work = dir_ / "work dir";
  std::filesystem::create_directories(work);
  // Runs it as job `id`, with its output open as `out` and `err`, and compares what it left.
  const auto run = [&](const std::string& id, const std::string& out, const std::string& err) {
    process::Command job;
    job.argv = {"/bin/sh",
                "-c",
                "exec sh -c \"$1\necho said; echo failed >&2\" sh >\"$2\" 2>\"$3\"",
                "sh",
                setup,
                out,
                err};
    job.environment =
        process::Environment{"PATH=/usr/bin:/bin", "CIGRI_CAMPAIGN_ID=12", "CIGRI_JOB_ID=" + id};
    job.directory = work;
    EXPECT_TRUE(process::Run(job).Succeeded());
    for (const auto& [suffix, text] : {std::pair(".stdout", "said\n"), {".stderr", "failed\n"}}) {
      std::ifstream in(work / ("OAR.cigri.12." + id + suffix));
      EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text) << id << suffix;
    }
  };
  run("34", dir_ / "1.out", dir_ / "1.err");
  // That of a local cluster's job has no name before it holds something: links led nowhere.
  std::vector<int> open_files;
  const auto nameless = [&] {
    open_files.push_back(open(dir_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    EXPECT_GE(open_files.back(), 0) << strerror(errno);
    return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(open_files.back());
  };
  run("35", nameless(), nameless());
  for (const int fd : open_files) close(fd);
  EXPECT_EQ(One("SELECT setup FROM campaign_clusters WHERE campaign_id = " +
                std::to_string(Submit({{"nb_jobs", 1}})) + " LIMIT 1"),
            "");
}

TEST_F(Cigri3PgTest, FinishedJobsHaveCigri3sColumns) {
  const auto id = Submit({{"nb_jobs", 5}});
  const auto n = std::to_string(id);
  Sql("INSERT INTO done (job_id, campaign_id, idx, batch_id, cluster_id, attempt, kind, counted, "
      "state, exit_class, code, wait_status, slots, submitted_at, ended_at, remote_id) VALUES "
      "(9, " +
      n +
      ", -1, 1, 1, 1, 'prologue', false, 'terminated', 'none', '', 0, 1, now(), now(), '4'), "
      "(10, " +
      n +
      ", 2, 2, 1, 1, 'task', false, 'event', 'program', 'EXIT_ERROR', 256, 1, now(), now(), '5')");
  const auto jobs = Client("GET", "/campaigns/" + n + "/jobs/finished").body["items"];
  ASSERT_EQ(jobs.size(), 2u) << jobs;
  EXPECT_EQ(jobs[0].size(), 16u) << "CiGri 3's columns, and nothing else";
  EXPECT_EQ(jobs[0]["tag"], "prologue");
  EXPECT_EQ(jobs[0]["param_id"], 0);
  EXPECT_EQ(jobs[1]["id"], 10);
  EXPECT_EQ(jobs[1]["cluster_id"], 1);
  EXPECT_EQ(jobs[1]["campaign_id"], id);
  EXPECT_EQ(jobs[1]["return_code"], 256);
  // gridclean dies of an error; nobody reads the jobs of others.
  const auto foreign = Client("GET", "/campaigns/" + n + "/jobs/finished", nullptr, "bob");
  EXPECT_EQ(foreign.status, 200);
  EXPECT_EQ(foreign.body["items"].size(), 0u);
  EXPECT_EQ(Client("GET", "/campaigns/99/jobs/finished").status, 200);
}

TEST_F(Cigri3PgTest, PagesHaveCigri3sKeysInItsOrder) {
  const auto id = std::to_string(Submit({{"nb_jobs", 5}}));
  const auto keys = [&](const std::string& path) {
    return KeysOf(Http().Get("/cigri-api" + path, {{"X-Cigri-User", "alice"}}).body);
  };
  EXPECT_EQ(
      keys("/campaigns/" + id),
      (std::vector<std::string>{"id", "name", "user", "state", "has_events", "submission_time",
                                "total_jobs", "finished_jobs", "links", "clusters"}));
  EXPECT_EQ(
      keys("/campaigns/" + id + "/stats"),
      (std::vector<std::string>{"average_jobs_duration", "stddev_jobs_duration", "jobs_throughput",
                                "remaining_time", "failures_rate", "resubmit_rate"}));
  const auto cluster = Client("GET", "/clusters/1").body;
  EXPECT_EQ(cluster["api_chunk_size"], 100);
  EXPECT_FALSE(cluster.contains("slots"));
  EXPECT_EQ(keys("/clusters/1")[1], "name");
}

TEST_F(Cigri3PgTest, AddingJobsNamesTheCampaignAndAllowSaysWhatIsPossible) {
  const auto id = Submit();
  const std::string path = "/campaigns/" + std::to_string(id);
  const auto added = Client("POST", path + "/jobs", json{"x 1"});
  ASSERT_EQ(added.status, 201) << added.body;
  EXPECT_EQ(added.headers.find("location")->second, path);
  EXPECT_EQ(Client("GET", path).headers.find("allow")->second,
            "DELETE, GET, HEAD, PATCH, POST, PUT");
}

TEST_F(Cigri3PgTest, TokensAreListedAsCigri3sClientPrintsThem) {
  Sql("UPDATE clusters SET api_auth_type = 'jwt' WHERE name = 'alpha'");
  const auto stored = Client("POST", "/tokens", json{{"cluster_id", 1}, {"token", "abcdefghijkl"}});
  EXPECT_FALSE(stored.body.value("message", "").empty()) << stored.body;
  const std::string login = Client("GET", "/tokens").body["items"][0]["cluster_login"];
  EXPECT_EQ(login.substr(0, 9), "Bearer ab") << login;
}

class UnderscorePgTest : public ApiTest {
 protected:
  void Configure(Config& config) override { config.Set("API_HEADER_USERNAME", "X_CIGRI_USER"); }
};

// The header of CiGri's sample for Apache, for proxies that drop what a client sends of it.
TEST_F(UnderscorePgTest, TheHeaderMayBeTheOneWithUnderscores) {
  EXPECT_EQ(Ask("", "GET", "/campaigns", nullptr, {{"X_CIGRI_USER", "alice"}}).status, 200);
  EXPECT_EQ(Ask("alice", "GET", "/campaigns").status, 403) << "one header names the user";
}

}  // namespace
}  // namespace cigri::test
