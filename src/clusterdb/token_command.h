// A site's own program that makes tokens: `token_command` of a cluster.
#pragma once
#include <chrono>
#include <string>
#include <vector>

namespace cigri::clusterdb {

/// The words of a command line: separated by blanks, quotes and \ as in a shell, nothing else of a
/// shell. Throws std::runtime_error for an open quote or no word at all.
std::vector<std::string> CommandArguments(const std::string& line);

/// Runs `command` for `user` (each %u; %% is a %) without a shell, with an empty standard input, a
/// small environment and no descriptor of ours, and returns the token it printed: its first word,
/// without "SLURM_JWT=" or "Bearer ". Throws std::runtime_error saying why there is none; a token
/// is never part of a message, nor what the program printed next to it.
std::string RunTokenCommand(const std::string& command, const std::string& user,
                            std::chrono::milliseconds deadline = std::chrono::seconds(10));

}  // namespace cigri::clusterdb
