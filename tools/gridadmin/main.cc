// gridadmin: what operators do to a grid, through its API.
#include <cstdio>

#include "tools/gridadmin/session.h"

namespace {

using namespace cigri;

int Main(int argc, char** argv) {
  CLI::App app("Operates a grid: clusters, admission rules, policy, people. For operators only.",
               "gridadmin");
  gridadmin::Session session;
  tools::AddCommonOptions(app, session.common);
  app.add_flag("--json", session.json, "print the API's answers as JSON");
  app.fallthrough();
  app.require_subcommand(1);
  gridadmin::AddRuleCommands(app, session);
  gridadmin::AddClusterCommands(app, session);
  gridadmin::AddPeopleCommands(app, session);
  gridadmin::AddDrainCommands(app, session);
  gridadmin::AddPolicyCommands(app, session);
  if (const auto code = tools::Parse(app, argc, argv)) return *code;
  return session.run();
}

}  // namespace

int main(int argc, char** argv) { return cigri::RunMain("gridadmin", Main, argc, argv); }
