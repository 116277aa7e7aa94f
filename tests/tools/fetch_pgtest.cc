// gridstat --fetch and --archive: the outputs of a campaign, only what is new, and no half files.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/tools/grid.h"

namespace cigri {
namespace {

namespace fs = std::filesystem;

class FetchPgTest : public test::GridTest {
 protected:
  // Tasks 0 and 2 are done, 1 has failed, 3 runs.
  void GivenFourTasks() {
    GivenCampaign(
        {.next_idx = 4,
         .format = "values",
         .params = {R"(["a","1"])", R"(["b/x","2"])", "[\"\xC3\xA9\",\"3\"]", R"(["d","4"])"},
         .columns = {"k", "n"}});
    const auto job = GivenBatch(1, 1, 0, 4);  // 41 to 44
    GivenDone(1, job, 0, 1);
    GivenDone(1, job + 1, 1, 1, kFailure);
    GivenDone(1, job + 2, 2, 1);
    GivenLive(1, job + 3, 3, 1, "running");
    Sql("INSERT INTO needs_attention (campaign_id, idx, job_id) VALUES (1, 1, 42)");
    output_ = {{"r41", "zero\n"}, {"r42", "one\n"}, {"r42.err", "no file\n"}, {"r43", "two\n"}};
  }
  void GivenEndOfTask3() {
    Sql("DELETE FROM live WHERE idx = 3");
    GivenDone(1, 44, 3, 1);
    output_["r44"] = "three\n";
  }
  std::string Folder() const { return dir() + "/fetched"; }
  std::string Archive() const { return dir() + "/fetched.tar.zst"; }
  test::Ran Fetch() { return Run("gridstat", {"1", "--fetch", Folder()}); }
  test::Ran FetchArchive() { return Run("gridstat", {"1", "--archive", Archive()}); }
  /// "NAME: CONTENT" of each file below a folder, sorted; hidden ones too.
  static std::vector<std::string> Files(const std::string& folder) {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file() || entry.path().filename() == ".cigri-fetch") continue;
      std::ifstream in(entry.path());
      files.push_back(fs::relative(entry.path(), folder).string() + ": " +
                      std::string(std::istreambuf_iterator<char>(in), {}));
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  /// The same of the archive, as tar unpacks it; each name is there once.
  std::vector<std::string> Unpacked() {
    const auto folder = dir() + "/unpacked";
    fs::remove_all(folder);
    fs::create_directory(folder);
    EXPECT_EQ(std::system(("tar --zstd -xf " + Archive() + " -C " + folder).c_str()), 0);
    EXPECT_EQ(
        std::system(("test -z \"$(tar --zstd -tf " + Archive() + " | sort | uniq -d)\"").c_str()),
        0);
    return Files(folder);
  }
  static inline const test::DoneRow kFailure = {.counted = false,
                                                .state = "event",
                                                .exit_class = "program",
                                                .code = "EXIT_ERROR",
                                                .wait_status = 3 << 8};
  static inline const std::vector<std::string> kThree = {
      "0/0.a,1.out: zero\n", "0/1.b%2Fx,2.err: no file\n", "0/1.b%2Fx,2.out: one\n",
      "0/2.\xC3\xA9,3.out: two\n"};
  static inline const std::vector<std::string> kFour = {
      "0/0.a,1.out: zero\n", "0/1.b%2Fx,2.err: no file\n", "0/1.b%2Fx,2.out: one\n",
      "0/2.\xC3\xA9,3.out: two\n", "0/3.d,4.out: three\n"};
};

TEST_F(FetchPgTest, AFolderGetsOnlyWhatIsNew) {
  GivenFourTasks();
  auto ran = Fetch();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "3 new outputs fetched; " + Folder() + " has 3 outputs\n");
  EXPECT_EQ(Files(Folder()), kThree);
  output_["r41"] = "asked for again\n";
  output_["r42"] = "asked for again\n";
  GivenEndOfTask3();
  std::ofstream(Folder() + "/.partial.5eed.out") << "of one that was killed";
  ran = Fetch();
  EXPECT_EQ(ran.out, "1 new output fetched; " + Folder() + " has 4 outputs\n") << ran.err;
  EXPECT_EQ(Files(Folder()), kFour);
}

TEST_F(FetchPgTest, AFailedTaskThatRanAgainIsNew) {
  GivenFourTasks();
  Fetch();
  Sql("DELETE FROM needs_attention");
  const auto job = GivenBatch(1, 1, 1, 1);
  GivenDone(1, job, 1, 1);
  Sql("UPDATE done SET attempt = 2 WHERE job_id = " + std::to_string(job));
  output_["r" + std::to_string(job)] = "better\n";
  EXPECT_EQ(Fetch().out, "1 new output fetched; " + Folder() + " has 3 outputs\n");
  const auto files = Files(Folder());
  ASSERT_EQ(files.size(), 3u) << "what the failure wrote to stderr is gone";
  EXPECT_EQ(files[1], "0/1.b%2Fx,2.out: better\n");
}

TEST_F(FetchPgTest, OutputThatCannotBeReadNowIsFetchedTheNextTime) {
  GivenFourTasks();
  Sql("UPDATE done SET remote_id = 'lost' WHERE job_id = 41");
  auto ran = Fetch();
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("job 41: alpha does not answer"), std::string::npos) << ran.err;
  EXPECT_EQ(Files(Folder()), (std::vector(kThree.begin() + 1, kThree.end())));
  Sql("UPDATE done SET remote_id = 'r41' WHERE job_id = 41");
  EXPECT_EQ(Fetch().code, 0);
  EXPECT_EQ(Files(Folder()), kThree);
}

