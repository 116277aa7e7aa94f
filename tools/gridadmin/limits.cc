// gridadmin limits
#include "tools/gridadmin/session.h"

namespace cigri::gridadmin {
namespace {

int ShowLimits(const Session& s) {
  PrintItems(s, tools::Expect(s.Connect().Get("/admin/limits"), "show the limits"),
             {{"name", "LIMIT"},
              {"value", "VALUE"},
              {"unit", "UNIT"},
              {"scope", "FOR"},
              {"answer", "BEYOND IT"}});
  return kExitOk;
}

}  // namespace

void AddLimitCommands(CommandLine& line, Session& session) {
  Command(line, session, "limits", "shows what one caller may take of the API",
          [&session] { return ShowLimits(session); });
}

}  // namespace cigri::gridadmin
