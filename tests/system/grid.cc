#include "tests/system/grid.h"

#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/text.h"
#include "http/client.h"
#include "tests/support/for_others.h"

namespace cigri::test {
namespace {
namespace fs = std::filesystem;

// In memory where there is room: what is tested is not the disk.
std::string Place() {
  std::error_code failed;
  const auto space = fs::space("/dev/shm", failed);
  return !failed && space.available > (1u << 30) ? "/dev/shm" : "/tmp";
}

std::string Bin() {
  const char* bin = getenv("CIGRI_BIN");
  return bin != nullptr ? bin : ForOthers(CIGRI_BIN_DIR);  // jobs run as several users
}

std::string Described(const std::vector<GridProcess>& processes) {
  std::string text;
  for (const auto& p : processes) text += std::to_string(p.pid) + " " + p.command + "\n";
  return text;
}

}  // namespace

Grid::Grid(std::string slots, std::string user)
    : slots_(std::move(slots)),
      user_(std::move(user)),
      base_(Place() + "/cigri-sys-" + RandomHex(4)),
      home_(base_ + "/home") {
  fs::create_directories(home_);
  fs::permissions(base_, fs::perms(0755));
  Give(home_);
  set_work("work");
  Arguments down = Argv({"cigri", "down"});
  down.insert(down.begin(), {"/usr/bin/env", "CIGRI_HOME=" + home_});
  guard_ = std::make_unique<Guard>(down, base_);
}

Grid::~Grid() {
  Run({"cigri", "down"}, "", Seconds(100));
  for (const auto& process : ProcessesOf(home_)) kill(process.pid, SIGKILL);
  guard_.reset();
  std::error_code ignored;
  fs::remove_all(base_, ignored);
}

void Grid::Give(const std::string& path) const {
  if (user_.empty()) return;
  const passwd* pw = getpwnam(user_.c_str());
  ASSERT_NE(pw, nullptr) << user_;
  ASSERT_EQ(chown(path.c_str(), pw->pw_uid, pw->pw_gid), 0) << path;
}

void Grid::set_work(const std::string& name) {
  work_ = base_ + "/" + name;
  fs::create_directories(work_);
  Give(work_);
}

// Nothing of the caller's may point at another grid.
Arguments Grid::Environment() const {
  const passwd* pw = user_.empty() ? getpwuid(geteuid()) : getpwnam(user_.c_str());
  Arguments environment{"CIGRI_HOME=" + home_, "HOME=" + std::string(pw->pw_dir),
                        "USER=" + std::string(pw->pw_name), "LANG=C.UTF-8",
                        "PATH=" + Bin() + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"};
  if (!conninfo_.empty()) environment.push_back("CIGRI_DB=" + conninfo_);
  return environment;
}

Arguments Grid::Argv(const Arguments& words) const {
  Arguments argv = words;
  if (words[0].find('/') == std::string::npos) argv[0] = Bin() + "/" + words[0];
  if (!user_.empty()) {
    const Arguments become{"/usr/sbin/runuser", "-u", user_, "--"};
    argv.insert(argv.begin(), become.begin(), become.end());
  }
  argv.insert(argv.begin(), prefix_.begin(), prefix_.end());
  return argv;
}

std::unique_ptr<Child> Grid::Start(const Arguments& words, const std::string& input) {
  const std::string scratch = base_ + "/tool-" + std::to_string(++children_);
  return std::make_unique<Child>(Argv(words), Environment(), work_, input, scratch);
}

Result Grid::Run(const Arguments& words, const std::string& input, Seconds limit) {
  return Start(words, input)->Wait(limit);
}

std::string Grid::Ok(const Arguments& words, const std::string& input) {
  const Result result = Run(words, input);
  EXPECT_EQ(result.code, 0) << Join(words, " ") << "\n" << result.out << result.err;
  return result.out;
}

void Grid::Up() {
  Arguments words{"cigri", "up", "--slots", slots_};
  if (conninfo_.empty()) words.push_back("--embedded");
  const Result up = Run(words, "", Seconds(100));
  ASSERT_EQ(up.code, 0) << up.out << up.err << Log();
}

void Grid::Down() {
  const Result down = Run({"cigri", "down"}, "", Seconds(100));
  EXPECT_EQ(down.code, 0) << down.out << down.err;
  // A session of PostgreSQL may still be on its last words.
  EXPECT_TRUE(Await([&] { return ProcessesOf(home_).empty(); }, Seconds(5)))
      << "left after cigri down:\n"
      << Described(ProcessesOf(home_));
  EXPECT_EQ(SocketsBelow(home_), Arguments{});
  for (const auto& entry : fs::recursive_directory_iterator(home_))
    EXPECT_FALSE(entry.is_socket()) << entry.path();
}

int Grid::Submit(const Arguments& words, const std::string& input) {
  Arguments argv{"gridsub"};
  argv.insert(argv.end(), words.begin(), words.end());
  const std::string out = Ok(argv, input);
  const auto at = out.find("CAMPAIGN_ID=");
  EXPECT_NE(at, out.npos) << out;
  return at == out.npos ? 0 : std::atoi(out.c_str() + at + 12);
}

int Grid::Submit(const json& jdl, const Arguments& more) {
  Arguments words{"-j", jdl.dump()};
  words.insert(words.end(), more.begin(), more.end());
  return Submit(words);
}

json Grid::Get(const std::string& path) {
  http::Client client(http::Endpoint::Parse("unix:" + home_ + "/run/api.sock"), {});
  const auto response = client.Get(path);
  return response.ok() ? json::parse(response.body) : json::object();
}

bool Grid::AwaitOver(int campaign, Seconds limit) {
  return Await([&] { return Progress(campaign).value("over", false); }, limit);
}

std::string Grid::Script(const std::string& name, const std::string& text) {
  const std::string path = work_ + "/" + name;
  std::ofstream(path + ".new", std::ios::binary) << text;
  fs::permissions(path + ".new", fs::perms(0755));
  fs::rename(path + ".new", path);
  return path;
}

Arguments Grid::Lines(const std::string& name) const {
  Arguments lines = Split(Text(name), '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

Arguments Grid::SortedLines(const std::string& name) const {
  Arguments lines = Lines(name);
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::string Grid::Log() const {
  const std::string log = Slurp(home_ + "/log/grid.log");
  return "\n... end of grid.log:\n" +
         log.substr(log.size() - std::min<std::size_t>(log.size(), 6000));
}

json Jdl(const Grid& grid, const std::string& name, const std::string& exec_file,
         const json& more) {
  json jdl{{"name", name},
           {"exec_file", exec_file},
           {"exec_directory", grid.work()},
           {"walltime", "300s"},
           {"clusters", {{"alpha", json::object()}, {"beta", json::object()}}}};
  jdl.update(more);
  return jdl;
}

Arguments Indexes(int n) {
  Arguments words;
  for (int i = 0; i < n; ++i) words.push_back(std::to_string(i));
  std::sort(words.begin(), words.end());
  return words;
}

std::unique_ptr<Grid> SystemTest::grid_;

void SystemTest::GivenGrid(const std::string& slots) {
  grid_ = std::make_unique<Grid>(slots);
  grid_->Up();
}

void SystemTest::TearDownTestSuite() {
  grid_->Down();
  grid_.reset();
}

void SystemTest::SetUp() {
  grid_->set_work(::testing::UnitTest::GetInstance()->current_test_info()->name());
}

void SystemTest::TearDown() {
  if (HasFailure()) std::fprintf(stderr, "%s\n", grid_->Log().c_str());
  for (const auto& campaign : grid_->Get("/campaigns").value("items", json::array()))
    grid_->Run({"griddel", std::to_string(campaign.value("id", 0))});
}

}  // namespace cigri::test
