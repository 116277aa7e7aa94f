// GET /campaigns/N/results: tasks that are over, each with its outcome and, when asked for, with
// what it printed. A client asks again and again for those that it has not had yet (docs/api.md).
#include <sql/tasks.h>

#include "api/http/router.h"
#include "api/read/job_output.h"
#include "core/text.h"
#include "jdl/command.h"

namespace cigri::api {
namespace {

using nlohmann::json;

constexpr std::int64_t kTasksAtOnce = 200;
constexpr std::size_t kMostAmong = 10'000;

std::string Frame(const json& head) { return OneLine(head) + "\n"; }

struct Wanted {
  std::int64_t after = -1;          ///< every task behind this one
  bool in_order = false;            ///< only those up to the first that is not over
  std::vector<std::int64_t> among;  ///< these instead, ascending
  std::vector<cluster::Stream> streams;
};

[[noreturn]] void RefuseAmong(const std::string& text) {
  throw BadRequest("\"" + text + "\" are no numbers of tasks", "like among=3,7-12");
}

std::int64_t TaskNumber(const std::string& text) {
  if (text.empty() || text.size() > 12 || text.find_first_not_of("0123456789") != text.npos)
    RefuseAmong(text);
  return std::stoll(text);
}

// "3,7-12"
std::vector<std::int64_t> AmongOf(const std::string& text) {
  std::vector<std::int64_t> tasks;
  if (text.empty()) return tasks;
  for (const auto& part : Split(text, ',')) {
    const auto ends = Split(part, '-');
    const auto from = TaskNumber(ends.front()), to = TaskNumber(ends.back());
    if (ends.size() > 2 || to < from || (!tasks.empty() && from <= tasks.back())) RefuseAmong(text);
    if (tasks.size() + static_cast<std::size_t>(to - from) >= kMostAmong)
      throw BadRequest("among names more than " + std::to_string(kMostAmong) + " tasks");
    for (auto idx = from; idx <= to; ++idx) tasks.push_back(idx);
  }
  return tasks;
}

Wanted WantedOf(const Request& request) {
  Wanted wanted;
  const auto after = request.Query("after", "-1");
  wanted.after = after == "-1" ? -1 : TaskNumber(after);
  wanted.in_order = request.Flag("in_order");
  wanted.among = AmongOf(request.Query("among"));
  for (const auto& stream : Split(request.Query("streams"), ',')) {
    if (stream == "stdout")
      wanted.streams.push_back(cluster::Stream::kStdout);
    else if (stream == "stderr")
      wanted.streams.push_back(cluster::Stream::kStderr);
    else if (!stream.empty())
      throw BadRequest("there is no stream \"" + stream + "\"", "say stdout or stderr");
  }
  return wanted;
}

json OutcomeJson(const CampaignInfo& info, const Attempt& a, const std::string& line) {
  const auto how = Decode(a.wait_status);
  const bool timed = a.started && a.ended;
  json outcome = {
          {"task", a.idx},
          {"end", true},
          {"values",
           info.format == jdl::kFormatValues ? json(jdl::DecodeValues(line)) : json::array({line})},
          {"state", a.counted ? "done" : "failed"},
          {"code", a.code},
          {"exit", how.exit},
          {"signal", how.signal},
          {"cluster", a.cluster},
          {"node", a.node},
          {"job", OrNull(a.job_id)},
          {"attempts", a.attempt},
          {"started", OrNull(a.started)},
          {"seconds", timed ? json(*a.ended - *a.started) : json()}};
  outcome.update(MeasuredJson(a));
  return outcome;
}

// Writes tasks as frames: a line of JSON, and behind it the bytes that it announces.
class ResultWriter {
 public:
  ResultWriter(Context& context, CampaignInfo info, Wanted wanted, const Write& write)
      : context_(context),
        info_(std::move(info)),
        wanted_(std::move(wanted)),
        write_(write),
        drivers_(context) {}

