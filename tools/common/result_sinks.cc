#include "tools/common/result_sinks.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>

#include "core/text.h"

namespace cigri::tools {
namespace {

constexpr std::size_t kLongestName = 200;  // file systems take 255 bytes, with the number and .out

// Of all that are being written. Who holds the mutex begins, names and removes them.
struct PartialFiles {
  std::mutex mutex;
  std::set<std::string> paths;
};
PartialFiles& Partials() {
  static auto* const partials = new PartialFiles;  // for threads that outlive main()
  return *partials;
}

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == text.npos) return text;
  return "\"" + ReplaceAll(text, "\"", "\"\"") + "\"";
}

std::string Seconds(const std::optional<double>& seconds) {
  if (!seconds) return "";
  char text[40];
  std::snprintf(text, sizeof text, "%.3f", *seconds);
  return text;
}

std::int64_t SeqOf(const TaskOutcome& outcome, const EarlierRun* earlier) {
  return earlier == nullptr ? outcome.task + 1 : earlier->seq(outcome.task + 1);
}

}  // namespace

std::string ValuesText(const std::vector<std::string>& values) { return Join(values, " "); }

void AbandonPartialFiles() {
  Partials().mutex.lock();
  for (const auto& path : Partials().paths) unlink(path.c_str());
}

std::string WhyNotWritable(const std::string& path, bool folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path at = fs::absolute(path, error);
  const bool there = fs::exists(at, error);
  if (there && fs::is_directory(at, error) != folder)
    return folder ? "is no folder" : "is a folder";
  // Folders above it are made with it.
  if (!there) at = at.parent_path();
  while (folder && !fs::exists(at, error) && at.has_relative_path()) at = at.parent_path();
  if (!there && !fs::is_directory(at, error)) return "there is no folder " + at.string();
  const bool inner = !there || folder;
  return access(at.c_str(), inner ? W_OK | X_OK : W_OK) == 0 ? "" : std::strerror(errno);
}

void ResultPrinter::Write(std::string_view text, std::FILE* to) {
  if (gone_) return;
  const bool good = std::fwrite(text.data(), 1, text.size(), to) == text.size();
  if (good && std::fflush(to) == 0) return;
  if (errno != EPIPE) throw Fatal(kExitNo, "cannot write to standard output");
  gone_ = true;
}

void ResultPrinter::Output(std::int64_t task, Printed stream, std::string_view bytes) {
  const std::size_t which = stream == Printed::kStderr ? 1 : 0;
  if (tag_) {
    held_[which].append(bytes);
    return;
  }
  auto& skip = skip_[task][which];
  const auto n = std::min(skip, bytes.size());
  skip -= n;
  bytes.remove_prefix(n);
  before_();
  Write(bytes, which == 1 && apart_ ? stderr : stdout);
  printed_[task][which] += bytes.size();
}

void ResultPrinter::Cut() {
  held_[0].clear();
  held_[1].clear();
  skip_ = printed_;
}

void ResultPrinter::PutTagged(const std::string& text, const std::string& tag, std::FILE* to) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    out += tag + "\t" + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  Write(out, to);
}

void ResultPrinter::Outcome(const TaskOutcome& outcome) {
  printed_.erase(outcome.task);
  skip_.erase(outcome.task);
  if (!tag_ || (held_[0].empty() && held_[1].empty())) return;
  before_();
  const auto tag = ReplaceAll(ValuesText(outcome.values), "\n", " ");
  PutTagged(held_[0], tag, stdout);
  PutTagged(held_[1], tag, apart_ ? stderr : stdout);
  held_[0].clear();
  held_[1].clear();
}

ResultFiles::ResultFiles(std::string folder, Name name, const EarlierRun* earlier)
    : folder_(std::move(folder)),
      partial_(folder_ + "/.partial." + RandomHex(8)),
      name_(name ? std::move(name) : [this](const TaskOutcome& o) { return UniqueName(o); }),
      earlier_(earlier) {
  if (earlier != nullptr) taken_ = earlier->names;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error || !std::filesystem::is_directory(folder_))
    throw Fatal(kExitBadInput, "cannot make the folder " + folder_ + ": " + error.message());
  const std::lock_guard lock(Partials().mutex);
  Partials().paths.insert({Partial(false), Partial(true)});
}

