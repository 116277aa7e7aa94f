// Whose jobs the cluster runs, and the environment they start from.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "localcluster/job.h"

namespace cigri::localcluster {

/// The account `name`; throws Refused(403, user) when the machine does not know it, or when this
/// daemon may not run its jobs: started by an ordinary user it takes only that user's.
std::shared_ptr<const Account> AccountOf(const std::string& name);

/// NAME=value of every job of `account`: HOME, USER, LOGNAME, SHELL and, from a daemon that root
/// started, a plain PATH, LANG and TMPDIR; else what of the daemon's own environment programs need
/// to be found and to speak the user's language (docs/localcluster.md lists it).
std::vector<std::string> BaseEnvironment(const Account& account);

/// `directory` with $HOME, ${HOME} or ~ at the start replaced; "" is the home.
std::string ExpandHome(const std::string& directory, const Account& account);

}  // namespace cigri::localcluster
