#include "almighty/helper.h"

#include "almighty/place.h"
#include "core/log.h"

namespace cigri::almighty {

using Clock = std::chrono::steady_clock;

Helper::Helper(const Options& options) : place_file_(options.home.run() + "/runner.lock") {
  runner_.emplace_back("runner",
                       std::vector<std::string>{options.bin_dir + "/runner", "--loop"}, false);
}

Helper::~Helper() { Stop(); }

void Helper::Keep() {
  auto& runner = runner_.front();
  if (!place_) place_ = TakePlace(place_file_, 0);
  if (!place_) return;
  if (runner.KillStopped(Clock::now())) log::warn("runner was stopped (SIGSTOP): killed");
  if (runner.alive() && HasEnded(runner.pid_fd()))
    log::info("runner ended: {}", runner.Reap(Clock::now()));
  if (runner.alive() || runner.start_at() > Clock::now()) return;
  std::string why;
  if (!runner.Start(Clock::now(), &why)) log::error("{}", why);
}

// It can be killed at any moment, as every module; its clusters are free as soon as it has ended.
void Helper::Stop() {
  auto& runner = runner_.front();
  runner.Kill();
  if (runner.alive()) runner.Reap(Clock::now());
  place_.Close();
}

}  // namespace cigri::almighty
