// Lists as long as a campaign, written as they are read: parameters, and GNU parallel's job log.
#include <fmt/format.h>
#include <sql/campaigns.h>

#include "api/http/router.h"
#include "api/read/tasks.h"
#include "jdl/command.h"

namespace cigri::api {
namespace {

constexpr std::int64_t kTasksAtOnce = 1000;

// Walks the tasks `which` of a campaign; each chunk is a transaction of its own, so that a slow
// reader holds no snapshot. `print` makes the text of some tasks.
using Print = std::function<std::string(db::Tx&, const std::vector<std::int64_t>&)>;
void Walk(Context& context, std::int64_t campaign, Which which, const Print& print,
          const Write& write) {
  for (std::int64_t after = -1;;) {
    std::vector<std::int64_t> idxs;
    const auto text = context.Read([&](db::Tx& tx) {
      idxs = NextTasks(tx, campaign, which, after, kTasksAtOnce);
      return idxs.empty() ? std::string() : print(tx, idxs);
    });
    if (!text.empty() && !write(text)) return;
    if (static_cast<std::int64_t>(idxs.size()) < kTasksAtOnce) return;
    after = idxs.back();
  }
}

Reply StreamParams(Context& context, const Request& request) {
  const auto info = context.Read([&](db::Tx& tx) { return OwnInfo(tx, request, request.Id()); });
  const auto which = WhichOf(request.Query("state", "waiting"));
  return Reply::Stream([&context, info, which](const Write& write) {
    ParamReader params;
    Walk(
        context, info.id, which,
        [&](db::Tx& tx, const std::vector<std::int64_t>& idxs) {
          std::string text;
          for (const auto& [idx, line] : params.Read(tx, info.id, idxs))
            text += ParamText(info, line, '\t') + "\n";
          return text;
        },
        write);
  });
}

// A line of a log has one line, and its fields are separated by tabs.
std::string Escaped(const std::string& command) {
  std::string text;
  for (const char c : command) {
    const auto at = std::string_view("\\\n\t\r").find(c);
    if (at == std::string_view::npos)
      text += c;
    else
      text += {'\\', "\\ntr"[at]};
  }
  return text;
}

// Seq Host Starttime JobRuntime Send Receive Exitval Signal Command, as GNU parallel prints them.
std::string LogLine(const Attempt& a, const std::string& command) {
  const auto how = Decode(a.wait_status);
  const double start = a.started.value_or(a.ended.value_or(0));
  return fmt::format("{}\t{}\t{:.3f}\t{:10.3f}\t0\t0\t{}\t{}\t{}\n", a.idx + 1, a.cluster, start,
                     a.started ? a.ended.value_or(start) - start : 0.0, how.exit, how.signal,
                     Escaped(command));
}

// One line for each task, as GNU parallel has it: what was killed, preempted or is tried again has
// no outcome yet, and `gridsub --resume` runs it.
std::string LogLines(db::Tx& tx, const CampaignInfo& info, ParamReader& params,
                     const std::map<std::int64_t, std::string>& programs,
                     const std::vector<std::int64_t>& idxs) {
  auto lines = params.Read(tx, info.id, idxs);
  std::string text;
  for (const auto& a : AttemptsOf(tx, info.id, idxs)) {
    if (!a.IsFinal()) continue;
    const auto program = programs.find(a.cluster_id.value_or(0));
    text += LogLine(a, jdl::CommandLine(program == programs.end() ? "" : program->second,
                                        info.format, info.columns, lines[a.idx], a.idx));
  }
  return text;
}

Reply JobLog(Context& context, const Request& request) {
  std::map<std::int64_t, std::string> programs;
  const auto info = context.Read([&](db::Tx& tx) {
    for (const auto& row : tx.Exec(sql::kExecFiles, request.Id()))
      programs[row.cluster_id] = row.exec_file;
    return OwnInfo(tx, request, request.Id());
  });
  return Reply::Stream([&context, info, programs](const Write& write) {
    if (!write("Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"))
      return;
    ParamReader params;
    Walk(
        context, info.id, Which::kFinished,
        [&](db::Tx& tx, const std::vector<std::int64_t>& idxs) {
          return LogLines(tx, info, params, programs, idxs);
        },
        write);
  });
}

}  // namespace

void AddTaskReadRoutes(Router& router) {
  router.Get("/campaigns/{id}/params", StreamParams);
  router.Get("/campaigns/{id}/joblog", JobLog);
}

}  // namespace cigri::api
