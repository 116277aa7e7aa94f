// A job in the models of OAR and Slurm.
#pragma once
#include <cstdint>
#include <string>

namespace cigri::conformance {

/// Started at once, "exit N" ends with N and anything else runs until it is deleted.
struct ModelJob {
  int id = 0, array = 0, index = 0;
  std::string tag, owner;
  std::string words;  ///< the element as the driver sent it (ElementArguments)
  enum class State { kHeld, kRunning, kEnded } state = State::kHeld;
  int wait_status = 0;
  std::int64_t begin_at = 0;  ///< Slurm: the time that it waits for
  bool deleted = false;

  void Start();
  void Delete();
};

}  // namespace cigri::conformance
