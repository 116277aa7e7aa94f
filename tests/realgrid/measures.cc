#include "tests/realgrid/measures.h"

#include <algorithm>
#include <chrono>

#include "db/native.h"
#include "tests/support/await.h"

namespace cigri::test {
namespace {

// A server that is asked ten times a second may take so long on a busy machine.
constexpr double kShort = 0.5;

}  // namespace

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::vector<Span> Pauses(std::vector<double> times, double least) {
  std::sort(times.begin(), times.end());
  std::vector<Span> pauses;
  for (std::size_t i = 1; i < times.size(); ++i)
    if (times[i] - times[i - 1] >= least) pauses.push_back({times[i - 1], times[i]});
  return pauses;
}

double Covered(const Span& span, const std::vector<Span>& others) {
  double covered = 0;
  for (const auto& o : others)
    covered += std::max(0.0, std::min(span.to, o.to) - std::max(span.from, o.from));
  return covered;
}

std::vector<Span> Merged(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(), [](auto& a, auto& b) { return a.from < b.from; });
  std::vector<Span> merged;
  for (const auto& span : spans)
    if (merged.empty() || span.from > merged.back().to)
      merged.push_back(span);
    else
      merged.back().to = std::max(merged.back().to, span.to);
  return merged;
}

Longest LongestWithout(const std::vector<Span>& pauses, const std::vector<Span>& excused) {
  return LongestAfter(pauses, {}, excused);
}

Longest LongestAfter(const std::vector<Span>& pauses, const std::vector<double>& faults,
                     const std::vector<Span>& excused) {
  Longest longest;
  for (Span span : pauses) {
    for (const double fault : faults)
      if (fault < span.to) span.from = std::max(span.from, fault);
    const double rest = span.length() - Covered(span, excused);
    if (rest > longest.rest) longest = {span, rest};
  }
  return longest;
}

DatabaseWatch::DatabaseWatch(const std::vector<std::string>& servers) {
  for (const auto& conninfo : servers) threads_.emplace_back([this, conninfo] { Watch(conninfo); });
}

DatabaseWatch::~DatabaseWatch() {
  over_ = true;
  for (auto& thread : threads_) thread.join();
}

// A standby keeps its session, which is asked whether it has become the primary: a new one each time
// took a quarter of two cores. A server that stands still keeps this thread, and no other.
void DatabaseWatch::Watch(const std::string& conninfo) {
  std::unique_ptr<pqxx::connection> session;
  const auto pause = [&] { Await([&] { return over_.load(); }, std::chrono::milliseconds(100)); };
  for (; !over_; pause()) try {
      if (!session) session = std::make_unique<pqxx::connection>(conninfo);
      pqxx::work tx(*session);
      if (tx.exec1("SELECT pg_is_in_recovery()")[0].as<bool>()) continue;
      const auto row = tx.exec1(
          "WITH probed AS (INSERT INTO probe.probe VALUES (now())) SELECT epoch, ends_at "
          "FROM leader_lease");
      tx.commit();
      const double now = Now();
      std::lock_guard lock(mutex_);
      commits_.push_back(now);
      const auto epoch = row[0].as<std::int64_t>();
      if (row[1].c_str() == lease_ && epoch == epoch_) continue;
      lease_ = row[1].c_str();
      leaders_ += epoch > epoch_;
      epoch_ = epoch;
      renewals_.push_back(now);
    } catch (const std::exception&) {
      session.reset();
    }
}

std::vector<Span> DatabaseWatch::Away() const {
  std::lock_guard lock(mutex_);
  auto times = commits_;
  times.push_back(Now());
  return Pauses(times, kShort);
}

std::vector<double> DatabaseWatch::Renewals() const {
  std::lock_guard lock(mutex_);
  auto times = renewals_;
  times.push_back(Now());
  return times;
}

int DatabaseWatch::Leaders() const {
  std::lock_guard lock(mutex_);
  return leaders_;
}

}  // namespace cigri::test
