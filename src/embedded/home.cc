#include "embedded/home.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/config.h"
#include "core/error.h"
#include "core/text.h"

namespace cigri::embedded {
namespace {
namespace fs = std::filesystem;

constexpr std::size_t kLongestSocket = 107;
// "/run/<name of a cluster>.sock" follows, and clusters have short names here.
constexpr std::size_t kLongestHome = kLongestSocket - 25;

// FNV-1a: the same home gives the same folder, in every process and always.
std::string ShortHash(const std::string& text) {
  std::uint32_t h = 2166136261u;
  for (unsigned char c : text) h = (h ^ c) * 16777619u;
  char hex[9];
  std::snprintf(hex, sizeof hex, "%08x", h);
  return hex;
}

void MakeFolder(const std::string& path, mode_t mode) {
  std::error_code failed;
  fs::create_directories(path, failed);
  if (failed)
    throw Fatal(kExitNoPermission, "cannot make " + path + ": " + failed.message(),
                "set CIGRI_HOME to a folder that you may write");
  if (chmod(path.c_str(), mode) != 0 && errno != EPERM)
    throw Fatal(kExitNoPermission, "cannot set the mode of " + path + ": " + strerror(errno));
}

}  // namespace

Home Home::FromEnvironment() {
  std::string dir = CigriHome();
  while (dir.size() > 1 && dir.back() == '/') dir.pop_back();
  if (dir.empty() || dir[0] != '/')
    throw Fatal(kExitConfig, "CIGRI_HOME is \"" + dir + "\", which is not an absolute path");
  // One folder by two names would be two grids, each of which sees nothing of the other.
  std::error_code failed;
  if (const auto real = fs::weakly_canonical(dir, failed); !failed) dir = real.string();
  if (dir.find(',') != dir.npos)
    throw Fatal(kExitConfig, "CIGRI_HOME is \"" + dir + "\": there is a comma in it",
                "choose a folder without one: PostgreSQL takes what has a comma for two folders");
  if (!IsValidUtf8(dir))
    throw Fatal(kExitConfig, "CIGRI_HOME has bytes that are no UTF-8",
                "choose a folder whose name is plain text");
  if (dir.size() > kLongestHome)
    throw Fatal(kExitConfig,
                "CIGRI_HOME has " + std::to_string(dir.size()) +
                    " characters, sockets in it allow " + std::to_string(kLongestHome),
                "choose a shorter one");
  return {dir};
}

std::string Home::PostgresSocketDir() const {
  const std::string dir_here = dir + "/pgrun";
  if (dir_here.size() + sizeof("/.s.PGSQL.5432.lock") <= kLongestSocket) return dir_here;
  return "/tmp/cigri-" + std::to_string(geteuid()) + "-" + ShortHash(dir);
}

void Home::Make() const {
  // Other users speak to the API's socket: they may pass, and see nothing that is not theirs.
  MakeFolder(dir, 0755);
  MakeFolder(run(), 0755);
  MakeFolder(dir + "/log", 0750);
  MakeFolder(dir + "/clusters", 0755);
}

}  // namespace cigri::embedded
