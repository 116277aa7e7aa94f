#include "updator/health.h"

#include <fmt/format.h>

#include "core/log.h"
#include "core/text.h"
#include "module/events.h"

namespace cigri::updator {
namespace {

module::Event EventOf(const Answer& answer, const std::string& code) {
  module::Event e{.cls = "cluster", .code = code, .message = ""};
  e.cluster_id = answer.cluster_id;
  return e;
}

void TellFailures(db::Tx& tx, const Answer& answer, const std::string& name, Told* told) {
  if (!answer.ok && answer.failures < 3) return;
  const std::string code = answer.ok            ? ""
                           : answer.unreachable ? "CLUSTER_UNREACHABLE"
                                                : "CLUSTER_ERROR";
  if (told->failing == code) return;
  for (const char* other : {"CLUSTER_UNREACHABLE", "CLUSTER_ERROR"})
    if (other != code) module::CloseEvent(tx, EventOf(answer, other), "updator");
  if (answer.ok) {
    if (told->failing) log::info("[{}] answers again", name);
  } else {
    auto e = EventOf(answer, code);
    e.message = name + ": " + ValidUtf8(answer.error);
    module::RaiseEvent(tx, e);
    log::warn("[{}] {}: {}", name, answer.unreachable ? "does not answer" : "answers with errors",
              answer.error);
  }
  told->failing = code;
}

void TellStress(db::Tx& tx, const Answer& answer, const std::string& name, double limit,
                Told* told) {
  if (!answer.ok || !answer.resources) return;
  const bool stressed = answer.resources->stress >= limit;
  if (told->stressed == stressed) return;
  auto e = EventOf(answer, "UNDER_STRESS");
  e.message = fmt::format(
      "{} is overloaded (stress {:.2f}, the limit is {:.2f}): nothing new is sent there", name,
      answer.resources->stress, limit);
  if (stressed)
    module::RaiseEvent(tx, e);
  else
    module::CloseEvent(tx, e, "updator");
  if (stressed || told->stressed)
    log::info("[{}] {}", name, stressed ? e.message : "is no longer overloaded");
  told->stressed = stressed;
}

}  // namespace

void TellHealth(db::Tx& tx, const Answer& answer, const std::string& name, double stress_limit,
                Told* told) {
  TellFailures(tx, answer, name, told);
  TellStress(tx, answer, name, stress_limit, told);
}

}  // namespace cigri::updator
