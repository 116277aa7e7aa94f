// The parts of a scenario file. Internal to src/sim.
#pragma once
#include "sim/keys.h"
#include "sim/scenario.h"

namespace cigri::sim {

/// What the numbers of a distribution are.
enum class Unit { kSeconds, kSlots, kBytes };
void ReadDistribution(Keys& keys, const std::string& key, Distribution& out,
                      Unit unit = Unit::kSeconds);
void ReadClusters(jdl::Document& doc, const std::string& folder, Scenario& scenario);
void ReadCampaigns(jdl::Document& doc, const std::string& folder, Scenario& scenario);
void ReadUsage(jdl::Document& doc, Scenario& scenario);
/// Place of a resource class of the cluster, from 1; 0: it has none of that name.
int ClassOf(const ClusterSpec& cluster, const std::string& name);
/// The whole of a file that a scenario names; a fault and nothing when it cannot be read.
std::optional<std::string> FileText(Keys& keys, const std::string& key, const std::string& folder);

}  // namespace cigri::sim
