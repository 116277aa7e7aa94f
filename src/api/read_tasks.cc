#include "api/read_tasks.h"

#include <sql/read.h>
#include <sys/wait.h>

namespace cigri::api {
namespace {

Attempt AttemptOf(const pqxx::row& row) {
  Attempt a;
  a.idx = row["idx"].as<std::int64_t>();
  a.job_id = db::Opt<std::int64_t>(row["job_id"]);
  a.cluster_id = db::Opt<std::int64_t>(row["cluster_id"]);
  a.batch_id = db::Opt<std::int64_t>(row["batch_id"]);
  a.wait_status = db::Opt<int>(row["wait_status"]);
  a.submitted = db::Opt<double>(row["submitted"]);
  a.started = db::Opt<double>(row["started"]);
  a.ended = db::Opt<double>(row["ended"]);
  a.remote_id = row["remote_id"].as<std::string>("");
  a.state = row["state"].c_str();
  a.cluster = row["cluster"].as<std::string>("");
  a.kind = row["kind"].c_str();
  a.account = row["account"].as<std::string>("");
  a.code = row["code"].as<std::string>("");
  a.node = row["node"].as<std::string>("");
  a.message = row["message"].as<std::string>("");
  a.attempt = row["attempt"].as<int>();
  a.counted = row["counted"].as<bool>();
  a.to_fix = row["to_fix"].as<bool>();
  return a;
}

Attempt Untouched(std::int64_t idx) {
  Attempt a;
  a.idx = idx;
  a.state = "pending";
  return a;
}

const db::Statement& StatementOf(Which which) {
  switch (which) {
    case Which::kFailed:
      return sql::read::kTasksFailed;
    case Which::kDone:
      return sql::read::kTasksDone;
    case Which::kRunning:
      return sql::read::kTasksRunning;
    case Which::kWaiting:
      return sql::read::kTasksWaiting;
    case Which::kEnded:
      break;
  }
  return sql::read::kTasksEnded;
}

}  // namespace

std::vector<Attempt> AttemptsOf(db::Tx& tx, std::int64_t campaign,
                                const std::vector<std::int64_t>& idxs) {
  const auto rows = tx.Exec(sql::read::kTaskRows, campaign, db::Array(idxs));
  std::vector<Attempt> attempts;
  auto row = rows.begin();
  for (const auto idx : idxs) {
    const auto before = attempts.size();
    for (; row != rows.end() && (*row)["idx"].as<std::int64_t>() <= idx; ++row)
      attempts.push_back(AttemptOf(*row));
    if (attempts.size() == before) attempts.push_back(Untouched(idx));
  }
  return attempts;
}

Which WhichOf(const std::string& word) {
  if (word == "failed") return Which::kFailed;
  if (word == "done") return Which::kDone;
  if (word == "running") return Which::kRunning;
  if (word == "waiting") return Which::kWaiting;
  throw BadRequest("there are no \"" + word + "\" tasks", "say waiting, running, failed or done");
}

std::vector<std::int64_t> NextTasks(db::Tx& tx, std::int64_t campaign, Which which,
                                    std::int64_t after, std::int64_t limit) {
  std::vector<std::int64_t> idxs;
  for (const auto& row : tx.Exec(StatementOf(which), campaign, after, limit))
    idxs.push_back(row[0].as<std::int64_t>());
  return idxs;
}

HowEnded Decode(const std::optional<int>& wait_status) {
  if (!wait_status) return {};
  if (WIFSIGNALED(*wait_status)) return {0, WTERMSIG(*wait_status)};
  return {WEXITSTATUS(*wait_status), 0};
}

}  // namespace cigri::api
