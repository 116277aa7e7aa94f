// cigri-job: stands over one job of the local cluster at a time (docs/localcluster.md).
//
// It is all that knows how a job ends, so it depends on nobody: it writes a start mark and, when
// the job and everything it left behind are gone, an end record to a file that the daemon reads,
// now or after its own death. It enforces the walltime and carries out kills. Then it asks the
// daemon for another job: half of the time of a short one was the start of its cigri-job.
// It is linked statically and uses nothing but libc.
//
//   cigri-job ROOM     ROOM: blanks, whose place the id of the job takes
// protocol.h says what comes through kSocketFd. Everybody may read a command line: nothing private
// is in it. Its own environment is empty.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "localcluster/protocol.h"

namespace {

using namespace cigri::localcluster;

struct Output {
  int fd = -1;
  bool linked = false;
  char path[PATH_MAX];
};

struct CurrentJob {
  char* parameters[kParameters] = {};
  char* text = nullptr;  // all that kEnvironmentFd held; the pointers point into it
  char** environment = nullptr;
  char** words = nullptr;       // the program to start without a shell, and its arguments
  bool replaces_shell = false;  // it would take the shell's place
  Output out, err;
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1), groups[1024];
  int ngroups = 0, transfers = -1;
  long long started_us = 0;
  rlimit file_limit{};
  // Of all that has ended below us: as their subreaper we have waited for it.
  long long cpu_us = 0, peak_kb = 0, blocks_in = 0, blocks_out = 0;
};
CurrentJob g_job;

// Set by the child, the last two before it gives up; it shares our memory until exec (vfork).
volatile bool g_without_shell = false;
volatile char g_child_cause = 0;
volatile int g_child_errno = 0;

