#include "tests/support/for_others.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <stdexcept>

namespace cigri::test {
namespace {

namespace fs = std::filesystem;

bool OthersMayEnter(fs::path folder) {
  for (; folder.has_relative_path(); folder = folder.parent_path()) {
    struct stat status {};
    if (stat(folder.c_str(), &status) != 0 || (status.st_mode & S_IXOTH) == 0) return false;
  }
  return true;
}

// A copy of the files of a folder, removed at the end of the process. It lies as programs that were
// installed do: the scripts of `cigri up --with` are next to it, and others may run it whatever the
// umask of who built it.
class Copy {
 public:
  explicit Copy(const fs::path& folder) {
    char name[] = "/tmp/cigri-bin-XXXXXX";
    if (mkdtemp(name) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
    // They name files that others cannot read, and without these a sanitizer does not start.
    for (const char* options : {"TSAN_OPTIONS", "LSAN_OPTIONS"}) unsetenv(options);
    fs::permissions(path_, fs::perms(0755));
    for (const char* const part : {"bin", "share", "share/cigri"}) {
      fs::create_directory(path_ / part);
      fs::permissions(path_ / part, fs::perms(0755));
    }
    fs::create_symlink(CIGRI_SOURCE_DIR "/scripts/clusters", path_ / "share/cigri/clusters");
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      const fs::path copy = path_ / "bin" / entry.path().filename();
      fs::copy_file(entry.path(), copy);
      fs::permissions(copy, fs::perms(0055), fs::perm_options::add);
    }
  }
  ~Copy() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string path() const { return path_ / "bin"; }

 private:
  fs::path path_;
};

}  // namespace

std::string ForOthers(const std::string& folder) {
  if (OthersMayEnter(folder)) return folder;
  static std::map<std::string, Copy> copies;
  return copies.try_emplace(folder, folder).first->second.path();
}

}  // namespace cigri::test
