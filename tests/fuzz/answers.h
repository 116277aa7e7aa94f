// What clusters answer, from the bytes of a fuzz target: http::Client and process::Run of these
// programs (answers.cc) reach nobody.
#pragma once
#include <string_view>

#include "cluster/cluster.h"

namespace cigri::fuzz {

/// The next calls are answered by `text`: its parts between bytes 01, one after the other, the last
/// again and again. A part that begins with byte 02 is an error 500, with 03 a 404, with 06 a 400,
/// with 07 a 401, with 04 a cut connection, with 05 none at all.
void Answer(std::string_view text);

/// Makes every call of the interface against a cluster that answers `text`, each to a driver of its
/// own, and needs what cluster.h promises of each: which exceptions come, that refs are of those
/// that were asked for, that states and causes are known ones.
void CallAll(const cluster::ClusterConfig& config, std::string_view text);

}  // namespace cigri::fuzz