ResultFiles::~ResultFiles() {
  Cut();
  const std::lock_guard lock(Partials().mutex);
  for (const bool err : {false, true}) {
    unlink(Partial(err).c_str());
    Partials().paths.erase(Partial(err));
  }
}

std::string ResultFiles::FileName(const std::vector<std::string>& values) {
  static const char* kHex = "0123456789ABCDEF";
  std::string name;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) name += ',';
    for (const char c : values[i]) {
      const auto byte = static_cast<unsigned char>(c);
      const bool plain = byte >= 0x20 && byte != 0x7f && c != '/' && c != '%' && c != ',' &&
                         (c != '.' || !name.empty());
      if (plain)
        name += c;
      else
        name += std::string("%") + kHex[byte >> 4] + kHex[byte & 15];
    }
  }
  return name.size() > kLongestName ? name.substr(0, kLongestName) + "~" : name;
}

void ResultFiles::Output(std::int64_t, Printed stream, std::string_view bytes) {
  const bool err = stream == Printed::kStderr;
  auto& out = open_[err ? 1 : 0];
  if (!out.is_open()) {
    const std::lock_guard lock(Partials().mutex);
    out.open(Partial(err), std::ios::binary | std::ios::trunc);
  }
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!out) throw Fatal(kExitNo, "cannot write into " + folder_ + ": " + std::strerror(errno));
}

void ResultFiles::Cut() {
  for (auto& out : open_) out.close();  // the next Output begins the file again
}

std::string ResultFiles::UniqueName(const TaskOutcome& outcome) {
  std::string name = FileName(outcome.values);
  const std::string number = "." + std::to_string(SeqOf(outcome, earlier_));
  if (name.empty() || name.back() == '~') name += number;
  while (!taken_.insert(name).second) name += number;
  return name;
}

// A file has its name when it is whole.
void ResultFiles::Outcome(const TaskOutcome& outcome) {
  const std::string name = name_(outcome);
  const std::lock_guard lock(Partials().mutex);
  for (const bool err : {false, true}) {
    auto& out = open_[err ? 1 : 0];
    const std::string path = folder_ + "/" + name + (err ? ".err" : ".out");
    std::error_code error;
    if (!out.is_open() && err) {
      std::filesystem::remove(path, error);  // of an earlier run
      continue;
    }
    if (!out.is_open()) out.open(Partial(err), std::ios::binary | std::ios::trunc);
    out.close();
    if (out) std::filesystem::rename(Partial(err), path, error);
    if (!out || error) throw Fatal(kExitNo, "cannot write " + path + ": " + error.message());
  }
}

ResultTable::ResultTable(std::string file, const EarlierRun* earlier)
    : file_(std::move(file)), earlier_(earlier) {
  std::error_code error;
  kept_ = earlier != nullptr && earlier->table && std::filesystem::is_regular_file(file_, error) &&
          std::filesystem::file_size(file_, error) > 0;
  Open(kept_ ? std::ios::app : std::ios::trunc);
}

void ResultTable::Open(std::ios::openmode mode) {
  out_.open(file_, std::ios::binary | mode);
  if (!out_) throw Fatal(kExitBadInput, "cannot write " + file_ + ": " + std::strerror(errno));
}

void ResultTable::Columns(const std::vector<std::string>& columns) { columns_ = columns; }

void ResultTable::Put(const std::string& text) {
  out_ << text << std::flush;
  if (!out_) throw Fatal(kExitNo, "cannot write " + file_ + ": " + std::strerror(errno));
}

std::string ResultTable::Title() const {
  std::string title = "seq";
  for (std::size_t i = 0; i < *width_; ++i)
    title += "," + CsvField(i < columns_.size() ? columns_[i] : "value" + std::to_string(i + 1));
  return title +
         ",state,exit_code,signal,cluster,node,seconds,attempts,cpu_s,peak_mb,read_mb,written_mb,"
         "transfer_s\n";
}

