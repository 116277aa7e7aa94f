#include "api/read/params.h"

#include <sql/parameters.h>

#include "core/text.h"
#include "jdl/blocks.h"
#include "jdl/command.h"

namespace cigri::api {

std::map<std::int64_t, std::string> ParamReader::Read(db::Tx& tx, std::int64_t campaign,
                                                      const std::vector<std::int64_t>& idxs) {
  std::map<std::int64_t, std::string> lines;
  std::vector<Place> places;
  for (const auto& row : tx.Exec(sql::kLocateParameters, campaign, idxs)) {
    const auto idx = row.idx;
    if (!row.upload_id)
      lines[idx] = std::to_string(idx);
    else if (row.off)
      places.push_back({idx, *row.upload_id, row.line, *row.off});
  }
  Fetch(tx, places);
  for (const auto& p : places) {
    const auto& block = blocks_[{p.upload, p.off}];
    const auto at = static_cast<std::size_t>(p.line - p.off);
    if (at < block.size()) lines[p.idx] = block[at];
  }
  return lines;
}

void ParamReader::Fetch(db::Tx& tx, const std::vector<Place>& places) {
  std::map<Key, std::vector<std::string>> kept;
  std::map<std::int64_t, std::vector<std::int64_t>> missing;
  for (const auto& p : places) {
    const Key key{p.upload, p.off};
    if (kept.count(key) != 0) continue;
    const auto old = blocks_.find(key);
    kept[key] = old == blocks_.end() ? std::vector<std::string>() : std::move(old->second);
    if (old == blocks_.end()) missing[p.upload].push_back(p.off);
  }
  blocks_ = std::move(kept);
  for (const auto& [upload, offs] : missing)
    for (const auto& row : tx.Exec(sql::kReadBlocks, upload, offs))
      blocks_[{upload, row.off}] = jdl::DecodeBlock(row.params);
}

std::string ParamText(const CampaignInfo& info, const std::string& line, char separator) {
  if (info.format != jdl::kFormatValues) return line;
  return Join(jdl::DecodeValues(line), std::string(1, separator));
}

std::string ParamName(const CampaignInfo& info, const std::string& line) {
  const std::string text = ParamText(info, line, ' ');
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_first_of(" \t", first) - first);
}

}  // namespace cigri::api
