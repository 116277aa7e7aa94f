// Which outputs of a campaign a folder or an archive has already.
#pragma once
#include <cstdint>
#include <string>

#include "tools/common/results.h"

namespace cigri::gridstat {

/// What is known of one task: kNotHere, kDone, or the attempt whose failure is here.
using TaskMark = unsigned char;
inline constexpr TaskMark kNotHere = 0, kDone = 255;
TaskMark MarkOf(const tools::TaskOutcome& outcome);

/// The file .cigri-fetch of a folder: one line that names the campaign, and a byte for each task,
/// written when the task's files have their names. It holds a lock as long as it lives.
class FetchedTasks {
 public:
  static constexpr const char* kFile = ".cigri-fetch";
  /// Makes the file where there is none. Throws Fatal when the folder has outputs of another
  /// campaign, when somebody else fetches into it, or when it cannot be written.
  FetchedTasks(const std::string& folder, std::string campaign);
  FetchedTasks(const FetchedTasks&) = delete;
  ~FetchedTasks();
  TaskMark Of(std::int64_t task) const;
  void Mark(std::int64_t task, TaskMark mark);
  /// A mark for each task, up to the last one that has any.
  const std::string& marks() const { return marks_; }
  /// The marks in the text of such a file. Throws Fatal when it is of another campaign.
  static std::string Parse(const std::string& text, const std::string& campaign,
                           const std::string& where);

 private:
  const std::string path_, campaign_;
  int fd_ = -1;
  std::string marks_;
};

}  // namespace cigri::gridstat
