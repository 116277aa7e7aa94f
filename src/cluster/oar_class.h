// Resource classes of an OAR cluster: GPUs, and what has certain properties.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "cluster/cluster.h"
#include "cluster/property_filter.h"

namespace cigri::cluster {

/// The class of jobs that take `units` of `unit` ("" = the unit that the cluster counts) where
/// `properties` hold. Any slot will do (request "") where there are none, or where we cannot read
/// them.
ResourceClass OarClassOf(const std::string& properties, const std::string& unit, int units);

/// Counts one class while the list of resources is read.
class OarClassCounter {
 public:
  /// `request` is of OarClassOf, `resource_unit` what the cluster counts. Throws
  /// std::runtime_error when `request` cannot be read.
  OarClassCounter(const std::string& request, const std::string& resource_unit);

  /// The property whose values are the units.
  const std::string& unit() const { return unit_; }
  /// `value_of` gives a property of the resource, nothing when the list does not have it.
  using Values = std::function<std::optional<std::string>(const std::string& property)>;
  void Add(const Values& value_of, bool usable);
  /// `busy` says of a unit whether a job runs on it. Nothing when a property that the request names
  /// is in no resource: the list does not show what OAR will look at.
  std::optional<ClassCount> Count(const std::set<std::string>& busy) const;
  /// The units of this class that have one of these resources.
  std::set<std::string> UnitsOf(const std::set<std::string>& resource_ids) const;

 private:
  std::string Name() const;

  std::string properties_, unit_;
  bool gpus_ = false;
  PropertyFilter filter_;
  std::map<std::string, bool> shown_;              // properties that were looked at
  std::unordered_map<std::string, bool> usable_;   // by unit
  std::unordered_map<std::string, std::string> unit_of_;  // by resource id
};

}  // namespace cigri::cluster
