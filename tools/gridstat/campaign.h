// Campaigns as text: CiGri's layouts, byte for byte, and what users get on a terminal.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cigri::gridstat {

/// How to print: `terminal` = on a terminal, where more may be said.
struct Style {
  bool colour = false, terminal = false;
};

/// The two title lines of the listing.
std::string ListHeader();
/// One campaign in the listing; for readers with what waits, runs and failed.
std::string ListLine(const nlohmann::json& campaign, const Style& style);
/// gridstat -c N. With `full` each cluster also has its throughput and mean duration (CIG-49).
std::string Campaign(const nlohmann::json& campaign, const nlohmann::json& stats, bool full,
                     const Style& style);
/// Drained, held, unreachable clusters: a line each; "" when there are none.
std::string Notes(const nlohmann::json& campaign);
/// A line of tasks by state and a bar, for readers.
std::string Bar(const nlohmann::json& campaign, int width, const Style& style);
/// CIG-49: Id, User, Status, Type, Waiting, Running, Finished, NeedsAttention, Err; or a line per
/// user.
std::string Summary(const nlohmann::json& summary, bool by_user, bool header);

/// Epoch seconds as CiGri prints them: "2026-11-20 08-40-15", local time.
std::string Date(double epoch);
/// "11/16 (68%)".
std::string Progress(const nlohmann::json& campaign);

}  // namespace cigri::gridstat
