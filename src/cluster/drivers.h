// The kinds of clusters that the grid can drive. Help texts, checks and the database read this
// table.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "cluster/cluster.h"

namespace cigri::cluster {

/// Makes a driver; does not speak to the cluster. Throws Fatal for an address that cannot be read.
using Factory = std::unique_ptr<Cluster> (*)(const ClusterConfig&, TokenSource);

/// One kind of cluster. The file of the kind defines its line; drivers.cc lists it.
struct Driver {
  std::string kind;         ///< clusters.kind, `gridadmin cluster add --kind`
  std::string description;  ///< one line for messages: "OAR 2.5, through its REST API"
  Factory make = nullptr;
  Capabilities capabilities;  ///< what a cluster of this kind can do before options change it
};

/// All kinds, in the order in which `gridadmin cluster add` tries them.
const std::vector<Driver>& Drivers();
/// The driver of `kind`, nullptr when there is none.
const Driver* FindDriver(const std::string& kind);
/// {"local", "oar2", ...}
std::vector<std::string> ClusterKinds();

}  // namespace cigri::cluster
