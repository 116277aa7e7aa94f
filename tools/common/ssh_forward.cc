#include "tools/common/ssh_forward.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "http/client.h"
#include "process/spawn.h"
#include "tools/common/api.h"

namespace cigri::tools {
namespace {

// Of a grid that root has started: it serves all users of its host, too.
constexpr char kRootsSocket[] = "/var/lib/cigri/run/api.sock";

std::mutex open_mutex;
std::set<SshTunnel*> open_tunnels;

bool Connects(const std::string& path) {
  sockaddr_un address{};
  if (path.size() >= sizeof address.sun_path) return false;
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool ok = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return ok;
}

// ssh takes our connection before it knows whether there is a socket at the other end.
bool AnswersThere(const std::string& path) {
  return http::Client(http::Endpoint::Parse("unix:" + path), {}).Get("/health").outcome ==
         http::Outcome::kAnswered;
}

}  // namespace

SshTunnel::SshTunnel(const std::string& url) {
  std::string rest = url.substr(std::strlen("ssh://"));
  const auto slash = rest.find('/');
  std::vector<std::string> remote = {kRootsSocket, kSiteSocket};
  if (slash != rest.npos) remote = {rest.substr(slash)};
  rest.resize(std::min(slash, rest.size()));
  if (rest.empty() || rest[0] == '-' || rest.find_first_of(" \t'\"") != rest.npos)
    throw Fatal(kExitConfig, "\"" + url + "\" is no address of an API",
                "like ssh://host or ssh://me@host/run/cigri/api.sock");
  char folder[] = "/tmp/cigri-ssh-XXXXXX";
  if (mkdtemp(folder) == nullptr)
    throw Fatal(kExitUnavailable, std::string("cannot make a folder in /tmp: ") + strerror(errno));
  folder_ = folder;
  std::vector<std::string> forwards;
  for (const auto& path : remote) {
    socket_ = folder_ + "/" + std::to_string(forwards.size()) + ".sock";
    forwards.push_back(socket_ + ":" + path);
  }
  Start("ssh://" + rest, forwards);
  AwaitSocket(url);  // ssh makes them in this order: the others are there, too
  if (forwards.size() > 1 && !AnswersThere(socket_)) {
    socket_ = folder_ + "/0.sock";
    if (!AnswersThere(socket_)) {
      End();
      throw Fatal(kExitUnavailable,
                  "no API at " + url + ": neither " + kSiteSocket + " nor " + kRootsSocket +
                      " answers there",
                  "ssh://HOST/PATH names another socket");
    }
  }
  const std::lock_guard lock(open_mutex);
  open_tunnels.insert(this);
}

void SshTunnel::Start(const std::string& destination, const std::vector<std::string>& forwards) {
  std::vector<std::string> argv = {
      "ssh", "-o", "StreamLocalBindUnlink=yes", "-o", "ExitOnForwardFailure=yes", "-N"};
  for (const auto& forward : forwards) argv.insert(argv.end(), {"-L", forward});
  argv.insert(argv.end(), {"--", destination});
  process::SpawnOptions options;
  options.out = STDERR_FILENO;  // our standard output is for answers only
  options.death_signal = SIGTERM;
  try {
    pid_ = process::Spawn(argv, options);
  } catch (const process::StartError& e) {
    End();
    throw Fatal(kExitUnavailable, e.what());
  }
}

void SshTunnel::AwaitSocket(const std::string& url) {
  // Long enough for a password typed by hand.
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!Connects(socket_)) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) pid_ = -1;
    if (pid_ > 0 && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    End();
    throw Fatal(kExitUnavailable, "no API at " + url + ": ssh could not forward its socket",
                "ssh's own words stand above; try `ssh HOST gridstat`");
  }
}

void SshTunnel::End() {
  if (pid_ > 0) {
    kill(pid_, SIGTERM);
    process::Reap(pid_);
    pid_ = -1;
  }
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

SshTunnel::~SshTunnel() {
  const std::lock_guard lock(open_mutex);
  open_tunnels.erase(this);
  End();
}

void SshTunnel::EndAll() {
  const std::lock_guard lock(open_mutex);
  for (auto* tunnel : open_tunnels) tunnel->End();
}

}  // namespace cigri::tools
