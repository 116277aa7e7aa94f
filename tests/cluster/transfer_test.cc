// Jobs that move files, run by real shells with the real cp, rsync over a real sshd, and curl.
#include "cluster/transfer.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/text.h"
#include "tests/support/await.h"

namespace cigri::cluster {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class TransferTest : public testing::Test {
 protected:
  TransferTest() {
    char name[] = "/tmp/cigri-transfer-XXXXXX";
    dir_ = mkdtemp(name);
    for (const char* folder : {"home", "store", "bin"}) fs::create_directory(dir_ / folder);
    options_ = {{"transfer_folder", Node().string()}, {"transfer_tries", 2}};
  }
  ~TransferTest() override { fs::remove_all(dir_); }
  fs::path Node() const { return dir_ / "node"; }
  fs::path Store(const std::string& name = "") const { return dir_ / "store" / name; }
  static void Put(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  static std::string Text(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return in ? text.str() : "(none)";
  }
  /// A program that stands before the real one: "$@" is its command line.
  void GivenProgram(const std::string& name, const std::string& lines) {
    const auto path = dir_ / "bin" / name;
    Put(path, "#!/bin/sh\nlog=" + (dir_ / "log").string() + "\n" + lines + "\n");
    fs::permissions(path, fs::perms::owner_all);
  }
  std::string Script(const std::vector<Transfer>& inputs, const std::vector<Transfer>& outputs,
                     const std::string& command) const {
    auto settings = TransferSettings::From(options_);
    settings.copies = copies_;
    return TransferSetup(settings) + TransferCommand(settings, "alice", inputs, outputs, command);
  }
  /// Runs a job to its end; its exit code. `err_` has what it wrote to stderr.
  int Run(const std::vector<Transfer>& inputs, const std::vector<Transfer>& outputs,
          const std::string& command, int job = 7) {
    const auto script = dir_ / "script";
    Put(script, Script(inputs, outputs, command));
    const std::string shell = shell_ + " " + script.string();
    const int status =
        std::system(("cd " + (dir_ / "home").string() + " && PATH=" + (dir_ / "bin").string() +
                     ":$PATH CIGRI_JOB_ID=" + std::to_string(job) + " " + shell + " 2>" +
                     (dir_ / "err").string() + " >" + (dir_ / "out").string())
                        .c_str());
    err_ = Text(dir_ / "err");
    out_ = Text(dir_ / "out");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::vector<std::string> Names(const fs::path& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  int LoggedCalls() const {
    const auto text = Text(dir_ / "log");
    return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  }
  fs::path dir_;
  json options_;
  bool copies_ = false;
  std::string err_, out_, shell_ = "sh";
};

const std::string kNames[] = {"plain", "a b", "it's \"$HOME\" `x` \\", "caf\xC3\xA9", "*", "-n"};

TEST_F(TransferTest, ACommandHasItsInputsAndLeavesItsOutputs) {
  for (const std::string shell : {"sh", "bash"})
    for (const auto& name : kNames) {
      shell_ = shell;
      Put(dir_ / "home" / "in" / name, "input");
      EXPECT_EQ(
          Run({{"in/" + name, name}}, {{"result", "out/" + name}}, "cat ./* >result; echo said"), 0)
          << name << err_;
      EXPECT_EQ(Text(dir_ / "home" / "out" / name), "input") << name;
      EXPECT_EQ(out_, "said\n");
      EXPECT_EQ(err_, "");
      fs::remove_all(dir_ / "home" / "out");
    }
  EXPECT_EQ(Names(Node() / "jobs"), std::vector<std::string>()) << "a job's folder goes with it";
}

TEST_F(TransferTest, FoldersTravelAsAWhole) {
  Put(Store("set/a"), "1");
  Put(Store("set/deep/b c"), "2");
  options_["transfer_base"] = Store();
  EXPECT_EQ(Run({{"set/", "x/set/"}}, {{"x/set/", "copy/"}}, "echo 3 >x/set/new"), 0) << err_;
  EXPECT_EQ(Text(Store("copy/deep/b c")) + Text(Store("copy/new")), "23\n");
}

// Links of a folder and its empty folders were left behind, and the task was done.
TEST_F(TransferTest, LinksAndEmptyFoldersOfAFolderTravel) {
  Put(Store("set/a"), "1");
  fs::create_symlink("a", Store("set/link"));
  options_["transfer_base"] = Store();
  EXPECT_EQ(Run({{"set/", "x/"}}, {{"x/", "copy/"}},
                "cat x/link; mkdir -p x/deep/none x/real; echo 2 >x/real/f; ln -s real x/folder; "
                "ln -s a x/again"),
            0)
      << err_;
  EXPECT_EQ(out_, "1");
  EXPECT_EQ(Text(Store("copy/again")) + Text(Store("copy/link")) + Text(Store("copy/folder/f")),
            "112\n");
  EXPECT_TRUE(fs::is_empty(Store("copy/deep/none")));
  EXPECT_EQ(Run({}, {{"x/", "lost/"}}, "mkdir x; ln -s nowhere x/link"), kExitOutputMissing);
  EXPECT_NE(err_.find("x/link"), std::string::npos) << err_;
}

TEST_F(TransferTest, AMissingInputIsTheUsersAndSaysWhich) {
  EXPECT_EQ(Run({{"nothing", "x"}}, {}, "touch ran"), kExitInputMissing);
  EXPECT_EQ(err_, "cigri: there is no input " + (dir_ / "home/nothing").string() + "\n");
  EXPECT_FALSE(fs::exists(dir_ / "home" / "ran"));
  EXPECT_EQ(Run({{"nothing", "x", true}}, {}, "test ! -e x"), 0) << err_;
  EXPECT_EQ(Run({{"nothing", "x", false, true}}, {}, ":"), kExitInputMissing);
  EXPECT_EQ(Run({{"script", "../../x"}}, {}, ":"), kExitInputMissing);
}

TEST_F(TransferTest, AnOutputThatAGoodProgramDidNotWriteIsTheUsersToo) {
  EXPECT_EQ(Run({}, {{"a", "a"}, {"b", "b", true}}, ":"), kExitOutputMissing);
  EXPECT_EQ(err_, "cigri: the program did not write its output a\n");
  EXPECT_EQ(Run({}, {{"a", "a"}}, "exit 3"), 3) << "its own failure comes first";
  EXPECT_EQ(Run({}, {{"a", "a"}}, "echo log >a; exit 3"), 3);
  EXPECT_EQ(Text(dir_ / "home" / "a"), "log\n") << "what it wrote helps to see why";
}

// A node that dies sends nothing at the end.
TEST_F(TransferTest, ACheckpointIsSentWhileTheProgramGoesOn) {
  options_["transfer_base"] = Store();
  for (const std::string shell : {"sh", "bash"}) {
    fs::remove_all(Store("c"));
    const std::vector<Transfer> inputs = {{"c/save", "save", true}, {"c/parts/", "parts/", true}},
                                outputs = {{"save", "c/save", true, false, true},
                                           {"parts/", "c/parts/", true, false, true}};
    Put(dir_ / "script",
        Script(inputs, outputs,
               "mkdir parts; echo a >parts/a; "
               "for n in 1 2; do echo $n >save.new; mv save.new save; "
               "until [ \"$(cat '" + Store("c/save").string() + "')\" = $n ]; do sleep 0.1; done; "
               "done 2>/dev/null; echo half >save.new; exec sleep 600"));
    const pid_t job = fork();
    if (job == 0) {
      setsid();
      if (chdir((dir_ / "home").c_str()) != 0) _exit(1);
      setenv("CIGRI_JOB_ID", "7", 1);
      execlp(shell.c_str(), shell.c_str(), (dir_ / "script").c_str(), nullptr);
      _exit(127);
    }
    EXPECT_TRUE(test::Await([&] { return Text(Store("c/save")) == "2\n"; }));
    EXPECT_TRUE(test::Await([&] { return Text(Store("c/parts/a")) == "a\n"; }));
    EXPECT_EQ(kill(-job, SIGKILL), 0);
    EXPECT_EQ(waitpid(job, nullptr, 0), job);
    EXPECT_EQ(Names(Store("c")), (std::vector<std::string>{"parts", "save"}));
    EXPECT_EQ(Run(inputs, outputs, "cat save parts/a; echo 3 >save; exit 9"), 9) << err_;
    EXPECT_EQ(out_, "2\na\n");
    EXPECT_EQ(Text(Store("c/save")), "3\n");
  }
}

// What has been sent while the program went on is not sent again at its end.
TEST_F(TransferTest, ACheckpointIsSentOnce) {
  options_["transfer_base"] = Store();
  GivenProgram("cp", "case $* in *saved*|*cigri-*) echo x >>$log ;; esac; PATH=/usr/bin:/bin; "
                     "exec cp \"$@\"");
  EXPECT_EQ(Run({}, {{"save", "c/save", true, false, true}},
                "echo 1 >save; "
                "until [ -e '" + Store("c/save").string() + "' ]; do sleep 0.1; done"),
            0)
      << err_;
  EXPECT_EQ(LoggedCalls(), 2) << "one copy, one transfer";
}

// A copy that lost may end, badly, before it is killed: what the winner sent stays. Its checkpoint
// is what the next try begins with.
TEST_F(TransferTest, AFailedCopyLeavesTheOutputsOfAnotherAlone) {
  const auto home = dir_ / "home";
  const std::vector<Transfer> outputs = {{"o", "o"}, {"c", "c", false, false, true}};
  Put(home / "o", "of the winner");
  copies_ = true;
  EXPECT_EQ(Run({}, outputs, "echo bad >o; echo saved >c; exit 3"), 3);
  EXPECT_EQ(Text(home / "o"), "of the winner");
  EXPECT_EQ(Text(home / "c"), "saved\n");
  EXPECT_EQ(Run({}, outputs, "echo good >o; echo saved >c"), 0);
  EXPECT_EQ(Text(home / "o"), "good\n");
  copies_ = false;
  EXPECT_EQ(Run({}, outputs, "echo bad >o; exit 3"), 3);
  EXPECT_EQ(Text(home / "o"), "bad\n");
}

TEST_F(TransferTest, AProgramCannotPretendThatATransferFailed) {
  EXPECT_EQ(Run({}, {}, "exit 216"), 1);
  EXPECT_NE(err_.find("ended with 216"), std::string::npos);
}

TEST_F(TransferTest, ATransferIsRepeatedAndThenTheInfrastructures) {
  Put(Store("a"), "1");
  options_["transfer_base"] = Store();
  GivenProgram("cp",
               "echo x >>$log; [ $(wc -l <$log) -gt 1 ] || { echo broken >&2; exit 1; }\n"
               "PATH=/usr/bin:/bin; exec cp \"$@\"");
  EXPECT_EQ(Run({{"a", "a"}}, {}, "cat a"), 0) << err_;
  EXPECT_EQ(out_, "1");
  GivenProgram("cp", "echo x >>$log; echo 'no space left' >&2; exit 1");
  EXPECT_EQ(Run({{"a", "a"}}, {}, "touch ran"), kExitTransferFailed);
  EXPECT_NE(err_.find("no space left"), std::string::npos) << err_;
  EXPECT_EQ(Run({}, {{"a", "b"}}, "echo 1 >a"), kExitTransferFailed);
  EXPECT_EQ(Names(Store()), std::vector<std::string>{"a"}) << "no part of b";
}

TEST_F(TransferTest, WhatArrivesOtherThanItWasIsNoInput) {
  Put(Store("a"), "right");
  options_["transfer_base"] = Store();
  GivenProgram("cp",
               "for last; do :; done; case $last in *part) echo wrong >\"$last\" ;;\n"
               "*) PATH=/usr/bin:/bin; exec cp \"$@\" ;; esac");
  EXPECT_EQ(Run({{"a", "a"}}, {}, "cat a"), kExitTransferFailed);
  EXPECT_EQ(out_, "");
}

TEST_F(TransferTest, ACommonInputComesToANodeOnceAndCannotBeChangedThere) {
  Put(Store("ref"), "reference");
  Put(Store("set/a"), "1");
  options_["transfer_base"] = Store();
  GivenProgram("cp",
               "case $* in *store*) echo x >>$log ;; esac; PATH=/usr/bin:/bin; exec cp \"$@\"");
  const std::vector<Transfer> inputs = {{"ref", "in/ref", false, true},
                                        {"set/", "set/", false, true}};
  for (int job = 1; job <= 3; ++job)
    EXPECT_EQ(Run(inputs, {},
                  "test ! -w in/ref -o $(id -u) = 0; stat -c %a in/ref; cat in/ref set/a", job),
              0)
        << err_;
  EXPECT_EQ(out_, "444\nreference1");
  EXPECT_EQ(LoggedCalls(), 2);
  Put(Store("ref"), "another one");
  EXPECT_EQ(Run(inputs, {}, "cat in/ref", 4), 0) << err_;
  EXPECT_EQ(out_, "another one") << "it is another version";
  EXPECT_EQ(LoggedCalls(), 3);
}

TEST_F(TransferTest, ACommonInputIsOnDiskBeforeItIsInTheCache) {
  Put(Store("set/a"), "1");
  Put(Store("set/b"), "2");
  options_["transfer_base"] = Store();
  GivenProgram("sync", "echo $# files, $(ls " + (Node() / "cache/objects").string() +
                           " | wc -l) objects >>$log; PATH=/usr/bin:/bin; exec sync \"$@\"");
  EXPECT_EQ(Run({{"set/", "set/", false, true}}, {}, "cat set/a set/b"), 0) << err_;
  EXPECT_EQ(out_, "12");
  EXPECT_EQ(Text(dir_ / "log"), "2 files, 0 objects\n");
  EXPECT_EQ(Names(Node() / "cache/objects").size(), 1u);
  options_["transfer_cache_mb"] = 1;
  Put(Store("large"), std::string(2 << 20, 'x'));
  EXPECT_EQ(Run({{"large", "x", false, true}}, {}, "head -c 1 x", 2), 0) << err_;
  EXPECT_EQ(Text(dir_ / "log"), "2 files, 0 objects\n") << "what the cache does not keep";
}

TEST_F(TransferTest, JobsThatComeTogetherFetchACommonInputOnce) {
  Put(Store("ref"), std::string(100'000, 'r'));
  options_["transfer_base"] = Store();
  GivenProgram(
      "cp",
      "case $* in *store*) echo x >>$log; sleep 0.3 ;; esac; PATH=/usr/bin:/bin; exec cp \"$@\"");
  Put(dir_ / "script", Script({{"ref", "ref", false, true}}, {}, "wc -c <ref"));
  const std::string one =
      "CIGRI_JOB_ID=$i sh " + (dir_ / "script").string() + " >>" + (dir_ / "out").string();
  ASSERT_EQ(std::system(("cd " + dir_.string() + "; PATH=" + (dir_ / "bin").string() +
                         ":$PATH; for i in 1 2 3 4 5; do " + one + " & done; wait")
                            .c_str()),
            0);
  EXPECT_EQ(Text(dir_ / "out"), "100000\n100000\n100000\n100000\n100000\n");
  EXPECT_EQ(LoggedCalls(), 1);
}

TEST_F(TransferTest, TheCacheIsBoundedAndKeepsWhatWasUsedLast) {
  options_["transfer_base"] = Store();
  options_["transfer_cache_mb"] = 3;
  const auto use = [&](const std::string& name, int job) {
    if (!fs::exists(Store(name))) Put(Store(name), name + std::string(1 << 20, 'x'));
    EXPECT_EQ(Run({{name, "x", false, true}}, {}, "head -c 1 x", job), 0) << err_;
    EXPECT_EQ(out_, name);
    // The clock of a file system is coarse.
    for (const auto& entry : fs::directory_iterator(Node() / "cache/uses"))
      fs::last_write_time(entry, fs::last_write_time(entry) - std::chrono::seconds(10));
  };
  use("a", 1);
  use("b", 2);
  use("a", 3);
  use("c", 4);
  const auto objects = Names(Node() / "cache/objects");
  ASSERT_EQ(objects.size(), 2u) << "three of them are larger than the limit";
  std::string kept;
  for (const auto& name : objects) kept += Text(Node() / "cache/objects" / name)[0];
  std::sort(kept.begin(), kept.end());
  EXPECT_EQ(kept, "ac");
  Put(Store("large"), "l" + std::string(4 << 20, 'x'));
  EXPECT_EQ(Run({{"large", "x", false, true}}, {}, "head -c 1 x", 5), 0) << "goes past the cache";
  EXPECT_EQ(Names(Node() / "cache/objects").size(), 2u);
}

TEST_F(TransferTest, WhatAKilledJobLeavesIsRemovedByTheNextOne) {
  Put(dir_ / "script",
      Script({}, {}, "touch here; echo $$ >" + (dir_ / "pid").string() + "; sleep 60"));
  const pid_t pid = fork();
  if (pid == 0) {
    setsid();
    setenv("CIGRI_JOB_ID", "1", 1);
    execlp("sh", "sh", (dir_ / "script").c_str(), nullptr);
    _exit(127);
  }
  ASSERT_TRUE(test::Await([&] { return Text(dir_ / "pid").find('\n') != std::string::npos; }));
  EXPECT_EQ(Run({}, {}, ":", 2), 0);
  EXPECT_EQ(Names(Node() / "jobs").size(), 1u) << "one that runs keeps its folder";
  kill(-pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  EXPECT_EQ(Run({}, {}, ":", 3), 0);
  EXPECT_EQ(Names(Node() / "jobs").size(), 0u);
}

TEST_F(TransferTest, IrodsIsCalledWithItsChecksums) {
  options_.update(
      {{"transfer", "irods"}, {"transfer_base", "/zone/%u"}, {"transfer_options", "-N 2"}});
  GivenProgram("iget", "echo \"iget $*\" >>$log; for last; do :; done; echo data >\"$last\"");
  GivenProgram("iput", "echo \"iput $*\" >>$log");
  GivenProgram("imkdir", "echo \"imkdir $*\" >>$log");
  EXPECT_EQ(Run({{"a b", "a"}}, {{"a", "out/b"}}, "cat a"), 0) << err_;
  EXPECT_EQ(out_, "data\n");
  const auto log = Text(dir_ / "log");
  EXPECT_NE(log.find("iget -K -f -r -N 2 /zone/alice/a b "), std::string::npos) << log;
  EXPECT_NE(log.find("imkdir -p /zone/alice/out\niput -K -f -r -N 2 a /zone/alice/out/b\n"),
            std::string::npos)
      << log;
  GivenProgram("iget",
               "echo 'ERROR: getUtil: get error for /zone/a status = -310000 "
               "OBJ_PATH_DOES_NOT_EXIST' >&2; exit 4");
  EXPECT_EQ(Run({{"a", "a"}}, {}, ":"), kExitInputMissing);
}

TEST_F(TransferTest, OptionsThatCannotWorkAreNamed) {
  EXPECT_EQ(TransferProblem(json::object()), "");
  EXPECT_EQ(TransferProblem({{"transfer", "scp"}}),
            "there is no transfer \"scp\": cp, rsync, curl, irods");
  EXPECT_NE(TransferProblem({{"transfer", "rsync"}}).find("needs transfer_base"),
            std::string::npos);
  EXPECT_NE(TransferProblem({{"transfer_tries", 0}}), "");
  options_["transfer"] = "scp";
  EXPECT_EQ(Run({{"a", "a"}}, {{"b", "b"}}, ":"), kExitTransferFailed);
}

// A server on a port of loopback that was free just now.
class ServerTest : public TransferTest {
 protected:
  using Argv = std::vector<std::string>;
  void TearDown() override { Stop(); }
  void Stop() {
    if (pid_ <= 0) return;
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  bool Listening() const { return Text(dir_ / "server.log").find(sign_) != std::string::npos; }
  /// Starts what `argv` says of a port, until it writes `sign` to server.log; its port.
  int Serve(const std::function<Argv(int port)>& argv, const std::string& sign) {
    sign_ = sign;
    int port = 0;
    // The port may be taken between our look and its bind: then with another one.
    for (int i = 0; i < 5 && !Listening(); ++i) {
      Stop();
      auto words = argv(port = FreePort());
      pid_ = fork();
      if (pid_ == 0) {
        std::vector<char*> pointers;
        for (auto& word : words) pointers.push_back(word.data());
        pointers.push_back(nullptr);
        if (freopen((dir_ / "server.log").c_str(), "w", stdout) != nullptr) dup2(1, 2);
        execvp(pointers[0], pointers.data());
        _exit(127);
      }
      test::Await([&] { return Listening() || waitpid(pid_, nullptr, WNOHANG) != 0; });
    }
    EXPECT_TRUE(Listening()) << Text(dir_ / "server.log");
    return port;
  }
  static int FreePort() {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    bind(fd, reinterpret_cast<sockaddr*>(&address), size);
    getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    close(fd);
    return ntohs(address.sin_port);
  }
  pid_t pid_ = -1;
  std::string sign_;
};

// A real sshd, with keys of its own.
class RsyncTest : public ServerTest {
 protected:
  void SetUp() override {
    if (std::system("command -v rsync /usr/sbin/sshd >/dev/null") != 0)
      GTEST_SKIP() << "needs the packages rsync and openssh-server";
    fs::create_directories("/run/sshd");  // sshd of root wants it, also without its service
    const std::string dir = dir_.string();
    ASSERT_EQ(std::system(("ssh-keygen -qt ed25519 -N '' -f " + dir +
                           "/host && ssh-keygen -qt "
                           "ed25519 -N '' -f " +
                           dir + "/key && cp " + dir + "/key.pub " + dir + "/known")
                              .c_str()),
              0);
    const int port = Serve(
        [&](int free) {
          Put(dir_ / "sshd_config", "Port " + std::to_string(free) +
                                        "\nListenAddress 127.0.0.1\nHostKey " + dir +
                                        "/host\nAuthorizedKeysFile " + dir +
                                        "/known\nStrictModes no\nPidFile none\nUsePAM no\n");
          return Argv{"/usr/sbin/sshd", "-D", "-e", "-f", dir + "/sshd_config"};
        },
        "Server listening on 127.0.0.1 port");
    options_.update(
        {{"transfer", "rsync"},
         {"transfer_base", "127.0.0.1:" + Store().string()},
         {"transfer_options", "-e 'ssh -p " + std::to_string(port) + " -i " + dir +
                                  "/key -o BatchMode=yes -o StrictHostKeyChecking=no -o "
                                  "UserKnownHostsFile=/dev/null -o LogLevel=ERROR'"}});
  }
};

TEST_F(RsyncTest, FilesAndFoldersTravelOverSsh) {
  for (const auto& name : kNames) {
    if (name == "*") continue;  // rsync itself expands it there
    Put(Store("in") / name, "input");
    EXPECT_EQ(Run({{"in/" + name, "x"}}, {{"y", "new/out/" + name}}, "cat x >y"), 0)
        << name << err_;
    EXPECT_EQ(Text(Store("new/out") / name), "input") << name;
  }
  EXPECT_EQ(Run({{"in/", "set/"}}, {{"set/", "copy/"}}, "echo 2 >set/plain"), 0) << err_;
  EXPECT_EQ(Text(Store("copy/plain")) + Text(Store("copy/a b")), "2\ninput");
}

TEST_F(RsyncTest, WhatIsMissingIsTheUsersAndABrokenConnectionIsNot) {
  EXPECT_EQ(Run({{"nothing", "x"}}, {}, ":"), kExitInputMissing) << err_;
  EXPECT_EQ(Run({{"nothing", "x", false, true}}, {}, ":"), kExitInputMissing) << err_;
  Stop();
  Put(Store("a"), "1");
  EXPECT_EQ(Run({{"a", "a"}}, {}, ":"), kExitTransferFailed);
  EXPECT_NE(err_.find("with rsync: ssh: connect to host 127.0.0.1"), std::string::npos) << err_;
}

TEST_F(RsyncTest, ACommonInputTravelsOnce) {
  Put(Store("ref"), "reference");
  GivenProgram("rsync",
               "case $* in *--list-only*) ;; *) echo x >>$log ;; esac\n"
               "PATH=/usr/bin:/bin; exec rsync \"$@\"");
  for (int job = 1; job <= 3; ++job)
    EXPECT_EQ(Run({{"ref", "ref", false, true}}, {}, "cat ref", job), 0) << err_;
  EXPECT_EQ(out_, "reference");
  EXPECT_EQ(LoggedCalls(), 1);
}

// s3rver is no package of Debian: npm install -g s3rver@3.7.1. It wants requests signed as for S3
// by a key that it knows.
class S3Test : public ServerTest {
 protected:
  void SetUp() override {
    if (std::system("command -v s3rver >/dev/null") != 0) GTEST_SKIP() << "needs s3rver (npm)";
    const int port = Serve(
        [&](int free) {
          return Argv{"s3rver",
                      "-d",
                      Store(),
                      "-a",
                      "127.0.0.1",
                      "-p",
                      std::to_string(free),
                      "--configure-bucket",
                      "grid"};
        },
        "S3rver listening");
    Put(dir_ / "key", "user = \"S3RVER:S3RVER\"\n");
    options_.update(
        {{"transfer", "curl"},
         {"transfer_base", "http://127.0.0.1:" + std::to_string(port) + "/grid/%u"},
         {"transfer_options", "--aws-sigv4 aws:amz:us-east-1:s3 -K " + (dir_ / "key").string()}});
  }
};

TEST_F(S3Test, ObjectsTravelSigned) {
  for (const std::string name : {"plain", "a b", "caf\xC3\xA9", "1+1=2"}) {
    EXPECT_EQ(Run({}, {{"x", "set/" + name}}, "echo " + ShellQuote(name) + " >x"), 0) << err_;
    EXPECT_EQ(Run({{"set/" + name, "y"}}, {}, "cat y"), 0) << name << err_;
    EXPECT_EQ(out_, name + "\n");
  }
  EXPECT_EQ(
      Run({}, {{"logs/", "logs/"}}, "mkdir -p logs/deep; echo 1 >logs/deep/a; echo 2 >logs/b"), 0)
      << err_;
  EXPECT_EQ(Run({{"logs/deep/a", "a"}, {"logs/b", "b", false, true}}, {}, "cat a b"), 0) << err_;
  EXPECT_EQ(out_, "1\n2\n");
}

TEST_F(S3Test, WhatIsMissingIsTheUsersAndAWrongKeyIsNot) {
  EXPECT_EQ(Run({{"none", "x"}}, {}, ":"), kExitInputMissing) << err_;
  EXPECT_EQ(Run({{"none", "x", true, true}}, {}, ":"), 0) << err_;
  EXPECT_EQ(Run({{"folder/", "x/"}}, {}, ":"), kExitInputMissing);
  EXPECT_NE(err_.find("curl cannot fetch a folder"), std::string::npos) << err_;
  Put(dir_ / "key", "user = \"nobody:wrong\"\n");
  EXPECT_EQ(Run({}, {{"x", "x"}}, "echo 1 >x"), kExitTransferFailed);
  EXPECT_NE(err_.find("403"), std::string::npos) << err_;
}

}  // namespace
}  // namespace cigri::cluster
