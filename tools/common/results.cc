#include "tools/common/results.h"

#include <algorithm>
#include <exception>

namespace cigri::tools {
namespace {

using nlohmann::json;

// Of one list of tasks: a request line has 8 kB, and the API takes 10,000 tasks at once.
constexpr std::size_t kQueryBytes = 4000;
constexpr std::int64_t kTasksAtOnce = 5000;

std::string TextOf(const json& head, const char* key) {
  const auto at = head.find(key);
  return at != head.end() && at->is_string() ? at->get<std::string>() : "";
}
std::int64_t NumberOf(const json& head, const char* key) {
  const auto at = head.find(key);
  return at != head.end() && at->is_number() ? at->get<std::int64_t>() : 0;
}

std::optional<double> MeasureOf(const json& head, const char* key) {
  const auto at = head.find(key);
  return at != head.end() && at->is_number() ? std::optional(at->get<double>()) : std::nullopt;
}

TaskOutcome OutcomeOf(const json& head) {
  TaskOutcome outcome;
  outcome.task = NumberOf(head, "task");
  outcome.values = head.value("values", std::vector<std::string>());
  outcome.done = TextOf(head, "state") == "done";
  outcome.code = TextOf(head, "code");
  outcome.exit = static_cast<int>(NumberOf(head, "exit"));
  outcome.signal = static_cast<int>(NumberOf(head, "signal"));
  outcome.cluster = TextOf(head, "cluster");
  outcome.node = TextOf(head, "node");
  outcome.job = NumberOf(head, "job");
  outcome.attempts = static_cast<int>(NumberOf(head, "attempts"));
  outcome.seconds = MeasureOf(head, "seconds");
  outcome.cpu_s = MeasureOf(head, "cpu_s");
  outcome.peak_mb = MeasureOf(head, "peak_mb");
  outcome.read_mb = MeasureOf(head, "read_mb");
  outcome.written_mb = MeasureOf(head, "written_mb");
  outcome.transfer_s = MeasureOf(head, "transfer_s");
  outcome.unread = TextOf(head, "unread");
  return outcome;
}

}  // namespace

void FrameReader::Feed(std::string_view bytes) {
  held_.append(bytes);
  while (TakeOne()) {
  }
  held_.erase(0, at_);
  at_ = 0;
}

bool FrameReader::TakeOne() {
  const auto end = held_.find('\n', at_);
  if (end == held_.npos) return false;
  const auto head = json::parse(held_.begin() + static_cast<std::ptrdiff_t>(at_),
                                held_.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
  if (!head.is_object()) throw Fatal(kExitSoftware, "the API's answer is no list of results");
  const auto n = static_cast<std::size_t>(NumberOf(head, "bytes"));
  if (held_.size() - end - 1 < n) return false;
  take_(head, std::string_view(held_).substr(end + 1, n));
  at_ = end + 1 + n;
  return true;
}

void ResultStream::Fetch(ResultSink& sink, bool last) {
  const bool in_order = options_.in_order && !last;
  if (!in_order) FetchHoles(sink);
  FetchSome(sink, "", in_order);
}

void ResultStream::FetchHoles(ResultSink& sink) {
  const auto end = static_cast<std::int64_t>(seen_.size());
  for (std::int64_t from = 0; holes_ > 0 && from < end;)
    if (const auto ranges = NextHoles(from, end); !ranges.empty()) FetchSome(sink, ranges, false);
}

// `among` are holes, asked for without what follows; else what follows the highest.
void ResultStream::FetchSome(ResultSink& sink, const std::string& among, bool in_order) {
  std::string path = "/campaigns/" + std::to_string(campaign_) + "/results?streams=";
  path += std::string(options_.out ? "stdout" : "") + (options_.out && options_.err ? "," : "") +
          (options_.err ? "stderr" : "");
  if (among.empty())
    path += "&after=" + std::to_string(static_cast<std::int64_t>(seen_.size()) - 1) + (in_order ? "&in_order=1" : "");
  else
    path += "&among=" + among;
  // An exception must not pass through the HTTP library.
  std::exception_ptr thrown;
  FrameReader frames([&](const json& head, std::string_view bytes) { Take(sink, head, bytes); });
  Answer answer;
  try {
    answer = api_.Stream(path, [&](std::string_view bytes) {
      try {
        frames.Feed(bytes);
      } catch (...) {
        thrown = std::current_exception();
      }
      return thrown == nullptr && sink.WantsMore();
    });
  } catch (const Fatal&) {
    if (!sink.WantsMore()) return;
    if (!thrown) sink.Cut();
    if (!thrown) throw;
  }
  if (thrown) std::rethrow_exception(thrown);
  if (!answer.ok()) throw Refused(answer, "read the results of the campaign");
}

void ResultStream::Take(ResultSink& sink, const json& head, std::string_view bytes) {
  if (head.contains("columns")) {
    if (!begun_) sink.Columns(head["columns"].get<std::vector<std::string>>());
    begun_ = true;
    return;
  }
  const auto task = NumberOf(head, "task");
  if (head.contains("stream")) {
    const bool err = TextOf(head, "stream") == "stderr";
    return sink.Output(task, err ? Printed::kStderr : Printed::kStdout, bytes);
  }
  sink.Outcome(OutcomeOf(head));
  MarkSeen(task);
}

void ResultStream::MarkSeen(std::int64_t task) {
  const auto at = static_cast<std::size_t>(task);
  if (at < seen_.size()) {
    holes_ -= seen_[at] ? 0 : 1;
  } else {
    holes_ += static_cast<std::int64_t>(at - seen_.size());
    seen_.resize(at + 1);
  }
  seen_[at] = true;
}

// "3,7-12": holes between `from` and `end`, as many as one request takes; `from` moves behind them.
std::string ResultStream::NextHoles(std::int64_t& from, std::int64_t end) const {
  const auto seen = [&](std::int64_t task) { return seen_[static_cast<std::size_t>(task)]; };
  std::string text;
  for (std::int64_t n = 0; from < end && n < kTasksAtOnce && text.size() < kQueryBytes; ++from) {
    if (seen(from)) continue;
    const auto first = from;
    for (++n; from + 1 < end && !seen(from + 1) && n < kTasksAtOnce; ++n) ++from;
    text += (text.empty() ? "" : ",") + std::to_string(first) +
            (from > first ? "-" + std::to_string(from) : "");
  }
  return text;
}

}  // namespace cigri::tools
