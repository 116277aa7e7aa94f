// What a storm of faults is judged by: pauses between events, less what is excused.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cigri::test {

/// Seconds since 1970, as jobs write them.
double Now();

struct Span {
  double from = 0, to = 0;
  double length() const { return to - from; }
};

/// The pauses of at least `least` s between successive `times`, in any order.
std::vector<Span> Pauses(std::vector<double> times, double least);
/// How much of `span` the spans `others`, which do not overlap, cover.
double Covered(const Span& span, const std::vector<Span>& others);
/// The same time in spans that do not overlap.
std::vector<Span> Merged(std::vector<Span> spans);
/// The pause that is the longest without what `excused` covers of it, and that rest.
struct Longest {
  Span span;
  double rest = 0;
};
Longest LongestWithout(const std::vector<Span>& pauses, const std::vector<Span>& excused);
/// The same, of each pause only the part after the last of `faults` in it.
Longest LongestAfter(const std::vector<Span>& pauses, const std::vector<double>& faults,
                     const std::vector<Span>& excused);

/// Asks each server ten times a second, in a session of its own, commits to the one that takes it,
/// and reads there who leads.
class DatabaseWatch {
 public:
  /// `servers`: a conninfo each.
  explicit DatabaseWatch(const std::vector<std::string>& servers);
  ~DatabaseWatch();
  /// When no server has committed anything, until now.
  std::vector<Span> Away() const;
  /// When the leader took or renewed its lease.
  std::vector<double> Renewals() const;
  /// How often another almighty has taken the lead.
  int Leaders() const;

 private:
  void Watch(const std::string& conninfo);

  mutable std::mutex mutex_;
  std::vector<double> commits_, renewals_;
  std::string lease_;
  std::int64_t epoch_ = 0;
  int leaders_ = 0;
  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

}  // namespace cigri::test
