// A user's tokens for clusters that want one of their own (JWT).
#include <cstdio>
#include <ctime>
#include <iostream>

#include "core/text.h"
#include "tools/common/options.h"

namespace cigri::gridtoken {
namespace {

using nlohmann::json;

struct GridtokenOptions {
  tools::CommonOptions common;
  std::string cluster, token, user;
  bool list = false, remove = false, verbose = false;
};

std::optional<int> Read(int argc, char** argv, GridtokenOptions& o) {
  CommandLine line("gridtoken", "Registers your tokens for clusters.");
  tools::AddCommonOptions(line, o.common);
  line.Add({{"-l,--list", &o.list, "list your tokens, by their first characters"},
            {"-i,--cluster-id,--cluster", &o.cluster, "the cluster, by id or name"},
            {"-t,--token", &o.token,
             "the token; \"-\" reads it from standard input, where other users cannot see it"},
            {"-r,--remove", &o.remove, "remove the token of that cluster"},
            {"--user", &o.user, "operators: somebody else's (oar for bulk polling)"},
            {"-v,--verbose", &o.verbose, "say what was done"}});
  if (const auto code = line.ReadOrThrow(argc, argv)) return code;
  if (!o.list && (o.cluster.empty() || (o.token.empty() && !o.remove)))
    throw Fatal(kExitUsage, "nothing to do",
                "gridtoken -l, gridtoken -i CLUSTER -t TOKEN, gridtoken -i CLUSTER -r");
  if (o.token == "-") std::getline(std::cin, o.token);
  return std::nullopt;
}

std::string UserQuery(const GridtokenOptions& o) {
  return o.user.empty() ? "" : "?user=" + http::PercentEncode(o.user);
}

std::string Expiry(const json& item) {
  if (!item.contains("expires") || !item["expires"].is_number()) return "";
  const auto at = static_cast<std::time_t>(item["expires"].get<std::int64_t>());
  if (at < std::time(nullptr)) return " (expired)";
  return " (expires in " + HumanDuration(static_cast<double>(at - std::time(nullptr))) + ")";
}

int List(tools::Api& api, const GridtokenOptions& o) {
  const auto answer = tools::Expect(api.Get("/tokens" + UserQuery(o)), "list tokens");
  if (!answer["items"].empty()) std::puts("You have the following tokens:");
  for (const auto& item : answer["items"])
    std::printf(" - Cluster #%s : %s%s\n", item["cluster_id"].dump().c_str(),
                item.value("cluster_login", "").c_str(), Expiry(item).c_str());
  return kExitOk;
}

std::string ClusterId(tools::Api& api, const std::string& word) {
  return tools::Expect(api.Get("/clusters/" + http::PercentEncode(word)),
                       "find cluster " + word)["id"]
      .dump();
}

int Main(int argc, char** argv) {
  GridtokenOptions o;
  if (const auto code = Read(argc, argv, o)) return *code;
  auto api = tools::Connect(o.common);
  if (o.list) return List(api, o);
  const std::string id = ClusterId(api, o.cluster);
  if (o.remove) {
    tools::Expect(api.Delete("/tokens/" + id + UserQuery(o)),
                  "remove the token on cluster " + o.cluster);
    if (o.verbose) std::printf("The token on cluster %s is removed.\n", o.cluster.c_str());
    return kExitOk;
  }
  tools::Expect(
      api.Post("/tokens" + UserQuery(o), {{"cluster_id", std::stoll(id)}, {"token", o.token}}),
      "register a token on cluster " + o.cluster);
  std::printf("Token registered on cluster %s.\n", o.cluster.c_str());
  return kExitOk;
}

}  // namespace
}  // namespace cigri::gridtoken

int main(int argc, char** argv) {
  return cigri::RunMain("gridtoken", cigri::gridtoken::Main, argc, argv);
}
