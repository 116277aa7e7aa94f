// What becomes of results: printed, kept in files, put into a table.
#pragma once
#include <array>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "tools/common/results.h"

namespace cigri::tools {

/// The values of a task as one text, as GNU parallel's --tag writes them.
std::string ValuesText(const std::vector<std::string>& values);

/// Why `path` can be neither written nor made, "" when it can: a folder, or a file. Makes nothing.
std::string WhyNotWritable(const std::string& path, bool folder);

/// For a thread that ends the process next, while others may write results: removes what
/// ResultFiles have half written, and nothing gets its name from here on.
void AbandonPartialFiles();

/// What an earlier run has done of the work (gridsub --creates, --resume): tasks that are left out
/// of the campaign keep their numbers and the names of their files.
struct EarlierRun {
  std::function<std::int64_t(std::int64_t)> seq;  ///< number of the nth task that is not left out
  std::unordered_set<std::string> names;          ///< ResultFiles::FileName of those that are
  bool table = false;                             ///< the table goes on below the rows of that run
};

/// stdout of tasks to stdout and stderr to stderr (or to stdout too, without `apart`), byte for
/// byte; with `tag` the values of the task and a TAB before each line.
class ResultPrinter : public ResultSink {
 public:
  /// `before` is called before something is printed: a progress line is taken away.
  ResultPrinter(bool tag, std::function<void()> before, bool apart = true)
      : tag_(tag), apart_(apart), before_(std::move(before)) {}
  void Output(std::int64_t task, Printed stream, std::string_view bytes) override;
  void Outcome(const TaskOutcome& outcome) override;
  void Cut() override;
  bool WantsMore() const override { return !gone_; }

 private:
  using Bytes = std::map<std::int64_t, std::array<std::size_t, 2>>;
  void Write(std::string_view text, std::FILE* to);
  void PutTagged(const std::string& text, const std::string& tag, std::FILE* to);
  const bool tag_, apart_;
  const std::function<void()> before_;
  bool gone_ = false;
  std::string held_[2];   ///< with tag_: the values come with the outcome
  Bytes printed_, skip_;  ///< of tasks without outcome: printed, and not to be printed again
};

/// DIR/VALUES.out, and .err where there is any: a file for each task, named by its values. What a
/// file name cannot hold is written as %XX; a name that was taken, or is too long, gets the number
/// of the task as in {#}.
class ResultFiles : public ResultSink {
 public:
  /// The path of a task's files below the folder, without .out and .err.
  using Name = std::function<std::string(const TaskOutcome&)>;
  /// Makes the folder. Throws Fatal(kExitBadInput) when it cannot be written.
  explicit ResultFiles(std::string folder, Name name = {}, const EarlierRun* earlier = nullptr);
  ~ResultFiles() override;
  void Output(std::int64_t task, Printed stream, std::string_view bytes) override;
  void Outcome(const TaskOutcome& outcome) override;
  void Cut() override;
  static std::string FileName(const std::vector<std::string>& values);

 private:
  std::string UniqueName(const TaskOutcome& outcome);
  std::string Partial(bool err) const { return partial_ + (err ? ".err" : ".out"); }
  const std::string folder_;
  std::string partial_;  ///< what is being written: a name that no other process has
  const Name name_;
  const EarlierRun* const earlier_;
  std::unordered_set<std::string> taken_;
  std::ofstream open_[2];
};

/// A CSV with a line for each task: its number as in {#}, its values, and how it ended. Tasks with
/// fewer values than others have empty ones behind them: for one with more than all before it, what
/// the file has is written again. Rows of an earlier run with other columns are moved to FILE~.
class ResultTable : public ResultSink {
 public:
  explicit ResultTable(std::string file, const EarlierRun* earlier = nullptr);
  void Columns(const std::vector<std::string>& columns) override;
  void Outcome(const TaskOutcome& outcome) override;

 private:
  struct Line {
    std::uint32_t values = 0, all = 0;  ///< bytes: up to the last value, and in all
  };
  void Open(std::ios::openmode mode = std::ios::trunc);
  bool GoesOn(std::size_t width);
  void Put(const std::string& text);
  std::string Title() const;
  void Widen(std::size_t width);
  const std::string file_;
  const EarlierRun* const earlier_;
  bool kept_ = false;          ///< the file has rows of an earlier run
  std::streamsize begin_ = 0;  ///< where the rows of this run begin
  std::ofstream out_;
  std::vector<std::string> columns_;
  std::optional<std::size_t> width_;  ///< values of a line; none: there is no line yet
  std::vector<Line> lines_;
};

/// Hands results on to several sinks, and counts what could not be read.
class ResultFanout : public ResultSink {
 public:
  void Add(std::unique_ptr<ResultSink> sink) { sinks_.push_back(std::move(sink)); }
  bool empty() const { return sinks_.empty(); }
  void Columns(const std::vector<std::string>& columns) override;
  void Output(std::int64_t task, Printed stream, std::string_view bytes) override;
  void Outcome(const TaskOutcome& outcome) override;
  void Cut() override;
  bool WantsMore() const override;
  int unread() const { return unread_; }
  const std::string& why_unread() const { return why_; }

 private:
  std::vector<std::unique_ptr<ResultSink>> sinks_;
  int unread_ = 0;
  std::string why_;
};

}  // namespace cigri::tools
