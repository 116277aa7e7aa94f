// One scheduler for all threads of this process, by a seed: one thread runs at a time, the clock
// moves only when all of them wait. The threads, locks, sleeps and clocks are those of the product
// as it is; the linker puts this in their place (CMakeLists.txt).
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cigri::test::world {

/// From here on the calling thread, and all that are made by threads of the world, take turns.
void Begin();
/// The threads of `process` 0 but the caller wait for ever, or have ended.
void End();
bool IsOn();

/// Begins a run: the clock is at its beginning, the trace empty. REQUIRES: Settled().
void BeginRun(unsigned seed);
/// No thread but the caller has anything to do.
bool Settled();

/// Less than `n`, by the seed.
unsigned Random(unsigned n);
inline bool Chance(unsigned percent) { return Random(100) < percent; }

/// The virtual clock, in nanoseconds.
std::int64_t Now();
/// Others may run here.
void Yield();
/// The caller computes for so long.
void Pass(std::chrono::nanoseconds time);
void SleepFor(std::chrono::nanoseconds time);

/// A process of the world, a child of the caller's: threads belong to the process of the thread
/// that makes them.
int NewProcess(const std::string& name);
/// The calling thread makes its threads in `process` from now on, and belongs to it.
class Enter {
 public:
  explicit Enter(int process);
  ~Enter();
  Enter(const Enter&) = delete;

 private:
  int before_;
};
int Process();
int ParentOf(int process);
/// Those that live.
std::vector<int> ChildrenOf(int process);
const std::string& NameOf(int process);
/// From here on nothing of it reaches a database or a cluster; its threads may only end.
void Kill(int process);
bool IsDead(int process);
/// Its threads stand still for so long, whatever they are doing.
void Freeze(int process, std::chrono::nanoseconds time);

/// The calling thread waits until `ready`, which others' steps make true, or until the clock is at
/// `deadline` (< 0: never). False: the time was over.
bool WaitUntil(const std::function<bool()>& ready, std::int64_t deadline);

/// What happened, one line each: two runs of a seed have the same lines.
void Trace(const std::string& line);
const std::vector<std::string>& TraceLines();

}  // namespace cigri::test::world
