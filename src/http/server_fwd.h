// Names of http/server.h, for headers: that one costs two seconds wherever it is included.
#pragma once

namespace httplib {
struct Request;
struct Response;
}  // namespace httplib

namespace cigri::http {
class GuardServer;
struct Head;
class TlsContext;
struct Peer;
}  // namespace cigri::http
