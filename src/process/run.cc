#include "process/run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "core/text.h"

namespace cigri::process {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kPipe = 65536, kLargestPipe = 1 << 20;  // what a pipe holds, and may hold

[[noreturn]] void ThrowErrno(const std::string& what) {
  throw std::system_error(errno, std::system_category(), what);
}

// At 3 or above, so that it can become any standard descriptor of a program, in any order.
Fd AboveStandard(Fd fd) {
  if (!fd) ThrowErrno("cannot open a descriptor");
  if (fd.get() > STDERR_FILENO) return fd;
  Fd high(fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!high) ThrowErrno("cannot open a descriptor");
  return high;
}

// A file without a name that holds `text`. Nobody writes while the program runs, so a program that
// does not read its input cannot block us or raise SIGPIPE.
Fd InputFile(std::string_view text) {
  if (text.empty()) return AboveStandard(Fd(open("/dev/null", O_RDONLY | O_CLOEXEC)));
  Fd file = AboveStandard(MemoryFile());
  while (!text.empty()) {
    const ssize_t n = write(file.get(), text.data(), text.size());
    if (n < 0 && errno != EINTR) ThrowErrno("cannot keep the input");
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
  if (lseek(file.get(), 0, SEEK_SET) != 0) ThrowErrno("cannot keep the input");
  return file;
}

struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) ThrowErrno("cannot make a pipe");
    Fd out(ends[0]), in(ends[1]);
    read = AboveStandard(std::move(out));
    write = AboveStandard(std::move(in));
    if (fcntl(read.get(), F_SETFL, O_NONBLOCK) != 0) ThrowErrno("cannot make a pipe");
  }
  Fd read, write;
};

// One stream of the program: what is kept of it, and whether there was more.
struct Stream {
  Pipe pipe{};
  std::string text{};
  std::size_t most = 0;
  bool cut = false;

  // Reads what stands in the pipe; closes our end when there will be no more. False: nothing stood.
  bool Read() {
    std::array<char, kPipe> bytes;
    const ssize_t n = read(pipe.read.get(), bytes.data(), bytes.size());
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) pipe.read.Close();
    if (n <= 0) return false;
    const auto room = std::min(most - text.size(), static_cast<std::size_t>(n));
    text.append(bytes.data(), room);
    cut = cut || room < static_cast<std::size_t>(n);
    return true;
  }
  // Reads what the program left when it ended. Not to the end of the stream: a process that it left
  // behind may write indefinitely. No pipe holds more (fs.pipe-max-size).
  void ReadRest() {
    for (std::size_t i = 0; i < kLargestPipe / kPipe && Read(); ++i) {
    }
  }
};

int MsUntil(Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
}

// Reads both streams until the program ends. Returns kExited, or the limit that it has passed.
Outcome Follow(int pidfd, Stream* out, Stream* err, Clock::time_point deadline) {
  for (;;) {
    pollfd fds[] = {{pidfd, POLLIN, 0},
                    {out->pipe.read.get(), POLLIN, 0},
                    {err->pipe.read.get(), POLLIN, 0}};  // poll() skips closed ones: -1
    const int ready = poll(fds, 3, MsUntil(deadline));
    const bool ended = fds[0].revents != 0;
    for (Stream* stream : {out, err})
      if (ended)
        stream->ReadRest();
      else
        stream->Read();
    if (out->cut) return Outcome::kOutputTooLong;
    if (ended) return Outcome::kExited;
    if (ready == 0 || Clock::now() >= deadline) return Outcome::kTimedOut;
  }
}

SpawnOptions OptionsOf(const Command& command, int in, const Stream& out, const Stream& err) {
  SpawnOptions options;
  options.in = in;
  options.out = out.pipe.write.get();
  if (command.errors == Errors::kApart) options.err = err.pipe.write.get();
  if (command.errors == Errors::kWithOutput) options.err = options.out;
  options.environment = command.environment;
  options.directory = command.directory;
  options.own_group = command.own_group;
  options.own_session = command.own_session;
  return options;
}

Result RunOrThrow(const Command& command) {
  const auto deadline = Clock::now() + command.time_limit;
  Stream out{.most = command.output_limit}, err{.most = command.errors_kept};
  Fd input = InputFile(command.input);
  const pid_t pid = Spawn(command.argv, OptionsOf(command, input.get(), out, err));
  for (Fd* fd : {&input, &out.pipe.write, &err.pipe.write}) fd->Close();
  const Fd ended = PidFd(pid);
  Result result;
  result.outcome = ended ? Follow(ended.get(), &out, &err, deadline) : Outcome::kNotStarted;
  if (!ended) result.why = "cannot watch " + command.argv[0];
  // It is not reaped yet, so its group cannot be another's by now.
  if (result.outcome != Outcome::kExited) kill(command.own_group ? -pid : pid, SIGKILL);
  const int status = Reap(pid);
  result.out = std::move(out.text);
  result.err = std::move(err.text);
  if (result.outcome != Outcome::kExited) return result;
  if (WIFSIGNALED(status)) result.outcome = Outcome::kSignalled;
  result.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

}  // namespace

Result Run(const Command& command) {
  try {
    return RunOrThrow(command);
  } catch (const std::system_error& e) {
    Result result;
    result.why = e.what();
    return result;
  }
}

std::string HowItEnded(const Command& command, const Result& result) {
  switch (result.outcome) {
    case Outcome::kExited:
      return "it exited with code " + std::to_string(result.code);
    case Outcome::kSignalled:
      return "it was killed by signal " + std::to_string(result.code);
    case Outcome::kTimedOut:
      return "it did not end within " +
             HumanDuration(std::chrono::duration<double>(command.time_limit).count());
    case Outcome::kOutputTooLong:
      return "it printed more than " + std::to_string(command.output_limit) + " bytes";
    case Outcome::kNotStarted:
      return result.why;
  }
  return "";
}

}  // namespace cigri::process
