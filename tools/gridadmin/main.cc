// gridadmin: what operators do to a grid, through its API.
#include <cstdio>

#include "tools/gridadmin/session.h"

namespace {

using namespace cigri;

int Main(int argc, char** argv) {
  CommandLine line(
      "gridadmin",
      "Operates a grid: clusters, admission rules, policy, users. For operators only.");
  gridadmin::Session session;
  tools::AddCommonOptions(line, session.common);
  line.Add({{"--json", &session.json, "print the API's answers as JSON"}});
  line.AllowOptionsAfterCommands();
  gridadmin::AddRuleCommands(line, session);
  gridadmin::AddClusterCommands(line, session);
  gridadmin::AddUserCommands(line, session);
  gridadmin::AddDrainCommands(line, session);
  gridadmin::AddPolicyCommands(line, session);
  gridadmin::AddLimitCommands(line, session);
  gridadmin::AddAuditCommands(line, session);
  gridadmin::AddErrorCommands(line, session);
  if (const auto code = line.ReadOrThrow(argc, argv)) return *code;
  return session.run();
}

}  // namespace

int main(int argc, char** argv) { return cigri::RunMain("gridadmin", Main, argc, argv); }
