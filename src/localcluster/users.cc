#include "localcluster/users.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/text.h"

extern char** environ;

namespace cigri::localcluster {
namespace {

// Of an ordinary user's environment: what finds programs and libraries and sets the language.
// A word that ends in '*' is a prefix.
constexpr const char* kKept[] = {"PATH",
                                 "LANG",
                                 "LANGUAGE",
                                 "LC_*",
                                 "TZ",
                                 "TMPDIR",
                                 "LD_LIBRARY_PATH",
                                 "MANPATH",
                                 "PYTHON*",
                                 "VIRTUAL_ENV*",
                                 "CONDA_*",
                                 "MAMBA_*",
                                 "PERL5LIB",
                                 "PERL_*",
                                 "R_*",
                                 "JULIA_*",
                                 "JAVA_HOME",
                                 "GOPATH",
                                 "MODULE*",
                                 "LOADEDMODULES",
                                 "_LMFILES_",
                                 "LMOD_*",
                                 "GUIX_*",
                                 "NIX_*",
                                 "MATLAB*",
                                 "OCTAVE_*",
                                 "OMP_*",
                                 "MKL_*",
                                 "OPENBLAS_*"};

bool IsKept(std::string_view name) {
  return std::any_of(std::begin(kKept), std::end(kKept), [&](std::string_view kept) {
    if (kept.back() != '*') return name == kept;
    kept.remove_suffix(1);
    return StartsWith(name, kept);
  });
}

std::vector<gid_t> GroupsOf(const passwd& pw) {
  std::vector<gid_t> groups(64);
  int n = static_cast<int>(groups.size());
  if (getgrouplist(pw.pw_name, pw.pw_gid, groups.data(), &n) < 0) {
    groups.resize(static_cast<std::size_t>(n));
    getgrouplist(pw.pw_name, pw.pw_gid, groups.data(), &n);
  }
  groups.resize(static_cast<std::size_t>(n));
  return groups;
}

}  // namespace

std::shared_ptr<const Account> AccountOf(const std::string& name) {
  std::vector<char> buffer(16384);
  passwd pw{}, *found = nullptr;
  if (getpwnam_r(name.c_str(), &pw, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    throw Refused(403, "user", "user \"" + name + "\" is not known on this machine");
  if (geteuid() != 0 && pw.pw_uid != geteuid())
    throw Refused(403, "user",
                  "this cluster was started by an ordinary user and runs no jobs of " + name);
  auto a = std::make_shared<Account>();
  a->uid = pw.pw_uid;
  a->gid = pw.pw_gid;
  a->groups = GroupsOf(pw);
  a->name = pw.pw_name;
  a->home = pw.pw_dir;
  a->shell = *pw.pw_shell != '\0' ? pw.pw_shell : "/bin/sh";
  return a;
}

std::vector<std::string> BaseEnvironment(const Account& account) {
  std::vector<std::string> env = {"HOME=" + account.home, "USER=" + account.name,
                                  "LOGNAME=" + account.name, "SHELL=" + account.shell};
  if (geteuid() == 0) {
    const char* lang = std::getenv("LANG");
    env.emplace_back("PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games");
    env.push_back(std::string("LANG=") + (lang != nullptr ? lang : "C.UTF-8"));
    env.emplace_back("TMPDIR=/tmp");
    return env;
  }
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view line = *e;
    if (IsKept(line.substr(0, line.find('=')))) env.emplace_back(line);
  }
  for (const char* missing : {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "TMPDIR=/tmp"}) {
    const std::string_view name =
        std::string_view(missing).substr(0, std::string_view(missing).find('=') + 1);
    if (std::none_of(env.begin(), env.end(), [&](const auto& e) { return StartsWith(e, name); }))
      env.emplace_back(missing);
  }
  return env;
}

std::string ExpandHome(const std::string& directory, const Account& account) {
  if (directory.empty()) return account.home;
  for (const std::string home : {"${HOME}", "$HOME", "~"}) {
    if (!StartsWith(directory, home)) continue;
    const std::string rest = directory.substr(home.size());
    if (rest.empty() || rest[0] == '/') return account.home + rest;
  }
  if (directory[0] != '/') return account.home + "/" + directory;
  return directory;
}

}  // namespace cigri::localcluster
