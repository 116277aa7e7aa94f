// Campaigns as text: CiGri's layouts, as scripts read them.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cigri::gridstat {

/// How to print.
struct Style {
  bool colour = false;
};

/// The two title lines of the listing.
std::string ListHeader();
/// One campaign in the listing.
std::string ListLine(const nlohmann::json& campaign, const Style& style);
/// gridstat -c N. With `full` each cluster also has its throughput and mean duration (CIG-49).
std::string Campaign(const nlohmann::json& campaign, const nlohmann::json& stats, bool full,
                     const Style& style);
/// Drained, held, unreachable clusters: a line each; "" when there are none.
std::string Notes(const nlohmann::json& campaign);
/// CIG-49: Id, User, Status, Type, Waiting, Running, Finished, NeedsAttention, Err; or a line per
/// user.
std::string Summary(const nlohmann::json& summary, bool by_user, bool header);

/// Epoch seconds as CiGri prints them: "2026-11-20 08-40-15", local time.
std::string Date(double epoch);
/// What jobs on a cluster ask for with `walltime: auto`, "" without it.
std::string AskedWalltime(const nlohmann::json& placement);
/// "11/16 (68%)".
std::string Progress(const nlohmann::json& campaign);

}  // namespace cigri::gridstat
