#include "tools/gridstat/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "core/error.h"

namespace cigri::gridstat {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kBlock = 1 << 16;

using Entry = std::unique_ptr<archive_entry, decltype(&archive_entry_free)>;

// One that is read: opened at its first entry.
class Reader {
 public:
  explicit Reader(const std::string& file)
      : file_(file), archive_(archive_read_new(), &archive_read_free) {
    archive_read_support_filter_zstd(archive_.get());
    archive_read_support_format_tar(archive_.get());
    Check(archive_read_open_filename(archive_.get(), file.c_str(), kBlock));
  }
  /// Its next entry, nullptr at its end.
  archive_entry* Next() {
    archive_entry* entry = nullptr;
    const int end = archive_read_next_header(archive_.get(), &entry);
    if (end == ARCHIVE_EOF) return nullptr;
    Check(end);
    return entry;
  }
  /// The next bytes of the entry; "" at its end.
  std::string_view Read() {
    bytes_.resize(kBlock);
    const auto n = archive_read_data(archive_.get(), bytes_.data(), bytes_.size());
    if (n < 0) Check(static_cast<int>(n));
    return {bytes_.data(), static_cast<std::size_t>(n)};
  }

 private:
  void Check(int result) {
    if (result >= ARCHIVE_WARN) return;
    throw Fatal(kExitBadInput,
                "cannot read " + file_ + ": " + std::string(archive_error_string(archive_.get())),
                "is it an archive that gridstat wrote?");
  }
  const std::string file_;
  std::unique_ptr<archive, decltype(&archive_read_free)> archive_;
  std::vector<char> bytes_;
};

class Writer {
 public:
  explicit Writer(const std::string& file)
      : file_(file), archive_(archive_write_new(), &archive_write_free) {
    Check(archive_write_add_filter_zstd(archive_.get()));
    // GNU's tar keeps names of any bytes as they are, and long ones.
    Check(archive_write_set_format_gnutar(archive_.get()));
    Check(archive_write_open_filename(archive_.get(), file.c_str()));
  }
  void Begin(const std::string& name, std::int64_t size, std::time_t time) {
    const Entry entry(archive_entry_new(), &archive_entry_free);
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_size(entry.get(), size);
    archive_entry_set_mtime(entry.get(), time, 0);
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    Begin(entry.get());
  }
  void Begin(archive_entry* entry) { Check(archive_write_header(archive_.get(), entry)); }
  void Write(std::string_view bytes) {
    const auto n = archive_write_data(archive_.get(), bytes.data(), bytes.size());
    if (n != static_cast<la_ssize_t>(bytes.size())) Check(ARCHIVE_FATAL);
  }
  void Close() { Check(archive_write_close(archive_.get())); }

 private:
  void Check(int result) {
    if (result >= ARCHIVE_WARN) return;
    const char* why = archive_error_string(archive_.get());
    throw Fatal(kExitNo, "cannot write " + file_ + ": " + (why != nullptr ? why : "no room?"));
  }
  const std::string file_;
  std::unique_ptr<archive, decltype(&archive_write_free)> archive_;
};

void CopyOld(Writer& writer, const std::string& old,
             const std::function<bool(const std::string&)>& replaced) {
  Reader reader(old);
  reader.Next();
  while (archive_entry* entry = reader.Next()) {
    const char* name = archive_entry_pathname(entry);
    if (name == nullptr || replaced(name)) continue;
    writer.Begin(entry);
    for (auto bytes = reader.Read(); !bytes.empty(); bytes = reader.Read()) writer.Write(bytes);
  }
}

void AddFile(Writer& writer, const fs::path& path, const std::string& name) {
  std::ifstream in(path, std::ios::binary);
  auto left = static_cast<std::int64_t>(fs::file_size(path));
  writer.Begin(name, left, std::time(nullptr));
  std::vector<char> bytes(kBlock);
  while (left > 0 && in.read(bytes.data(), std::min<std::int64_t>(left, kBlock)).gcount() > 0) {
    writer.Write({bytes.data(), static_cast<std::size_t>(in.gcount())});
    left -= in.gcount();
  }
  if (left > 0) throw Fatal(kExitNo, "cannot read " + path.string());
}

// The names in a folder, sorted as numbers where they begin with one.
std::vector<std::string> Names(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    if (const auto name = entry.path().filename().string(); name[0] != '.') names.push_back(name);
  std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) {
    const auto x = std::strtoll(a.c_str(), nullptr, 10), y = std::strtoll(b.c_str(), nullptr, 10);
    return x != y ? x < y : a < b;
  });
  return names;
}

void SyncFile(const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

std::string FirstEntry(const std::string& file) {
  if (!fs::exists(file)) return "";
  Reader reader(file);
  std::string content;
  if (reader.Next() == nullptr) return content;
  for (auto bytes = reader.Read(); !bytes.empty(); bytes = reader.Read()) content += bytes;
  return content;
}

void WriteArchive(const std::string& file, const std::string& name, const std::string& content,
                  const std::string& old, const std::string& folder,
                  const std::function<bool(const std::string&)>& replaced) {
  Writer writer(file);
  writer.Begin(name, static_cast<std::int64_t>(content.size()), std::time(nullptr));
  writer.Write(content);
  if (fs::exists(old)) CopyOld(writer, old, replaced);
  for (const auto& block : Names(folder)) {
    if (!fs::is_directory(fs::path(folder) / block)) continue;
    for (const auto& each : Names(fs::path(folder) / block))
      if (replaced(block + "/" + each))
        AddFile(writer, fs::path(folder) / block / each, block + "/" + each);
  }
  writer.Close();
  SyncFile(file);
}

}  // namespace cigri::gridstat
