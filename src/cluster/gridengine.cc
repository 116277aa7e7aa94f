// The driver of Grid Engine through its commands: qsub, qstat -xml, qacct, qdel. Every batch is an
// array; remote ids are "JOB.TASK" with TASK = index + 1, of the first of those that share a job.
#include <algorithm>
#include <pugixml.hpp>
#include <set>
#include <tuple>

#include "cluster/check.h"
#include "cluster/command_transport.h"
#include "cluster/drivers.h"
#include "cluster/gridengine_answers.h"
#include "cluster/gridengine_class.h"
#include "cluster/job_environment.h"
#include "cluster/job_script.h"
#include "cluster/kill_once.h"
#include "cluster/resource_request.h"
#include "cluster/rest_api.h"
#include "cluster/shared_records.h"
#include "core/text.h"

namespace cigri::cluster {
namespace gridengine {
namespace {

using Done = CommandResult::Outcome;
using Strings = std::vector<std::string>;

Capabilities KindCapabilities() {
  Capabilities c;
  c.max_bytes = std::size_t{256} << 10;  // the whole script goes to the node of every job
  c.absence_delay = std::chrono::seconds(90);  // the accounting comes late (flush_time)
  c.groups = true;
  return c;
}

/// Options: queue, best_effort_queue, pe ("smp"), mem_resource ("h_vmem"), gpu_resource ("gpu"),
/// accounting_delay_s (30), shared_folder, max_array, max_bytes, and those of CommandTransport and
/// ScriptSettings.
class GridEngine final : public Cluster {
 public:
  explicit GridEngine(const ClusterConfig& config)
      : transport_(config),
        script_(ScriptSettings::From(config, ScriptSettings::Kind::kGridEngine)),
        shared_(config.options.value("shared_folder", "")) {}

  Capabilities capabilities() const override {
    auto c = KindCapabilities();
    c.max_array = config().options.value("max_array", c.max_array);
    c.max_bytes = config().options.value("max_bytes", c.max_bytes);
    c.output = shared_.configured();
    c.groups = shared_.configured() && script_.records;
    return c;
  }
  void Release(const Batch&, const Strings&) override {}
  CallLimiter* limiter() override { return config().limiter.get(); }
  http::Response Relayed(const RelayedCall& call) override {
    return transport_.Relayed(call, {"qacct", "qconf", "qdel", "qstat"});  // a runner submits itself
  }

  std::string ExceedsLimit(const Batch& batch) override { return UnknownLevel(batch, config()); }

  Strings Submit(const Batch& batch) override {
    using Why = SubmitRefused::Why;
    if (const auto why = WhyNot(batch); !why.empty()) throw SubmitRefused(Why::kBatch, why);
    const std::string what =
        "submit " + std::to_string(batch.elements.size()) + " jobs to " + config().name;
    CommandResult r;
    try {
      r = transport_.Run(Qsub(batch), batch.cluster_user, Script(batch), batch.send_by);
    } catch (const CallFailed& e) {
      throw SubmitRefused(e.why() == CallFailed::Why::kAuth ? Why::kUser : Why::kTemporary, e.what());
    }
    const auto failed = std::string(transport_.Failed(what, r).what());
    if (r.outcome == Done::kNotBegun)
      throw SubmitRefused(r.denied ? Why::kUser : Why::kTemporary, failed);
    if (r.outcome == Done::kUnknown) throw SubmitInDoubt(failed);
    if (const auto job = SubmittedJob(r); !job.empty()) {
      const int n = static_cast<int>(batch.elements.size());
      Strings ids;
      for (int i = 0; i < n; ++i)
        ids.push_back(job + "." + std::to_string(i - i % batch.tasks_per_job + 1));
      return ids;
    }
    const auto says = [&](const char* words) { return r.err.find(words) != std::string::npos; };
    // No connection to qmaster: it has not seen the job.
    if (says("Connection refused")) throw SubmitRefused(Why::kTemporary, failed);
    if (says("jobs are allowed per user") || says("max_aj_tasks") || says("max_jobs"))
      throw SubmitRefused(Why::kLimit, failed);
    if (says("has no permission") || says("access denied")) throw SubmitRefused(Why::kUser, failed);
    if (says("Unable to run job") && !says("qmaster")) throw SubmitRefused(Why::kBatch, failed);
    throw SubmitInDoubt(failed);
  }

