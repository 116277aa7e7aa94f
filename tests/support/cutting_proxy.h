// Stands between the grid and a cluster, and cuts connections at the worst moments.
#pragma once
#include <cstdio>
#include <memory>
#include <string>

namespace cigri::test {

/// A proxy that passes HTTP on, one thread a connection. An address is the path of a unix socket,
/// or a port of 127.0.0.1 ("6668"; to listen on: "0", one that is free), or "10.0.0.1:6668".
class CuttingProxy {
 public:
  CuttingProxy(const std::string& listen, const std::string& server);
  ~CuttingProxy();
  /// The port it listens on; 0 for a socket.
  int port() const;
  /// While `on`, no answer is given back: the server has done what was asked, and nobody is
  /// notified.
  void CutAll(bool on);
  /// Of the requests that begin with `start` ("POST /jobs") each second one is cut: by turns when
  /// the server begins to answer, and as soon as it has the whole request.
  void CutEachSecond(const std::string& start);
  int cuts() const;
  /// Prints method and path of each request from now on.
  void Print(std::FILE* to);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cigri::test
