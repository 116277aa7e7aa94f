#include "runner/transfers.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cluster/job_environment.h"
#include "jdl/command.h"
#include "jdl/files.h"

namespace cigri::runner {
namespace {

using jdl::FileKey;

// What a job's paths may have together, and the parameter that they are made of. Many placeholders
// and a long parameter make gigabytes.
constexpr std::size_t kMostPathBytes = 64 << 10, kMostLineBytes = 16 << 10;

constexpr FileKey kKeys[] = {FileKey::kInputs, FileKey::kOutputs};

struct Templates {
  std::vector<jdl::FileEntry> entries;
  std::vector<bool> common;
};

Templates TemplatesOf(const cluster::Batch& batch, FileKey key, const LineFormat& format) {
  Templates out{jdl::FilesIn(batch.options, key), {}};
  for (const auto& entry : out.entries)
    out.common.push_back(key == FileKey::kInputs &&
                         !jdl::DependsOnTask(entry.from, format.columns));
  return out;
}

// The files of one task. Throws std::length_error when they can have no such names.
class Filler {
 public:
  Filler(const LineFormat& format, const std::string& line, std::int64_t task,
         std::int64_t campaign)
      : format_(format), task_(task), campaign_(campaign) {
    if (line.size() > kMostLineBytes)
      throw std::length_error("the parameter is too long for names");
    values_ = format.format == jdl::kFormatValues ? jdl::DecodeValues(line)
                                                  : std::vector<std::string>{line};
  }
  std::vector<cluster::Transfer> Files(const Templates& templates) {
    std::vector<cluster::Transfer> files;
    for (std::size_t i = 0; i < templates.entries.size(); ++i) {
      const auto& entry = templates.entries[i];
      files.push_back({Path(entry.from), Path(entry.to), entry.optional, templates.common[i],
                       entry.checkpoint && !templates.common[i]});
    }
    return files;
  }

 private:
  std::string Path(const std::string& text) {
    auto path = jdl::FillPath(text, format_.columns, values_, task_, campaign_);
    bytes_ += path.size();
    if (path.empty()) throw std::length_error("the name of a file is empty");
    if (bytes_ > kMostPathBytes) throw std::length_error("its names of files are too long");
    return path;
  }
  const LineFormat& format_;
  const std::int64_t task_, campaign_;
  std::vector<std::string> values_;
  std::size_t bytes_ = 0;
};

}  // namespace

bool MovesFiles(const nlohmann::json& options) {
  return options.contains("inputs") || options.contains("outputs") ||
         !jdl::CheckpointFiles(options).empty();
}

void AddTransfers(const cluster::TransferSettings& settings, const LineFormat& format,
                  const std::map<std::int64_t, std::string>& lines, cluster::Batch& batch) {
  const Templates inputs = TemplatesOf(batch, FileKey::kInputs, format),
                  outputs = TemplatesOf(batch, FileKey::kOutputs, format);
  batch.setup += (batch.setup.empty() ? "" : "\n") + cluster::TransferSetup(settings);
  for (auto& element : batch.elements) {
    try {
      Filler filler(format, lines.at(element.task_index), element.task_index, batch.campaign_id);
      const auto in = filler.Files(inputs), out = filler.Files(outputs);
      element.command =
          cluster::TransferCommand(settings, batch.cluster_user, in, out, element.command);
    } catch (const std::length_error& e) {
      element.command = cluster::RefusedTransfer(e.what());
    }
  }
  for (const auto key : kKeys) batch.options.erase(jdl::Name(key));
  batch.options[cluster::kMovesFiles] = true;
}

}  // namespace cigri::runner
