// Subscribes to notifications.
#include <unistd.h>

#include <cstdio>

#include "tools/common/options.h"

namespace cigri::gridnotify {
namespace {

struct GridnotifyOptions {
  tools::CommonOptions common;
  std::string mail, jabber, severity, quiet_hours;
  std::int64_t campaign = 0;
  int digest_minutes = -1;
  bool list = false, unsubscribe = false, verbose = false;
};

std::optional<int> Read(int argc, char** argv, GridnotifyOptions& o) {
  CommandLine line("gridnotify", "Subscribes to notifications of the grid.");
  tools::AddCommonOptions(line, o.common);
  line.Add({{"-l,--list", &o.list, "list your subscriptions"},
            {"-m,--mail", &o.mail, "by mail to this address"},
            {"-j,--jabber", &o.jabber, "by jabber to this identity", {.excludes = {"-m"}}},
            {"-s,--severity", &o.severity, "from this on: low, medium or high"},
            {"-c,--campaign", &o.campaign, "of this campaign alone", {.positive = true}},
            {"--quiet-hours", &o.quiet_hours, "hold messages back then: 20-8,Sat,Sun"},
            {"--digest", &o.digest_minutes, "one message of a campaign in so many minutes"},
            {"-u,--unsubscribe", &o.unsubscribe, "with -m or -j: end the subscription"},
            {"-v,--verbose", &o.verbose, "say what was done, as on a terminal"}});
  if (const auto code = line.ReadOrThrow(argc, argv)) return code;
  o.verbose = o.verbose || isatty(STDOUT_FILENO) == 1;
  if (o.mail.empty() && o.jabber.empty() && !o.list) {
    std::fputs(line.Help().c_str(), stdout);
    return kExitUsage;
  }
  const bool known = o.severity == "low" || o.severity == "medium" || o.severity == "high";
  if (!o.list && !o.unsubscribe && !known) {
    // CiGri's words and exit status.
    std::fputs("ERROR: Severity should be 'low', 'medium' or 'high'!\n", stderr);
    return 2;
  }
  return std::nullopt;
}

// What CiGri 3 did not have.
std::string Particulars(const nlohmann::json& item) {
  std::string out;
  if (item.contains("campaign") && item["campaign"].is_number_integer())
    out += ", campaign " + item["campaign"].dump() + " alone";
  if (const auto hours = item.value("quiet_hours", ""); !hours.empty())
    out += ", quiet " + hours;
  if (item.contains("digest_minutes") && item["digest_minutes"].is_number_integer())
    out += ", every " + item["digest_minutes"].dump() + " minutes";
  return out;
}

int List(tools::Api& api) {
  const auto answer = tools::Expect(api.Get("/notifications"), "list notifications");
  if (!answer["items"].empty()) std::puts("You have the following notification subscriptions:");
  for (const auto& item : answer["items"])
    std::printf(" - %s on %s with severity %s%s\n", item.value("type", "").c_str(),
                item.value("identity", "").c_str(), item.value("severity", "").c_str(),
                Particulars(item).c_str());
  return kExitOk;
}

int Unsubscribe(tools::Api& api, const GridnotifyOptions& o, const std::string& path,
                const std::string& identity) {
  const std::string campaign =
      o.campaign == 0 ? "" : "&campaign=" + std::to_string(o.campaign);
  const auto answer =
      tools::Expect(api.Delete(path + "?identity=" + http::PercentEncode(identity) + campaign),
                    "unsubscribe " + identity);
  const bool any = answer.value("removed", 1) > 0;
  if (!any)
    throw Fatal(kExitNo, "there is no subscription of " + identity, "gridnotify -l lists them");
  if (o.verbose) std::printf("%s is unsubscribed.\n", identity.c_str());
  return kExitOk;
}

int Main(int argc, char** argv) {
  GridnotifyOptions o;
  if (const auto code = Read(argc, argv, o)) return *code;
  auto api = tools::Connect(o.common);
  if (o.list) return List(api);
  const std::string path = o.mail.empty() ? "/notifications/jabber" : "/notifications/mail";
  const std::string identity = o.mail.empty() ? o.jabber : o.mail;
  if (o.unsubscribe) return Unsubscribe(api, o, path, identity);
  nlohmann::json wanted = {{"identity", identity}, {"severity", o.severity}};
  if (o.campaign != 0) wanted["campaign"] = o.campaign;
  if (!o.quiet_hours.empty()) wanted["quiet_hours"] = o.quiet_hours;
  if (o.digest_minutes >= 0) wanted["digest_minutes"] = o.digest_minutes;
  const auto answer = tools::Expect(api.Post(path, wanted), "subscribe with " + identity);
  if (const auto note = answer.value("note", ""); !note.empty())
    std::fprintf(stderr, "gridnotify: note: %s\n", note.c_str());
  if (o.verbose)
    std::printf("%s is subscribed with severity %s.\n", identity.c_str(), o.severity.c_str());
  return kExitOk;
}

}  // namespace
}  // namespace cigri::gridnotify

int main(int argc, char** argv) {
  return cigri::RunMain("gridnotify", cigri::gridnotify::Main, argc, argv);
}
