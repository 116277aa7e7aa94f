// Jobs and tasks as text.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cigri::gridstat {

/// One line of gridstat -f: "  <param>: <job>,<remote>,<state>,<cluster>,<name>,<parameters>",
/// "*" for what there is not or may not be seen.
std::string JobLine(const nlohmann::json& item);
/// What it measured of itself, as a line below; "" when nothing was measured.
std::string MeasuredLine(const nlohmann::json& item);
/// gridstat -j: a "key: value" a line, CiGri's keys first, in its order.
std::string Job(const nlohmann::json& job);
/// gridstat -c N --task I: the task, then its attempts.
std::string Task(const nlohmann::json& task);
/// One message, one action; with `verbose` the numbers of each rule on each cluster, what is
/// expected, and what would change it.
std::string Why(const nlohmann::json& why, bool verbose);
/// A line a reason, from when to when, the last first.
std::string WhyHistory(const nlohmann::json& items);

}  // namespace cigri::gridstat
