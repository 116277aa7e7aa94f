#include "notifier/decide.h"

#include <algorithm>
#include <map>

#include "core/hours.h"

namespace cigri::notifier {
namespace {

constexpr int kMostAttempts = 10;  // with their pauses: about a day
constexpr std::size_t kMostLines = 50;

int Rank(const std::string& severity) {
  return severity == "high" ? 2 : severity == "medium" ? 1 : 0;
}

// One line, whatever an event holds: what is in a subject must not end its header.
std::string OneLine(const std::string& text) {
  std::string out = text;
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < 32 || c == 127; }, ' ');
  return out.substr(0, 200);
}

std::string About(const Waiting& w) {
  if (!w.campaign_id) return "the grid";
  return "campaign " + std::to_string(*w.campaign_id) +
         (w.campaign.empty() ? "" : " (" + w.campaign + ")");
}

std::string Subject(const Waiting& first, const Message& message, const Limits& limits) {
  const std::string what = message.codes.size() == 1
                               ? message.codes.front()
                               : std::to_string(message.codes.size()) + " events";
  return OneLine(limits.tag + " (" + message.severity + "): " + About(first) + ": " + what);
}

void AddTo(Message& message, const Waiting& w) {
  message.ids.push_back(w.id);
  message.codes.push_back(w.code);
  message.attempts = std::max(message.attempts, w.attempts);
  if (Rank(w.severity) >= Rank(message.severity)) message.severity = w.severity;
  if (message.ids.size() > kMostLines) return;
  message.body += w.code + ": " + (w.message.empty() ? "(no message)" : w.message) + "\n";
}

void Finish(Message& message, const Waiting& first, const Limits& limits) {
  message.subject = Subject(first, message, limits);
  message.body = About(first) + ":\n\n" + message.body;
  if (message.ids.size() > kMostLines)
    message.body += "and " + std::to_string(message.ids.size() - kMostLines) + " more\n";
  const std::string campaign = first.campaign_id ? std::to_string(*first.campaign_id) : "";
  if (first.campaign_id) message.body += "\nMore: gridstat " + campaign + "\n";
  message.body += "\nEnd these messages: gridnotify -u " +
                  std::string(first.type == "jabber" ? "-j " : "-m ") + first.identity + "\n";
}

double Window(const Waiting& w, const Limits& limits) {
  return w.digest_minutes ? 60.0 * *w.digest_minutes : limits.window_s;
}

bool IsQuiet(const Waiting& w, const Limits& limits) {
  return !w.quiet_hours.empty() && WithinHours(w.quiet_hours, limits.now);
}

}  // namespace

const std::vector<std::string>& MediumCodes() {
  static const std::vector<std::string> codes = {
      "CLUSTER_UNREACHABLE", "CLUSTER_ERROR", "UNDER_STRESS",   "TOKEN_EXPIRES",
      "PREEMPTED",           "OVERDUE",       "SUBMIT_IN_DOUBT"};
  return codes;
}

std::string SeverityOf(const std::string& code) {
  const auto& medium = MediumCodes();
  return std::find(medium.begin(), medium.end(), code) != medium.end() ? "medium" : "high";
}

std::vector<Message> Due(const std::vector<Waiting>& waiting, const Limits& limits) {
  std::vector<Message> due;
  std::map<std::pair<std::string, std::string>, std::int64_t> leaving;  // to an address, now
  for (std::size_t i = 0; i < waiting.size();) {
    const Waiting& first = waiting[i];
    Message message{.ids = {},
                    .type = first.type,
                    .identity = first.identity,
                    .severity = "low",
                    .subject = "",
                    .body = "",
                    .campaign_id = first.campaign_id,
                    .codes = {}};
    double oldest = 0;
    bool over = false;
    for (; i < waiting.size() && waiting[i].subscription == first.subscription &&
           waiting[i].campaign_id == first.campaign_id;
         ++i) {
      AddTo(message, waiting[i]);
      oldest = std::max(oldest, waiting[i].age_s);
      over = over || waiting[i].code == "FINISHED_CAMPAIGN";  // nothing else is to come
    }
    auto& to_it = leaving[{first.type, first.identity}];
    if (first.sent_lately + to_it >= limits.per_hour || IsQuiet(first, limits) ||
        (oldest < Window(first, limits) && !over))
      continue;
    ++to_it;
    Finish(message, first, limits);
    due.push_back(std::move(message));
  }
  return due;
}

std::optional<double> RetryIn(int attempts, bool permanent) {
  if (permanent || attempts >= kMostAttempts) return std::nullopt;
  return std::min(60.0 * (1 << std::min(attempts, 9)), 4 * 3600.0);
}

}  // namespace cigri::notifier