  // A job that ends in between is in the second list.
  FindResult Find(const std::string& tag, const std::string& user, double, bool) override {
    const auto what = "look for batch " + tag + " on " + config().name;
    auto tasks = Live(what, Asker(user));
    const auto ended = Accounted(what, tag, Asker(user));
    tasks.insert(tasks.end(), ended.begin(), ended.end());
    std::map<std::string, Task> by_id;  // the later counts
    for (const auto& t : tasks)
      if (t.name == tag) by_id[IdOf(t)] = t;
    FindResult result;
    result.complete = true;
    for (const auto& [id, t] : by_id)
      result.jobs.push_back(JobOf(t, {id, tag, t.number - 1, 0, user, 0}));
    return result;
  }

  PollResult Poll(const PollRequest& request) override {
    PollResult result;
    const int calls = transport_.calls();
    const auto what = "read the jobs of " + config().name;
    std::map<std::string, Task> live;
    if (!request.jobs.empty())
      for (auto& t : Live(what, Asker(request.jobs[0].cluster_user))) live[IdOf(t)] = t;
    std::map<std::string, std::vector<RemoteRef>> absent;  // by array
    std::map<std::string, std::vector<RemoteRef>> groups;  // by job
    for (const auto& ref : request.jobs) {
      const auto it = live.find(ref.remote_id);
      if (it == live.end()) {
        absent[ArrayOf(ref.remote_id)].push_back(ref);
      } else if (it->second.name != ref.tag) {
        result.missing.push_back(ref);  // the id was given out again
      } else if (ref.tasks_per_job > 1) {
        groups[ref.remote_id].push_back(ref);
      } else if (auto job = JobOf(it->second, ref); job.state != ref.known) {
        result.jobs.push_back(std::move(job));
      }
    }
    for (const auto& [id, refs] : groups)
      AddGroup(shared_, JobOf(live.at(id), refs.front()), refs, &result.jobs);
    const auto before = std::exchange(absent_since_, {});
    for (const auto& [array, refs] : absent) Resolve(what, array, refs, before, &result);
    result.calls = transport_.calls() - calls;
    return result;
  }

  KillResult Kill(const std::vector<RemoteRef>& jobs) override {
    KillResult result;
    for (const auto& refs : InGroups(jobs, [](const RemoteRef& ref) { return ref.cluster_user; }))
      KillOncePerJob(refs, &result, [&](const auto& jobs_of_user, auto* once) {
        KillOf(refs.front().cluster_user, jobs_of_user, once);
      });
    return result;
  }

  Resources GetResources(const Strings& classes) override {
    const auto what = "read the queues of " + config().name;
    auto r = SlotsOf(ReadXml(what, Answer(what, Qstat(Queue(true)), "")));
    for (const auto& request : classes)
      if (const auto of = GridEngineClass::Read(request))
        if (const auto count = CountOf(*of)) r.classes[request] = *count;
    return r;
  }

  ResourceClass ResourceClassOf(const Batch& batch) const override {
    const auto own = TextIn(batch.options, "queue");
    const int gpus = ResourceRequestOf(batch).gpus;
    const GridEngineClass what{gpus > 0, own == Queue(true) ? "" : own};
    return what.Of(gpus > 0 ? gpus : SlotsOf(batch));
  }

  std::vector<RemoteJob> ListTagged(const std::string& prefix, const JobFilter& wanted) override {
    std::vector<RemoteJob> jobs;
    for (const auto& t : Live("list jobs of " + config().name, config().auth_user)) {
      if (!StartsWith(t.name, prefix) || !IsTag(t.name)) continue;
      if (wanted && !wanted(IdOf(t), t.name)) continue;
      jobs.push_back(JobOf(t, {IdOf(t), t.name, t.number - 1, 0, t.owner, 0}));
    }
    return jobs;
  }

  // What has ended is in the accounting, whose job names may be a pattern.
  Strings TagsSince(const std::string& prefix, double) override {
    const auto what = "list the jobs of the last time on " + config().name;
    auto tasks = Live(what, config().auth_user);
    const auto ended = Accounted(what, prefix + "*", config().auth_user);
    tasks.insert(tasks.end(), ended.begin(), ended.end());
    std::set<std::string> tags;
    for (const auto& t : tasks)
      if (StartsWith(t.name, prefix) && IsTag(t.name)) tags.insert(t.name);
    return {tags.begin(), tags.end()};
  }

  OutputPart ReadOutput(const RemoteRef& job, Stream stream, std::int64_t offset,
                        std::size_t bytes) override {
    if (!shared_.configured()) return Cluster::ReadOutput(job, stream, offset, bytes);
    return shared_.Read(job.cluster_user, OutputPath(job, stream), offset, bytes);
  }

