// Ways to look that write as they read: lists as long as a campaign, output, and again and again.
#pragma once
#include <string>

#include "tools/gridstat/options.h"

namespace cigri::gridstat {

/// Every job of campaign N, page by page; stops when nobody reads any more.
void PrintJobs(tools::Api& api, const GridstatOptions& o);
/// Copies the answer of `path` to stdout, byte for byte; how many bytes that were. `what`: "read
/// the output of job 7".
std::size_t CopyOut(tools::Api& api, const std::string& path, const std::string& what);
/// False when stdout is gone (| head): the reader has enough.
bool Put(std::string_view text);

}  // namespace cigri::gridstat
