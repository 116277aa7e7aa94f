// The REST API of the local cluster (docs/localcluster.md lists its calls).
#pragma once
#include <functional>
#include <set>
#include <string>

#include "http/server_fwd.h"
#include "localcluster/engine.h"

namespace cigri::localcluster {

struct ApiOptions {
  std::string cluster;
  std::set<std::string> trusted;  ///< may act for every user: the grid's own account
  std::function<void(bool kill)> shutdown;
};

/// Adds the calls to `server`. root and the daemon's own user are trusted as well; all others
/// submit, see and delete only jobs of their own. `engine` must outlive the server.
void AddRoutes(http::GuardServer& server, Engine& engine, const ApiOptions& options);

}  // namespace cigri::localcluster