  std::vector<CheckItem> Check(const std::string& user, bool submit) override {
    using Verdict = CheckItem::Verdict;
    std::vector<CheckItem> items;
    try {
      const auto what = "reach " + config().name;
      Live(what, user);
      items.push_back({"reachable", Verdict::kOk, config().api_url + ", as " + user});
      const auto words = transport_.Run({"qstat", "-help"}, user).out;
      const auto version = std::string(Trim(words.substr(0, words.find('\n'))));
      const bool tried = StartsWith(version, "SGE 8.1.");
      items.push_back({"version", tried ? Verdict::kOk : Verdict::kWarn,
                       version + (tried ? "" : ": not tried on a real one")});
      const auto r = GetResources({});
      items.push_back({"resources", r.max > 0 ? Verdict::kOk : Verdict::kFail,
                       std::to_string(r.max) + " slots, " + std::to_string(r.free()) + " free"});
    } catch (const CallFailed& e) {
      items.push_back(CheckFailure(items.empty() ? "reachable" : "resources", e));
      return items;
    }
    items.push_back(CheckAccounting(user));
    items.push_back({"output", capabilities().output ? Verdict::kOk : Verdict::kWarn,
                     capabilities().output ? "read below " + shared_.Path(user, "")
                                           : "no shared_folder: output stays on the cluster"});
    if (submit) items.push_back(CheckTestJob(this, config(), user, std::chrono::seconds(120)));
    return items;
  }

 private:
  const ClusterConfig& config() const { return transport_.config(); }

  // Who asks for the jobs of all: a user may have no account there any more.
  const std::string& Asker(const std::string& user) const {
    return config().auth_user.empty() ? user : config().auth_user;
  }

  std::string Queue(bool best_effort) const {
    const auto queue = TextIn(config().options, "queue");
    return best_effort ? config().options.value("best_effort_queue", queue) : queue;
  }

  static int SlotsOf(const Batch& batch) {
    const auto request = ResourceRequestOf(batch);
    return request.plain && request.cores > 0 ? request.cores : batch.slots;
  }

  static Strings Qstat(const std::string& queue) {
    Strings argv{"qstat", "-f", "-xml"};
    if (!queue.empty()) argv.insert(argv.end(), {"-q", queue});
    return argv;
  }

  static Resources SlotsOf(const pugi::xml_document& xml) {
    Resources r;
    for (const auto& found : xml.select_nodes("//Queue-List")) {
      const auto queue = found.node();
      const int total = SlotsIn(queue, "slots_total"), used = SlotsIn(queue, "slots_used");
      r.max += total;
      r.used += used;
      if (!StartsJobs(queue)) r.unavailable += std::max(0, total - used);
    }
    return r;
  }

  std::string GpuResource() const { return config().options.value("gpu_resource", "gpu"); }

  // Nothing: qstat does not know the queue or the resource.
  std::optional<ClassCount> CountOf(const GridEngineClass& of) {
    const auto what = "count " + of.Name() + " of " + config().name;
    auto argv = Qstat(of.queue.empty() ? Queue(true) : of.queue);
    if (of.gpus) argv.insert(argv.end(), {"-F", GpuResource()});
    const auto answer = transport_.Run(argv, "");
    if (answer.outcome == Done::kDone && answer.code != 0) return std::nullopt;
    if (answer.outcome != Done::kDone) throw transport_.Failed(what, answer);
    const auto xml = ReadXml(what, answer.out);
    ClassCount count{.name = of.Name()};
    if (!of.gpus) {
      const auto slots = SlotsOf(xml);
      count.total = slots.max, count.free = slots.free();
      return count;
    }
    int asks = kMostAsks;
    for (const auto& [whose, gpus] : ConsumablesIn(xml, GpuResource())) {
      if (gpu_totals_.count(whose) == 0 && asks-- > 0) gpu_totals_[whose] = GpusOf(whose);
      const auto known = gpu_totals_.find(whose);
      count.total += std::max(gpus.idle, known == gpu_totals_.end() ? 0 : known->second);
      if (gpus.usable) count.free += gpus.idle;
    }
    return count;
  }

  // What qstat shows is what is left of them. 0: it is not known.
  int GpusOf(const std::string& whose) {
    const bool queue = whose.find('@') != whose.npos;
    const auto r = transport_.Run({"qconf", queue ? "-sq" : "-se", whose}, "");
    if (r.outcome != Done::kDone || r.code != 0) return 0;
    return ComplexValue(r.out, GpuResource()).value_or(0);
  }

