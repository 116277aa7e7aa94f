// Shows clusters: names, state, usage, our own load on them, and why they take nothing.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "core/pluralize.h"
#include "core/text.h"
#include "tools/common/options.h"
#include "tools/common/terminal.h"

namespace cigri::gridclusters {
namespace {

using nlohmann::json;
using tools::Tint;

struct GridclustersOptions {
  tools::CommonOptions common;
  bool infos = false, more = false, usage = false, bars = false, all = false, json_out = false,
       verbose = false, submit = false;
  std::string name, why, check;
  bool colour = false;
};

std::optional<int> Read(int argc, char** argv, GridclustersOptions& o) {
  CommandLine line("gridclusters", "Shows available clusters.");
  tools::AddCommonOptions(line, o.common);
  line.Add(
      {{"NAME", &o.name, "only this cluster, by name or id"},
       {"-i,--infos", &o.infos, "with host, stress, state and our load in calls per minute"},
       {"-I,-f,--more_infos,--more-infos,--full", &o.more, "with all that is known"},
       {"-u,--usage", &o.usage, "with the use of resources (implies -i)"},
       {"-b,--bars", &o.bars, "the same as coloured bars (implies -i -u)"},
       {"-a,--all", &o.all, "disabled clusters too"},
       {"--json", &o.json_out, "JSON"},
       {"--why", &o.why, "operators: why this cluster gives campaigns no more"},
       {"-v,--verbose", &o.verbose, "with --why: what bounds us there, and each campaign's reason"},
       {"--check", &o.check,
        "operators: is this cluster reachable, authorised, ...; exit 1 if not"},
       {"--submit", &o.submit, "with --check: run a test job too"}});
  if (const auto code = line.ReadOrThrow(argc, argv)) return code;
  o.usage = o.usage || o.bars;
  o.infos = o.infos || o.more || o.usage;
  o.colour = tools::UseColour(o.common.color, STDOUT_FILENO);
  return std::nullopt;
}

std::string Text(const json& value) {
  return value.is_string() ? tools::Printable(value.get<std::string>()) : value.dump();
}

// Why the cluster is not used; CiGri's own words come first.
std::string States(const json& c) {
  std::string out;
  if (c.value("blacklisted", false)) out += ", BLACKLISTED";
  if (c.value("under_stress", false)) out += ", UNDER_STRESS";
  if (!c.value("enabled", true)) out += ", DISABLED";
  if (c.value("drained", false)) out += ", DRAINED";
  if (const std::string mode = c.value("mode", "unlimited"); mode != "unlimited")
    out += ", " + mode;
  return out;
}

std::string Info(const json& c) {
  const std::string host = c["ssh_host"].is_string() ? Text(c["ssh_host"]) : "";
  std::string out = " , " + host + " (stress:" + c.value("stress_factor", "") + States(c) + ")";
  if (const double calls = c["calls_per_min"].is_number() ? c["calls_per_min"].get<double>() : 0;
      calls >= 0.5)
    out += fmt::format(" {:.0f} calls/min", calls);
  return out;
}

// "12 jobs of campaign 3, 1 job of campaign 5", "updator 36, runner 4".
std::string Listed(const std::string& key, const json& value) {
  std::vector<std::string> parts;
  if (key == "calls_by")
    for (const auto& [module, n] : value.items()) parts.push_back(module + " " + n.dump());
  if (key == "would_send")
    for (const auto& w : value)
      parts.push_back(Pluralize(w["jobs"].get<std::int64_t>(), "job") + " of campaign " +
                      w["campaign"].dump());
  return Join(parts, ", ");
}

std::string MoreInfo(const json& c) {
  std::string out;
  for (const auto& [key, value] : c.items())
    if ((key == "calls_by" || key == "would_send") && !value.is_null())
      out += "\n    " + key + ": " + Listed(key, value);
    else if (key != "links" && key != "usage" && !value.is_null())
      out += "\n    " + key + ": " + Text(value);
  return out;
}

std::string UsageLines(const json& usage) {
  std::string out;
  for (const char* key :
       {"max_resources", "used_resources", "used_by_cigri", "unavailable_resources"})
    out += std::string("\n    ") + key + ": " + usage[key].dump();
  return out;
}

// Parts of a bar of `width` cells that add up to it exactly.
std::vector<std::size_t> Cells(const std::vector<std::int64_t>& parts, std::int64_t width) {
  std::int64_t sum = 0, before = 0, drawn = 0;
  for (const auto part : parts) sum += part;
  std::vector<std::size_t> cells;
  for (const auto part : parts) {
    before += part;
    const auto upto = sum > 0 ? before * width / sum : 0;
    cells.push_back(static_cast<std::size_t>(upto - drawn));
    drawn = upto;
  }
  return cells;
}

// Red unavailable, yellow others, white ours, green free; letters where there are no colours.
std::string Bar(const json& usage, bool colour) {
  const auto at = [&](const char* key) { return usage[key].get<std::int64_t>(); };
  const auto max = at("max_resources"), ours = at("used_by_cigri"),
             off = at("unavailable_resources");
  const auto others = std::max<std::int64_t>(0, at("used_resources") - ours);
  const auto cells =
      Cells({off, others, ours, std::max<std::int64_t>(0, max - off - others - ours)}, 80);
  static const char* kColours[] = {"\033[41m \033[0m", "\033[43m \033[0m", "\033[47m \033[0m",
                                   "\033[42m \033[0m"};
  static const char* kLetters[] = {"x", "o", "#", "."};
  std::string out = fmt::format(" ({} resources)\n", max);
  for (std::size_t i = 0; i < cells.size(); ++i)
    for (std::size_t n = 0; n < cells[i]; ++n) out += colour ? kColours[i] : kLetters[i];
  return out + "\n";
}

std::string Legend(bool colour) {
  if (!colour) return "x unavailable   o used by others   # used by CiGri   . free\n";
  return "\033[41m \033[0m unavailable   \033[43m \033[0m used by others   \033[47m \033[0m used "
         "by CiGri   "
         "\033[42m \033[0m free\n";
}

std::string OneCluster(const json& c, const GridclustersOptions& o) {
  std::string out = c["id"].dump() + ": " + c["name"].get<std::string>();
  if (!o.infos) return out + "\n";
  out += o.more ? MoreInfo(c) : Info(c);
  if (o.usage) {
    if (c["usage"].is_null() || c.value("blacklisted", false))
      out += "\n    Data temporarily unavailable";
    else
      out += o.bars ? Bar(c["usage"], o.colour) : UsageLines(c["usage"]);
  }
  return out + "\n";
}

json One(tools::Api& api, const GridclustersOptions& o) {
  json items = json::array();
  items.push_back(
      tools::Expect(api.Get("/clusters/" + http::PercentEncode(o.name)), "show cluster " + o.name));
  return {{"items", std::move(items)}};
}

int List(tools::Api& api, const GridclustersOptions& o) {
  const auto answer = !o.name.empty()
                          ? One(api, o)
                          : tools::Expect(api.Get(std::string("/clusters?x=1") +
                                                  (o.infos || o.json_out ? "&full=1" : "") +
                                                  (o.all ? "&all=1" : "")),
                                          "list clusters");
  if (o.json_out) {
    std::puts(answer["items"].dump(tools::IsTerminal(STDOUT_FILENO) ? 2 : -1).c_str());
    return kExitOk;
  }
  std::string out;
  for (const auto& c : answer["items"]) out += OneCluster(c, o);
  if (o.bars) out += Legend(o.colour);
  std::fputs(out.c_str(), stdout);
  return kExitOk;
}

void PutReason(const json& r) {
  std::printf("  campaign %s of %s, %s waiting, %s in flight here: %s",
              r["campaign"].dump().c_str(), Text(r["user"]).c_str(), r["waiting"].dump().c_str(),
              r["in_flight"].dump().c_str(), Text(r["message"]).c_str());
  if (r["code"].is_string()) std::printf(" [%s]", Text(r["code"]).c_str());
  std::printf("\n");
  if (r["expected"].is_string()) std::printf("    %s\n", Text(r["expected"]).c_str());
  if (const std::string action = r.value("action", ""); !action.empty())
    std::printf("    -> %s\n", tools::Printable(action).c_str());
}

int Why(tools::Api& api, const GridclustersOptions& o) {
  const auto why = tools::Expect(api.Get("/clusters/" + http::PercentEncode(o.why) + "/why"),
                                 "explain cluster " + o.why);
  if (o.json_out) return std::puts(why.dump(2).c_str()), kExitOk;
  std::printf("%s\n", Text(why["message"]).c_str());
  if (const std::string action = why.value("action", ""); !action.empty())
    std::printf("-> %s\n", tools::Printable(action).c_str());
  if (!o.verbose) return kExitOk;
  for (const auto& line : why["ceilings"]) std::printf("  %s\n", Text(line).c_str());
  for (const auto& reason : why["reasons"]) PutReason(reason);
  const auto left = why["waiting_campaigns"].get<std::size_t>() - why["reasons"].size();
  if (left > 0) std::printf("  and %s\n", Pluralize(left, "more campaign").c_str());
  return kExitOk;
}

Tint TintOf(const std::string& verdict) {
  if (verdict == "ok") return Tint::kGreen;
  if (verdict == "fail") return Tint::kRed;
  return verdict == "warn" ? Tint::kYellow : Tint::kDim;
}

int Check(tools::Api& api, const GridclustersOptions& o) {
  const std::string path =
      "/admin/clusters/" + http::PercentEncode(o.check) + "/check?submit=" + (o.submit ? "1" : "0");
  const auto answer = tools::Expect(api.Post(path, json::object()), "check cluster " + o.check);
  if (o.json_out) std::puts(answer.dump(2).c_str());
  bool good = true;
  for (const auto& check : answer["checks"]) {
    const std::string verdict = check.value("verdict", "");
    good = good && verdict != "fail";
    if (!o.json_out)
      std::printf("%s %-12s %s\n",
                  tools::Paint(TintOf(verdict), fmt::format("{:<7}", verdict), o.colour).c_str(),
                  check.value("what", "").c_str(),
                  tools::Printable(check.value("detail", "")).c_str());
  }
  return good ? kExitOk : kExitNo;
}

int Main(int argc, char** argv) {
  GridclustersOptions o;
  if (const auto code = Read(argc, argv, o)) return *code;
  auto api = tools::Connect(o.common);
  if (!o.why.empty()) return Why(api, o);
  return o.check.empty() ? List(api, o) : Check(api, o);
}

}  // namespace
}  // namespace cigri::gridclusters

int main(int argc, char** argv) {
  return cigri::RunMain("gridclusters", cigri::gridclusters::Main, argc, argv);
}
