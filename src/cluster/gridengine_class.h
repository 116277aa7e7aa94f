// Resource classes of a Grid Engine: GPUs, which are a consumable, and slots of another queue than
// the cluster's (TECH-21, FAIR-21).
#pragma once
#include <map>
#include <optional>
#include <pugixml.hpp>
#include <string>

#include "cluster/cluster.h"

namespace cigri::cluster {

/// What jobs of a class ask for; "" = nothing.
struct GridEngineClass {
  bool gpus = false;
  std::string queue;  ///< another one than the cluster's

  /// `units` of it as the grid stores it.
  ResourceClass Of(int units) const;
  /// Nothing when `request` was not made by Of().
  static std::optional<GridEngineClass> Read(const std::string& request);
  std::string Name() const;  ///< "GPUs of queue q"
};

/// Whether jobs start in a queue on a host: not where it is unknown, disabled, in alarm or error,
/// suspended or closed by its calendar.
bool StartsJobs(const pugi::xml_node& queue);

/// A consumable by whose it is: "global", a host, or "QUEUE@HOST".
struct Consumable {
  int idle = 0;
  bool usable = false;  ///< jobs start there
};
/// Of the answer of `qstat -f -xml -F RESOURCE`; empty: nobody has such a resource.
std::map<std::string, Consumable> ConsumablesIn(const pugi::xml_document& xml,
                                                const std::string& resource);
/// "complex_values gpu=4,..." of `qconf -se` or `-sq`; nothing: it is not there.
std::optional<int> ComplexValue(const std::string& text, const std::string& resource);

}  // namespace cigri::cluster
