#include "tools/gridsub/upload.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/error.h"
#include "core/text.h"
#include "jdl/blocks.h"

namespace cigri::gridsub {

namespace {
constexpr int kTries = 6;
constexpr std::int64_t kShowEvery = 50;  // blocks

// A refused submission leaves nothing behind. When it cannot be notified so now, the upload is
// dropped.
void Drop(tools::Api& api, std::int64_t upload) {
  try {
    api.Delete("/uploads/" + std::to_string(upload));
  } catch (const Fatal&) {
  }
}
}  // namespace

Upload::Upload(tools::Api& api) : api_(api), progress_(STDERR_FILENO) {
  const auto answer =
      tools::Expect(api_.Post("/uploads", nlohmann::json::object()), "begin to upload parameters");
  id_ = answer.value("id", std::int64_t{0});
}

Upload::~Upload() {
  if (!released_) Drop(api_, id_);
}

std::int64_t Upload::Release() {
  released_ = true;
  return id_;
}

UploadGuard::~UploadGuard() {
  if (upload_) Drop(api_, *upload_);
}

void Upload::Put(const std::string& block, std::int64_t n) {
  auto pause = std::chrono::milliseconds(100);
  for (int left = kTries - 1; !Try(block, n, left); --left) {
    std::this_thread::sleep_for(pause);
    pause *= 2;
  }
  ++next_;
  lines_ += n;
  if (next_ % kShowEvery == 0) progress_.Show(std::to_string(lines_) + " parameters sent");
}

// False: not now, worth another try. Sending a block twice is harmless.
bool Upload::Try(const std::string& block, std::int64_t n, int tries_left) {
  const std::string path = "/uploads/" + std::to_string(id_) + "/blocks/" + std::to_string(next_);
  try {
    const auto answer =
        api_.PutText(path, block, "text/plain", {{"X-Cigri-Lines", std::to_string(n)}});
    const bool later = answer.status == 429 || answer.status == 503;
    if (later && tries_left > 0) return false;
    // The server has it already: an earlier try arrived after all.
    if (answer.status == 409 && answer.body.is_object() && answer.body.value("next", 0) > next_)
      return true;
    tools::Expect(answer, "upload parameters from line " + std::to_string(lines_ + 1) + " on");
  } catch (const Fatal& e) {
    const bool cut = e.code() == kExitTryLater || e.code() == kExitUnavailable;
    if (!cut || tries_left == 0) throw;
    return false;
  }
  return true;
}

void SourcePositions::Add(std::int64_t line) {
  ++n_;
  const bool follows = !runs_.empty() && line - runs_.back().line == n_ - runs_.back().parameter;
  if (line > 0 && !follows) runs_.push_back({n_, line});
}

std::string SourcePositions::Of(std::int64_t parameter) const {
  auto run = std::upper_bound(runs_.begin(), runs_.end(), parameter,
                              [](std::int64_t p, const Run& r) { return p < r.parameter; });
  if (run == runs_.begin()) return file_ + ": parameter " + std::to_string(parameter);
  --run;
  return file_ + ":" + std::to_string(run->line + parameter - run->parameter);
}

std::string LineSink::PlaceOf(std::int64_t at_line) const {
  return file_ + (at_line > 0 ? ":" + std::to_string(at_line) : "");
}

void LineSink::Add(std::string_view line, std::int64_t at_line) {
  const auto problem = jdl::LineProblem(line);
  if (!problem.empty())
    throw Fatal(kExitBadInput, PlaceOf(at_line) + ": this parameter cannot be used: " + problem);
  if (skip_ && skip_(line)) return;
  const bool full =
      in_block_ == jdl::kBlockLines || block_.size() + 2 * line.size() > jdl::kBlockBytes;
  if (full && in_block_ > 0) Flush();
  jdl::AppendLine(block_, line);
  bytes_ = bytes_ || !IsValidUtf8(line);
  positions_.Add(at_line);
  ++in_block_;
  if (++size_ > jdl::kMaxLines)
    throw Fatal(kExitBadInput,
                file_ + ": more than " + std::to_string(jdl::kMaxLines) + " parameters",
                "split it into several campaigns");
}

void LineSink::Flush() {
  if (!upload_) upload_.emplace(api_);
  upload_->Put(block_, in_block_);
  block_.clear();
  in_block_ = 0;
}

std::int64_t LineSink::ForceUpload() {
  if (in_block_ > 0) Flush();
  return upload_ ? upload_->Release() : 0;
}

std::vector<std::string> LineSink::Held() const { return jdl::DecodeBlock(block_); }

}  // namespace cigri::gridsub