long long NowUs(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

bool WriteAll(const char* text, size_t n) {
  return write(kRecordsFd, text, n) == static_cast<ssize_t>(n);
}

bool WriteStartMark() {
  char line[4096];
  g_job.started_us = NowUs(CLOCK_REALTIME);
  const int n =
      snprintf(line, sizeof line, "%sS %s %d %lld %.3900s\n", kRecordBegin, g_job.parameters[kId],
               getpid(), g_job.started_us, g_job.parameters[kPlaces]);
  return WriteAll(line, static_cast<size_t>(n));
}

// A job that moves files says here how long that took, in ms. A number that no shell takes for its
// own redirections.
void OpenTransfers() {
  constexpr int kLeast = 20;
  static char value[40];
  for (char** at = g_job.environment; *at != nullptr; ++at) {
    if (strncmp(*at, "CIGRI_TRANSFERS=", 16) != 0) continue;
    const int fd = memfd_create("transfers", MFD_CLOEXEC);
    if (fd < 0) return;
    g_job.transfers = fcntl(fd, F_DUPFD, kLeast);
    close(fd);
    snprintf(value, sizeof value, "CIGRI_TRANSFERS=/dev/fd/%d", g_job.transfers);
    *at = value;
  }
}

long long TransferMs() {
  char text[32] = "";
  if (g_job.transfers < 0 || pread(g_job.transfers, text, sizeof text - 1, 0) <= 0) return -1;
  return atoll(text);
}

// The end of a job must not be lost to a full disk: the slot waits for room instead.
void WriteEndRecord(int status, char cause, const char* escaped) {
  char line[4096], measured[100];
  snprintf(measured, sizeof measured, kMeasured, g_job.cpu_us / 1000, g_job.peak_kb,
           g_job.blocks_in, g_job.blocks_out, TransferMs());
  const int n = snprintf(line, sizeof line, "%sE %s %d %c %lld %lld %s%.3700s\n", kRecordBegin,
                         g_job.parameters[kId], status, cause, g_job.started_us,
                         NowUs(CLOCK_REALTIME), measured, escaped);
  while (!WriteAll(line, static_cast<size_t>(n))) sleep(1);
}

void Escape(const char* text, size_t n, char* out, size_t room) {
  size_t k = 0;
  for (size_t i = 0; i < n && k + 3 < room; ++i) {
    if (text[i] == '\n' || text[i] == '\\') {
      out[k++] = '\\';
      out[k++] = text[i] == '\n' ? 'n' : '\\';
    } else if (text[i] != '\0') {
      out[k++] = text[i];
    }
  }
  out[k] = '\0';
}

void EndWithoutJob(char cause, const char* what, const char* path, int error) {
  char text[PATH_MAX + 200], escaped[1800];
  snprintf(text, sizeof text, "%s %s: %s", what, path, strerror(error));
  Escape(text, strlen(text), escaped, sizeof escaped);
  WriteEndRecord(0, cause, escaped);
}

// On NFS, which knows no files without names, it has its own already.
bool TakeOutput(Output* o, int fd, const char* suffix) {
  o->fd = fd;
  struct stat s {};
  if (fstat(fd, &s) != 0) return false;
  o->linked = s.st_nlink > 0;
  snprintf(o->path, sizeof o->path, "%s%s", g_job.parameters[kOutput], suffix);
  return true;
}

// False when it cannot have its name.
bool LinkIfNotEmpty(Output* o, bool last) {
  struct stat s {};
  if (fstat(o->fd, &s) != 0) return false;
  if (s.st_size == 0) {
    if (last && o->linked) unlink(o->path);
    return true;
  }
  if (o->linked) return true;
  char self[64];
  snprintf(self, sizeof self, "/proc/self/fd/%d", o->fd);
  o->linked = linkat(AT_FDCWD, self, AT_FDCWD, o->path, AT_SYMLINK_FOLLOW) == 0;
  return o->linked;
}

// The last five lines of stderr, for the user who will ask why it failed.
void StderrTail(char* escaped, size_t room) {
  char text[1500];
  escaped[0] = '\0';
  struct stat s {};
  if (g_job.err.fd < 0 || fstat(g_job.err.fd, &s) != 0 || s.st_size == 0) return;
  const off_t from =
      s.st_size > static_cast<off_t>(sizeof text) ? s.st_size - static_cast<off_t>(sizeof text) : 0;
  ssize_t n = pread(g_job.err.fd, text, sizeof text, from);
  while (n > 0 && text[n - 1] == '\n') --n;
  ssize_t begin = n;
  for (int lines = 0; begin > 0; --begin)
    if (text[begin - 1] == '\n' && ++lines == 5) break;
  if (n > 0) Escape(text + begin, static_cast<size_t>(n - begin), escaped, room);
}

void ParseIds(const char* text) {
  if (strcmp(text, "-") == 0) return;
  char* at = nullptr;
  g_job.uid = static_cast<uid_t>(strtoul(text, &at, 10));
  g_job.gid = static_cast<gid_t>(strtoul(at + 1, &at, 10));
  while ((*at == ':' || *at == ',') && at[1] != '\0' && g_job.ngroups < 1024)
    g_job.groups[g_job.ngroups++] = static_cast<gid_t>(strtoul(at + 1, &at, 10));
}

// Of a list "2,3"; none of "".
cpu_set_t ParseCpus(const char* text) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (char* at = nullptr; *text != '\0'; text = *at == ',' ? at + 1 : at) {
    const unsigned long cpu = strtoul(text, &at, 10);
    if (at == text) break;
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &cpus);
  }
  return cpus;
}

// Goes to the CPUs of the job, which begins there: to move it later costs more. Where one has gone
// meanwhile, or the job has none of its own, all that we began with.
void PinTo(const char* text) {
  static cpu_set_t all, now;
  static bool known = false;
  if (!known) {
    if (sched_getaffinity(0, sizeof all, &all) != 0) return;
    now = all;
    known = true;
  }
  cpu_set_t wanted = ParseCpus(text);
  if (CPU_COUNT(&wanted) == 0) wanted = all;
  if (CPU_EQUAL(&wanted, &now)) return;
  if (sched_setaffinity(0, sizeof wanted, &wanted) != 0) {
    wanted = all;
    sched_setaffinity(0, sizeof wanted, &wanted);
  }
  now = wanted;
}

