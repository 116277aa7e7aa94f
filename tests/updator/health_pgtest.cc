// Events of clusters: raised once, closed when their cause has gone.
#include "tests/support/rows.h"
#include "updator/health.h"
#include "updator/orphans.h"

namespace cigri::updator {
namespace {

class HealthPgTest : public test::RowsTest {
 protected:
  void SetUp() override {
    RowsTest::SetUp();
    GivenClusters(1);
  }
  void Report(const Answer& answer, double limit = 0.8) {
    auto c = Connect();
    db::Tx tx(*c);
    Store store(tx);
    ReportHealth(store, answer, "froggy", limit, &reported_);
    tx.Commit();
  }
  static Answer Good(double stress = 0) {
    Answer a;
    a.cluster_id = 1;
    a.ok = true;
    a.resources = cluster::Resources{};
    a.resources->stress = stress;
    return a;
  }
  static Answer Bad(int failures, bool unreachable, const std::string& error = "it said \xFF no") {
    Answer a;
    a.cluster_id = 1;
    a.failures = failures;
    a.unreachable = unreachable;
    a.error = error;
    return a;
  }
  std::string Open() {
    return Sql("SELECT coalesce(string_agg(code, ' ' ORDER BY code), '') FROM events WHERE state = "
               "'open'")[0][0]
        .c_str();
  }
  std::string Message() {
    return Sql("SELECT message FROM events WHERE state = 'open'")[0][0].c_str();
  }

