// Answers as CiGri 3 gave them, for its own clients and scripts: docs/next-to-cigri3.md.
#pragma once
#include "api/http/message.h"

namespace cigri::api {

/// Whether one of CiGri 3's clients asks: below API_BASE, and neither our tools, which say so in
/// X-Cigri-Api, nor a browser, for which CiGri 3 had no page.
bool IsOfCigri3(bool below_base, const Request& request);

/// Turns the answer of a handler into CiGri 3's: its keys, in its order, and its words. Answers
/// that are alike in both stay. REQUIRES: request.of_cigri3.
void ShapeForCigri3(const Request& request, Reply& reply);

}  // namespace cigri::api
