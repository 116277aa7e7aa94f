// Whose jobs run, as whom, and what strangers may do.
#include <sched.h>
#include <sys/mount.h>

#include <nlohmann/json.hpp>

#include "http/server.h"
#include "tests/localcluster/daemon.h"

namespace cigri::localcluster {
namespace {

class UsersTest : public DaemonTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to be several users";
    DaemonTest::SetUp();
  }
  void TearDown() override {
    if (geteuid() == 0) DaemonTest::TearDown();
  }
  /// Runs a command line as nobody; returns its exit code, its output in FileText("said").
  int AsNobody(const std::string& command) {
    const int status = std::system(
        ("cd " + dir() + " && setpriv --reuid=nobody --regid=nogroup --clear-groups sh -c " +
         ShellQuote(command) + " > " + dir() + "/said 2>&1")
            .c_str());
    return WEXITSTATUS(status);
  }
  std::string Curl() const {
    return "curl -s -i --unix-socket " + socket() + " -H Content-Type:application/json ";
  }
  /// Gives the cluster a job of nobody's, in campaign 7 if the cluster believes it; its id when it
  /// has ended. `more`: keys of the element.
  std::string SubmitAsNobody(const std::string& command, const std::string& more) {
    const std::string body = R"({"tag":"n.)" + RandomHex(6) +
                             R"(","user":"nobody","campaign":7,"directory":"/","elements":[{)" +
                             more + (more.empty() ? "" : ",") + R"("command":)" +
                             nlohmann::json(command).dump() + "}]}";
    AsNobody(Curl() + "-d " + ShellQuote(body) + " http://x/batches");
    const std::string said = FileText("said");
    const auto at = said.find("\"ids\":[\"");
    if (at == said.npos) ADD_FAILURE() << said;
    const std::string id = said.substr(at + 8, said.find('"', at + 8) - at - 8);
    AsNobody(Curl() + "'http://x/jobs/" + id + "?wait=20000'");
    const std::string ended = FileText("said");
    EXPECT_NE(ended.find(R"("state":"ended")"), std::string::npos) << ended;
    EXPECT_NE(ended.find(R"("status":0)"), std::string::npos) << ended;
    return id;
  }
  /// Headers and body of what nobody is told when it asks for the output of `id`.
  std::string OutputAsNobody(const std::string& id) {
    AsNobody(Curl() + "'http://x/jobs/" + id + "/output?stream=stdout'");
    return FileText("said");
  }
  std::string Localsub() const {
    return test::ForOthers(CIGRI_BIN_DIR) + "/localsub --socket " + socket() + " ";
  }
};

TEST_F(UsersTest, FromRootEachJobRunsAsItsUserWithAPlainEnvironment) {
  Start();
  auto batch = GivenBatch({"id -un; id -gn; id -G; echo $HOME $USER $PATH; nice"});
  batch.cluster_user = "nobody";
  driver().Submit(batch);
  EXPECT_EQ(AwaitEnds(batch)[0].wait_status, 0);
  const std::string path = "state/output/7/0/0.1.out";
  EXPECT_EQ(FileText(path),
            "nobody\nnogroup\n65534\n/nonexistent nobody "
            "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games\n10\n");
  struct stat s {};
  ASSERT_EQ(stat((dir() + "/" + path).c_str(), &s), 0);
  EXPECT_EQ(s.st_uid, getpwnam("nobody")->pw_uid);
  EXPECT_EQ(s.st_mode & 0777, 0600u);
}

TEST_F(UsersTest, AnOrdinaryUsersClusterTakesOnlyItsOwnJobs) {
  fs::create_directory(dir() + "/state");
  chown((dir() + "/state").c_str(), getpwnam("nobody")->pw_uid, getpwnam("nobody")->pw_gid);
  Start(1, {}, {"/usr/bin/setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"});
  auto batch = GivenBatch({"id -un"});
  EXPECT_THROW(driver().Submit(batch), cluster::SubmitRefused);
  batch.cluster_user = "nobody";
  EXPECT_EQ(Run(batch)[0].wait_status, 0);
  EXPECT_EQ(FileText("state/output/7/0/0.1.out"), "nobody\n");
}

