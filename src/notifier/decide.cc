#include "notifier/decide.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/hours.h"
#include "core/text.h"

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
  return out.substr(0, WholeCharacters(out, 200));
}

std::string About(const Waiting& w) {
  if (!w.campaign_id) return "the grid";
  return "campaign " + std::to_string(*w.campaign_id) +
         (w.campaign.empty() ? "" : " (" + w.campaign + ")");
}

// What waits for a subscription about one campaign: rows of WaitingNotifications.
using Group = std::vector<const Waiting*>;

// "campaign 12 (name)", "271 campaigns".
std::string AboutAll(const Group& group) {
  std::set<std::optional<std::int64_t>> campaigns;
  for (const auto* w : group) campaigns.insert(w->campaign_id);
  return campaigns.size() == 1 ? About(*group.front())
                               : std::to_string(campaigns.size()) + " campaigns";
}

// "and 4 more", "and 4 more, of campaigns 12, 15": `from` is the first that is not listed.
std::string NotListed(const Group& group, std::size_t from, bool several) {
  std::vector<std::string> campaigns;
  for (std::size_t i = from; i < group.size(); ++i)
    if (group[i]->campaign_id && (i == from || group[i]->campaign_id != group[i - 1]->campaign_id))
      campaigns.push_back(std::to_string(*group[i]->campaign_id));
  std::string out = "and " + std::to_string(group.size() - from) + " more";
  if (several && !campaigns.empty()) out += ", of campaigns " + Join(campaigns, ", ");
  return out + "\n";
}

std::string Body(const Group& group, const std::string& about, bool several) {
  const Waiting& first = *group.front();
  std::string body = about + ":\n\n";
  for (std::size_t i = 0; i < std::min(group.size(), kMostLines); ++i) {
    const Waiting& w = *group[i];
    if (several) body += About(w) + ": ";
    body += w.code + ": " + (w.message.empty() ? "(no message)" : w.message) + "\n";
  }
  if (group.size() > kMostLines) body += NotListed(group, kMostLines, several);
  if (several)
    body += "\nMore: gridstat\n";
  else if (first.campaign_id)
    body += "\nMore: gridstat " + std::to_string(*first.campaign_id) + "\n";
  return body + "\nEnd these messages: gridnotify -u " +
         std::string(first.type == "jabber" ? "-j " : "-m ") + first.identity + "\n";
}

Message MessageOf(const Group& group, const Limits& limits) {
  const Waiting& first = *group.front();
  const std::string about = AboutAll(group);
  const bool several = about != About(first);
  Message message{.ids = {},
                  .attempts = {},
                  .grid_user = first.grid_user,
                  .type = first.type,
                  .identity = first.identity,
                  .severity = "low",
                  .subject = "",
                  .body = Body(group, about, several),
                  .campaign_id = several ? std::nullopt : first.campaign_id,
                  .codes = {}};
  for (const auto* w : group) {
    message.ids.push_back(w->id);
    message.attempts.push_back(w->attempts);
    message.codes.push_back(w->code);
    if (Rank(w->severity) >= Rank(message.severity)) message.severity = w->severity;
  }
  const std::string what =
      group.size() == 1 ? first.code : std::to_string(group.size()) + " events";
  message.subject = OneLine(limits.tag + " (" + message.severity + "): " + about + ": " + what);
  return message;
}

double Window(const Waiting& w, const Limits& limits) {
  return w.digest_minutes ? 60.0 * *w.digest_minutes : limits.window_s;
}

bool IsQuiet(const Waiting& w, const Limits& limits) {
  return !w.quiet_hours.empty() && WithinHours(w.quiet_hours, limits.now);
}

bool IsRipe(const Group& group, const Limits& limits) {
  const Waiting& first = *group.front();
  double oldest = 0;
  bool over = false;
  for (const auto* w : group) {
    oldest = std::max(oldest, w->age_s);
    over = over || w->code == "FINISHED_CAMPAIGN";  // nothing else is to come
  }
  return !IsQuiet(first, limits) && (oldest >= Window(first, limits) || over);
}

bool NeverTried(const Group& group) {
  return std::any_of(group.begin(), group.end(), [](const auto* w) { return w->attempts == 0; });
}

// What leaves for one address: beyond its rate, the last message is of all that is left.
std::vector<Group> WithinRate(std::vector<Group> groups, const Limits& limits) {
  const auto left = limits.per_hour - groups.front().front()->sent_lately;
  if (left <= 0) return {};
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return std::pair(!NeverTried(a), a.front()->id) < std::pair(!NeverTried(b), b.front()->id);
  });
  const auto places = static_cast<std::size_t>(left);
  for (std::size_t i = places; i < groups.size(); ++i)
    groups[places - 1].insert(groups[places - 1].end(), groups[i].begin(), groups[i].end());
  groups.resize(std::min(groups.size(), places));
  return groups;
}

// When a message leaves among all: the least first.
struct Turn {
  int tried = 0;
  std::size_t nth = 0;  // of its address, then of its user
  std::size_t user = 0;
  Message message;
};

std::vector<Message> InTurns(std::map<std::string, std::vector<Turn>> of_user,
                             const std::string& after) {
  std::vector<Turn> all;
  const auto served =
      static_cast<std::size_t>(std::distance(of_user.begin(), of_user.upper_bound(after)));
  std::size_t user = of_user.size() - served;  // the first one's place; from `served` on: 0, 1 ...
  for (auto& [name, turns] : of_user) {
    user %= of_user.size();
    std::stable_sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) {
      return std::pair(a.tried, a.nth) < std::pair(b.tried, b.nth);
    });
    for (std::size_t i = 0; i < turns.size(); ++i)
      all.push_back({turns[i].tried, i, user, std::move(turns[i].message)});
    ++user;
  }
  std::sort(all.begin(), all.end(), [](const Turn& a, const Turn& b) {
    return std::tuple(a.tried, a.nth, a.user) < std::tuple(b.tried, b.nth, b.user);
  });
  std::vector<Message> out;
  for (auto& turn : all) out.push_back(std::move(turn.message));
  return out;
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
  using Address = std::tuple<std::string, std::string, std::string>;
  std::map<Address, std::vector<Group>> due;
  for (std::size_t i = 0; i < waiting.size();) {
    const Waiting& first = waiting[i];
    Group group;
    for (; i < waiting.size() && waiting[i].subscription == first.subscription &&
           waiting[i].campaign_id == first.campaign_id;
         ++i)
      group.push_back(&waiting[i]);
    if (IsRipe(group, limits))
      due[{first.grid_user, first.type, first.identity}].push_back(std::move(group));
  }
  std::map<std::string, std::vector<Turn>> of_user;
  for (auto& [address, groups] : due) {
    auto& turns = of_user[std::get<0>(address)];
    std::size_t nth = 0;
    for (const auto& group : WithinRate(std::move(groups), limits))
      turns.push_back({NeverTried(group) ? 0 : 1, nth++, 0, MessageOf(group, limits)});
  }
  return InTurns(std::move(of_user), limits.after);
}

std::optional<double> RetryIn(int attempts, bool permanent) {
  if (permanent || attempts >= kMostAttempts) return std::nullopt;
  return std::min(60.0 * (1 << std::min(attempts, 9)), 4 * 3600.0);
}

}  // namespace cigri::notifier
