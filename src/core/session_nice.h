// Who goes first where the processors are busy.
#pragma once
#include <sys/types.h>

namespace cigri {

/// Linux deals out processors by session first (autogroup), and the niceness of a process counts
/// within its session only: gives that of process `pid` a niceness, too. False: nobody listened,
/// say it again later (of users other than root ten such words a second are heard, all of the
/// machine's together). True where there is nothing to say it to.
bool SetSessionNice(pid_t pid, int nice);

}  // namespace cigri