// Reads what is said of the job; false when there is no memory for it.
bool ReadEnvironment() {
  struct stat s {};
  if (fstat(kEnvironmentFd, &s) != 0) return false;
  const size_t n = static_cast<size_t>(s.st_size);
  char* text = g_job.text = static_cast<char*>(malloc(n + 1));
  if (text == nullptr || pread(kEnvironmentFd, text, n, 0) != s.st_size) return false;
  size_t lines = 0;
  for (size_t i = 0; i < n; ++i)
    if (text[i] == '\0') ++lines;
  if (lines < kParameters) return false;
  lines -= kParameters;
  for (char*& parameter : g_job.parameters) {
    parameter = text;
    text += strlen(text) + 1;
  }
  g_job.environment = static_cast<char**>(calloc(lines + 1, sizeof(char*)));
  if (g_job.environment == nullptr) return false;
  for (size_t i = 0; i < lines; ++i, text += strlen(text) + 1) {
    const bool ends = g_job.words == nullptr && *text == '\0';
    g_job.environment[i] = ends ? nullptr : text;
    if (ends) g_job.words = g_job.environment + i + 1;
  }
  if (g_job.words == nullptr) return true;
  g_job.replaces_shell = strcmp(g_job.words[0], "exec") == 0;
  if (g_job.replaces_shell) ++g_job.words;
  return true;
}

[[noreturn]] void ChildFails(char cause) {
  g_child_errno = errno;
  g_child_cause = cause;
  _exit(127);
}

// The value of a variable of the job; nullptr: it has none.
const char* Variable(const char* name) {
  const size_t n = strlen(name);
  for (char** at = g_job.environment; *at != nullptr; ++at)
    if (strncmp(*at, name, n) == 0 && (*at)[n] == '=') return *at + n + 1;
  return nullptr;
}

// Looks for the program in PATH as a shell does. Returns when it cannot be started so: the shell
// will know why.
void StartWithoutShell() {
  static char path[PATH_MAX];
  const char* program = g_job.words[0];
  if (strchr(program, '/') != nullptr) {
    execve(program, g_job.words, g_job.environment);
    return;
  }
  const char* folder = Variable("PATH");
  while (folder != nullptr) {
    const char* end = strchrnul(folder, ':');
    const int n = static_cast<int>(end - folder);
    const int length =
        snprintf(path, sizeof path, "%.*s%s%s", n, folder, n == 0 ? "./" : "/", program);
    if (length < static_cast<int>(sizeof path)) execve(path, g_job.words, g_job.environment);
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) return;
    folder = *end == ':' ? end + 1 : nullptr;
  }
}

// Runs between vfork and exec: system calls only. The raw ones, since libc's setuid would look for
// other threads of the memory that it borrows.
[[noreturn]] void Child() {
  dup2(g_job.out.fd, 1);
  dup2(g_job.err.fd, 2);
  setpriority(PRIO_PROCESS, 0, atoi(g_job.parameters[kNice]));
  if (g_job.file_limit.rlim_max != 0)
    syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, &g_job.file_limit, nullptr);
  if (g_job.uid != static_cast<uid_t>(-1)) {
    if (syscall(SYS_setgroups, g_job.ngroups, g_job.groups) != 0 ||
        syscall(SYS_setresgid, g_job.gid, g_job.gid, g_job.gid) != 0 ||
        syscall(SYS_setresuid, g_job.uid, g_job.uid, g_job.uid) != 0)
      ChildFails('l');
    umask(022);  // a service may keep its own files closer than a log-in does
  }
  if (chdir(g_job.parameters[kDirectory]) != 0) ChildFails('c');
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (g_job.words != nullptr) {
    g_without_shell = true;
    StartWithoutShell();
    g_without_shell = false;
  }
  fcntl(kScriptFd, F_SETFD, 0);
  // Not the file as the shell's argument: $0 is "sh", as it is for `sh -c COMMAND`.
  char sh[] = "sh", c[] = "-c", script[] = ". /dev/fd/9";
  static_assert(kScriptFd == 9);
  char* arguments[] = {sh, c, script, nullptr};
  execve("/bin/sh", arguments, g_job.environment);
  ChildFails('l');
}

// The kernel deals out CPUs by sessions first (autogroup). A job has a session of its own, and a
// niceness within it is nothing to others: so the session gets it, too. Users other than root are
// heard ten times a second; until then it is said again.
void BeNiceAsSession() {
  static bool heard = false;
  if (heard) return;
  const int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
  const char* nice = g_job.parameters[kNice];
  heard = fd < 0 || write(fd, nice, strlen(nice)) > 0 || errno != EAGAIN;
  if (fd >= 0) close(fd);
}

struct Process {
  pid_t pid, parent;
  bool ours;
};

