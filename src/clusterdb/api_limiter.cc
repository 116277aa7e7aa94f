#include "clusterdb/api_limiter.h"

#include <sql/breakers.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "core/log.h"
#include "core/text.h"

namespace cigri::clusterdb {
namespace {

using Why = cluster::CallFailed::Why;
using std::chrono::milliseconds;
using std::chrono::seconds;

const char* Word(Caller caller) {
  static const char* const kWords[] = {"updator", "runner", "nikita", "api"};
  return kWords[static_cast<int>(caller)];
}

class ApiLimiter final : public cluster::CallLimiter {
 public:
  ApiLimiter(std::shared_ptr<db::Pool> pool, std::int64_t id, std::string name, std::string api,
             Caller caller)
      : pool_(std::move(pool)),
        id_(id),
        name_(std::move(name)),
        api_(std::move(api)),
        caller_(caller) {}
  ~ApiLimiter() override {
    try {
      if (counted_ > 0) Ask(0);
    } catch (const std::exception&) {  // statistics only
    }
  }

  void Before(Clock::time_point until) override {
    // Without a ceiling the gate reads the row once a second, not for every call.
    if (ceiling_ == 0 && failures_ == 0 && Clock::now() - asked_ < seconds(1)) {
      ++counted_;
      return;
    }
    for (;;) {
      const double wait_s = Take();
      if (wait_s <= 0) return;
      const auto at = Clock::now() + milliseconds(static_cast<int>(wait_s * 1000) + 1);
      if (at > until)
        throw cluster::CallFailed(
            Why::kBusy,
            "cluster " + name_ + " is not called for " + HumanDuration(wait_s) + ": at most " +
                std::to_string(ceiling_) + " calls a minute are allowed (max_calls_per_min)",
            wait_s);
      std::this_thread::sleep_until(std::min(at, Clock::now() + seconds(1)));
    }
  }

  void After(bool answered, const std::string& error) override {
    if (answered) unanswered_since_.reset();
    else if (!unanswered_since_) unanswered_since_ = Clock::now();
    if (answered && failures_ == 0) return;
    try {
      Guarded([&](db::Tx& tx) {
        if (answered) {
          tx.Exec(sql::kCloseBreaker, api_);
          failures_ = 0;
          log::info("[{}] its API answers again", name_);
        } else {
          failures_ = tx.One(sql::kCountFailedCall, api_, error).failures;
          if (const double s = BreakerOpenFor(failures_); s > 0)
            tx.Exec(sql::kOpenBreaker, api_, s);
        }
      });
    } catch (const std::exception& e) {  // the call has been made, whatever becomes of its count
      log::warn("[{}] a call is not counted: {}", name_, e.what());
    }
  }

  double WaitFor(int calls) override {
    const auto state = Ask(0);
    if (state.open_s > 0) return state.open_s;
    if (ceiling_ == 0) return 0;
    const auto bucket = BucketOf(ceiling_);
    const double need = std::min<double>(calls + Kept(bucket), bucket.burst);
    return std::max(0.0, need - state.tokens) * 60 / bucket.per_min;
  }

  int ceiling() override { return ceiling_; }
  std::optional<Clock::time_point> unanswered_since() const override { return unanswered_since_; }

 private:
  struct State {
    double tokens = 0, open_s = 0;
    std::string error;
  };

  // The tokens that a submission leaves for polling and killing.
  double Kept(const Bucket& bucket) const {
    return caller_ == Caller::kRunner ? std::min(std::floor(bucket.burst / 4), bucket.burst - 1)
                                      : 0;
  }

  // Takes a call; else the seconds to wait. Throws when the breaker is open.
  double Take() {
    const auto state = Ask(1);
    if (state.open_s > 0 && caller_ != Caller::kApi)
      throw cluster::CallFailed(Why::kUnreachable,
                                "the API of cluster " + name_ + " is not called for " +
                                    HumanDuration(state.open_s) +
                                    ", it did not answer: " + state.error,
                                state.open_s);
    if (state.tokens >= 0) {
      ++counted_;
      return 0;
    }
    return -state.tokens * 60 / BucketOf(ceiling_).per_min;
  }

  // `take`: 1 takes a token when there is one; tokens < 0 then says how many are missing.
  State Ask(int take) {
    State state;
    Guarded([&](db::Tx& tx) {
      const auto counted = std::exchange(counted_, 0);
      const auto row = tx.Exec(sql::kLockApi, api_)[0];
      ceiling_ = row.ceiling;
      failures_ = row.failures;
      state.error = row.error;
      state.open_s = row.open_s;
      // One caller tries an API whose breaker was open; for the others it stays open meanwhile.
      const bool tries = failures_ > 0 && state.open_s <= 0 && row.was_open;
      if (tries && caller_ != Caller::kUpdator && caller_ != Caller::kApi) state.open_s = 1;
      if (tries && take > 0 && caller_ == Caller::kUpdator) tx.Exec(sql::kOpenBreaker, api_, 30.0);
      state.tokens = row.tokens;
      const bool open = state.open_s > 0 && caller_ != Caller::kApi;
      if (ceiling_ > 0) {
        const auto bucket = BucketOf(ceiling_);
        state.tokens = std::min(bucket.burst, state.tokens + row.age_s * bucket.per_min / 60);
        if (take > 0 && !open) {
          const double left = state.tokens - 1 - Kept(bucket);
          if (left >= 0) tx.Exec(sql::kTakeCall, api_, state.tokens - 1);
          state.tokens = left;
        }
      }
      if (counted > 0) tx.Exec(sql::kCountCalls, id_, Word(caller_), counted);
    });
    asked_ = Clock::now();
    return state;
  }

  // When our own database is away, that is no failure of the cluster.
  template <typename Body>
  void Guarded(Body body) {
    try {
      auto db = pool_->Get();
      db::Tx tx(*db, db::Tx::Sync::kOff);
      body(tx);
      tx.Commit();
    } catch (const cluster::CallFailed&) {
      throw;
    } catch (const std::exception& e) {
      throw cluster::CallFailed(
          Why::kBusy, std::string("the database of the grid is unavailable: ") + e.what(), 1);
    }
  }

  const std::shared_ptr<db::Pool> pool_;
  const std::int64_t id_;
  const std::string name_, api_;
  const Caller caller_;
  int counted_ = 0, failures_ = 0, ceiling_ = 0;
  Clock::time_point asked_{};
  std::optional<Clock::time_point> unanswered_since_;
};

}  // namespace

std::shared_ptr<cluster::CallLimiter> MakeLimiter(std::shared_ptr<db::Pool> pool, std::int64_t id,
                                                  const std::string& name, const std::string& api,
                                                  Caller caller) {
  return std::make_shared<ApiLimiter>(std::move(pool), id, name, api, caller);
}

Bucket BucketOf(int per_min) {
  const double burst = std::max(1, per_min / 10);
  return {burst, per_min - burst + 1};
}

double BreakerOpenFor(int failures) {
  return failures < 3 ? 0 : std::min(300.0, 2 * std::exp2(std::min(failures - 3, 10)));
}

}  // namespace cigri::clusterdb
