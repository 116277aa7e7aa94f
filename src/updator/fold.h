// The fold: what clusters answered becomes rows, all of it in one transaction of one session, so
// that copies of a task that end on two clusters at once are told apart (docs/design.md 5.7).
#pragma once
#include <set>
#include <vector>

#include "cluster/cluster.h"
#include "db/db.h"
#include "updator/book.h"
#include "updator/memory.h"

namespace cigri::updator {

/// News of one job of ours.
struct News {
  std::int64_t job_id = 0;
  cluster::RemoteJob remote;
  double cluster_time = 0;  ///< the cluster's clock at the answer: its times are only subtracted
};

/// What a fold did, to be remembered after its commit.
struct Folded {
  std::vector<std::pair<std::int64_t, JobState>> moved;
  std::vector<std::int64_t> ended;
  std::set<std::int64_t> campaigns;  ///< that had an end: perhaps over now
};

/// Folds `news` (each job at most once, each known to be live). The caller commits, then tells
/// Memory.
Folded Fold(db::Tx& tx, const std::vector<News>& news,
            const std::map<std::int64_t, std::string>& cluster_names);

}  // namespace cigri::updator