// The rows of the earlier run have these columns, or more of the same: ours go below them.
bool ResultTable::GoesOn(std::size_t width) {
  std::ifstream in(file_, std::ios::binary);
  std::string title;
  std::getline(in, title);
  title += '\n';
  for (width_ = width; Title().size() < title.size();) ++*width_;
  if (Title() != title) {
    width_.reset();
    return false;
  }
  in.seekg(-1, std::ios::end);
  if (in.get() != '\n') Put("\n");  // that run was killed while it wrote
  begin_ = static_cast<std::streamsize>(std::filesystem::file_size(file_));
  return true;
}

// What went into a pipe cannot be written again.
void ResultTable::Widen(std::size_t width) {
  std::error_code error;
  if (kept_ && !width_ && GoesOn(width)) return;
  if (width_ && !std::filesystem::is_regular_file(file_, error)) return;
  std::string text;
  if (width_) {
    std::ifstream in(file_, std::ios::binary);
    in.ignore(begin_);
    std::string line;
    for (auto& [values, all] : lines_) {
      line.resize(all);
      in.read(line.data(), static_cast<std::streamsize>(all));
      if (!in) throw Fatal(kExitNo, "cannot read " + file_ + " again: was it changed?");
      const auto more = static_cast<std::uint32_t>(width - *width_);
      line.insert(values, more, ',');
      text += line;
      values += more, all += more;
    }
  }
  if (kept_ || width_) out_.close();
  if (kept_) {
    std::filesystem::rename(file_, file_ + "~", error);
    if (error) throw Fatal(kExitNo, "cannot rename " + file_ + ": " + error.message());
    std::fprintf(stderr, "the rows of %s had other columns: they are in %s~ now\n", file_.c_str(),
                 file_.c_str());
  }
  if (kept_ || width_) Open();
  kept_ = false;
  width_ = width;
  Put(Title() + text);
  begin_ = static_cast<std::streamsize>(Title().size());
}

void ResultTable::Outcome(const TaskOutcome& outcome) {
  const auto n = outcome.values.size();
  if (!width_ || n > *width_) Widen(n);
  std::string line = std::to_string(SeqOf(outcome, earlier_));
  for (const auto& value : outcome.values) line += "," + CsvField(value);
  if (n < *width_) line.append(*width_ - n, ',');
  const auto values = line.size();
  line += std::string(",") + (outcome.done ? "done" : "failed") + "," +
          (outcome.exit < 0 ? "" : std::to_string(outcome.exit)) + "," +
          (outcome.signal == 0 ? "" : std::to_string(outcome.signal));
  line += "," + CsvField(outcome.cluster) + "," + CsvField(outcome.node) + "," +
          Seconds(outcome.seconds) + "," + std::to_string(outcome.attempts) + "," +
          Seconds(outcome.cpu_s) + "," + Seconds(outcome.peak_mb) + "," + Seconds(outcome.read_mb) +
          "," + Seconds(outcome.written_mb) + "," + Seconds(outcome.transfer_s) + "\n";
  Put(line);
  lines_.push_back({static_cast<std::uint32_t>(values), static_cast<std::uint32_t>(line.size())});
}

void ResultFanout::Columns(const std::vector<std::string>& columns) {
  for (const auto& sink : sinks_) sink->Columns(columns);
}
void ResultFanout::Output(std::int64_t task, Printed stream, std::string_view bytes) {
  for (const auto& sink : sinks_) sink->Output(task, stream, bytes);
}
void ResultFanout::Outcome(const TaskOutcome& outcome) {
  for (const auto& sink : sinks_) sink->Outcome(outcome);
  if (outcome.unread.empty()) return;
  ++unread_;
  why_ = "job " + std::to_string(outcome.job) + ": " + outcome.unread;
}

bool ResultFanout::WantsMore() const {
  return std::any_of(sinks_.begin(), sinks_.end(), [](const auto& s) { return s->WantsMore(); });
}

void ResultFanout::Cut() {
  for (const auto& sink : sinks_) sink->Cut();
}

}  // namespace cigri::tools
