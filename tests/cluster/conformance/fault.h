// What can go wrong between a driver and its cluster.
#pragma once

namespace cigri::conformance {

enum class Fault {
  kNone,
  kNoConnection,  ///< nobody listens: the request does not arrive
  kAnswerLost,    ///< the request is carried out; the connection ends without an answer
  kAnswerCut,     ///< it is carried out; the connection ends in the middle of the answer
  kServerError,   ///< it is carried out and answered with status 500
  kGarbage,       ///< it is carried out and answered with status 200 and bytes without meaning
  kSilence        ///< it is carried out, and the connection stays open without an answer
};

/// Which requests a fault happens to.
enum class Which { kAll, kSubmissions };

}  // namespace cigri::conformance