TEST_F(UsersTest, AStrangerMayUseOnlyTheirOwnJobs) {
  Start(2);
  const auto batch = GivenBatch({"echo secret; touch up; sleep 600"});
  const auto id = driver().Submit(batch)[0];
  ASSERT_TRUE(AwaitFile("up"));
  const std::string curl =
      "curl -s -o /dev/null -w '%{http_code}' --unix-socket " + socket() + " http://x";
  for (const std::string& path :
       {std::string("/changes"), "/tags/" + batch.tag, "/jobs/" + id, "/jobs/" + id + "/output"}) {
    AsNobody(curl + path);
    EXPECT_TRUE(FileText("said") == "403" || FileText("said") == "404") << path << FileText("said");
  }
  AsNobody("curl -s --unix-socket " + socket() + " http://x/jobs");
  EXPECT_EQ(FileText("said"), "{\"jobs\":[]}\n");
  EXPECT_EQ(AsNobody(Localsub() + "--delete " + id), 1);
  EXPECT_NE(AsNobody("cat " + dir() + "/state/state.db*"), 0) << "command lines of others";
  EXPECT_EQ(AsNobody("curl -s --unix-socket " + socket() +
                     " -H Content-Type:application/json -d '[{\"id\":\"" + id +
                     "\"}]' http://x/kills | grep foreign.*" + id),
            0)
      << FileText("said");
  AsNobody("curl -s -w '%{http_code}' --unix-socket " + socket() +
           " -H Content-Type:application/json -d '" +
           R"({"tag":"x","user":"root","elements":[{"command":"true"}]})" + "' http://x/batches");
  EXPECT_NE(FileText("said").find("you may not submit jobs for"), std::string::npos)
      << FileText("said");
  EXPECT_EQ(driver().GetResources({}).used, 1);
}

// Each start of the daemon ended at a lost job whose user had left the machine.
TEST_F(UsersTest, ALostJobOfAUserWhoHasLeftIsReportedAndOthersAreServed) {
  const std::string users = dir() + "/passwd";
  in_child_ = [&] {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, "") != 0 ||
        mount(users.c_str(), "/etc/passwd", nullptr, MS_BIND, nullptr) != 0)
      _exit(126);
  };
  const std::string known = Slurp("/etc/passwd");
  std::ofstream(users) << known << "leaver:x:64999:65534::/nonexistent:/bin/sh\n";
  Start(2);
  auto batch = GivenBatch({"touch up; exec sleep 600"});
  batch.cluster_user = "leaver";
  const auto id = driver().Submit(batch)[0];
  ASSERT_TRUE(AwaitFile("up"));
  Stop(SIGKILL);
  ASSERT_EQ(std::system(("pkill -KILL -f '^cigri-job " + id + "'").c_str()), 0);
  std::ofstream(users) << known;
  Start(2);
  RemoteJob lost;
  EXPECT_TRUE(Await([&] {
    lost = driver().Find(batch.tag, "leaver", 0, false).jobs.at(0);
    return lost.state == RemoteState::kEnded;
  }));
  EXPECT_NE(lost.wait_status, 0);
  EXPECT_EQ(RunOne("exit 3").wait_status, 3 << 8);
  std::system("pkill -KILL -U 64999 -f '^sleep 600$'");
}

// The packaged service has no CAP_SYS_PTRACE, and keeps its own files closer than a log-in does.
TEST_F(UsersTest, AServiceWithFewRightsLeavesNothingOfAJob) {
  Start(2, {},
        {"/bin/sh", "-c",
         "umask 077; exec setpriv --bounding-set=-all,+setuid,+setgid,+chown,+dac_override,+fowner,"
         "+kill \"$0\" \"$@\""});
  auto batch = GivenBatch({"umask > umask; setsid sleep 4242 & touch up; wait"});
  batch.cluster_user = "nobody";
  const auto id = driver().Submit(batch)[0];
  ASSERT_TRUE(AwaitFile("up"));
  EXPECT_EQ(FileText("umask"), "0022\n");
  EXPECT_EQ(std::system(("pkill -KILL -f '^cigri-job " + id + "'").c_str()), 0);
  AwaitEnds(batch);
  EXPECT_EQ(WEXITSTATUS(std::system("pgrep -u nobody -f '^sleep 4242$' >/dev/null")), 1)
      << "what has left the job's session is found by its environment";
}

// Hole 2: a stranger's batch may say any numbers; the files they name are another user's.
TEST_F(UsersTest, AStrangerCannotReadOutputByNamingItsNumbers) {
  Start(2);
  auto batch = GivenBatch({"echo secret of daemon"});
  batch.cluster_user = "daemon";
  Run(batch);
  ASSERT_EQ(FileText("state/output/7/0/0.1.out"), "secret of daemon\n");
  const std::string id = SubmitAsNobody("true", R"("job_id":1000,"task_index":0,"attempt":1)");
  EXPECT_EQ(OutputAsNobody(id).find("secret"), std::string::npos) << FileText("said");
  EXPECT_TRUE(fs::exists(dir() + "/state/output/local-nobody"));
}

