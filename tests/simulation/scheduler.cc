#include "tests/simulation/scheduler.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/random.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <mutex>
#include <random>

// What the linker calls in place of these names, and what they were (option --wrap).
extern "C" {
int __real_pthread_mutex_lock(pthread_mutex_t*);
int __real_pthread_cond_clockwait(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
int __real_nanosleep(const timespec*, timespec*);
int __real_poll(pollfd*, nfds_t, int);
ssize_t __real_getrandom(void*, std::size_t, unsigned);
void __real__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    std::condition_variable*, std::unique_lock<std::mutex>*);
void __real__ZNSt18condition_variable10notify_oneEv(std::condition_variable*);
void __real__ZNSt18condition_variable10notify_allEv(std::condition_variable*);
std::int64_t __real__ZNSt6chrono3_V212steady_clock3nowEv();
std::int64_t __real__ZNSt6chrono3_V212system_clock3nowEv();
}

namespace cigri::test::world {
namespace {

constexpr std::int64_t kNever = INT64_MAX, kStart = 1'000'000'000;
// The date on which every run begins, in seconds since 1970.
constexpr std::int64_t kDate = 1'893'456'000;

struct Thread {
  int id = 0, process = 0;
  enum class State { kReady, kWaiting, kDone } state = State::kReady;
  std::function<bool()> condition;  // of what it waits for, besides its deadline
  const void* waits_on = nullptr;   // a condition variable
  bool notified = false;
  std::int64_t deadline = kNever, frozen_until = 0;
  bool timed_out = false;
  sem_t turn;
  pthread_t handle{};
  std::function<void*()> body;
};

struct ProcessState {
  std::string name;
  int parent = 0;
  bool dead = false;
  std::int64_t frozen_until = 0;
};

bool g_on = false;
thread_local Thread* t_self = nullptr;
std::deque<std::unique_ptr<Thread>> g_threads;
std::vector<ProcessState> g_processes{{.name = "world"}};
std::int64_t g_now = kStart;
std::mt19937 g_random;
std::vector<std::string> g_trace;
int g_last_id = 0;

bool InWorld() { return g_on && t_self != nullptr; }

bool Frozen(const Thread& t) {
  return g_processes[static_cast<std::size_t>(t.process)].frozen_until > g_now;
}

bool Runnable(Thread& t) {
  if (t.state == Thread::State::kDone || Frozen(t)) return false;
  if (t.state == Thread::State::kReady) return true;
  if (t.waits_on != nullptr ? t.notified : t.condition && t.condition()) {
    t.timed_out = false;
    return true;
  }
  t.timed_out = t.deadline <= g_now;
  return t.timed_out;
}

// When it may run although nobody does anything for it.
std::int64_t DueAt(const Thread& t) {
  if (t.state == Thread::State::kDone) return kNever;
  const auto frozen = g_processes[static_cast<std::size_t>(t.process)].frozen_until;
  return std::max(t.deadline, frozen > g_now && t.deadline != kNever ? frozen : 0);
}

[[noreturn]] void Stuck() {
  std::fprintf(stderr, "all threads of the simulation wait for each other:\n");
  for (const auto& t : g_threads)
    if (t->state != Thread::State::kDone)
      std::fprintf(stderr, "  thread %d of %s\n", t->id, NameOf(t->process).c_str());
  std::abort();
}

Thread& Choose() {
  std::erase_if(g_threads, [](const auto& t) {
    return t->state == Thread::State::kDone && t.get() != t_self;
  });
  for (;;) {
    std::vector<Thread*> can;
    for (const auto& t : g_threads)
      if (Runnable(*t)) can.push_back(t.get());
    if (!can.empty()) return *can[Random(static_cast<unsigned>(can.size()))];
    std::int64_t next = kNever;
    for (const auto& t : g_threads) next = std::min(next, DueAt(*t));
    for (const auto& p : g_processes)
      if (p.frozen_until > g_now) next = std::min(next, p.frozen_until);
    if (next == kNever) Stuck();
    g_now = std::max(next, g_now + 1);
  }
}

// Gives the turn away and waits for the next one, unless the thread is done.
void Switch() {
  Thread* self = t_self;
  Thread& next = Choose();
  if (&next == self) return;
  const bool done = self->state == Thread::State::kDone;
  sem_post(&next.turn);  // from here on another thread runs
  if (done) return;
  while (sem_wait(&self->turn) != 0) {
  }
}

void Wait(const void* on, std::function<bool()> condition, std::int64_t deadline) {
  Thread* self = t_self;
  self->waits_on = on;
  self->notified = false;
  self->condition = std::move(condition);
  self->deadline = deadline;
  self->state = Thread::State::kWaiting;
  Switch();
  self->state = Thread::State::kReady;
  self->waits_on = nullptr;
  self->condition = nullptr;
  self->deadline = kNever;
}

void Lock(pthread_mutex_t* mutex) {
  const auto is_free = [mutex] {
    if (pthread_mutex_trylock(mutex) != 0) return false;
    pthread_mutex_unlock(mutex);
    return true;
  };
  while (pthread_mutex_trylock(mutex) != 0) Wait(nullptr, is_free, kNever);
}

std::int64_t Of(const timespec& t) { return t.tv_sec * 1'000'000'000 + t.tv_nsec; }

void Notify(const void* on, bool all) {
  std::vector<Thread*> waiting;
  for (const auto& t : g_threads)
    if (t->state == Thread::State::kWaiting && t->waits_on == on && !t->notified)
      waiting.push_back(t.get());
  if (waiting.empty()) return;
  if (!all) waiting = {waiting[Random(static_cast<unsigned>(waiting.size()))]};
  for (auto* t : waiting) t->notified = true;
}

void* Run(void* argument) {
  auto* self = static_cast<Thread*>(argument);
  while (sem_wait(&self->turn) != 0) {
  }
  t_self = self;
  void* result = self->body();
  self->state = Thread::State::kDone;
  Switch();
  t_self = nullptr;
  return result;
}

bool Lives(int id) {
  for (const auto& t : g_threads)
    if (t->id == id) return t->state != Thread::State::kDone;
  return false;
}

template <typename F>
F* Real(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

void Begin() {
  g_on = true;
  if (t_self != nullptr) return;  // of a test before this one
  auto self = std::make_unique<Thread>();
  sem_init(&self->turn, 0, 0);
  self->handle = pthread_self();
  t_self = self.get();
  g_threads.push_back(std::move(self));
}

void End() { g_on = false; }
bool IsOn() { return g_on; }

void BeginRun(unsigned seed) {
  std::erase_if(g_threads, [](const auto& t) { return t->state == Thread::State::kDone; });
  g_random.seed(seed);
  g_processes.resize(1);
  g_now = kStart;
  g_trace.clear();
  g_last_id = 0;
  for (const auto& t : g_threads) t->id = g_last_id++;
}

bool Settled() {
  for (const auto& t : g_threads)
    if (t.get() != t_self && t->state != Thread::State::kDone &&
        (t->process != 0 || t->state == Thread::State::kReady || t->deadline != kNever))
      return false;
  return true;
}

unsigned Random(unsigned n) { return g_random() % n; }
std::int64_t Now() { return InWorld() ? g_now : __real__ZNSt6chrono3_V212steady_clock3nowEv(); }

void Yield() {
  if (InWorld()) Switch();
}
void Pass(std::chrono::nanoseconds time) { g_now += time.count(); }
void SleepFor(std::chrono::nanoseconds time) {
  if (InWorld()) Wait(nullptr, {}, g_now + time.count());
}
bool WaitUntil(const std::function<bool()>& ready, std::int64_t deadline) {
  Wait(nullptr, ready, deadline < 0 ? kNever : deadline);
  return !t_self->timed_out;
}

int NewProcess(const std::string& name) {
  g_processes.push_back({.name = name, .parent = Process()});
  return static_cast<int>(g_processes.size()) - 1;
}
Enter::Enter(int process) : before_(t_self->process) { t_self->process = process; }
Enter::~Enter() { t_self->process = before_; }
int Process() { return t_self == nullptr ? 0 : t_self->process; }
const std::string& NameOf(int process) {
  return g_processes[static_cast<std::size_t>(process)].name;
}
int ParentOf(int process) { return g_processes[static_cast<std::size_t>(process)].parent; }
std::vector<int> ChildrenOf(int process) {
  std::vector<int> children;
  for (std::size_t i = 1; i < g_processes.size(); ++i)
    if (g_processes[i].parent == process && !g_processes[i].dead)
      children.push_back(static_cast<int>(i));
  return children;
}
void Kill(int process) {
  auto& p = g_processes[static_cast<std::size_t>(process)];
  p.dead = true;
  p.frozen_until = 0;
}
bool IsDead(int process) { return g_processes[static_cast<std::size_t>(process)].dead; }
void Freeze(int process, std::chrono::nanoseconds time) {
  auto& p = g_processes[static_cast<std::size_t>(process)];
  if (!p.dead) p.frozen_until = g_now + time.count();
}

void Trace(const std::string& line) {
  if (!InWorld()) return;
  g_trace.push_back(std::to_string(g_now / 1000 - kStart / 1000) + " " +
                    std::to_string(t_self->id) + " " + NameOf(t_self->process) + " " + line);
}
const std::vector<std::string>& TraceLines() { return g_trace; }

extern "C" {

int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  if (!InWorld()) return __real_pthread_mutex_lock(mutex);
  Lock(mutex);
  return 0;
}

int __wrap_pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                  clockid_t clock, const timespec* until) {
  if (!InWorld()) return __real_pthread_cond_clockwait(condition, mutex, clock, until);
  pthread_mutex_unlock(mutex);
  const auto offset = clock == CLOCK_REALTIME ? kDate * 1'000'000'000 : 0;
  Wait(condition, {}, Of(*until) - offset);
  const bool timed_out = t_self->timed_out;
  Lock(mutex);
  return timed_out ? ETIMEDOUT : 0;
}

void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    std::condition_variable* condition, std::unique_lock<std::mutex>* lock) {
  if (!InWorld())
    return __real__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(condition, lock);
  auto* mutex = lock->mutex()->native_handle();
  pthread_mutex_unlock(mutex);
  Wait(condition->native_handle(), {}, kNever);
  Lock(mutex);
}
void __wrap__ZNSt18condition_variable10notify_oneEv(std::condition_variable* condition) {
  if (!InWorld()) return __real__ZNSt18condition_variable10notify_oneEv(condition);
  Notify(condition->native_handle(), false);
}
void __wrap__ZNSt18condition_variable10notify_allEv(std::condition_variable* condition) {
  if (!InWorld()) return __real__ZNSt18condition_variable10notify_allEv(condition);
  Notify(condition->native_handle(), true);
}

std::int64_t __wrap__ZNSt6chrono3_V212steady_clock3nowEv() { return Now(); }
std::int64_t __wrap__ZNSt6chrono3_V212system_clock3nowEv() {
  return InWorld() ? g_now + kDate * 1'000'000'000 : __real__ZNSt6chrono3_V212system_clock3nowEv();
}

int __wrap_nanosleep(const timespec* time, timespec* left) {
  if (!InWorld()) return __real_nanosleep(time, left);
  SleepFor(std::chrono::nanoseconds(Of(*time)));
  return 0;
}

// What it waits for is written by another thread of the world, or comes with the time.
int __wrap_poll(pollfd* fds, nfds_t n, int ms) {
  const int ready = __real_poll(fds, n, InWorld() ? 0 : ms);
  if (!InWorld() || ready != 0 || ms == 0) return ready;
  Wait(
      nullptr, [=] { return n > 0 && __real_poll(fds, 1, 0) != 0; },
      ms < 0 ? kNever : g_now + ms * std::int64_t{1'000'000});
  return __real_poll(fds, n, 0);
}

ssize_t __wrap_getrandom(void* bytes, std::size_t n, unsigned flags) {
  if (!InWorld()) return __real_getrandom(bytes, n, flags);
  for (std::size_t i = 0; i < n; ++i)
    static_cast<unsigned char*>(bytes)[i] = static_cast<unsigned char>(g_random());
  return static_cast<ssize_t>(n);
}

// These two are called by the C++ library: the program's own come before libc's.
int pthread_create(pthread_t* handle, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) {
  static auto* real =
      Real<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  if (!InWorld()) return real(handle, attributes, body, argument);
  auto made = std::make_unique<Thread>();
  made->id = g_last_id++;
  made->process = t_self->process;
  sem_init(&made->turn, 0, 0);
  made->body = [=] { return body(argument); };
  const int error = real(handle, attributes, Run, made.get());
  if (error != 0) return error;
  made->handle = *handle;
  g_threads.push_back(std::move(made));
  return 0;
}

int pthread_join(pthread_t handle, void** result) {
  static auto* real = Real<int(pthread_t, void**)>("pthread_join");
  if (InWorld())
    for (const auto& t : g_threads)
      if (t->state != Thread::State::kDone && pthread_equal(t->handle, handle)) {
        const auto id = t->id;
        WaitUntil([id] { return !Lives(id); }, -1);
        break;
      }
  return real(handle, result);
}

}  // extern "C"

}  // namespace cigri::test::world
