// Parameters on their way to the API: a few go with the JDL, many are streamed in blocks.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/common/api.h"
#include "tools/common/terminal.h"

namespace cigri::gridsub {

/// An upload on the server. Blocks are numbered and may be repeated: a cut connection costs one
/// block, and nothing is seen of it before a campaign names it. An abandoned one is dropped.
class Upload {
 public:
  explicit Upload(tools::Api& api);
  /// Drops the upload, unless it was released.
  ~Upload();
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;
  /// Sends the next block. Throws Fatal when the server refuses it or stays away.
  void Put(const std::string& block, std::int64_t n);
  /// Hands the upload over; its id.
  std::int64_t Release();

 private:
  bool Try(const std::string& block, std::int64_t n, int tries_left);
  tools::Api& api_;
  std::int64_t id_ = 0, lines_ = 0;
  int next_ = 0;
  bool released_ = false;
  tools::ProgressLine progress_;
};

/// A finished upload; it is dropped when no campaign takes it. The API refuses to drop one that a
/// campaign has taken, which does no harm.
class UploadGuard {
 public:
  UploadGuard(tools::Api& api, std::optional<std::int64_t> upload) : api_(api), upload_(upload) {}
  ~UploadGuard();
  UploadGuard(const UploadGuard&) = delete;
  UploadGuard& operator=(const UploadGuard&) = delete;
  void Taken() { upload_.reset(); }

 private:
  tools::Api& api_;
  std::optional<std::int64_t> upload_;
};

/// Where parameters stand, in the order in which they are sent. Lines one after the other are one
/// entry, whatever their number.
class SourcePositions {
 public:
  /// `file` names the source in messages.
  explicit SourcePositions(std::string file) : file_(std::move(file)) {}
  /// The next parameter; `line` 0 = it is on none (an element of an array).
  void Add(std::int64_t line);
  /// "values.txt:12"; "values.txt: parameter 3" where there are no lines. Pluralize from 1.
  std::string Of(std::int64_t parameter) const;

 private:
  std::string file_;
  std::int64_t n_ = 0;
  struct Run {
    std::int64_t parameter, line;
  };
  std::vector<Run> runs_;
};

/// Takes any number of lines in the memory of one block: up to a block it keeps them, beyond that
/// it uploads them.
class LineSink {
 public:
  /// `file` names the source in messages.
  LineSink(tools::Api& api, std::string file)
      : api_(api), file_(std::move(file)), positions_(file_) {}
  /// Throws Fatal(kExitBadInput, "FILE:LINE: ...") for what cannot be a parameter.
  /// `at_line` is where it stands in its file, 0 = it is in none.
  void Add(std::string_view line, std::int64_t at_line);
  /// Lines for which `skip` is true are left out from now on.
  void LeaveOut(std::function<bool(std::string_view)> skip) { skip_ = std::move(skip); }
  /// "values.txt:12", or the name of the source alone.
  std::string PlaceOf(std::int64_t at_line) const;
  std::int64_t size() const { return size_; }
  const SourcePositions& positions() const { return positions_; }
  /// Whether they have to be an upload; otherwise Held() are all of them, and text for JSON.
  bool uploaded() const { return upload_.has_value() || bytes_; }
  std::vector<std::string> Held() const;
  /// Uploads them in any case, and hands the upload over; 0 when there are none.
  std::int64_t ForceUpload();

 private:
  void Flush();
  tools::Api& api_;
  std::string file_;
  SourcePositions positions_;
  std::optional<Upload> upload_;
  std::function<bool(std::string_view)> skip_;
  std::string block_;
  bool bytes_ = false;  // some line is not UTF-8
  std::int64_t in_block_ = 0, size_ = 0;
};

}  // namespace cigri::gridsub