// Hole 3: nor does a stranger's output take the place of another user's.
TEST_F(UsersTest, AStrangerCannotTakeTheNameOfAnothersOutput) {
  Start(2);
  SubmitAsNobody("echo forged", R"("task_index":0,"attempt":1)");
  auto batch = GivenBatch({"echo real"});
  batch.cluster_user = "daemon";
  EXPECT_EQ(Run(batch)[0].wait_status, 0);
  EXPECT_EQ(FileText("state/output/7/0/0.1.out"), "real\n");
}

TEST_F(UsersTest, OutputThatIsNotItsUsersIsNotRead) {
  Start(2);
  const std::string id = SubmitAsNobody("echo mine", "");
  EXPECT_NE(OutputAsNobody(id).find("mine\n"), std::string::npos) << FileText("said");
  const std::string quiet = SubmitAsNobody("true", "");
  OutputAsNobody(quiet);
  const std::string said = FileText("said"), header = "X-Output-Where: ";
  ASSERT_NE(said.find(header), std::string::npos) << said;
  const auto at = said.find(header) + header.size();
  std::ofstream(said.substr(at, said.find('\r', at) - at)) << "secret of root";
  EXPECT_EQ(OutputAsNobody(quiet).find("secret"), std::string::npos);
}

// Hole 22: a program of root's was started with what a user had in his environment.
TEST_F(UsersTest, CigriJobStartsWithAnEmptyEnvironmentAndTheJobWithItsOwn) {
  Start(2);
  const auto r = Call("/batches", R"({"tag":"t","user":"root","campaign":7,"directory":"/",
      "env":{"LD_PRELOAD":"/nowhere.so"},"elements":[{"task_index":0,
      "command":"echo $LD_PRELOAD; cat /proc/$PPID/comm; wc -c < /proc/$PPID/environ"}]})");
  ASSERT_EQ(r.status, 201) << r.body;
  ASSERT_TRUE(AwaitFile("state/output/7/0/0.1.out"));
  EXPECT_EQ(FileText("state/output/7/0/0.1.out"), "/nowhere.so\ncigri-job\n0\n");
}

// Hole 21: ps showed everybody's setup and command.
TEST_F(UsersTest, AStrangerSeesNeitherSetupNorCommandOfAJob) {
  Start(2);
  auto batch = GivenBatch({": secret-of-the-command; touch up; exec sleep 600",
                           ": secret-of-the-command; touch up1; sleep 600; :"});
  batch.setup = "export PASSWORD=secret-of-the-setup";
  driver().Submit(batch);
  ASSERT_TRUE(AwaitFile("up") && AwaitFile("up1"));
  EXPECT_EQ(AsNobody("cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | grep -c "
                     "'[s]ecret-of-the-'"),
            1)
      << FileText("said");
}

