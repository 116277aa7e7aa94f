#include "runner/limits.h"

#include <algorithm>

#include "core/log.h"
#include "core/text.h"
#include "db/events.h"

namespace cigri::runner {

std::size_t BytesOf(const cluster::Batch& spec) {
  std::size_t bytes = 0;
  for (const auto& e : spec.elements) bytes += e.command.size();
  return bytes;
}

void BatchLimits::Load() {
  if (loaded_) return;
  LearntLimits learnt;
  session_.Transact([&](db::Tx& tx) { learnt = session_.store.Limits(tx); }, db::Tx::Sync::kOff);
  max_array_ = std::max(1, std::min(session_.caps.max_array, learnt.max_array.value_or(INT32_MAX)));
  max_bytes_ = std::min(session_.caps.max_bytes,
                        static_cast<std::size_t>(learnt.max_bytes.value_or(INT64_MAX)));
  loaded_ = true;
}

int BatchLimits::MaxElements(std::int64_t campaign) const {
  const auto it = fitting_.find(campaign);
  return it == fitting_.end() ? max_array_ : std::min(max_array_, it->second);
}

// Parameters may be long: the mean size of these elements says how many of them fit.
bool BatchLimits::TooManyBytes(const cluster::Batch& spec) {
  const auto n = spec.elements.size(), bytes = BytesOf(spec);
  if (n < 2 || bytes <= max_bytes_) return false;
  const auto mean = bytes / n + 1;
  const int fit = static_cast<int>(max_bytes_ * 3 / 4 / mean);
  fitting_[spec.campaign_id] = std::max(1, std::min(fit, static_cast<int>(n) / 2));
  return true;
}

// The new limit is the one that the cluster named, else half of what it refused.
void BatchLimits::Learn(db::Tx& tx, const cluster::SubmitRefused& refusal, int jobs,
                        std::size_t bytes) {
  const auto why = ValidUtf8(refusal.what());
  if (refusal.why() == cluster::SubmitRefused::Why::kBytes) {
    max_bytes_ = std::min(max_bytes_, std::max<std::size_t>(1, bytes / 2));
    session_.store.LearnLimit(tx, std::nullopt, static_cast<std::int64_t>(max_bytes_), why);
    Report(tx, std::to_string(max_bytes_) + " bytes of commands", why);
  } else {
    const int most = refusal.limit() > 0 ? refusal.limit() : jobs / 2;
    max_array_ = std::min(max_array_, std::max(1, most));
    session_.store.LearnLimit(tx, max_array_, std::nullopt, why);
    Report(tx, std::to_string(max_array_) + " jobs", why);
  }
}

void BatchLimits::Report(db::Tx& tx, const std::string& limit, const std::string& why) {
  db::Event event{.cls = "log", .code = "LIMIT_LEARNT", .message = ""};
  event.cluster_id = session_.id;
  event.message = session_.name + ": arrays are cut at " + limit + " from now on: " + why;
  db::RaiseEvent(tx, event);
  log::warn("{}", event.message);
}

}  // namespace cigri::runner
