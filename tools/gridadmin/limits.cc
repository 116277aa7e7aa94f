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
              {"used", "USED"},
              {"used_by", "BY"},
              {"setting", "SETTING"},
              {"answer", "BEYOND IT"}});
  return kExitOk;
}

}  // namespace

void AddLimitCommands(CommandLine& line, Session& session) {
  Command(line, session, "limits", "shows what one user or address may take of the grid, and who has most of it",
          [&session] { return ShowLimits(session); });
}

}  // namespace cigri::gridadmin
