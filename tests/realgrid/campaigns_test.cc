// Campaigns across two OAR, two Slurm and a local cluster: whatever happens, each task ends once by
// the jobs' own record, and the grid's records agree with those of the clusters.
#include "core/text.h"
#include "tests/realgrid/agreement.h"
#include "tests/realgrid/five_clusters.h"

namespace cigri::test {
namespace {

// Runs until the test makes the file.
const std::string kUntilGo = "while [ ! -e go ]; do sleep 1; done";

class RealGridTest : public FiveClusters {
 protected:
  std::vector<OurEnd> OurEnds() {
    std::vector<OurEnd> ends;
    for (const auto& row : Rows(kOurEnds)) ends.push_back(EndOf(row));
    return ends;
  }
  void ExpectAgreement() {
    const auto ours = OurEnds();
    const auto grid_id = Rows("SELECT grid_id FROM grid")[0][0];
    Arguments wrong = DisagreeWithOar(1, "oar1", grid_id, ours);
    for (const auto& more : {DisagreeWithOar(2, "oar2", grid_id, ours),
                             DisagreeWithSlurm(SlurmName(1), "slurm1", grid_id, ours),
                             DisagreeWithSlurm(SlurmName(2), "slurm2", grid_id, ours)})
      wrong.insert(wrong.end(), more.begin(), more.end());
    EXPECT_EQ(wrong, Arguments{});
    std::printf("%zu ends compared with the clusters' own records, %zu disagree\n", ours.size(),
                wrong.size());
  }
  int Preempted(int id) { return grid().Progress(id).value("preempted", 0); }
  Arguments CodesOf(int id) {
    Arguments codes;
    for (const auto& row :
         Rows("SELECT DISTINCT coalesce(code, '-') FROM done WHERE campaign_id = " +
              std::to_string(id) + " ORDER BY 1"))
      codes.push_back(row[0]);
    return codes;
  }
  int EndedOn(const std::string& cluster, int id) {
    return Number(
        "SELECT count(*) FROM done d JOIN clusters c ON c.id = d.cluster_id WHERE c.name = '" +
        cluster + "' AND counted AND d.campaign_id = " + std::to_string(id));
  }
};

// A job of CiGri 3 next to us, as its user would see it.
struct Foreigners {
  std::string oar, slurm;
  Foreigners() {
    const auto answer = Shell(
        "curl -sf -H 'X-Remote-Ident: alice' -H 'Content-Type: application/json' -d "
        "'{\"command\":\"sleep 3000\",\"name\":\"cigri.12\"}' "
        "http://127.0.0.1:6668/oarapi-cigri/jobs.json");
    oar = std::to_string(json::parse(answer).value("id", 0));
    slurm =
        std::string(Trim(Shell(AtSlurm(1,
                                       "runuser -u grid -- sbatch --parsable -p normal -J cigri.12 "
                                       "-D /tmp -o /dev/null --wrap 'sleep 3000'"))));
  }
  std::string States() const {
    const auto job =
        Shell("curl -sf -H 'X-Remote-Ident: alice' http://127.0.0.1:6668/oarapi-cigri/jobs/" + oar +
              ".json");
    return json::parse(job).value("state", "") + " " +
           std::string(Trim(Shell(AtSlurm(1, "squeue -h -o %T -j " + slurm))));
  }
  ~Foreigners() {
    Shell("curl -sf -X DELETE -H 'X-Remote-Ident: alice' http://127.0.0.1:6668/oarapi-cigri/jobs/" +
          oar + ".json; " + AtSlurm(1, "scancel " + slurm));
  }
};

TEST_F(RealGridTest, CampaignsOfAllKindsEndOnceWhileClustersStopAndAnswersAreLost) {
  Foreigners foreigners;
  ASSERT_TRUE(Await([&] { return foreigners.States() == "Running RUNNING"; }, Seconds(120)))
      << foreigners.States();
  proxy().CutEachSecond("POST /oarapi-cigri/jobs");
  const int n = Sized(2000, 300);
  const int lasting = Submit("lasting", 40, "sleep 600");
  // A job that OAR was launching when its server died ends at its walltime only.
  const int brief = Submit("brief", n, "", {{"walltime", "120s"}});
  const Arguments slower{"oar1", "oar2", "local"};  // Slurm may take the others whole
  std::vector<int> own;
  for (const auto& cluster : slower)
    own.push_back(Submit("own-" + cluster, 16, "", {{"walltime", "120s"}}, {cluster}));
  const int wide =
      Submit("wide", 20, "[ $(wc -l < $CIGRI_NODE_FILE) = 2 ] || exit 1", {{"cores", 2}});
  const int failing = Submit("failing", 20, "[ $(($1 % 4)) != 0 ] || exit 3");
  std::vector<int> late;
  for (const std::string cluster : {"oar1", "slurm1", "slurm2", "local"})
    late.push_back(Submit("late-" + cluster, 1, "sleep 600",
                          {{"walltime", "60s"}, {"max_tries", 1}}, {cluster}));
  ASSERT_TRUE(
      Await([&] { return grid().Progress(lasting).value("running", 0) >= 4; }, Seconds(120)));
  grid().Ok({"griddel", std::to_string(lasting)});

  ASSERT_TRUE(Await([&] { return Written("brief") > n / 10; }, Seconds(600)))
      << grid().Progress(brief);
  RunScript("oar-down", "", "OAR_DOWN_ONLY=server");  // its API lives: 500, and the job exists
  RunScript("slurm-down", "--keep-jobs " + SlurmName(1));
  const int then = Written("brief");
  const auto others_went_on = [&] {
    return Written("brief") > then + n / 10 || grid().Progress(brief).value("waiting", 0) == 0;
  };
  EXPECT_TRUE(Await(others_went_on, Seconds(300))) << grid().Progress(brief);
  RunScript("oar-up");
  StartSlurm();

  ExpectEachOnce(brief, "brief", n, Seconds(1500));
  for (std::size_t i = 0; i < own.size(); ++i)
    ExpectEachOnce(own[i], "own-" + slower[i], 16, Seconds(900));
  ExpectEachOnce(wide, "wide", 20, Seconds(600));
  EXPECT_TRUE(grid().AwaitOver(failing, Seconds(600))) << grid().Progress(failing);
  EXPECT_EQ(grid().Progress(failing).value("done", 0), 15) << grid().Progress(failing);
  EXPECT_EQ(grid().Progress(failing).value("failed", 0), 5) << grid().Progress(failing);
  for (const int id : late) {
    EXPECT_TRUE(grid().AwaitOver(id, Seconds(300))) << grid().Progress(id);
    // One that OAR starts when its server stops may give no sign of life: it is killed and retried.
    auto codes = CodesOf(id);
    if (id == late.front()) std::erase(codes, "KILLED_BY_GRID");
    EXPECT_EQ(codes, Arguments{"WALLTIME"});
  }
  EXPECT_TRUE(Await([&] { return Number("SELECT count(*) FROM live") == 0; }, Seconds(240)));
  EXPECT_EQ(Written("lasting"), 0);
  for (const std::string cluster : {"slurm1", "slurm2"})
    EXPECT_GT(EndedOn(cluster, brief), 0) << cluster;
  EXPECT_GT(proxy().cuts(), 0);
  EXPECT_EQ(foreigners.States(), "Running RUNNING");
  proxy().CutEachSecond("");
  ExpectConservation();
  ExpectAgreement();
}

// GRID-20: on each cluster its own users come first.
TEST_F(RealGridTest, ANormalUsersJobPreemptsOnEachClusterAndTheTasksAreRetried) {
  struct Case {
    std::string cluster, normal;
    int n, cores;
  };
  const std::string sbatch =
      "runuser -u grid -- sbatch -p normal -c 4 -D /tmp -o /dev/null --wrap true";
  const std::string oarsub = "runuser -u carol -- oarsub -l /core=2,walltime=0:05 true";
  const std::vector<Case> cases{
      {"oar1", "cd /tmp; " + oarsub, 4, 2},
      {"oar2", "cd /tmp; nsenter --mount=/run/oar-up/ns/2 -- " + oarsub, 2, 2},
      {"slurm1", AtSlurm(1, sbatch), 4, 4},
      {"slurm2", AtSlurm(2, sbatch), 4, 4},
      {"local", "", 2, 1}};
  std::vector<int> ids;
  for (const auto& c : cases)
    ids.push_back(Submit("yield-" + c.cluster, c.n, kUntilGo, {{"cores", c.cores}}, {c.cluster}));
  for (std::size_t i = 0; i < cases.size(); ++i)
    ASSERT_TRUE(Await([&] { return grid().Progress(ids[i]).value("running", 0) == cases[i].n; },
                      Seconds(180)))
        << cases[i].cluster << grid().Progress(ids[i]);
  for (const auto& c : cases) {
    if (c.normal.empty())
      grid().Ok({"localsub", "-c", c.cluster, "--", "true"});
    else
      Shell(c.normal);
  }
  for (std::size_t i = 0; i < cases.size(); ++i)
    EXPECT_TRUE(Await([&] { return Preempted(ids[i]) >= 1; }, Seconds(120))) << cases[i].cluster;
  grid().Script("go", "");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    ExpectEachOnce(ids[i], "yield-" + cases[i].cluster, cases[i].n, Seconds(300));
    EXPECT_EQ(grid().Progress(ids[i]).value("failed", -1), 0) << cases[i].cluster;
  }
  ExpectConservation();
  ExpectAgreement();
}

// Slurm would requeue what it preempts in this partition, under the same id.
TEST_F(RealGridTest, WhatSlurmWouldRequeueIsRetriedOnceAndOnlyByTheGrid) {
  const int id = Submit("again", 4, kUntilGo, {{"cores", 4}, {"partition", "requeue"}}, {"slurm1"});
  ASSERT_TRUE(Await([&] { return grid().Progress(id).value("running", 0) == 4; }, Seconds(120)))
      << grid().Progress(id);
  Shell(AtSlurm(1, "runuser -u grid -- sbatch -p normal -c 4 -D /tmp -o /dev/null --wrap true"));
  EXPECT_TRUE(Await([&] { return Preempted(id) >= 1; }, Seconds(120))) << grid().Progress(id);
  grid().Script("go", "");
  ExpectEachOnce(id, "again", 4, Seconds(240));
  ExpectAgreement();
}

}  // namespace
}  // namespace cigri::test
