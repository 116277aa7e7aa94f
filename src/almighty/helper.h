// The runner of a host that does not lead: it serves its share of the clusters.
#pragma once
#include <string>
#include <vector>

#include "almighty/almighty.h"
#include "almighty/child.h"

namespace cigri::almighty {

/// Keeps `runner --loop` alive while an almighty of another home leads. Of several almighties of
/// one home one does it. The leader has a runner anyway, one of its modules.
class Helper {
 public:
  explicit Helper(const Options& options);
  ~Helper();

  /// Starts it, or restarts it when it has ended.
  void Keep();
  /// Ends it: this home is going to lead, or another almighty of it does.
  void Stop();
  /// Readable when it has ended; -1 when it does not run.
  int ended_fd() const { return runner_.front().pid_fd(); }

 private:
  std::string place_file_;
  process::Fd place_;
  std::vector<Child> runner_;  // one
};

}  // namespace cigri::almighty
