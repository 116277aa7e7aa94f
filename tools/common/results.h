// Tasks that are over, fetched as they end: their outcomes and what they printed.
#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/common/api.h"

namespace cigri::tools {

/// How one task ended.
struct TaskOutcome {
  std::int64_t task = 0;  ///< from 0
  std::vector<std::string> values;
  bool done = false;  ///< else its tries are spent
  std::string code;   ///< why it failed: EXIT_ERROR, WALLTIME
  int exit = 0;       ///< -1: nobody knows
  int signal = 0;
  std::string cluster, node;
  std::int64_t job = 0;
  int attempts = 0;
  std::optional<double> seconds;
  std::optional<double> cpu_s, peak_mb, read_mb, written_mb, transfer_s;  ///< measured
  std::string unread;  ///< why some of its output cannot be read, "" when it can
};

enum class Printed { kStdout, kStderr };

/// Takes results. The calls for one task come together, its outcome last.
class ResultSink {
 public:
  virtual ~ResultSink() = default;
  /// Once, before all others: names of the values, none when they have none.
  virtual void Columns(const std::vector<std::string>& columns) { (void)columns; }
  virtual void Output(std::int64_t task, Printed stream, std::string_view bytes) {
    (void)task, (void)stream, (void)bytes;
  }
  virtual void Outcome(const TaskOutcome& outcome) = 0;
  /// The answer was cut: the output of a task without outcome comes again from its first byte.
  virtual void Cut() {}
  /// False when what it took goes nowhere: its reader has gone (| head).
  virtual bool WantsMore() const { return true; }
};

/// The results of one campaign, each once, also over an API that was cut or restarted meanwhile.
class ResultStream {
 public:
  struct Options {
    bool out = false, err = false;  ///< what tasks printed, too
    bool in_order = false;          ///< in the order of the tasks
  };
  ResultStream(Api& api, std::int64_t campaign, Options options)
      : api_(api), campaign_(campaign), options_(options) {}
  /// Hands to `sink` what has ended since the last call. With `last` the tasks behind one that
  /// never ran come too, whatever the order. Throws Fatal when the API cannot be reached or broke
  /// off; the next call goes on. Ends at once when the sink wants no more.
  void Fetch(ResultSink& sink, bool last);
  /// Of the tasks before the last one that was seen or skipped, those that were neither.
  void FetchHoles(ResultSink& sink);
  /// `task` is not asked for: the caller has it.
  void Skip(std::int64_t task) { MarkSeen(task); }

 private:
  void FetchSome(ResultSink& sink, const std::string& among, bool in_order);
  void Take(ResultSink& sink, const nlohmann::json& head, std::string_view bytes);
  void MarkSeen(std::int64_t task);
  std::string NextHoles(std::int64_t& from, std::int64_t end) const;

  Api& api_;
  const std::int64_t campaign_;
  const Options options_;
  bool begun_ = false;
  std::vector<bool> seen_;  ///< up to the last task that was seen: a bit for each of very many
  std::int64_t holes_ = 0;  ///< how many of these were not
};

/// Splits the answer of /results into lines of JSON, and the bytes behind those that announce some.
class FrameReader {
 public:
  using Take = std::function<void(const nlohmann::json& head, std::string_view bytes)>;
  explicit FrameReader(Take take) : take_(std::move(take)) {}
  /// Throws Fatal(kExitSoftware) for what is no frame.
  void Feed(std::string_view bytes);

 private:
  bool TakeOne();
  Take take_;
  std::string held_;
  std::size_t at_ = 0;
};

}  // namespace cigri::tools
