#include "real_cluster.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "cluster/transfer.h"
#include "core/text.h"

namespace cigri::real {

using cluster::EndCause;
using cluster::RemoteState;

bool Allowed() {
  const char* wanted = std::getenv("CIGRI_REAL");
  return wanted != nullptr && std::string(wanted) == "1" && geteuid() == 0;
}

bool HasOar3() {
  return std::system(CIGRI_SOURCE_DIR "/scripts/clusters/oar3-up --source >/dev/null 2>&1") == 0;
}

std::string Shell(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "re");
  std::string out;
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  const int status = pclose(pipe);
  EXPECT_EQ(status, 0) << command << "\n" << out;
  return out;
}

std::string RunScript(const std::string& script, const std::string& environment) {
  return Shell(environment + " timeout 600 " CIGRI_SOURCE_DIR "/scripts/clusters/" + script +
               " 2>/dev/null");
}

cluster::Batch BatchOf(const std::string& user, const std::vector<std::string>& commands) {
  cluster::Batch batch;
  batch.tag = "cigri.7.real." + RandomHex(6);
  batch.campaign_id = 7;
  batch.campaign_name = "it's a test";
  batch.grid_user = batch.cluster_user = user;
  batch.walltime_s = 300;
  for (const auto& command : commands) {
    const auto i = static_cast<std::int64_t>(batch.elements.size());
    batch.elements.push_back({1000 + i, 50 + i, 1, command});
  }
  return batch;
}

std::vector<cluster::RemoteRef> RefsOf(const cluster::Batch& batch,
                                       const std::vector<std::string>& ids) {
  std::vector<cluster::RemoteRef> refs;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    refs.push_back({ids[i], batch.tag, static_cast<int>(i), batch.elements[i].job_id,
                    batch.cluster_user, batch.walltime_s});
    refs.back().tasks_per_job = batch.tasks_per_job;
  }
  return refs;
}

namespace {
// Seen of slurmrestd 22.05, rarely: "connection invalid", and a new connection is dropped with its
// request. A doubt is looked up, as the runner does it.
std::vector<std::string> SubmitSurely(cluster::Cluster& cluster, const cluster::Batch& batch) {
  for (int tries = 0;; ++tries) try {
      return cluster.Submit(batch);
    } catch (const cluster::SubmitInDoubt&) {
      const auto found = cluster.Find(batch.tag, batch.cluster_user, Lately(), false);
      if (!found.complete || tries == 3) throw;
      if (found.jobs.empty()) continue;
      std::vector<std::string> ids(batch.elements.size());
      for (const auto& job : found.jobs) ids.at(job.ref.index) = job.ref.remote_id;
      return ids;
    }
}
}  // namespace

std::vector<cluster::RemoteRef> SubmitAll(cluster::Cluster& cluster, const cluster::Batch& batch) {
  const auto ids = SubmitSurely(cluster, batch);
  EXPECT_EQ(ids.size(), batch.elements.size());
  for (int tries = 0; cluster.capabilities().hold_release; ++tries) try {
      cluster.Release(batch, ids);
      break;
    } catch (const cluster::CallFailed&) {
      if (tries == 3) throw;
    }
  return RefsOf(batch, ids);
}

