#include "tools/gridsub/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/error.h"
#include "core/text.h"
#include "tools/gridsub/newcomers.h"

extern char** environ;

namespace cigri::gridsub {
namespace {

constexpr std::size_t kMostBytes = 100'000;  // of all lines: a command line is longer nowhere

bool IsName(const std::string& name) {
  const auto good = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(), good);
}

// What belongs to this login, terminal or job, and would be wrong in another.
bool IsOfThisSession(const std::string& name) {
  static const char* kNames[] = {"HOME",   "USER",    "LOGNAME",  "SHELL",   "PWD",
                                 "OLDPWD", "SHLVL",   "_",        "TERM",    "TMPDIR",
                                 "MAIL",   "DISPLAY", "TMUX",     "STY",     "COLUMNS",
                                 "LINES",  "TTY",     "WINDOWID", "HOSTNAME"};
  static const char* kPrefixes[] = {
      "CIGRI",  "SSH_",  "XDG_",      "DBUS_",           "OAR_",      "SLURM_",
      "SLURMD", "SUDO_", "BASH_FUNC", "OMP_NUM_THREADS", "GPG_AGENT", "LC_TERMINAL"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) ||
         std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](const char* prefix) { return StartsWith(name, prefix); });
}

bool SoundsSecret(const std::string& name) {
  for (const char* word : {"TOKEN", "PASSWORD", "PASSWD", "SECRET", "CREDENTIAL", "_KEY", "APIKEY"})
    if (name.find(word) != name.npos) return true;
  return false;
}

std::string Export(const std::string& name, const std::string& value) {
  return "export " + name + "=" + ShellQuote(value) + "\n";
}

}  // namespace

std::string ExportsOf(const std::vector<std::string>& names) {
  std::string lines;
  for (const auto& word : names) {
    const auto equals = word.find('=');
    const auto name = word.substr(0, equals);
    if (!IsName(name))
      throw Fatal(kExitUsage, "--env " + word + ": \"" + name + "\" is no name of a variable",
                  "like --env PATH,CONDA_PREFIX or --env SEED=7");
    const char* value = std::getenv(name.c_str());
    if (equals == word.npos && value == nullptr) RefuseFunction(name);
    if (equals == word.npos && value == nullptr)
      throw Fatal(kExitUsage, "--env " + name + ": this variable is not set here",
                  "give it a value: --env " + name + "=VALUE, or export it");
    lines += Export(name, equals == word.npos ? value : word.substr(equals + 1));
  }
  return lines;
}

std::string ExportsOfAll(Carry carry) {
  std::vector<std::string> pairs;
  for (char** pair = environ; *pair != nullptr; ++pair) pairs.emplace_back(*pair);
  std::sort(pairs.begin(), pairs.end());
  std::string lines;
  for (const auto& pair : pairs) {
    const auto name = pair.substr(0, pair.find('='));
    if (!IsName(name) || IsOfThisSession(name) || !IsValidUtf8(pair)) continue;
    if (carry == Carry::kNoSecrets && SoundsSecret(name)) continue;
    lines += Export(name, pair.substr(name.size() + 1));
  }
  if (lines.size() > kMostBytes)
    throw Fatal(kExitBadInput,
                "the environment has " + std::to_string(lines.size()) + " bytes, and " +
                    std::to_string(kMostBytes) + " can be carried",
                "name the variables that the program needs: --env PATH,CONDA_PREFIX");
  return lines;
}

std::string ActiveEnvironment() {
  const std::pair<const char*, const char*> kinds[] = {{"conda", "CONDA_PREFIX"},
                                                       {"venv", "VIRTUAL_ENV"}};
  for (const auto& [kind, variable] : kinds)
    if (const char* value = std::getenv(variable); value != nullptr && *value != '\0')
      return std::string(kind) + " (" + value + ")";
  return "";
}

}  // namespace cigri::gridsub
