// What the commands of gridadmin share: the API, the output, and which command was chosen.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tools/common/options.h"

namespace cigri::gridadmin {

struct Session {
  tools::CommonOptions common;
  bool json = false;         ///< --json: print the API's answers as they are
  std::function<int()> run;  ///< the chosen command; its result is the exit code

  tools::Api Connect() const { return tools::Connect(common); }
};

// Each adds its commands to the program; `session` outlives it.
void AddRuleCommands(CommandLine& line, Session& session);
void AddClusterCommands(CommandLine& line, Session& session);
void AddUserCommands(CommandLine& line, Session& session);
void AddDrainCommands(CommandLine& line, Session& session);
void AddPolicyCommands(CommandLine& line, Session& session);
void AddLimitCommands(CommandLine& line, Session& session);
void AddAuditCommands(CommandLine& line, Session& session);
void AddErrorCommands(CommandLine& line, Session& session);

/// A command below `parent`: its options are added by the caller; `run` is what it does.
CommandLine& Command(CommandLine& parent, Session& session, const std::string& name,
                     const std::string& what, std::function<int()> run);

/// A command of `line` that has commands below it.
CommandLine& Group(CommandLine& line, const std::string& name, const std::string& what);

/// A column of a table: the key of the items, and its heading.
using Columns = std::vector<std::pair<std::string, std::string>>;
/// Prints body["items"] as a table, or the body itself with --json; "none" when it is empty.
void PrintItems(const Session& session, const nlohmann::json& body, const Columns& columns);
/// Prints an object, a "key  value" line each, without what is null; or JSON with --json.
void PrintObject(const Session& session, const nlohmann::json& object);
void PrintJson(const nlohmann::json& body);
/// A value in a cell: texts as they are (made printable), times without fractions, null as "-".
std::string Cell(const nlohmann::json& value);

/// Asks on the terminal; "" when there is none. `secret` is not echoed.
std::string Ask(const std::string& question, bool secret = false);
/// "y" was answered; false without a terminal.
bool Confirm(const std::string& question);

/// "key=value" words as one JSON object; values that are JSON (numbers, true, null) are taken as
/// such, all else as text, nothing as null. "option.K=V" goes into {"options": {K: V}}.
nlohmann::json Settings(const std::vector<std::string>& words);

/// The contents of a file, "-" for standard input; throws Fatal(kExitBadInput).
std::string ReadFile(const std::string& path);

}  // namespace cigri::gridadmin