bool AwaitPoll(cluster::Cluster& cluster, const std::vector<cluster::RemoteRef>& refs,
               std::chrono::seconds patience,
               const std::function<bool(const cluster::PollResult&)>& condition) {
  const auto end = std::chrono::steady_clock::now() + patience;
  cluster::PollRequest request;
  request.jobs = refs;
  while (std::chrono::steady_clock::now() < end) {
    if (condition(cluster.Poll(request))) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  return false;
}

Ends Await(cluster::Cluster& cluster, const std::vector<cluster::RemoteRef>& refs,
           std::chrono::seconds patience) {
  Ends ends;
  std::map<int, int> absent;  // polls in a row
  cluster::PollRequest request;
  request.jobs = refs;
  const auto end = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < end) {
    const auto result = cluster.Poll(request);
    ++ends.polls;
    ends.calls += result.calls;
    // As the updator does: a list may leave out, once, a job that is changing its state.
    ends.missing.clear();
    auto before = std::exchange(absent, {});
    for (const auto& ref : result.missing)
      if ((absent[ref.index] = before[ref.index] + 1) >= 10) ends.missing.push_back(ref);
    request.jobs = result.missing;  // asked for again: they are not known to have ended
    for (const auto& job : result.jobs)
      if (job.state == RemoteState::kEnded)
        ends.jobs[job.ref.index] = job;
      else
        request.jobs.push_back(job.ref);
    ends.all = ends.jobs.size() + ends.missing.size() == refs.size();
    if (ends.all) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  return ends;
}

void ExpectToGoOnFromCheckpoints(cluster::Cluster& cluster, cluster::Batch batch, bool goes_on,
                                 const Evict& evict) {
  using namespace std::chrono_literals;
  constexpr int kEnd = 300, kLives = 3, kSteps = 50;
  const auto count = "/home/" + batch.cluster_user + "/count-" + RandomHex(4);
  const auto number = [](const std::string& path) { return std::atoi(ReadFile(path).c_str()); };
  const std::string program =
      "n=$(cat " + count + " 2>/dev/null || echo 0); trap 'echo $n >" + count +
      (goes_on ? "" : "; exit 9") + "' USR2; while [ $n -lt " + std::to_string(kEnd) +
      " ]; do sleep 0.1; n=$((n + 1)); echo $n >" + count + ".now; done; while [ ! -e " + count +
      ".end ]; do sleep 0.1; done; echo $n >" + count;
  for (int life = 1; life <= kLives; ++life) {
    const int begin = number(count);
    Shell("rm -f " + count + ".now");
    if (life == kLives) Shell("touch " + count + ".end");
    const auto next = BatchOf(batch.cluster_user, {program});
    batch.tag = next.tag;
    batch.elements = next.elements;
    const auto refs = SubmitAll(cluster, batch);
    std::vector<cluster::RemoteRef> others;
    if (life < kLives) {
      ASSERT_TRUE(AwaitPoll(cluster, refs, 120s, [&](const auto&) {
        return number(count + ".now") >= std::min(begin + kSteps, kEnd);
      })) << number(count + ".now") << " since " << begin;
      others = evict(refs[0]);
    }
    const auto ends = Await(cluster, refs, 120s);
    ASSERT_TRUE(ends.all);
    const auto& end = ends.jobs.at(0);
    EXPECT_EQ(end.cause, life < kLives ? EndCause::kPreempted : EndCause::kExited) << end.message;
    EXPECT_GT(number(count), begin) << "what it had counted by its checkpoint is kept";
    EXPECT_TRUE(others.empty() || Await(cluster, others, 60s).all);
  }
  EXPECT_EQ(Trim(ReadFile(count)), std::to_string(kEnd));
}

// Values that shells, JSON, YAML and parameter files like to mangle.
static std::vector<std::string> OddValues() {
  return {"",
          " ",
          "#x",
          "a # b",
          "it's",
          "\"quoted\"",
          "$HOME `id` $(id) ${x}",
          "back\\slash \\$HOME \\\\",
          "trailing\\",
          "caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80",
          "latin\xE9 byte",
          "tab\there",
          "two\nlines\n",
          "! * ~ ? [a-z] {1,2} ; | & < > ( )",
          "-n",
          "%s %d %%",
          "\r",
          std::string(100 * 1024, 'x') + "end"};
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

void ExpectOddValuesToArrive(cluster::Cluster& cluster, const std::string& user) {
  const auto values = OddValues();
  const auto folder = "/home/" + user + "/odd." + RandomHex(4);
  Shell("runuser -u " + user + " -- mkdir " + folder);
  std::vector<std::string> commands;
  for (std::size_t i = 0; i < values.size(); ++i)
    commands.push_back("printf %s " + ShellQuote(values[i]) + " >" + std::to_string(i));
  auto batch = BatchOf(user, commands);
  batch.directory = folder;
  const auto ends = Await(cluster, SubmitAll(cluster, batch), std::chrono::seconds(120));
  ASSERT_TRUE(ends.all);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(ends.jobs.at(static_cast<int>(i)).wait_status, 0) << i;
    EXPECT_TRUE(ReadFile(folder + "/" + std::to_string(i)) == values[i]) << i << ": " << values[i];
  }
}

void ExpectFilesToTravel(cluster::Cluster& cluster, const std::string& user) {
  const auto base = "/home/" + user + "/storage." + RandomHex(4);
  Shell("runuser -u " + user + " -- sh -c 'mkdir " + base + " && cd " + base +
        " && echo own >in && head -c 5000000 /dev/urandom >common'");
  const auto settings =
      cluster::TransferSettings::From({{"transfer", "rsync"}, {"transfer_base", base}});
  auto batch = BatchOf(user, {"cat in common >out", "cat common >out", "cat none >out"});
  batch.setup = cluster::TransferSetup(settings);
  const char* inputs[] = {"in", "in", "none"};
  for (std::size_t i = 0; i < batch.elements.size(); ++i)
    batch.elements[i].command = cluster::TransferCommand(
        settings, user, {{inputs[i], inputs[i]}, {"common", "common", false, true}},
        {{"out", "results/" + std::to_string(i)}}, batch.elements[i].command);
  const auto ends = Await(cluster, SubmitAll(cluster, batch), std::chrono::seconds(120));
  ASSERT_TRUE(ends.all);
  EXPECT_EQ(ends.jobs.at(0).wait_status, 0) << ends.jobs.at(0).message;
  EXPECT_EQ(ends.jobs.at(1).wait_status, 0) << ends.jobs.at(1).message;
  EXPECT_EQ(ends.jobs.at(2).wait_status, cluster::kExitInputMissing << 8);
  const auto common = ReadFile(base + "/common");
  EXPECT_EQ(common.size(), 5'000'000u);
  EXPECT_TRUE(ReadFile(base + "/results/0") == "own\n" + common);
  EXPECT_TRUE(ReadFile(base + "/results/1") == common);
  EXPECT_NE(access((base + "/results/2").c_str(), F_OK), 0);
}

std::map<int, cluster::RemoteJob> ExpectEndsAsTheyWere(cluster::Cluster& cluster,
                                                       const std::string& user) {
  const auto batch = BatchOf(user, {"exit 0", "exit 3", "exit 255", "kill -9 $$", "kill -TERM $$",
                                    "nosuchprogram", "sh -c 'kill -SEGV $$'"});
  const auto ends = Await(cluster, SubmitAll(cluster, batch), std::chrono::seconds(120));
  const int want[] = {0, 3 << 8, 255 << 8, 9, 15, 127 << 8, 11};
  EXPECT_EQ(ends.jobs.size(), std::size(want));
  for (const auto& [index, job] : ends.jobs) {
    EXPECT_EQ(job.cause, EndCause::kExited) << index;
    EXPECT_EQ(job.wait_status, want[index]) << batch.elements[static_cast<std::size_t>(index)].command;
    EXPECT_GT(job.started_at, 0) << index;
  }
  return ends.jobs;
}

}  // namespace cigri::real
