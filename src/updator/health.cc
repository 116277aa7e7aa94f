#include "updator/health.h"

#include <fmt/format.h>

#include "core/log.h"
#include "core/text.h"

namespace cigri::updator {
namespace {

db::Event EventOf(const Answer& answer, const std::string& code) {
  db::Event e{.cls = "cluster", .code = code, .message = ""};
  e.cluster_id = answer.cluster_id;
  return e;
}

void ReportFailures(Store& store, const Answer& answer, const std::string& name,
                    ReportedHealth* reported) {
  if (!answer.ok && answer.failures < 3) return;
  const std::string code = answer.ok            ? ""
                           : answer.unreachable ? "CLUSTER_UNREACHABLE"
                                                : "CLUSTER_ERROR";
  if (reported->failing == code) return;
  for (const char* other : {"CLUSTER_UNREACHABLE", "CLUSTER_ERROR"})
    if (other != code) store.Close(EventOf(answer, other));
  if (answer.ok) {
    if (reported->failing) log::info("[{}] answers again", name);
  } else {
    auto e = EventOf(answer, code);
    e.message = name + ": " + ValidUtf8(answer.error);
    store.Raise(e);
    log::warn("[{}] {}: {}", name, answer.unreachable ? "does not answer" : "answers with errors",
              answer.error);
  }
  reported->failing = code;
}

void ReportStress(Store& store, const Answer& answer, const std::string& name, double limit,
                  ReportedHealth* reported) {
  if (!answer.ok || !answer.resources) return;
  const bool stressed = answer.resources->stress >= limit;
  if (reported->stressed == stressed) return;
  auto e = EventOf(answer, "UNDER_STRESS");
  e.message = fmt::format(
      "{} is overloaded (stress {:.2f}, the limit is {:.2f}): nothing new is sent there", name,
      answer.resources->stress, limit);
  if (stressed)
    store.Raise(e);
  else
    store.Close(e);
  if (stressed || reported->stressed)
    log::info("[{}] {}", name, stressed ? e.message : "is no longer overloaded");
  reported->stressed = stressed;
}

}  // namespace

void ReportHealth(Store& store, const Answer& answer, const std::string& name, double stress_limit,
                  ReportedHealth* reported) {
  ReportFailures(store, answer, name, reported);
  ReportStress(store, answer, name, stress_limit, reported);
}

}  // namespace cigri::updator
