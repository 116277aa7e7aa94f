// Jobs as JSON. Written by hand: a poll carries thousands of them.
#pragma once
#include <string>
#include <vector>

#include "localcluster/engine.h"

namespace cigri::localcluster {

void AppendJob(const JobView& job, std::string* out);
/// [job,job,...]
std::string JobList(const std::vector<JobView>& jobs);
std::string ErrorJson(int status, const std::string& why, const std::string& message, int limit);
/// The answer to a submission: always the same bytes for the same batch.
std::string AcceptedJson(std::int64_t seq, int n);

}  // namespace cigri::localcluster
