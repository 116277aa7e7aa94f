// Commands that need no shell.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace cigri::localcluster {

/// What a setup is to /bin/sh that consists of `export NAME=value` alone; nothing when there is
/// more in it. Texts are quoted as ShellQuote does.
std::optional<std::vector<std::string>> PlainExports(const std::string& setup);

/// The words of a command that is to /bin/sh one program of its own with arguments as they are;
/// nothing when there is, or may be, more in it. The first word is `exec` when the program takes
/// the place of the shell.
std::optional<std::vector<std::string>> PlainWords(const std::string& command);

}  // namespace cigri::localcluster
