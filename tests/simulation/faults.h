// Which fault happens at which step of the grid, by the seed, and how often each step was hit.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace cigri::test {

/// What may happen to whoever is about to take a step.
enum class Fault {
  kNone,
  kLost,      ///< the request does not arrive: a statement, a COMMIT, a call
  kAnswer,    ///< it is carried out, and its answer does not arrive
  kKilled,    ///< the process is killed before it
  kPaused,    ///< the process stands still before it, up to three terms of a leader
  kOutlived,  ///< so do it and its almighty, until another one leads
};

class Faults {
 public:
  static Faults& OfProcess();
  /// The steps of the grid that have faults of their own, in the order of docs/design.md.
  static const std::vector<std::string>& Steps();

  /// Each run has two steps at which more happens than elsewhere: all are hit often enough.
  void BeginRun(unsigned seed);
  /// From now on nothing happens.
  void Calm() { calm_ = true; }
  bool calm() const { return calm_; }
  /// What happens to whoever takes `steps` with this statement or call; counts it.
  Fault At(const std::vector<std::string>& steps);
  /// A fault that is the site's own: at `step`, of `percent` of the calls.
  bool Happens(const std::string& step, const std::string& fault, unsigned percent);

  /// Whether one of the two begins with `prefix`.
  bool Aims(const std::string& prefix) const;

  /// How often each step was hit by a fault, and how often it was taken.
  int Hits(const std::string& step) const;
  void Print() const;

 private:
  struct Count {
    int taken = 0;
    std::map<std::string, int> faults;
  };
  bool calm_ = true;
  int left_ = 0, leads_left_ = 0;
  std::map<std::string, int> focus_;  // steps of this run, with the faults left there
  std::map<std::string, Count> counts_;
};

}  // namespace cigri::test
