// Keys `inputs` and `outputs`: files that a job fetches before its command and sends after it.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace cigri::jdl {

enum class FileKey { kInputs, kOutputs };
inline constexpr std::size_t kMostFiles = 100;  ///< entries of one key

/// An entry, with its placeholders: those of exec_file, {#} and {CAMPAIGN_ID}. A folder ends with
/// "/" in both.
struct FileEntry {
  std::string from, to;
  bool optional = false;
  bool checkpoint = false;
};

/// Reads "FROM", "FROM -> TO" or {"from", "to", "optional"}; `problem` says why it is no entry, ""
/// when it is. Without TO an input gets its own name in the job's folder, an output the same path.
FileEntry ReadFileEntry(FileKey key, const nlohmann::json& value, std::string* problem);
/// {"from", "to"}, and "optional" where it is.
nlohmann::json ToJson(const FileEntry& entry);
/// The entries that `options` of a cluster's settings hold as ToJson() made them, and those of its
/// checkpoints, which come back as they went.
std::vector<FileEntry> FilesIn(const nlohmann::json& options, FileKey key);
const char* Name(FileKey key);

/// The files and folders of the job's folder that are its checkpoint (`checkpoint.files`).
std::vector<std::string> CheckpointFiles(const nlohmann::json& options);
/// Why `name` cannot be one of them, "" when it can.
std::string CheckpointFileProblem(const std::string& name);

/// Whether `text` is another one for each task.
bool DependsOnTask(const std::string& text, const std::vector<std::string>& columns);

/// The sources of the inputs in `options` that are the same for all tasks, a line each; "" when
/// there are none.
std::string CommonInputs(const nlohmann::json& options, const std::vector<std::string>& columns);

/// `text` with its placeholders replaced for the task `index` (from 0) with these values.
std::string FillPath(const std::string& text, const std::vector<std::string>& columns,
                     const std::vector<std::string>& values, std::int64_t index,
                     std::int64_t campaign);

}  // namespace cigri::jdl