  void Run() {
    if (!write_(Frame({{"campaign", info_.id}, {"columns", info_.columns}}))) return;
    for (std::size_t at = 0; at < wanted_.among.size(); at += kTasksAtOnce) {
      const auto begin = wanted_.among.begin() + static_cast<std::ptrdiff_t>(at);
      const auto left = wanted_.among.end() - begin;
      const std::vector<std::int64_t> some(begin, begin + std::min(left, kTasksAtOnce));
      if (!Put([&](db::Tx& tx) { return Idxs(tx.Exec(sql::kFinishedAmong, info_.id, some)); }))
        return;
    }
    while (wanted_.among.empty() && PutNext()) {
    }
  }

 private:
  template <typename Rows>
  static std::vector<std::int64_t> Idxs(const Rows& rows) {
    std::vector<std::int64_t> idxs;
    for (const auto& row : rows) idxs.push_back(row.idx);
    return idxs;
  }

  // The next tasks behind `after`; false when there are no more.
  bool PutNext() {
    const auto after = wanted_.after;
    std::int64_t last = after;
    bool more = false;
    const bool reader = Put([&](db::Tx& tx) {
      auto idxs = Idxs(tx.Exec(sql::kFinishedTasks, info_.id, after, kTasksAtOnce));
      more = static_cast<std::int64_t>(idxs.size()) == kTasksAtOnce;
      if (wanted_.in_order) more = CutAtGap(idxs, after + 1) && more;
      last = idxs.empty() ? after : idxs.back();
      return idxs;
    });
    wanted_.after = last;
    return reader && more;
  }

  // Leaves first, first + 1 ... and cuts the rest; true when there was no rest.
  static bool CutAtGap(std::vector<std::int64_t>& idxs, std::int64_t first) {
    std::size_t n = 0;
    while (n < idxs.size() && idxs[n] == first + static_cast<std::int64_t>(n)) ++n;
    const bool whole = n == idxs.size();
    idxs.resize(n);
    return whole;
  }

  // False when the client has gone. What is slow, reading output, holds no transaction.
  bool Put(const std::function<std::vector<std::int64_t>(db::Tx&)>& find) {
    std::vector<Attempt> attempts;
    std::vector<OutputJob> jobs;
    std::map<std::int64_t, std::string> lines;
    context_.Read([&](db::Tx& tx) {
      const auto idxs = find(tx);
      if (idxs.empty()) return;
      attempts = MostRelevant(AttemptsOf(tx, info_.id, idxs));
      if (!wanted_.streams.empty()) jobs = JobsOf(tx, attempts);
      lines = params_.Read(tx, info_.id, idxs);
    });
    for (std::size_t i = 0; i < attempts.size(); ++i) {
      json outcome = OutcomeJson(info_, attempts[i], lines[attempts[i].idx]);
      if (!wanted_.streams.empty() && !PutOutput(jobs[i], outcome)) return false;
      if (!write_(Frame(outcome))) return false;
    }
    return true;
  }

  // One job that cannot be read does not hide the others: its outcome says why.
  bool PutOutput(const OutputJob& job, json& outcome) {
    bool reader = true;
    for (const auto stream : wanted_.streams) try {
        const char* name = stream == cluster::Stream::kStderr ? "stderr" : "stdout";
        CopyOutput(drivers_.Of(job.cluster_id), job, stream, 0, [&](std::string_view bytes) {
          reader = write_(Frame({{"task", job.idx}, {"stream", name}, {"bytes", bytes.size()}})) &&
                   write_(bytes);
          return reader;
        });
      } catch (const std::exception& e) {
        outcome["unread"] = e.what();
      }
    return reader;
  }

  Context& context_;
  CampaignInfo info_;
  Wanted wanted_;
  const Write& write_;
  Drivers drivers_;
  ParamReader params_;
};

Reply Results(Context& context, const Request& request) {
  const auto info =
      context.Read([&](db::Tx& tx) { return OwnInfo(tx, request, request.Id()); });
  return Reply::Stream(
      [&context, info, wanted = WantedOf(request)](const Write& write) {
        ResultWriter(context, info, wanted, write).Run();
      },
      "application/octet-stream");
}

}  // namespace

void AddResultRoutes(Router& router) { router.Get("/campaigns/{id}/results", Results); }

}  // namespace cigri::api
