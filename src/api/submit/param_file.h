// Parameter files that a JDL names: read on the API's host by a child that is the user.
#pragma once
#include <string>

#include "api/http/message.h"
#include "jdl/jdl.h"

namespace cigri::api {

/// Puts the lines of the file that `read.campaign` names in its place, as its parameters. Throws
/// 400 with the place of "param_file" when `user` cannot read it.
/// REQUIRES: read.campaign.source is kFile.
void ReadParamFile(const std::string& user, jdl::Result* read);

}  // namespace cigri::api
