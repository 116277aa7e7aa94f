#include "almighty/services.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "almighty/place.h"
#include "core/log.h"

namespace cigri::almighty {
namespace {

using Clock = std::chrono::steady_clock;

// "localcluster --name alpha ..." is called localcluster[alpha] in logs and events.
std::string NameOf(const std::vector<std::string>& argv) {
  std::string program = argv.at(0).substr(argv[0].rfind('/') + 1);
  const auto option = std::find(argv.begin(), argv.end(), "--name");
  if (option == argv.end() || option + 1 == argv.end()) return program;
  return program + "[" + *(option + 1) + "]";
}

std::vector<Child> ServicesOf(const Options& options) {
  std::vector<Child> services;
  services.emplace_back("runner", std::vector<std::string>{options.bin_dir + "/runner", "--loop"},
                        false);
  if (options.modules_only) return services;
  services.emplace_back("api", std::vector<std::string>{options.bin_dir + "/api"}, false);
  std::ifstream in(options.home.services_file());
  for (std::string line; options.embedded && std::getline(in, line);) {
    if (line.empty()) continue;
    auto argv = nlohmann::json::parse(line).get<std::vector<std::string>>();
    if (argv.at(0).find('/') == std::string::npos) argv[0] = options.bin_dir + "/" + argv[0];
    services.emplace_back(NameOf(argv), argv, false);
  }
  return services;
}

}  // namespace

Services::Services(const Options& options, int signals)
    : options_(options),
      signals_(signals),
      stop_(eventfd(0, EFD_CLOEXEC)),
      thread_([this] { Run(); }) {}

Services::~Services() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

std::map<std::string, std::string> Services::TakeRestarts() {
  const std::lock_guard lock(mutex_);
  return std::exchange(restarts_, {});
}

// False: to exit. Else something of `fds` is readable, or `ms` have passed.
bool Services::Wait(const std::vector<int>& fds, int ms) {
  std::vector<pollfd> polled{{stop_.get(), POLLIN, 0}, {signals_, POLLIN, 0}};
  for (const int fd : fds) polled.push_back({fd, POLLIN, 0});
  poll(polled.data(), polled.size(), ms);
  return polled[0].revents == 0 && polled[1].revents == 0;
}

void Services::Run() {
  constexpr int kRetryMs = 1000;
  bool goes_on = true;
  while (goes_on) {
    try {
      goes_on = TakeOver();
      if (!goes_on) break;
      children_ = ServicesOf(options_);
      Keep();
      return;
    } catch (const std::exception& e) {
      log::error("cannot start the services: {}", e.what());
      goes_on = Wait({}, kRetryMs);
    }
  }
}

// Waits until this process keeps the services; false: to exit.
bool Services::TakeOver() {
  constexpr int kTakingMs = 50, kRecheckMs = 10000;
  const std::string path = options_.home.run() + "/services.lock";
  while (!place_) {
    place_ = TakePlace(path, 0);
    if (place_) break;
    const process::Fd holder = HolderEnds(path);
    // Read again now and then: the pid may be older than the present holder.
    const bool goes_on = holder ? Wait({holder.get()}, kRecheckMs) : Wait({}, kTakingMs);
    if (!goes_on) return false;
  }
  return true;
}

void Services::Keep() {
  for (;;) {
    const auto now = Clock::now();
    auto next = now + std::chrono::minutes(1);
    std::vector<int> ends;
    for (auto& child : children_) {
      std::string why;
      if (!child.alive() && child.start_at() <= now && !child.Start(now, &why))
        log::error("{}", why);
      if (child.KillStopped(now)) log::warn("{} was stopped (SIGSTOP): killed", child.name());
      if (child.alive()) ends.push_back(child.pid_fd());
      next = std::min(next, child.alive() ? now + Child::kLookEvery : child.start_at());
    }
    const auto ms = std::chrono::ceil<milliseconds>(next - Clock::now()).count();
    if (!Wait(ends, static_cast<int>(std::max<std::int64_t>(ms, 0)))) break;
    for (auto& child : children_)
      if (child.alive() && HasEnded(child.pid_fd())) Reap(child);
  }
  StopAll(children_);
}

void Services::Reap(Child& child) {
  const std::string how = child.Reap(Clock::now());
  log::info("{} ended: {}", child.name(), how);
  const std::lock_guard lock(mutex_);
  restarts_[child.name()] = how;
}

}  // namespace cigri::almighty
