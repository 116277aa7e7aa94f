#include "api/submit/turns.h"

namespace cigri::api {

int Turns::waiting() {
  const std::lock_guard lock(mutex_);
  int all = 0;
  for (const auto& [user, n] : waiting_) all += n;
  return all;
}

void Turns::Enter(const std::string& user) {
  std::unique_lock lock(mutex_);
  if (++waiting_[user] == 1) next_.push_back(user);
  changed_.wait(lock, [&] { return free_ > 0 && next_.front() == user; });
  --free_;
  next_.pop_front();
  if (--waiting_[user] > 0)
    next_.push_back(user);
  else
    waiting_.erase(user);
  changed_.notify_all();
}

void Turns::Leave() {
  const std::lock_guard lock(mutex_);
  ++free_;
  changed_.notify_all();
}

}  // namespace cigri::api
