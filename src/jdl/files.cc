#include "jdl/files.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "jdl/command.h"

namespace cigri::jdl {
namespace {

using nlohmann::json;

constexpr std::size_t kLongest = 4096;
constexpr int kMostMarks = 20;  // placeholders of one path: short texts make long ones of them
constexpr const char* kForm =
    "must be \"FROM\", \"FROM -> TO\" or {\"from\": ..., \"to\": ..., \"optional\": true}";
const std::string kNumber = "{#}", kCampaign = "{CAMPAIGN_ID}";
// Where the storage has the checkpoints of a task.
const std::string kCheckpoints = "checkpoints/" + kCampaign + "/" + kNumber + "/";

bool IsFolder(const std::string& path) { return !path.empty() && path.back() == '/'; }

// What is behind the last / that is no part of a placeholder such as {//}.
std::string OwnName(const std::string& path) {
  std::size_t begin = 0, depth = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '{') ++depth;
    if (path[i] == '}' && depth > 0) --depth;
    if (path[i] == '/' && depth == 0 && i + 1 < path.size()) begin = i + 1;
  }
  return path.substr(begin);
}

std::string LocalProblem(const std::string& path) {
  if (path[0] == '/' || StartsWith(path, "~/") || ("/" + path + "/").find("/../") != path.npos)
    return "must stay in the job's folder";
  return "";
}

std::string EntryProblem(FileKey key, const FileEntry& entry) {
  for (const auto& path : {entry.from, entry.to}) {
    if (path.empty() || path == "/" || path == kCheckpoints) return kForm;
    if (std::count(path.begin(), path.end(), '{') > kMostMarks)
      return "has more than " + std::to_string(kMostMarks) + " placeholders";
    if (path.size() > kLongest) return "is longer than " + std::to_string(kLongest) + " bytes";
    if (path.find_first_of(std::string("\n\0", 2)) != path.npos) return "contains a newline";
  }
  return LocalProblem(key == FileKey::kInputs ? entry.to : entry.from);
}

bool ReadObject(const json& value, FileEntry& entry) {
  for (const auto& [name, part] : value.items()) {
    const bool text = name == "from" || name == "to";
    if (text ? !part.is_string() : name != "optional" || !part.is_boolean()) return false;
    if (name == "optional")
      entry.optional = part.get<bool>();
    else
      (name == "from" ? entry.from : entry.to) = part.get<std::string>();
  }
  return true;
}

void SplitArrow(const std::string& text, FileEntry& entry) {
  const auto arrow = text.find(" -> ");
  entry.from = Trim(text.substr(0, arrow));
  if (arrow != text.npos) entry.to = Trim(text.substr(arrow + 4));
}

}  // namespace

const char* Name(FileKey key) { return key == FileKey::kInputs ? "inputs" : "outputs"; }

FileEntry ReadFileEntry(FileKey key, const json& value, std::string* problem) {
  FileEntry entry;
  *problem = kForm;
  if (value.is_string())
    SplitArrow(value.get<std::string>(), entry);
  else if (!value.is_object() || !ReadObject(value, entry))
    return entry;
  if (entry.to.empty()) entry.to = key == FileKey::kInputs ? OwnName(entry.from) : entry.from;
  if (IsFolder(entry.to) && !IsFolder(entry.from)) entry.to += OwnName(entry.from);
  if (IsFolder(entry.from) && !IsFolder(entry.to)) entry.to += "/";
  *problem = EntryProblem(key, entry);
  return entry;
}

json ToJson(const FileEntry& entry) {
  json out = {{"from", entry.from}, {"to", entry.to}};
  if (entry.optional) out["optional"] = true;
  return out;
}

std::vector<FileEntry> FilesIn(const json& options, FileKey key) {
  std::vector<FileEntry> entries;
  if (const auto at = options.find(Name(key)); at != options.end() && at->is_array())
    for (const auto& value : *at) {
      std::string problem;
      auto entry = ReadFileEntry(key, value, &problem);
      if (problem.empty()) entries.push_back(std::move(entry));
    }
  for (const auto& name : CheckpointFiles(options)) {
    FileEntry entry{kCheckpoints + name, name, true, true};
    if (key == FileKey::kOutputs) std::swap(entry.from, entry.to);
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<std::string> CheckpointFiles(const json& options) {
  const auto at = options.find("checkpoint");
  if (at == options.end() || !at->is_object()) return {};
  return at->value("files", std::vector<std::string>{});
}

std::string CheckpointFileProblem(const std::string& name) {
  return EntryProblem(FileKey::kInputs, {kCheckpoints + name, name, true, true});
}

bool DependsOnTask(const std::string& text, const std::vector<std::string>& columns) {
  // A value all of whose parts have a character that no template has.
  const std::vector<std::string> values(std::max<std::size_t>(1, columns.size()), "\x01/\x01.\x01");
  return FillPath(text, columns, values, 0, 0).find('\x01') != text.npos ||
         text.find(kNumber) != text.npos;
}

std::string CommonInputs(const json& options, const std::vector<std::string>& columns) {
  std::vector<std::string> names;
  for (const auto& entry : FilesIn(options, FileKey::kInputs))
    if (!DependsOnTask(entry.from, columns)) names.push_back(entry.from);
  return Join(names, "\n");
}

std::string FillPath(const std::string& text, const std::vector<std::string>& columns,
                     const std::vector<std::string>& values, std::int64_t index,
                     std::int64_t campaign) {
  // {#} and {CAMPAIGN_ID} first: they must not be found within a value.
  for (const auto& [mark, number] : {std::pair(&kNumber, index + 1), {&kCampaign, campaign}})
    if (const auto at = text.find(*mark); at != text.npos)
      return FillPath(text.substr(0, at), columns, values, index, campaign) +
             std::to_string(number) +
             FillPath(text.substr(at + mark->size()), columns, values, index, campaign);
  return FillText(text, columns, values);
}

}  // namespace cigri::jdl
