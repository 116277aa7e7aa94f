// Inputs and outputs of a task: lines for the job's shell that fetch files before the command and
// send files after it (docs/transfers.md). The same on every kind of cluster.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cluster/cluster.h"

namespace cigri::cluster {

/// Exit codes of a job that moves files; a program's own are taken as 1 there.
inline constexpr int kExitTransferFailed = 216;  ///< the infrastructure's failure
inline constexpr int kExitInputMissing = 217;    ///< the user's: an input is not there
inline constexpr int kExitOutputMissing = 218;   ///< the user's: the program did not write it

/// How a cluster moves files, from the options of its row (docs/transfers.md).
struct TransferSettings {
  std::string kind = "cp";  ///< "transfer"
  std::string base;         ///< "transfer_base": what names of files begin with; %u = user
  std::string options;      ///< "transfer_options": words of a shell for each command
  /// "transfer_folder": on the node, for the folders of jobs and the cache; may begin with $HOME.
  std::string folder;
  int cache_mb = 10'000;  ///< "transfer_cache_mb": most megabytes of common inputs on a node
  int tries = 5;          ///< "transfer_tries": of one transfer
  /// Tasks may run in copies: who fails leaves the outputs to the others, its checkpoint excepted.
  bool copies = false;
  static TransferSettings From(const nlohmann::json& cluster_options);
};

/// Why these options of a cluster cannot be used; "" when they can.
std::string TransferProblem(const nlohmann::json& cluster_options);

/// One entry, for one task. A folder ends with "/", in `from` and in `to`.
struct Transfer {
  std::string from, to;
  bool optional = false;
  bool common = false;  ///< an input that is the same for all tasks: the node keeps it
  bool checkpoint = false;  ///< an output that is also sent while the program goes on
  bool operator==(const Transfer&) const = default;
};

/// Lines for Batch::setup, behind the user's own.
std::string TransferSetup(const TransferSettings& settings);

/// Element::command that moves files around `command`. REQUIRES: no name is empty.
std::string TransferCommand(const TransferSettings& settings, const std::string& cluster_user,
                            const std::vector<Transfer>& inputs,
                            const std::vector<Transfer>& outputs, const std::string& command);

/// The command of a job whose files can have no names, for this reason: the user's failure.
std::string RefusedTransfer(const std::string& why);

}  // namespace cigri::cluster