TEST_F(FetchPgTest, AKilledFetchLeavesWholeFilesAndGoesOn) {
  std::vector<std::string> params;
  for (int i = 0; i < 1200; ++i) params.push_back("p" + std::to_string(i));
  GivenCampaign({.next_idx = 1200, .params = params});
  const auto job = GivenBatch(1, 1, 0, 1200);
  const std::string text(20'000, 'x');
  for (int i = 0; i < 1200; ++i) {
    GivenDone(1, job + i, i, 1);
    output_["r" + std::to_string(job + i)] = text;
  }
  const pid_t pid = fork();
  if (pid == 0) {
    const std::string api = "unix:" + socket();
    execl(CIGRI_BIN_DIR "/gridstat", "gridstat", "1", "--api", api.c_str(), "--fetch",
          Folder().c_str(), nullptr);
    _exit(127);
  }
  const auto begun = [&] { return fs::exists(Folder() + "/0/40.p40.out"); };
  siginfo_t ended{};
  while (!begun() && ended.si_pid == 0 &&
         waitid(P_PID, pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0)
    std::this_thread::yield();
  ASSERT_TRUE(begun()) << "it has ended";
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  std::size_t whole = 0;
  for (const auto& entry : fs::recursive_directory_iterator(Folder()))
    if (entry.is_regular_file() && entry.path().filename().string()[0] != '.') {
      EXPECT_EQ(entry.file_size(), text.size()) << entry.path();
      ++whole;
    }
  ASSERT_LT(whole, 1200u) << "it was killed too late";
  const auto ran = Fetch();
  // The kill may have come between a file and its mark.
  const auto fetched = std::stoul(ran.out);
  EXPECT_GE(fetched, 1200 - whole);
  EXPECT_LE(fetched, 1200 - whole + 1);
  EXPECT_EQ(Files(Folder()).size(), 1200u);
  EXPECT_TRUE(fs::exists(Folder() + "/1000/1199.p1199.out"));
}

TEST_F(FetchPgTest, AnArchiveGetsWhatIsNew) {
  GivenFourTasks();
  auto ran = FetchArchive();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "3 new outputs fetched; " + Archive() + " has 3 outputs\n");
  EXPECT_EQ(Unpacked(), kThree);
  output_["r41"] = "asked for again\n";
  GivenEndOfTask3();
  EXPECT_EQ(FetchArchive().out, "1 new output fetched; " + Archive() + " has 4 outputs\n");
  EXPECT_EQ(Unpacked(), kFour);
  EXPECT_FALSE(fs::exists(Archive() + ".partial"));
  EXPECT_EQ(FetchArchive().out, "0 new outputs fetched; " + Archive() + " has 4 outputs\n");
}

TEST_F(FetchPgTest, AnArchiveGoesOnWithWhatAKilledOneFetched) {
  GivenFourTasks();
  FetchArchive();
  // As a kill leaves it before the archive is written: task 3 in the folder, and half an archive.
  GivenEndOfTask3();
  ASSERT_EQ(Run("gridstat", {"1", "--fetch", Archive() + ".partial"}).code, 0);
  std::ofstream(Archive() + ".partial/.archive") << "half";
  output_["r44"] = "asked for again\n";
  const auto ran = FetchArchive();
  EXPECT_EQ(ran.out, "0 new outputs fetched; " + Archive() + " has 4 outputs\n") << ran.err;
  EXPECT_EQ(Unpacked(), kFour);
}

TEST_F(FetchPgTest, AFolderOfAnotherCampaignAndNoArchiveAreRefused) {
  GivenFourTasks();
  Fetch();
  GivenCampaign({.name = "other"});
  const auto ran = Run("gridstat", {"2", "--fetch", Folder()});
  EXPECT_EQ(ran.code, 65);
  EXPECT_NE(ran.err.find("has outputs of another campaign"), std::string::npos) << ran.err;
  std::ofstream(Archive()) << "something else";
  EXPECT_EQ(FetchArchive().code, 65);
  std::ifstream in(Archive());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "something else");
}

}  // namespace
}  // namespace cigri