  Strings Qsub(const Batch& batch) const {
    const auto step = batch.tasks_per_job > 1 ? ":" + std::to_string(batch.tasks_per_job) : "";
    Strings argv{"qsub", "-terse",
                 "-N",   batch.tag,
                 "-t",   "1-" + std::to_string(batch.elements.size()) + step,
                 "-S",   "/bin/sh",
                 "-r",   "n",
                 "-o",   "/dev/null",
                 "-e",   "/dev/null",
                 "-l",   "h_rt=" + std::to_string(batch.walltime_s)};
    const auto add = [&](const char* option, const std::string& value) {
      if (!value.empty()) argv.insert(argv.end(), {option, value});
    };
    if (CheckpointOf(batch)) argv.push_back("-notify");
    const auto& options = config().options;
    const auto own = TextIn(batch.options, "queue");
    add("-q", own.empty() ? Queue(batch.best_effort) : own);
    add("-P", batch.project);
    add("-l", batch.properties);
    const auto nodes = NodesOf(batch);
    if (!nodes.only.empty())
      add("-l", "hostname=" + nodes.only);
    else if (!nodes.excluded.empty())
      add("-l", "hostname=!(" + Join(nodes.excluded, "|") + ")");
    const auto request = ResourceRequestOf(batch);
    const int slots = SlotsOf(batch);
    if (slots > 1)
      argv.insert(argv.end(), {"-pe", options.value("pe", "smp"), std::to_string(slots)});
    if (request.mem_mb > 0)
      add("-l", options.value("mem_resource", "h_vmem") + "=" +
                    std::to_string((request.mem_mb + slots - 1) / slots) + "M");
    if (request.gpus > 0)
      add("-l", GpuResource() + "=" + std::to_string(request.gpus));
    // Verified by qmaster: what can never run is refused.
    add("-w", options.value("verify", "e"));
    return argv;
  }

  std::string Script(const Batch& batch) const {
    std::string script = "#!/bin/sh\ncase $SGE_TASK_ID in\n";
    int task = 1;
    for (const auto& job : JobArguments(batch)) {
      script += std::to_string(task) + ") set -- " + job + " ;;\n";
      task += batch.tasks_per_job;
    }
    return script + "esac\n" + JobScript(batch, script_);
  }

  // The number of a job that was taken: "4.1-3:1", or, with a warning and exit code 1, "Your
  // job-array 4.1-3:1 ("tag") has been submitted". "" when there is none.
  static std::string SubmittedJob(const CommandResult& r) {
    std::string text = r.code == 0 ? std::string(Trim(r.out)) : "";
    if (const auto at = r.err.find("Your job-array "); at != std::string::npos)
      if (r.err.find("has been submitted", at) != std::string::npos) text = r.err.substr(at + 15);
    const auto end = text.find_first_not_of("0123456789");
    if (end == 0 || end == text.npos || text.compare(end, 3, ".1-") != 0) return "";
    return text.substr(0, end);
  }

  std::string Answer(const std::string& what, const Strings& argv, const std::string& user) {
    auto r = transport_.Run(argv, user);
    if (r.outcome != Done::kDone || r.code != 0) throw transport_.Failed(what, r);
    return std::move(r.out);
  }

  std::vector<Task> Live(const std::string& what, const std::string& user) {
    return ReadQstat(what, Answer(what, {"qstat", "-xml", "-g", "d", "-u", "*"}, user));
  }

  // The ended tasks of a job number or name.
  std::vector<Task> Accounted(const std::string& what, const std::string& job,
                              const std::string& user) {
    const auto r = transport_.Run({"qacct", "-j", job}, user);
    const auto says = [&](const char* words) { return r.err.find(words) != std::string::npos; };
    if (r.outcome == Done::kDone && r.code != 0 &&
        (says("not found") || r.out.find("no jobs running since startup") != r.out.npos ||
         says("no jobs running since startup")))
      return {};
    if (r.outcome != Done::kDone || r.code != 0) throw transport_.Failed(what, r);
    return ReadQacct(what, r.out);
  }