// Hole 15: 195,000 jobs of one user were all that the cluster took, for ten years.
TEST_F(UsersTest, AStrangerGetsATenthOfTheQueueAndAWeekAtMost) {
  Start(1, {"--max-walltime", "1000"});
  const auto submit = [&](int n, const std::string& more) {
    std::string elements;
    for (int i = 0; i < n; ++i) elements += std::string(i == 0 ? "" : ",") + R"({"command":":"})";
    std::ofstream(dir() + "/body") << R"({"tag":"n.)" << RandomHex(6) << R"(","user":"nobody",)"
                                   << R"("directory":"/",)" << more << R"("elements":[)"
                                   << elements << "]}";
    AsNobody(Curl() + "--data-binary @body http://x/batches");
    return FileText("said");
  };
  const std::string big = R"("slots":1,"walltime_s":1000,)";
  driver().Submit(GivenBatch({"sleep 600"}));  // the one slot: nothing of the others starts
  ASSERT_TRUE(Await([&] { return driver().GetResources({}).used == 1; }));
  for (int i = 0; i < 2; ++i)
    EXPECT_NE(submit(10'000, R"("best_effort":true,)" + big).find("201 "), std::string::npos);
  const std::string said = submit(1, big);
  EXPECT_NE(said.find("a user may have 20000 jobs waiting and running here, nobody has 20000"),
            std::string::npos)
      << said;
  EXPECT_EQ(driver().Submit(GivenBatch({"true"})).size(), 1u);
  EXPECT_NE(submit(1, R"("walltime_s":1001,)").find("whole number from 1 to 1000"),
            std::string::npos)
      << FileText("said");
  Stop(SIGTERM);
  Start(1);
  EXPECT_NE(submit(1, "").find("nobody has 20000"), std::string::npos) << FileText("said");
}

// Hole 14: 8 MB of brackets made 635 MB of the daemon.
TEST_F(UsersTest, AStrangersLongOrDeepBodyIsRefusedBeforeItIsParsed) {
  Start(1);
  const auto resident_kb = [&] {
    const std::string status = Slurp("/proc/" + std::to_string(daemon()) + "/status");
    return std::atoll(status.c_str() + status.find("VmHWM:") + 6);
  };
  const auto before = resident_kb();
  const struct {
    std::size_t brackets;
    const char* says;
  } cases[] = {{8 << 20, "a request may have 1048576 bytes"},
               {1'000'000, "nested deeper than 32 levels"}};
  for (const auto& c : cases) {
    std::ofstream(dir() + "/body") << std::string(c.brackets, '[');
    for (const char* path : {"/batches", "/kills"}) {
      AsNobody(Curl() + "-H Expect: --data-binary @body http://x" + path);
      EXPECT_NE(FileText("said").find(c.says), std::string::npos) << FileText("said");
    }
  }
  EXPECT_LT(resident_kb() - before, 30'000);
  SubmitAsNobody("echo '[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"'", "");
}

TEST_F(UsersTest, LocalsubRunsAProgramWithItsArgumentsAndEndsAsItDoes) {
  Start(1);
  EXPECT_EQ(AsNobody(Localsub() + "--wait -- sh -c 'id -un; echo \"[$1]\"; exit 5' - 'a  $b'"), 5);
  EXPECT_EQ(FileText("said"), "nobody\n[a  $b]\n");
  EXPECT_EQ(AsNobody(Localsub() + "-- sleep 600"), 0);
  const std::string id = FileText("said").substr(7, FileText("said").size() - 8);
  EXPECT_EQ(AsNobody(Localsub() + "--list | grep " + id), 0) << FileText("said");
  EXPECT_EQ(AsNobody(Localsub() + "--delete " + id), 0) << FileText("said");
  EXPECT_TRUE(Await([&] { return driver().GetResources({}).used == 0; }));
  EXPECT_EQ(AsNobody(Localsub()), 64);
  EXPECT_EQ(AsNobody(Localsub() + "--slots 3 -- true"), 65);
  EXPECT_EQ(AsNobody(test::ForOthers(CIGRI_BIN_DIR) + "/localsub --socket /nowhere -- true"), 69);
}

// Each was an "unexpected error, please report it".
TEST_F(UsersTest, LocalsubSaysWhatItCannotSend) {
  Start(1);
  EXPECT_EQ(AsNobody(Localsub() + "-- echo \"$(printf 'caf\\351')\""), 65);
  EXPECT_NE(FileText("said").find("must be UTF-8"), std::string::npos) << FileText("said");
  fs::create_directory(dir() + "/gone");
  fs::permissions(dir() + "/gone", fs::perms::all);
  EXPECT_EQ(AsNobody("cd gone && rmdir ../gone && " + Localsub() + "-- true"), 65);
  EXPECT_NE(FileText("said").find("the working directory cannot be used"), std::string::npos)
      << FileText("said");
}

// It ended with the code of a cluster that is away, and nobody knew which job to look for.
TEST_F(UsersTest, LocalsubNamesTheJobThatGoesOnWithoutItsDaemon) {
  http::GuardServer dying;
  dying.Post("/batches", [](const httplib::Request&, httplib::Response& answer) {
    answer.set_content(R"({"ids":["x.7"]})", "application/json");
  });
  dying.Get("/jobs/x.7", [](const httplib::Request&, httplib::Response& answer) {
    const auto cut = [](std::size_t, std::size_t, httplib::DataSink&) { return false; };
    answer.set_content_provider(100, "application/json", cut);
  });
  std::string why;
  ASSERT_TRUE(dying.BindUnix(socket(), 0666, &why)) << why;
  std::thread thread([&] { dying.Serve(); });
  dying.AwaitServing();
  EXPECT_EQ(AsNobody(Localsub() + "--wait -- sleep 600"), 69);
  EXPECT_NE(FileText("said").find("job x.7 goes on"), std::string::npos) << FileText("said");
  dying.Stop();
  thread.join();
}

TEST_F(UsersTest, ACheckOfTheClusterEndsWithATestJob) {
  Start(1);
  for (const auto& item : driver().Check("nobody", true))
    EXPECT_EQ(item.verdict, cluster::CheckItem::Verdict::kOk) << item.what << ": " << item.detail;
  Stop(SIGTERM);
  EXPECT_EQ(driver().Check("nobody", true).at(0).verdict, cluster::CheckItem::Verdict::kFail);
}

}  // namespace
}  // namespace cigri::localcluster
