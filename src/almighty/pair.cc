#include "almighty/pair.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "almighty/child.h"
#include "almighty/place.h"
#include "core/log.h"
#include "embedded/process.h"

namespace cigri::almighty {
namespace {

using process::Fd;
using std::chrono::milliseconds;

std::string PlaceFile(const embedded::Home& home, int n) {
  return home.run() + "/almighty." + std::to_string(n) + ".lock";
}

}  // namespace

std::unique_ptr<Pair> Pair::Join(const embedded::Home& home, std::vector<std::string> start,
                                 int signals) {
  // The other almighty takes a place for a moment to find out whether it is empty.
  for (int i = 0; i < 20; ++i)
    for (int n : {1, 2}) {
      Fd place = TakePlace(PlaceFile(home, n), 50);
      if (!place) continue;
      return std::unique_ptr<Pair>(
          new Pair(PlaceFile(home, 3 - n), std::move(place), std::move(start), signals));
    }
  return nullptr;
}

Pair::Pair(std::string other, Fd place, std::vector<std::string> start, int signals)
    : other_(std::move(other)),
      place_(std::move(place)),
      died_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      stop_(eventfd(0, EFD_CLOEXEC)),
      start_(std::move(start)),
      signals_(signals),
      thread_([this] { Watch(); }) {}

Pair::~Pair() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

void Pair::Received() {
  eventfd_t ignored;
  eventfd_read(died_.get(), &ignored);
}

bool Pair::Wait(int fd, int ms) {
  pollfd fds[3] = {{stop_.get(), POLLIN, 0}, {signals_, POLLIN, 0}, {fd, POLLIN, 0}};
  poll(fds, 3, ms);
  return fds[0].revents == 0 && fds[1].revents == 0;
}

void Pair::KillOther(const char* why) const {
  const pid_t pid = HolderOf(other_);
  if (pid == 0) return;
  log::warn("kills almighty {}, which {}", pid, why);
  kill(pid, SIGKILL);
}

void Pair::Watch() {
  constexpr int kStarting = 200, kLookMs = 1000;
  bool stopped = false;  // at the last look
  while (Wait(-1, 0)) {
    try {
      if (const Fd process = HolderEnds(other_)) {
        // Read again each time: the first pid may be older than the present holder.
        if (!Wait(process.get(), kLookMs)) return;
        const bool was_stopped = std::exchange(stopped, IsStopped(HolderOf(other_)));
        if (HasEnded(process.get()))
          eventfd_write(died_.get(), 1);
        else if (was_stopped && stopped)  // it may be what keeps the services of this home
          KillOther("was stopped (SIGSTOP)");
        continue;
      }
      if (embedded::LockFile(other_, milliseconds(0))) embedded::SpawnDaemon(start_, "");
    } catch (const std::exception& e) {
      log::error("cannot start a standby: {}", e.what());
    }
    if (!Wait(-1, kStarting)) return;
  }
}

}  // namespace cigri::almighty
