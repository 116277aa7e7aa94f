#include "cluster/drivers.h"

namespace cigri::cluster {

// A new kind: declare its line here and list it below.
Driver LocalDriver();
Driver Oar2Driver();
Driver Oar3Driver();
Driver SlurmDriver();
Driver GridEngineDriver();

const std::vector<Driver>& Drivers() {
  static const std::vector<Driver> drivers{LocalDriver(), Oar2Driver(), Oar3Driver(),
                                           SlurmDriver(), GridEngineDriver()};
  return drivers;
}

const Driver* FindDriver(const std::string& kind) {
  for (const auto& driver : Drivers())
    if (driver.kind == kind) return &driver;
  return nullptr;
}

std::vector<std::string> ClusterKinds() {
  std::vector<std::string> kinds;
  for (const auto& driver : Drivers()) kinds.push_back(driver.kind);
  return kinds;
}

}  // namespace cigri::cluster
