// The parameters of tasks, out of the blocks they were uploaded in.
#pragma once
#include <map>

#include "api/read/read.h"

namespace cigri::api {

/// The parameter lines of tasks `idxs` of a campaign; a task whose block is gone is left out.
/// One object serves a walk through a campaign: it keeps the blocks of the last call.
class ParamReader {
 public:
  std::map<std::int64_t, std::string> Read(db::Tx& tx, std::int64_t campaign,
                                           const std::vector<std::int64_t>& idxs);

 private:
  struct Place {
    std::int64_t idx, upload, line, off;
  };
  using Key = std::pair<std::int64_t, std::int64_t>;  ///< upload, first line
  void Fetch(db::Tx& tx, const std::vector<Place>& places);
  std::map<Key, std::vector<std::string>> blocks_;
};

/// How users see a parameter: as given, or its values (format `values`) with `separator` between.
std::string ParamText(const CampaignInfo& info, const std::string& line, char separator);
/// CiGri's name of a parameter: its first word.
std::string ParamName(const CampaignInfo& info, const std::string& line);

}  // namespace cigri::api
