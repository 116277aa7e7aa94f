// Where one task is, or how one job ended, and whose fault that was.
#include <sql/batches.h>
#include <sql/tasks.h>

#include "api/read/tasks.h"
#include "api/why/why.h"
#include "core/text.h"

namespace cigri::api {
namespace {

using nlohmann::json;

std::string EndOf(const Attempt& a) {
  const auto how = Decode(a.wait_status);
  if (how.signal != 0) return "was killed by signal " + std::to_string(how.signal);
  if (how.exit >= 0) return "exited with code " + std::to_string(how.exit);
  return "ended, and nobody knows how";
}

std::string Blame(const std::string& exit_class) {
  if (exit_class == "program") return "the program's own failure: it counts as a try";
  if (exit_class == "preemption")
    return "the cluster took the slot back: not your fault, no try charged";
  if (exit_class == "infrastructure") return "the machines' fault: no try charged";
  if (exit_class == "our_kill") return "the grid killed it: no try charged";
  return "";
}

Explanation OfAttempt(const Attempt& a, const std::string& campaign) {
  const std::string where = a.cluster.empty() ? "" : " on " + a.cluster;
  if (a.state == "running") return {"it runs" + where, ""};
  if (a.state == "remote_waiting" || a.state == "submitted")
    return {"it is in the queue" + where + ": the cluster decides when it starts", ""};
  if (a.state == "launching")
    return a.code == "SUBMIT_IN_DOUBT"
               ? Explanation{"it was sent" + where +
                                 " without an answer: the grid looks whether it arrived",
                             ""}
               : Explanation{"it is on its way" + where, ""};
  if (a.state == "terminated") return {"it is done" + where, ""};
  // A program's own words are in its output; a machine's are nowhere else.
  const std::string said = a.exit_class == "infrastructure" && !a.message.empty()
                               ? ", " + a.message.substr(0, a.message.find('\n'))
                               : "";
  Explanation explanation{
      "it " + EndOf(a) + where + " (" + a.code + said + "): " + Blame(a.exit_class), ""};
  if (a.needs_attention) {
    explanation.message += a.code == "USER_FRAG"
                               ? "; somebody asked for it (griddel -j): its task waits for its user"
                               : "; it is not tried again";
    explanation.action = "gridsub --retry-failed " + campaign + " runs the failures again";
    if (a.code == "WALLTIME")
      explanation.action = "more time first: gridsub -c " + campaign +
                           " --set walltime=...; then " + explanation.action;
  }
  return explanation;
}

// It waits: to be retried, with the end of its last attempt, or for its first.
std::string Waits(db::Tx& tx, std::int64_t campaign, const std::vector<Attempt>& attempts) {
  const Attempt& last = attempts.back();
  const auto row = tx.Exec(sql::kRetryOfTask, campaign, last.idx)[0];
  const std::string turn = row.before == 0
                               ? "it is the next to be sent"
                               : "it waits its turn, " + Tasks(row.before) + " before it";
  if (!row.wait_s) return turn;
  if (row.boosted && attempts.size() == 1) return turn + ": its user has boosted it";
  std::string message = "it waits to be retried";
  if (const double s = *row.wait_s; s > 0) message += " in " + HumanDuration(s);
  if (row.avoid) message += ", rather not on " + *row.avoid;
  if (!last.code.empty()) message += " (" + last.code + ")";
  if (attempts.size() > 1)
    message += "; last time it " + EndOf(attempts[attempts.size() - 2]) + " on " +
               attempts[attempts.size() - 2].cluster;
  return message;
}

// Of several copies the one that matters: done, then in flight, then what is written last.
const Attempt& MostRelevant(const std::vector<Attempt>& attempts) {
  for (const auto& a : attempts)
    if (a.counted) return a;
  for (const auto& a : attempts)
    if (!a.HasEnded() && a.state != "pending") return a;
  return attempts.back();
}

json WhyOfTask(db::Tx& tx, const Request& request, std::int64_t campaign, std::int64_t idx) {
  const auto attempts = AttemptsOf(tx, campaign, {idx});
  const Attempt& relevant = MostRelevant(attempts);
  json why = CampaignWhy(tx, request, campaign);
  why["task"] = idx;
  why["attempts"] = static_cast<std::int64_t>(attempts.size()) - (attempts.back().job_id ? 0 : 1);
  if (relevant.state != "pending") {
    const auto explanation = OfAttempt(relevant, std::to_string(campaign));
    why["message"] = explanation.message;
    why["action"] = explanation.action;
  } else {
    why["message"] =
        Waits(tx, campaign, attempts) + "; of its campaign: " + why["message"].get<std::string>();
  }
  return why;
}

}  // namespace

json TaskWhy(db::Tx& tx, const Request& request) {
  OwnInfo(tx, request, request.Id());
  const auto idx = request.Id("index");
  if (idx >= tx.One(sql::kTaskCount, request.Id()).n)
    throw NotFound("task " + std::to_string(idx) + " of campaign " + std::to_string(request.Id()));
  return WhyOfTask(tx, request, request.Id(), idx);
}

json JobWhy(db::Tx& tx, const Request& request) {
  const auto batches = tx.Exec(sql::kBatchOfJob, request.Id());
  if (batches.empty()) throw NotFound("job " + std::to_string(request.Id()));
  const auto b = batches[0];
  const auto campaign = b.campaign_id;
  RequireOwner(request, b.grid_user, "job " + std::to_string(request.Id()));
  json why = CampaignWhy(tx, request, campaign);
  why["job"] = request.Id();
  for (const auto& a : AttemptsOf(tx, campaign, {b.idx})) {
    if (a.job_id != request.Id()) continue;
    const auto explanation = OfAttempt(a, std::to_string(campaign));
    why["message"] = explanation.message;
    why["action"] = explanation.action;
    return why;
  }
  why["message"] = "it was never taken by " + std::string(b.cluster) + ": " +
                   b.error.value_or("its submission was given up");
  why["action"] = "";
  return why;
}

}  // namespace cigri::api