size_t ReadProcesses(Process** list) {
  size_t n = 0, room = 0;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return 0;
  while (dirent* entry = readdir(proc)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    char path[300], text[512];
    snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    const ssize_t k = read(fd, text, sizeof text - 1);
    close(fd);
    if (k <= 0) continue;
    text[k] = '\0';
    const char* after = strrchr(text, ')');  // the name may hold anything, ')' included
    int parent = 0;
    if (after == nullptr || sscanf(after + 1, " %*c %d", &parent) != 1) continue;
    if (n == room) {
      room = room == 0 ? 256 : room * 2;
      *list = static_cast<Process*>(realloc(*list, room * sizeof(Process)));
      if (*list == nullptr) abort();
    }
    (*list)[n++] = {atoi(entry->d_name), parent, false};
  }
  closedir(proc);
  return n;
}

// Whether a process has a handler of its own for a signal.
bool Catches(pid_t pid, int signal) {
  char path[64], text[4096];
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return false;
  text[n] = '\0';
  const char* mask = strstr(text, "SigCgt:");
  return mask != nullptr && (strtoull(mask + 7, nullptr, 16) >> (signal - 1) & 1) != 0;
}

int CheckpointSignal() {
  const char* name = Variable("CIGRI_CHECKPOINT_SIGNAL");
  if (name == nullptr) return 0;
  if (strcmp(name, "HUP") == 0) return SIGHUP;
  if (strcmp(name, "USR1") == 0) return SIGUSR1;
  return strcmp(name, "USR2") == 0 ? SIGUSR2 : 0;
}

// From 0 to `most` s: the job's user may have written anything.
long long MicrosecondsOf(const char* name, long long most) {
  const char* text = Variable(name);
  const long long seconds = text == nullptr ? 0 : atoll(text);
  return (seconds < 0 ? 0 : seconds > most ? most : seconds) * 1000000LL;
}

// However much time a job asks for to save its work: somebody waits for its slots.
constexpr long long kLongestEviction = 600 * 1000000LL;

// Everything that descends from us: as its subreaper we are the ancestor of whatever the job has
// started, whatever sessions and groups it made. Or only those that catch the signal.
void SignalAll(int signal, bool catching = false) {
  Process* list = nullptr;
  const size_t n = ReadProcesses(&list);
  const pid_t self = getpid();
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < n; ++i) {
      if (list[i].ours) continue;
      bool ours = list[i].parent == self;
      for (size_t j = 0; j < n && !ours; ++j) ours = list[j].ours && list[j].pid == list[i].parent;
      if (ours) more = list[i].ours = true;
    }
  }
  for (size_t i = 0; i < n; ++i)
    if (list[i].ours && (!catching || Catches(list[i].pid, signal))) kill(list[i].pid, signal);
  free(list);
}

class Watch {
 public:
  explicit Watch(pid_t child) : child_(child) {
    const long long walltime = atoll(g_job.parameters[kWalltime]);
    walltime_at_ = begun_ + walltime * 1000000LL;
    grace_us_ = atoll(g_job.parameters[kGrace]) * 1000LL;
    link_at_ = begun_ + 1000000;
    if (checkpoint_ == 0) return;
    saving_us_ = MicrosecondsOf("CIGRI_CHECKPOINT_GRACE", walltime);
    every_us_ = MicrosecondsOf("CIGRI_CHECKPOINT_EVERY", walltime + 1);
    walltime_at_ -= saving_us_;
    if (every_us_ > 0) every_at_ = begun_ + every_us_;
  }
  // Returns when the job and all it started are gone.
  void Run(const sigset_t& signals) {
    while (!Reap()) {
      siginfo_t info{};
      const timespec wait = TimeLeft();
      const int signal = sigtimedwait(&signals, &info, &wait);
      // A plain `kill` of ours by a user is a deletion too.
      if (signal == SIGTERM)
        Kill(info.si_code == SI_QUEUE ? static_cast<char>(info.si_value.sival_int) : 'd');
      OnTime();
    }
  }
  int status() const { return status_; }
  char cause() const {
    if (g_child_cause != 0) return g_child_cause;
    return status_ == 0 ? 'x' : cause_;  // exit 0 is a success, whoever was killing
  }

