#include "clusterdb/token_command.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <regex>
#include <stdexcept>

#include "core/text.h"

namespace cigri::clusterdb {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMostOutput = 16384, kMostToken = 8192, kMostWords = 200;

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) throw std::runtime_error(std::strerror(errno));
    read = fds[0];
    write = fds[1];
  }
  ~Pipe() {
    CloseWrite();
    close(read);
  }
  void CloseWrite() {
    if (write >= 0) close(write);
    write = -1;
  }
};

pid_t Spawn(const std::vector<std::string>& words, const Pipe& out, const Pipe& err) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.write, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  // A group of its own: what it has started ends with it.
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> argv;
  for (const auto& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  // Not ours: it may hold the address and password of the database.
  std::vector<std::string> kept{
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"};
  for (const char* name : {"HOME", "LANG", "KRB5CCNAME"})
    if (const char* value = std::getenv(name)) kept.push_back(std::string(name) + "=" + value);
  std::vector<char*> environment;
  for (auto& e : kept) environment.push_back(e.data());
  environment.push_back(nullptr);
  pid_t pid = 0;
  const int rc =
      posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (rc != 0) throw std::runtime_error("cannot start " + words[0] + ": " + std::strerror(rc));
  return pid;
}

// Reads both until their ends; false at the deadline or when the answer is too long.
bool ReadBoth(int out, int err, Clock::time_point end, std::string* text, std::string* words) {
  pollfd fds[2] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
  char buffer[4096];
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return false;
    if (poll(fds, 2, static_cast<int>(left)) < 0 && errno != EINTR) return false;
    for (int i = 0; i < 2; ++i) {
      if (fds[i].fd < 0 || fds[i].revents == 0) continue;
      const ssize_t n = read(fds[i].fd, buffer, sizeof buffer);
      if (n <= 0) {
        if (n == 0 || errno != EINTR) fds[i].fd = -1;
      } else if (i == 0) {
        text->append(buffer, static_cast<std::size_t>(n));
        if (text->size() > kMostOutput) return false;
      } else if (words->size() < kMostWords) {
        words->append(buffer, static_cast<std::size_t>(n));
      }
    }
  }
  return true;
}

int Wait(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string Filled(const std::string& word, const std::string& user) {
  std::string out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const char next = i + 1 < word.size() ? word[i + 1] : '\0';
    if (word[i] != '%' || (next != 'u' && next != '%')) {
      out += word[i];
      continue;
    }
    out += next == 'u' ? user : "%";
    ++i;
  }
  return out;
}

std::string TokenIn(const std::string& text) {
  std::string token(Trim(text));
  for (const char* head : {"SLURM_JWT=", "Bearer "})
    if (StartsWith(token, head)) token.erase(0, std::strlen(head));
  const auto bad = [](char c) { return c <= ' ' || c > '~'; };
  if (token.empty()) throw std::runtime_error("it printed nothing");
  if (token.size() > kMostToken || std::any_of(token.begin(), token.end(), bad))
    throw std::runtime_error("it did not print one token and nothing else");
  return token;
}

}  // namespace

std::vector<std::string> CommandWords(const std::string& line) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == '\0' && (c == ' ' || c == '\t' || c == '\n')) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == '\\' && quote != '\'' && i + 1 < line.size())
      words.back() += line[++i];
    else if (quote == '\0' && (c == '\'' || c == '"'))
      quote = c;
    else if (c == quote)
      quote = '\0';
    else
      words.back() += c;
  }
  if (quote != '\0') throw std::runtime_error(std::string("a quote (") + quote + ") is not closed");
  if (words.empty()) throw std::runtime_error("it is empty");
  return words;
}

std::string RunTokenCommand(const std::string& command, const std::string& user,
                            std::chrono::milliseconds deadline) {
  // The row may hold "sh -c '... %u'": what is no name of a user never gets there.
  static const std::regex kUser("[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,255}");
  if (!std::regex_match(user, kUser))
    throw std::runtime_error("\"" + user + "\" is no name of a user that it could be given");
  auto words = CommandWords(command);
  for (auto& word : words) word = Filled(word, user);
  Pipe out, err;
  const auto end = Clock::now() + deadline;
  const pid_t pid = Spawn(words, out, err);
  out.CloseWrite();
  err.CloseWrite();
  std::string text, errors;
  const bool whole = ReadBoth(out.read, err.read, end, &text, &errors);
  if (!whole) kill(-pid, SIGKILL);
  const int status = Wait(pid);
  if (text.size() > kMostOutput)
    throw std::runtime_error("it printed more than " + std::to_string(kMostOutput) + " bytes");
  if (!whole)
    throw std::runtime_error("it did not end within " +
                             HumanSpan(static_cast<double>(deadline.count()) / 1000));
  if (status != 0) {
    const std::string said(Trim(ValidUtf8(errors)));
    throw std::runtime_error((WIFEXITED(status)
                                  ? "it exited with code " + std::to_string(WEXITSTATUS(status))
                                  : "it was killed by signal " + std::to_string(WTERMSIG(status))) +
                             (said.empty() ? "" : ": " + said));
  }
  return TokenIn(text);
}

}  // namespace cigri::clusterdb
