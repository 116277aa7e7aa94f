// What a simulation leaves behind in files.
#pragma once
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "sim/report.h"

namespace cigri::sim {

/// A file that is there whole or not at all: written next to its name, moved there by Commit().
class OutFile {
 public:
  /// Throws Fatal(kExitBadInput) when it cannot be made.
  explicit OutFile(std::string path);
  ~OutFile();
  OutFile(const OutFile&) = delete;
  OutFile& operator=(const OutFile&) = delete;
  void Write(const std::string& text);
  /// Throws Fatal when not everything reached the disk.
  void Commit();

 private:
  std::string path_, part_;
  std::FILE* file_ = nullptr;
  bool bad_ = false;
};

/// A row for each job, in the order of their ends.
class JobTable : public Observer {
 public:
  JobTable(const Scenario& scenario, std::string path);
  void Submitted(int campaign, double now) override;
  void Ended(const Attempt& attempt) override;
  void Commit() { file_.Commit(); }

 private:
  const Scenario& scenario_;
  std::vector<double> submitted_;
  OutFile file_;
};

/// The same in the Standard Workload Format: the executable is the campaign, the partition the
/// cluster.
class SwfTable : public Observer {
 public:
  explicit SwfTable(const Scenario& scenario) : scenario_(scenario) {}
  void Ended(const Attempt& attempt) override { attempts_.push_back(attempt); }
  std::string Text();

 private:
  const Scenario& scenario_;
  std::vector<Attempt> attempts_;
};

/// Who ran where and when, as a picture: a rectangle a job while there are at most `kMostBars`,
/// else how many slots each user had.
class Gantt : public Observer {
 public:
  static constexpr std::size_t kMostBars = 20'000;
  explicit Gantt(const Scenario& scenario);
  void Ended(const Attempt& attempt) override;
  void LocalEnded(int cluster, double started, double ended, int slots) override;
  std::string Svg(double until);

 private:
  struct Bar {
    int cluster = 0, user = -1, slots = 1;  // user -1: a local one
    double from = 0, to = 0;
    bool lost = false;
    std::int64_t job = 0;
  };
  void Bars(std::string& svg, std::vector<Bar>& bars, int slots, double top, double height,
            double until);
  void Areas(std::string& svg, const std::vector<Bar>& bars, int slots, double top, double height,
             double until);

  const Scenario& scenario_;
  std::vector<int> user_of_;
  std::vector<std::string> users_;
  std::vector<Bar> bars_;
};

/// The last decision before a moment, for messages: what was idle, who waited, and why.
class Why : public Observer {
 public:
  void Decided(const Moment& moment) override;
  bool ReadsReasons() const override { return true; }
  /// `most` campaigns are shown.
  std::string Text(const Scenario& scenario, std::size_t most) const;

 private:
  bool any_ = false;
  double now_ = 0;
  std::vector<policy::Cluster> clusters_;
  std::vector<std::int64_t> waiting_, campaigns_;  // of each campaign there
  policy::PlanResult result_;
};

/// Bars of the main numbers, a colour a policy.
std::string PlotSvg(const std::vector<Report>& reports, const std::string& title);

}  // namespace cigri::sim
