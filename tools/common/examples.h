// What --help and the man pages show at the end of each tool and command.
#pragma once
#include <string>

namespace cigri::tools {

/// The examples of a tool ("gridstat") or of a command of it ("gridadmin drain") under a heading;
/// "" when there are none.
std::string ExamplesOf(const std::string& command);

}  // namespace cigri::tools