 private:
  bool Reap() {
    for (;;) {
      int status = 0;
      rusage used{};
      const pid_t pid = wait4(-1, &status, WNOHANG, &used);
      if (pid == 0) break;
      if (pid < 0) return errno == ECHILD;
      g_job.cpu_us += (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000LL +
                      used.ru_utime.tv_usec + used.ru_stime.tv_usec;
      if (used.ru_maxrss > g_job.peak_kb) g_job.peak_kb = used.ru_maxrss;
      g_job.blocks_in += used.ru_inblock;
      g_job.blocks_out += used.ru_oublock;
      if (pid != child_) continue;
      status_ = g_without_shell && !g_job.replaces_shell ? StatusAsOfShell(status) : status;
      done_ = true;
    }
    // The command is over but something of it still runs: nobody will ever wait for that.
    if (done_ && phase_ == 0) Terminate();
    return false;
  }
  void Kill(char cause) {
    if (done_ || phase_ != 0) return;
    if (checkpoint_ == 0 || (cause != 'p' && cause != 'w')) {
      cause_ = cause;
      Terminate();
      return;
    }
    const bool too_long = cause == 'p' && saving_us_ > kLongestEviction;
    const long long at = NowUs(CLOCK_MONOTONIC) + (too_long ? kLongestEviction : saving_us_);
    if (saved_at_ != 0 && at >= saved_at_) return;
    if (saved_at_ == 0) SignalAll(checkpoint_, true);
    saved_at_ = at;
    cause_ = cause;
  }
  // The shell that a job has otherwise dies of our TERM. Of a signal of its program's it tells, and
  // exits with its number.
  int StatusAsOfShell(int status) const {
    if (asked_) return SIGTERM;
    if (!WIFSIGNALED(status)) return status;
    const int signal = WTERMSIG(status);
    if (signal != SIGINT && signal != SIGPIPE)
      dprintf(g_job.err.fd, "%s%s\n", strsignal(signal), WCOREDUMP(status) ? " (core dumped)" : "");
    return (128 + signal) << 8;
  }
  // Whether the command has not ended yet.
  bool Runs() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0;
  }
  void Terminate() {
    phase_ = 1;
    asked_ = Runs();
    phase_at_ = NowUs(CLOCK_MONOTONIC) + grace_us_;
    SignalAll(SIGTERM);
    SignalAll(SIGCONT);
  }
  void OnTime() {
    BeNiceAsSession();
    const long long now = NowUs(CLOCK_MONOTONIC);
    if (phase_ == 0 && saved_at_ == 0 && now >= every_at_) {
      SignalAll(checkpoint_, true);
      every_at_ = now + every_us_;
    }
    if (phase_ == 0 && saved_at_ != 0 && now >= saved_at_) Terminate();
    if (phase_ == 0 && now >= walltime_at_) Kill('w');
    if (phase_ > 0 && now >= phase_at_) {
      SignalAll(SIGSTOP);  // first stop them, or what forks faster than we look gets away
      SignalAll(SIGKILL);
      phase_ = 2;
      phase_at_ = now + 20000;
    }
    if (now >= link_at_) {
      LinkIfNotEmpty(&g_job.out, false);
      LinkIfNotEmpty(&g_job.err, false);
      const bool both = g_job.out.linked && g_job.err.linked;
      link_at_ = both ? LLONG_MAX : now + (now - begun_ < 10000000 ? now - begun_ : 10000000);
    }
  }
  timespec TimeLeft() const {
    long long at = phase_ != 0 ? phase_at_ : saved_at_ != 0 ? saved_at_ : walltime_at_;
    if (phase_ == 0 && saved_at_ == 0 && every_at_ < at) at = every_at_;
    if (link_at_ < at) at = link_at_;
    long long us = at - NowUs(CLOCK_MONOTONIC);
    if (us < 0) us = 0;
    return {static_cast<time_t>(us / 1000000), static_cast<long>(us % 1000000 * 1000)};
  }

  pid_t child_;
  int status_ = 0, phase_ = 0;         // 0 runs, 1 asked to end, 2 being killed
  bool done_ = false, asked_ = false;  // asked_: while it ran
  char cause_ = 'x';
  long long begun_ = NowUs(CLOCK_MONOTONIC), walltime_at_ = 0, phase_at_ = 0, link_at_ = 0,
            grace_us_ = 0;
  // The signal that asks the job to save its work, and how long before a kill; 0: none. saved_at_:
  // when the kill that has been announced comes.
  const int checkpoint_ = CheckpointSignal();
  long long saving_us_ = 0, every_us_ = 0, every_at_ = LLONG_MAX, saved_at_ = 0;
};

