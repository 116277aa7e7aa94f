#include "sim/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

namespace cigri::sim {
namespace {

using nlohmann::json;

std::string Percent(double part) { return fmt::format("{:.2f} %", 100 * part); }
std::string Hours(double slot_s) { return fmt::format("{:.1f} h", slot_s / 3600); }

std::string More(std::size_t all, std::size_t most, const char* what) {
  return all > most ? fmt::format("  ... and {} more {} (--json has them all)\n", all - most, what)
                    : "";
}

}  // namespace

json ToJson(const Report& r) {
  json users = json::array(), campaigns = json::array(), clusters = json::array();
  for (const auto& u : r.users)
    users.push_back({{"user", u.name},
                     {"done", u.done},
                     {"slot_s", u.slot_s},
                     {"part", u.part},
                     {"contended_part", u.contended},
                     {"due_part", u.due},
                     {"wait_mean_s", u.wait_s}});
  for (const auto& c : r.campaigns)
    campaigns.push_back({{"campaign", c.name},
                         {"user", c.user},
                         {"tasks", c.tasks},
                         {"done", c.done},
                         {"submitted", c.submitted},
                         {"first_start", c.first_start},
                         {"over", c.over},
                         {"slowdown", c.slowdown}});
  for (const auto& c : r.clusters)
    clusters.push_back({{"cluster", c.name},
                        {"jobs", c.jobs},
                        {"slot_s", c.slot_s},
                        {"lost_jobs", c.preempted},
                        {"lost_slot_s", c.lost_slot_s}});
  const Totals& t = r.totals;
  return {{"label", r.label},
          {"until", t.until},
          {"makespan_s", r.makespan_s},
          {"utilisation", r.utilisation},
          {"utilisation_with_local", r.with_local},
          {"utilisation_of_left", r.of_left},
          {"wait_mean_s", r.wait_mean_s},
          {"wait_p95_s", r.wait_p95_s},
          {"slowdown", r.slowdown},
          {"campaign_slowdown", r.campaign_slowdown},
          {"share_error", r.share_error},
          {"preempted", r.preempted},
          {"lost", r.lost},
          {"cancelled", r.cancelled},
          {"failures", r.failures},
          {"copies", r.copies},
          {"lost_slot_s", r.lost_slot_s},
          {"to_bound", r.to_bound},
          {"to_clairvoyant", r.to_clairvoyant},
          {"jobs", t.jobs},
          {"done", t.done},
          {"failed", t.failed},
          {"not_done", t.not_done},
          {"events", t.events},
          {"decisions", t.decisions},
          {"users", users},
          {"campaigns", campaigns},
          {"clusters", clusters}};
}

std::string ToText(const Report& r, std::size_t most) {
  const Totals& t = r.totals;
  std::string out = fmt::format("policy           {}\n", r.label);
  out += fmt::format("tasks            {} done, {} failed, {} not done; {} jobs\n", t.done,
                     t.failed, t.not_done, t.jobs);
  out += fmt::format("makespan         {} ({:.2f} s)\n", HumanDuration(r.makespan_s), r.makespan_s);
  out += fmt::format("utilisation      {} by our jobs, {} with local users, {} of what they left\n",
                     Percent(r.utilisation), Percent(r.with_local), Percent(r.of_left));
  out += fmt::format("wait             mean {}, 95 % within {}\n", HumanDuration(r.wait_mean_s),
                     HumanDuration(r.wait_p95_s));
  out += fmt::format("slowdown         {:.2f} of a task, {:.2f} of a campaign\n", r.slowdown,
                     r.campaign_slowdown);
  out += fmt::format("share error      {}\n", Percent(r.share_error));
  out += fmt::format(
      "lost             {} preempted, {} with their node, {} cancelled, {} copies: {}\n",
      r.preempted, r.lost, r.cancelled, r.copies, Hours(r.lost_slot_s));
  out += fmt::format("failures         {}\n", r.failures);
  out += fmt::format("\n{:<20} {:>10} {:>12} {:>9} {:>9} {:>9} {:>12}\n", "user", "done",
                     "slot hours", "part", "contended", "due", "mean wait");
  for (std::size_t i = 0; i < std::min(most, r.users.size()); ++i) {
    const auto& u = r.users[i];
    out += fmt::format("{:<20} {:>10} {:>12.1f} {:>9} {:>9} {:>9} {:>12}\n", u.name, u.done,
                       u.slot_s / 3600, Percent(u.part), Percent(u.contended), Percent(u.due),
                       HumanDuration(u.wait_s));
  }
  out += More(r.users.size(), most, "users");
  out += fmt::format("\n{:<20} {:<12} {:>10} {:>12} {:>12} {:>12} {:>9}\n", "campaign", "user",
                     "done", "submitted", "first start", "over", "slowdown");
  const auto at = [](double x) { return x < 0 ? std::string("-") : HumanDuration(x); };
  for (std::size_t i = 0; i < std::min(most, r.campaigns.size()); ++i) {
    const auto& c = r.campaigns[i];
    out += fmt::format("{:<20} {:<12} {:>10} {:>12} {:>12} {:>12} {:>9.2f}\n", c.name, c.user,
                       c.done, at(c.submitted), at(c.first_start), at(c.over), c.slowdown);
  }
  out += More(r.campaigns.size(), most, "campaigns");
  out += fmt::format("\n{:<20} {:>10} {:>12} {:>10} {:>12}\n", "cluster", "jobs", "slot hours",
                     "lost jobs", "lost hours");
  for (std::size_t i = 0; i < std::min(most, r.clusters.size()); ++i) {
    const auto& c = r.clusters[i];
    out += fmt::format("{:<20} {:>10} {:>12.1f} {:>10} {:>12.1f}\n", c.name, c.jobs,
                       c.slot_s / 3600, c.preempted, c.lost_slot_s / 3600);
  }
  return out + More(r.clusters.size(), most, "clusters");
}

std::string CompareText(const std::vector<Report>& reports) {
  const auto times = [](double ratio) {
    return ratio > 0 ? fmt::format("{:.2f}x", ratio) : std::string("-");
  };
  std::string out = fmt::format(
      "{:<18} {:>10} {:>12} {:>9} {:>12} {:>12} {:>9} {:>9} {:>11} {:>11} {:>9} {:>10}\n", "policy",
      "used", "makespan", "of bound", "mean wait", "wait 95 %", "slowdown", "campaign", "clairvoyant",
      "share error", "lost jobs", "lost hours");
  for (const auto& r : reports)
    out += fmt::format(
        "{:<18} {:>10} {:>12} {:>9} {:>12} {:>12} {:>9.2f} {:>9.2f} {:>11} {:>11} {:>9} "
        "{:>10.1f}\n",
        r.label, Percent(r.utilisation), HumanDuration(r.makespan_s), times(r.to_bound),
        HumanDuration(r.wait_mean_s), HumanDuration(r.wait_p95_s), r.slowdown, r.campaign_slowdown,
        times(r.to_clairvoyant), Percent(r.share_error),
        r.preempted + r.lost + r.cancelled + r.copies, r.lost_slot_s / 3600);
  return out;
}

}  // namespace cigri::sim