  // qstat no longer shows these.
  void Resolve(const std::string& what, const std::string& array,
               const std::vector<RemoteRef>& refs, const std::map<std::string, double>& before,
               PollResult* result) {
    std::map<std::string, Task> ended;
    for (auto& t : Accounted(what, array, Asker(refs[0].cluster_user))) ended[IdOf(t)] = t;
    for (const auto& ref : refs) {
      const auto it = ended.find(ref.remote_id);
      const bool accounted = it != ended.end() && it->second.name == ref.tag;
      if (accounted && ref.tasks_per_job > 1) {
        const auto whole = JobOf(it->second, ref);
        if (const auto log = ReadGroupLog(shared_, whole))
          result->jobs.push_back(InGroup(whole, ref, false, *log));
      } else if (accounted) {
        result->jobs.push_back(JobOf(it->second, ref));
        if (const auto record = ReadRecord(ref)) AddRecord(&result->jobs.back(), *record);
      } else if (const auto record = ReadRecord(ref)) {
        RemoteJob job;
        job.ref = ref;
        EndByRecord(&job, *record);
        result->jobs.push_back(std::move(job));
      } else if (LongAbsent(ref.remote_id, before)) {
        result->missing.push_back(ref);
      }
    }
  }

  double AccountingDelay() const { return config().options.value("accounting_delay_s", 30.0); }

  // An ended job that the accounting does not show in time would be taken for lost and run again.
  CheckItem CheckAccounting(const std::string& user) {
    using Verdict = CheckItem::Verdict;
    const double delay = AccountingDelay();
    const auto r = transport_.Run({"qconf", "-sconf"}, user);
    if (r.outcome != Done::kDone || r.code != 0)
      return {"accounting", Verdict::kWarn, transport_.Failed("read qconf -sconf", r).what()};
    const double flush = FlushTime(r.out);
    const auto says = "qmaster writes its accounting every " + std::to_string(int(flush)) +
                      " s, option accounting_delay_s is " + std::to_string(int(delay)) + " s";
    if (flush < delay) return {"accounting", Verdict::kOk, says};
    return {"accounting", Verdict::kFail,
            says + ": tasks could run twice; set accounting_delay_s to more than that" +
                (flush == 0 ? ""
                            : ", or accounting_flush_time=00:00:00 in reporting_params (qconf "
                              "-mconf)")};
  }

  // qmaster writes its accounting late (flush_time): until then nothing is known of an ended job.
  bool LongAbsent(const std::string& id, const std::map<std::string, double>& before) {
    const double now = static_cast<double>(std::time(nullptr));
    const auto it = before.find(id);
    const double since = absent_since_[id] = it == before.end() ? now : it->second;
    return now - since >= AccountingDelay();
  }

  std::optional<ExitRecord> ReadRecord(const RemoteRef& ref) {
    if (!shared_.configured() || !script_.records) return std::nullopt;
    return ReadExitRecord(shared_, ref);
  }

  void KillOf(const std::string& user, const std::vector<RemoteRef>& refs, KillResult* result) {
    const auto what = "delete jobs of " + config().name;
    std::map<std::string, Task> live;
    for (const auto& t : Live(what, user)) live[IdOf(t)] = t;
    Strings argv{"qdel"};
    std::vector<RemoteRef> asked;
    for (const auto& ref : refs) {
      const auto it = live.find(ref.remote_id);
      if (it == live.end() || it->second.name != ref.tag) {
        result->gone.push_back(ref);
      } else if (ref.only_waiting && JobOf(it->second, ref).state == RemoteState::kRunning) {
        result->begun.push_back(ref);
      } else {
        argv.push_back(ref.remote_id);
        asked.push_back(ref);
      }
    }
    if (asked.empty()) return;
    const auto r = transport_.Run(argv, user);
    if (r.outcome == Done::kNotBegun) throw transport_.Failed(what, r);
    std::set<std::string> registered;
    for (const auto& line : Split(r.out + "\n" + r.err, '\n')) {
      const auto at = line.find("job-array task ");
      if (at != line.npos &&
          (line.find("registered") != line.npos || line.find("deleted") != line.npos))
        registered.insert(Split(line.substr(at + 15), ' ')[0]);
    }
    for (const auto& ref : asked) {
      if (registered.count(ref.remote_id) != 0)
        result->asked.push_back(ref);
      else
        result->failed.emplace_back(ref,
                                    transport_.Failed("delete job " + ref.remote_id, r).what());
    }
  }

  CommandTransport transport_;
  ScriptSettings script_;
  SharedFiles shared_;
  std::map<std::string, double> absent_since_;
  static constexpr int kMostAsks = 20;  // in one poll
  std::map<std::string, int> gpu_totals_;  // of hosts and queues
};

}  // namespace
}  // namespace gridengine

Driver GridEngineDriver() {
  const Factory make = [](const ClusterConfig& config, TokenSource) {
    return std::unique_ptr<Cluster>(std::make_unique<gridengine::GridEngine>(config));
  };
  return {"gridengine", "Grid Engine, through its commands", make,
          gridengine::KindCapabilities()};
}

}  // namespace cigri::cluster