// A kill that came too late for the job before must not be the next one's. The daemon queues its
// own, and gives no other job to whom it has killed.
void ForgetLateKill() {
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  siginfo_t info{};
  const timespec now{};
  if (sigtimedwait(&term, &info, &now) == SIGTERM && info.si_code == SI_QUEUE)
    sigqueue(getpid(), SIGTERM, info.si_value);
}

// Waits for a job; false when there is none for us any more.
bool TakeJob() {
  constexpr int kFds[] = {kRecordsFd, kOutFd, kErrFd, kBirthFd, kEnvironmentFd, kScriptFd};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof kFds)];
  char byte = 0;
  iovec data{&byte, 1};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(kSocketFd, &message, MSG_CMSG_CLOEXEC) != 1) return false;
  ForgetLateKill();
  const cmsghdr* given = CMSG_FIRSTHDR(&message);
  // The kernel gives the lowest numbers that are free, and of these we have no other open.
  return given != nullptr && given->cmsg_type == SCM_RIGHTS &&
         given->cmsg_len == CMSG_LEN(sizeof kFds) &&
         memcmp(CMSG_DATA(given), kFds, sizeof kFds) == 0;
}

// False when it has not begun: without a mark it never has.
bool RunJob(char* name, size_t room, const sigset_t& signals) {
  if (!ReadEnvironment() || strlen(g_job.parameters[kId]) > room) return false;
  memset(name, 0, room);
  strcpy(name, g_job.parameters[kId]);
  if (!TakeOutput(&g_job.out, kOutFd, ".out") || !TakeOutput(&g_job.err, kErrFd, ".err"))
    return false;
  if (!WriteStartMark()) return false;
  close(kBirthFd);
  g_job.file_limit.rlim_cur = g_job.file_limit.rlim_max =
      static_cast<rlim_t>(atoll(g_job.parameters[kFile]));
  ParseIds(g_job.parameters[kIds]);
  PinTo(g_job.parameters[kCpus]);
  BeNiceAsSession();
  OpenTransfers();
  g_child_cause = 0;
  g_without_shell = false;
  const pid_t child = vfork();
  if (child == 0) Child();
  if (child < 0) {
    EndWithoutJob('l', "cannot start", "/bin/sh", errno);
    return true;
  }
  close(kScriptFd);
  Watch watch(child);
  watch.Run(signals);
  if (g_child_cause != 0) {
    const bool folder = g_child_cause == 'c';
    EndWithoutJob(g_child_cause, folder ? "cannot enter the working directory" : "cannot start",
                  folder ? g_job.parameters[kDirectory] : "/bin/sh", g_child_errno);
    return true;
  }
  Output* const outputs[] = {&g_job.out, &g_job.err};
  for (Output* o : outputs)
    if (!LinkIfNotEmpty(o, true)) {
      EndWithoutJob('o', "cannot name the output", o->path, errno);
      return true;
    }
  char tail[3600] = "";
  if (watch.status() != 0) StderrTail(tail, sizeof tail);
  WriteEndRecord(watch.status(), watch.cause(), tail);
  return true;
}

// Nothing of a job is left for the next one. Returns false when nobody hears that it has ended.
bool Forget() {
  const int ours[] = {kRecordsFd,     kOutFd,    kErrFd,         kBirthFd,
                      kEnvironmentFd, kScriptFd, g_job.transfers};
  for (const int fd : ours) close(fd);
  free(g_job.environment);
  free(g_job.text);
  g_job = CurrentJob();
  return send(kSocketFd, "", 1, MSG_NOSIGNAL) == 1;
}

}  // namespace

int main(int argc, char** argv) {
  // A daemon of an older version, whose programs are being replaced, says all in the arguments. Its
  // successor waits for the lock that we hold (kBirthFd) and then starts the job, which has no
  // mark.
  if (argc > 2) {
    const pid_t daemon = getppid();
    for (int i = 0; i < 600 && getppid() == daemon; ++i) usleep(100000);
    return 71;
  }
  if (argc != 2 || argv[1][0] != ' ') {
    fputs("cigri-job: started by localcluster, not by users\nHINT: localsub runs a job\n", stderr);
    return 64;
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t signals;  // blocked by whoever started us, so that no early kill is missed
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  fcntl(kSocketFd, F_SETFD, FD_CLOEXEC);
  const size_t room = strlen(argv[1]);
  while (TakeJob()) {
    if (!RunJob(argv[1], room, signals)) return 71;
    if (!Forget()) return 0;
  }
  return 0;
}
