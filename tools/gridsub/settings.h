// Options that set keys of the JDL: one for each key that a command line can hold.
#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/command_line.h"

namespace cigri::gridsub {

/// Key of the JDL -> text of the option; "" when it was not given.
using Settings = std::map<std::string, std::string>;

/// Adds the options, also by the names that Slurm and GNU parallel have for them.
void AddSettingOptions(CommandLine& line, Settings& settings);
bool AnySetting(const Settings& settings);
/// The keys that were given, with values as a JDL has them: 4, "2G", [12, 13], {"matlab": 1}.
/// Throws Fatal(kExitUsage) for what cannot be read.
nlohmann::json SettingsJson(const Settings& settings);

/// Says on stderr what "1:30" is, which could be minutes too.
void SayHowWalltimeIsRead(const std::string& walltime);
/// --time as Slurm's users write it ("30:00" is half an hour); refuses a bare number, which is
/// minutes there and seconds here. The walltime for the JDL.
std::string WalltimeOfTime(const std::string& text);
/// A walltime for a JDL: seconds without a unit (an option, cigri.conf) get theirs, because a JDL
/// reads such a number as hours.
std::string WithUnit(std::string walltime);

}  // namespace cigri::gridsub
