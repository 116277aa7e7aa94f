// What the commands of a Grid Engine answer: qstat -xml, qacct, qconf.
#pragma once
#include <pugixml.hpp>
#include <string>
#include <vector>

#include "cluster/cluster.h"

namespace cigri::cluster::gridengine {

/// A task as qstat or qacct shows it.
struct Task {
  std::string job, name, owner, state, node;
  int number = 0;
  double submitted_at = 0, started_at = 0, ended_at = 0;
  int failed = 0, exit_status = 0;
  bool ended = false;
};

/// An answer to `what` ("read the jobs of luke") that cannot be read.
[[noreturn]] void Garbage(const std::string& what, const std::string& text);
/// The answer of `qstat -xml`: one <job_info>. Throws CallFailed, as the next two.
pugi::xml_document ReadXml(const std::string& what, const std::string& text);
std::vector<Task> ReadQstat(const std::string& what, const std::string& text);
std::vector<Task> ReadQacct(const std::string& what, const std::string& text);
/// Slots of one queue on one host.
int SlotsIn(const pugi::xml_node& queue, const char* key);
/// Seconds between two writings of the accounting file, from `qconf -sconf` (man sge_conf).
double FlushTime(const std::string& configuration);

/// "JOB.TASK", and its "JOB".
std::string IdOf(const Task& task);
std::string ArrayOf(const std::string& id);
RemoteJob JobOf(const Task& task, const RemoteRef& ref);

}  // namespace cigri::cluster::gridengine
