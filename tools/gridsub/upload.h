// Parameters on their way to the API: a few go with the JDL, many are streamed in blocks.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/common/api.h"
#include "tools/common/terminal.h"

namespace cigri::gridsub {

/// A draft on the server. Blocks are numbered and may be repeated: a cut connection costs one
/// block, and nothing is seen of it before a campaign names it. An abandoned one is swept.
class Upload {
 public:
  explicit Upload(tools::Api& api);
  /// Sends the next block. Throws Fatal when the server refuses it or stays away.
  void Put(const std::string& block, std::int64_t n);
  std::int64_t id() const { return id_; }
  std::int64_t lines() const { return lines_; }

 private:
  bool Try(const std::string& block, std::int64_t n, int tries_left);
  tools::Api& api_;
  std::int64_t id_ = 0, lines_ = 0;
  int next_ = 0;
  tools::ProgressLine progress_;
};

/// Takes lines of any number in the memory of one block: up to a block they stay here, beyond it
/// they are uploaded.
class LineSink {
 public:
  /// `file` names the source in messages.
  LineSink(tools::Api& api, std::string file) : api_(api), file_(std::move(file)) {}
  /// Throws Fatal(kExitBadInput, "FILE:LINE: ...") for what cannot be a parameter.
  /// `at_line` is where it stands in its file, 0 = it is in none.
  void Add(std::string_view line, std::int64_t at_line);
  /// Sends what is left, if anything was sent before.
  void Finish();
  std::int64_t size() const { return size_; }
  /// Set when they were uploaded; otherwise Held() are all of them.
  std::optional<std::int64_t> upload_id() const;
  std::vector<std::string> Held() const;
  /// Uploads them in any case.
  std::int64_t ForceUpload();

 private:
  void Flush();
  tools::Api& api_;
  std::string file_;
  std::optional<Upload> upload_;
  std::string block_;
  std::int64_t in_block_ = 0, size_ = 0;
};

}  // namespace cigri::gridsub