  // What a full listing of cluster 1 shows.
  void List(const std::vector<std::tuple<std::string, std::string, int>>& jobs) {
    std::vector<cluster::RemoteJob> listed;
    for (const auto& [id, tag, index] : jobs) {
      cluster::RemoteJob job;
      job.ref.remote_id = id;
      job.ref.tag = tag;
      job.ref.index = index;
      job.ref.cluster_user = "alice";
      listed.push_back(job);
    }
    auto c = Connect();
    db::Tx tx(*c);
    Store store(tx);
    ReconcileOrphans(store, 1, "froggy", listed, &orphans_);
    tx.Commit();
  }
  void GivenBatch(int id, const std::string& tag, const std::string& state) {
    const auto n = std::to_string(id);
    Sql("INSERT INTO batches (id, first_job_id, kind, campaign_id, cluster_id, n, first_idx, "
        "slots, tag, state, epoch, "
        "send_by, doubtful_since) VALUES (" +
        n + ", " + n + "0, 'task', 1, 1, 3, 0, 1, '" + tag + "', '" + state +
        "', 0, now(), now())");
  }
  std::string Duplicates() {
    return Sql("SELECT coalesce(string_agg(remote_id || '/' || element, ' ' ORDER BY remote_id), "
               "'') FROM duplicates")[0][0]
        .c_str();
  }
  ReportedHealth reported_;
  std::set<std::string> orphans_;
};

TEST_F(HealthPgTest, SilenceAndErrorsAreTwoEventsThatAnAnswerCloses) {
  Report(Bad(2, true));
  EXPECT_EQ(Open(), "");
  Report(Bad(3, true));
  Report(Bad(4, true));
  EXPECT_EQ(Open(), "CLUSTER_UNREACHABLE");
  EXPECT_EQ(Sql("SELECT count FROM events")[0][0].as<int>(), 1);
  Report(Bad(5, false, "HTTP 500"));
  EXPECT_EQ(Open(), "CLUSTER_ERROR");
  EXPECT_EQ(Message(), "froggy: HTTP 500");
  Report(Good());
  EXPECT_EQ(Open(), "");
  Report(Bad(7, true));
  EXPECT_EQ(Open(), "CLUSTER_UNREACHABLE") << "the third failure may pass unseen";
}

TEST_F(HealthPgTest, AnOutageIsOneEventHoweverLongItLasts) {
  for (int failures = 1; failures <= 30; ++failures) Report(Bad(failures, true));
  EXPECT_EQ(Sql("SELECT count(*) FROM events")[0][0].as<int>(), 1);
}

TEST_F(HealthPgTest, TheFirstAnswerClosesWhatAnEarlierProcessOpened) {
  Report(Bad(3, false));
  Report(Good(0.9));
  reported_ = {};
  Report(Good(0.1));
  EXPECT_EQ(Open(), "");
}

TEST_F(HealthPgTest, StressIsAnEventWhileItLasts) {
  Report(Good(0.79));
  EXPECT_EQ(Open(), "");
  Report(Good(0.8));
  Report(Good(0.95));
  EXPECT_EQ(Open(), "UNDER_STRESS");
  EXPECT_EQ(Message(),
            "froggy is overloaded (stress 0.80, the limit is 0.80): nothing new is sent there");
  Report(Bad(1, true));
  EXPECT_EQ(Open(), "UNDER_STRESS") << "without an answer the stress is not known";
  Report(Good(0.95), 0.99);
  EXPECT_EQ(Open(), "") << "the operator's new limit";
}

TEST_F(HealthPgTest, ADuplicateIsToBeKilledAndAJobInNoTableIsOnlyReported) {
  GivenCampaign({.ntasks = 30});
  GivenBatch(1, "cigri.1.g.aa", "recorded");
  GivenBatch(2, "cigri.1.g.bb", "in_doubt");
  GivenBatch(3, "cigri.1.g.cc", "abandoned");
  Sql("INSERT INTO live (job_id, campaign_id, idx, kind, batch_id, element, cluster_id, remote_id, "
      "attempt, slots) "
      "VALUES (10, 1, 0, 'task', 1, 0, 1, '100', 1, 1)");
  Sql("INSERT INTO done (job_id, campaign_id, idx, batch_id, cluster_id, attempt, kind, counted, "
      "state, exit_class, slots, submitted_at, remote_id) VALUES (11, 1, 1, 1, 1, 1, 'task', true, "
      "'terminated', 'none', 1, now(), '101'), (12, 1, 2, 1, 1, 1, 'task', true, 'terminated', "
      "'none', 1, now(), '102')");
  Sql("UPDATE done SET ended_at = now() - interval '1 hour' WHERE job_id = 12");
  List({{"100", "cigri.1.g.aa", 0},  // recorded between the listing and now
        {"101", "cigri.1.g.aa", 1},  // ended meanwhile
        {"102", "cigri.1.g.aa",
         2},  // ended long ago: forgotten by a slurmctld that crashed, it lives again
        {"200", "cigri.1.g.aa", 0},    // a copy of one that lives
        {"201", "cigri.1.g.aa", 1},    // of one that has ended
        {"300", "cigri.1.g.bb", 0},    // the runner's matter
        {"400", "cigri.1.g.cc", 2},    // given up, and there all the same
        {"500", "cigri.9.g.dd", 0}});  // of a backup that was restored
  EXPECT_EQ(Duplicates(), "102/2 200/0 201/1 400/2");
  EXPECT_EQ(Open(), "DUPLICATE_JOB ORPHAN_JOB");
  EXPECT_EQ(Sql("SELECT message FROM events WHERE code = 'ORPHAN_JOB'")[0][0].as<std::string>(),
            "froggy has jobs with our tag that are in none of our tables: 500");
  EXPECT_EQ(Sql("SELECT count FROM events WHERE code = 'DUPLICATE_JOB'")[0][0].as<int>(), 4);

  Sql("UPDATE duplicates SET calls = 2");
  List({{"200", "cigri.1.g.aa", 0}, {"500", "cigri.9.g.dd", 0}});
  EXPECT_EQ(Duplicates(), "200/0") << "what is not listed any more has ended";
  EXPECT_EQ(Sql("SELECT calls FROM duplicates")[0][0].as<int>(), 2);
  EXPECT_EQ(Sql("SELECT max(count) FROM events")[0][0].as<int>(), 4) << "nothing new, no event";
  List({});
  EXPECT_EQ(Duplicates(), "");
  EXPECT_EQ(Open(), "");
}

}  // namespace
}  // namespace cigri::updator
