#include "cluster/cluster.h"
#include "core/error.h"
namespace cigri::cluster {
std::unique_ptr<Cluster> MakeLocal(const ClusterConfig&, TokenSource) { throw Fatal(kExitSoftware, "local: being written"); }
}
