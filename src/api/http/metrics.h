// What the grid reports to Prometheus, and to those who ask whether it works.
#pragma once
#include <chrono>
#include <memory>
#include <string>

namespace cigri::api {

class Context;

/// The numbers of this process, and those of the database at the time of a scrape. Thread-safe.
class Metrics {
 public:
  Metrics();
  ~Metrics();

  /// A request of this method was answered with `status` after `took`.
  void Answered(const std::string& method, int status, std::chrono::duration<double> took);
  /// All of them in Prometheus' text format. Without a database `cigri_database_up` is 0, and only
  /// those of this process are there.
  std::string Text(Context& context, bool* database_up);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cigri::api
