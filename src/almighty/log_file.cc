#include "almighty/log_file.h"

#include <filesystem>

#include "embedded/process.h"

namespace cigri::almighty {
namespace {
namespace fs = std::filesystem;
constexpr std::uintmax_t kMost = 10u << 20;

void Rotate(const std::string& path) {
  std::error_code failed;
  if (fs::file_size(path, failed) <= kMost || failed) return;
  fs::copy_file(path, path + ".1", fs::copy_options::overwrite_existing, failed);
  if (!failed) fs::resize_file(path, 0, failed);
}
}  // namespace

void RotateLogs(const Options& options) {
  if (!options.embedded) return;
  std::error_code failed;
  if (!fs::exists(options.home.run(), failed)) return;
  const auto lock = embedded::LockFile(options.home.run() + "/logs.lock", std::chrono::seconds(0));
  if (!lock) return;
  Rotate(options.home.log_file());
  Rotate(options.home.postgres_log());
}

}  // namespace cigri::almighty
