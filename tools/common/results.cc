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
  if (!in_order)
    for (const auto& ranges : HolesAsRanges()) FetchSome(sink, ranges, false);
  FetchSome(sink, "", in_order);
}

// `among` are holes, asked for without what follows; else what follows the highest.
void ResultStream::FetchSome(ResultSink& sink, const std::string& among, bool in_order) {
  std::string path = "/campaigns/" + std::to_string(campaign_) + "/results?streams=";
  path += std::string(options_.out ? "stdout" : "") + (options_.out && options_.err ? "," : "") +
          (options_.err ? "stderr" : "");
  if (among.empty())
    path += "&after=" + std::to_string(highest_) + (in_order ? "&in_order=1" : "");
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
      return thrown == nullptr;
    });
  } catch (const Fatal&) {
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
  holes_.erase(task);
  for (auto idx = highest_ + 1; idx < task; ++idx) holes_.insert(holes_.end(), idx);
  highest_ = std::max(highest_, task);
}

// "3,7-12", as many texts as it takes.
std::vector<std::string> ResultStream::HolesAsRanges() const {
  std::vector<std::string> texts;
  std::int64_t n = kTasksAtOnce;
  for (auto at = holes_.begin(); at != holes_.end();) {
    if (n >= kTasksAtOnce || texts.back().size() > kQueryBytes) texts.emplace_back(), n = 0;
    const auto first = *at;
    auto last = first;
    for (++n, ++at; at != holes_.end() && *at == last + 1 && n < kTasksAtOnce; ++at, ++n)
      last = *at;
    auto& text = texts.back();
    text += (text.empty() ? "" : ",") + std::to_string(first) +
            (last > first ? "-" + std::to_string(last) : "");
  }
  return texts;
}

}  // namespace cigri::tools
