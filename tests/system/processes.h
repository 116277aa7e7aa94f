// The processes of one grid, found by what the kernel says of them.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace cigri::test {

struct GridProcess {
  pid_t pid = 0;
  std::string name;     ///< of its program, "postgres" too
  std::string command;  ///< its words
};

/// Every process that has `home` in its environment ($CIGRI_HOME) or in its command line: the
/// grid's own, its PostgreSQL, its jobs. Zombies and this process are not counted.
std::vector<GridProcess> ProcessesOf(const std::string& home);
/// Those the grid is made of: almighties, modules, api, local clusters and the postmaster.
std::vector<GridProcess> PartsOf(const std::string& home);
/// The process that has started it.
pid_t ParentOf(pid_t pid);
/// Unix sockets below `home` that are open, as /proc/net/unix has them.
std::vector<std::string> SocketsBelow(const std::string& home);

}  // namespace cigri::test
