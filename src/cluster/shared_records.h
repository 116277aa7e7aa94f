// What jobs wrote of themselves, where this host shares their folder.
#pragma once
#include <optional>

#include "cluster/job_record.h"
#include "cluster/shared_files.h"

namespace cigri::cluster {

/// The record of the job of `ref`; nothing when there is none, or none that can be read.
std::optional<ExitRecord> ReadExitRecord(const SharedFiles& files, const RemoteRef& ref);

/// What the job `whole`, which runs several elements, has written of them; nothing when it cannot
/// be read now. A file system that is shared may show a file a minute late.
std::optional<GroupLog> ReadGroupLog(const SharedFiles& files, const RemoteJob& whole);

/// Adds to `jobs` what became of `refs`, the elements of the job `whole`, by its log. Those that
/// are as known are left out, and all of them when the log cannot be read now.
void AddGroup(const SharedFiles& files, const RemoteJob& whole, const std::vector<RemoteRef>& refs,
              std::vector<RemoteJob>* jobs);

}  // namespace cigri::cluster
