// Three PostgreSQL servers under Patroni, which a test breaks and heals.
#pragma once
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/system/scripted.h"

namespace cigri::test {

/// Of the test alone, on ports of its own (tests/ha/servers).
class Servers {
 public:
  /// Why there can be none here; "" when there can.
  static std::string Missing() {
    if (geteuid() != 0) return "needs root";
    for (const char* program : {"patroni", "etcd", "curl"})
      if (!std::filesystem::exists("/usr/bin/" + std::string(program)))
        return "needs " + std::string(program) + ": packages.txt names its package";
    return "";
  }
  /// Starts them; the conninfo of whichever takes writes. They also listen on `address` (""). One
  /// object of a process at a time.
  std::string Up(const std::string& address = "") const {
    Arguments words{"up", std::to_string(Port())};
    if (!address.empty()) words.push_back(address);
    return script_.Do(words);
  }
  /// The port of server 1, 2 or 3.
  static int PortOf(int server) { return Port() + 10 + server; }
  /// Waits until another server may follow the primary.
  void Settle() const { script_.Do({"settled"}); }
  /// Breaks or heals them; how long it took until a new session could commit.
  double Break(const std::string& verb) const { return std::atof(script_.Do({verb}).c_str()); }

 private:
  // Below the ports that the kernel gives to clients.
  static int Port() { return 20000 + getpid() % 300 * 40; }

  Scripted script_{"servers"};
};

}  // namespace cigri::test
