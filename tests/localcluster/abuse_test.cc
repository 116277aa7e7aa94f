// Bodies and paths that no driver of ours would send.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "tests/localcluster/daemon.h"

namespace cigri::localcluster {
namespace {

class AbuseTest : public DaemonTest {};

TEST_F(AbuseTest, EveryWrongBodyIsRefusedWithItsFaultAndNothingIsTaken) {
  Start(2);
  const std::string user = "\"user\":\"" + Me() + "\"";
  const std::string one = "\"elements\":[{\"command\":\"true\"}]";
  const struct {
    std::string body, says;
    int status;
  } cases[] = {
      {"\x01\x02garbage", "not a JSON object", 400},
      {"[]", "not a JSON object", 400},
      {"{}", "\\\"tag\\\" must be made of", 422},
      {R"({"tag":"a b"})", "\\\"tag\\\" must be made of", 422},
      {R"({"tag":7})", "\\\"tag\\\" must be a string", 422},
      {R"({"tag":"t",)" + user + "}", "list of at least one job", 422},
      {R"({"tag":"t",)" + user + R"(,"elements":[]})", "list of at least one job", 422},
      {R"({"tag":"t",)" + user + R"(,"elements":[7]})", "element 0 is no object", 422},
      {R"({"tag":"t",)" + user + R"(,"elements":[{"command":""}]})", "has no \\\"command\\\"", 422},
      {R"({"tag":"t",)" + user + R"(,"elements":[{"command":"a\u0000b"}]})", "holds a NUL", 422},
      {R"({"tag":"t",)" + user + R"(,"elements":[{"command":"x","index":3}]})", "has the index 3",
       422},
      {R"({"tag":"t",)" + user + R"(,"env":{"a=b":"1"},)" + one + "}", "no name of a variable",
       422},
      {R"({"tag":"t",)" + user + R"(,"slots":0,)" + one + "}", "whole number from 1", 422},
      {R"({"tag":"t",)" + user + R"(,"slots":18446744073709551615,)" + one + "}", "whole number",
       422},
      {R"({"tag":"t",)" + user + R"(,"slots":1e3,)" + one + "}", "whole number", 422},
      {R"({"tag":"t",)" + user + R"(,"slots":3,)" + one + "}", "this cluster has 2", 422},
      {R"({"tag":"t",)" + user + R"(,"walltime_s":-1,)" + one + "}", "walltime_s", 422},
      {R"({"tag":"t",)" + user + R"(,"best_effort":"no",)" + one + "}", "true or false", 422},
      {R"({"tag":"t","user":"no_such_user",)" + one + "}", "not known on this machine", 403},
      {std::string(200'000, '['), "not a JSON object", 400},
  };
  for (const auto& c : cases) {
    const auto r = Call("/batches", c.body);
    EXPECT_EQ(r.status, c.status) << c.body.substr(0, 200) << "\n" << r.body;
    EXPECT_NE(r.body.find(c.says), std::string::npos) << c.body.substr(0, 200) << "\n" << r.body;
  }
  EXPECT_TRUE(driver().Find("t", Me(), 0, false).jobs.empty());
  EXPECT_EQ(RunOne("true").wait_status, 0) << "and it still serves";
}

TEST_F(AbuseTest, UnknownIdsAndPathsAreAnswered) {
  Start(1);
  for (const char* path :
       {"/jobs/1_1", "/jobs/__", "/jobs/99999999999999999999999_0", "/jobs/1_1/output", "/nothing"})
    EXPECT_EQ(Call(path).status, 404) << path;
  EXPECT_EQ(Call("/changes?wait=abc").status, 400);
  EXPECT_EQ(Call("/changes?since=%00%ff.-1").status, 200);
  EXPECT_EQ(Call("/kills", "{}").status, 400);
  EXPECT_EQ(Call("/kills", R"([{"id":7}])").status, 400);
  EXPECT_EQ(Call("/kills", R"([{"id":"../../etc"}])").status, 200);
  EXPECT_EQ(Call("/lookups", R"([{"id":"1_1","tag":"x"}])").body,
            "{\"missing\":[\"1_1\"],\"jobs\":[]}\n");
}

TEST_F(AbuseTest, AHugeBodyClosesTheConnectionNotTheDaemon) {
  Start(1);
  const auto r = Call("/batches", R"({"tag":")" + std::string(40u << 20, 'x') + "\"}");
  EXPECT_FALSE(r.ok());
  EXPECT_EQ(RunOne("true").wait_status, 0);
}

// A process of nobody's with `n` connections to `path` that have each sent half a request.
class Crowd {
 public:
  Crowd(const std::string& path, int n) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) Hold(path, n, ready[1]);
    close(ready[1]);
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1) << "the attack did not work";
    close(ready[0]);
  }
  ~Crowd() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

 private:
  [[noreturn]] static void Hold(const std::string& path, int n, int ready) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (setresuid(65534, 65534, 65534) != 0) _exit(1);
    constexpr char kHalf[] = "GET /health HTTP/1.1\r\nX-A: ";
    for (int i = 0; i < n; ++i) {
      const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
      if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
          write(fd, kHalf, sizeof kHalf - 1) < 0)
        _exit(1);
    }
    if (write(ready, "", 1) != 1) _exit(1);
    for (;;) pause();
  }
  pid_t pid_ = 0;
};

// Hole 7: the connections of a user took all threads, and the grid could not reach the cluster.
TEST_F(AbuseTest, TheConnectionsOfAUserDoNotKeepTheGridOut) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to be another user";
  Start(1);
  const Crowd crowd(socket(), 300);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(NewDriver()->GetResources({}).max, 1);
  EXPECT_EQ(RunOne("true").wait_status, 0);
  struct stat s {};
  ASSERT_EQ(stat(grid_socket().c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0600u);
}

}  // namespace
}  // namespace cigri::localcluster
