// The limiter before an API: a ceiling and a breaker that every process meets.
#include "clusterdb/api_limiter.h"
#include "tests/support/pg.h"

namespace cigri::clusterdb {
namespace {

using Why = cluster::CallFailed::Why;

class ApiLimiterPgTest : public test::PgTest {
 protected:
  void SetUp() override {
    PgTest::SetUp();
    pool_ = std::make_shared<db::Pool>(conninfo(), "test", 2);
  }
  void TearDown() override {
    pool_.reset();
    PgTest::TearDown();
  }
  void GivenCluster(int id, const std::string& group, int ceiling) {
    Sql("INSERT INTO clusters (id, name, kind, api_url, api_group, max_calls_per_min) VALUES (" +
        std::to_string(id) + ", 'c" + std::to_string(id) + "', 'slurm', 'http://x', nullif('" +
        group + "', ''), nullif(" + std::to_string(ceiling) + ", 0))");
  }
  // As another process would have it.
  std::shared_ptr<cluster::CallLimiter> ApiLimiter(int id, Caller caller = Caller::kUpdator) {
    const auto row = Sql("SELECT name, api FROM clusters WHERE id = " + std::to_string(id))[0];
    return MakeLimiter(pool_, id, row[0].c_str(), row[1].c_str(), caller);
  }
  // "" when a call may be made at once, else why not.
  static std::string Asked(cluster::CallLimiter& limiter, std::optional<Why>* why = nullptr) {
    try {
      limiter.Before(cluster::CallLimiter::Clock::now());
      return "";
    } catch (const cluster::CallFailed& e) {
      if (why != nullptr) *why = e.why();
      EXPECT_GT(e.wait_s(), 0);
      return e.what();
    }
  }
  static int Calls(cluster::CallLimiter& limiter) {
    int n = 0;
    while (n < 1000 && Asked(limiter).empty()) ++n;
    return n;
  }
  void BreakerMayBeTried() { Sql("UPDATE api_load SET open_until = now() - interval '1 second'"); }
  std::shared_ptr<db::Pool> pool_;
};

TEST(BucketTest, NoMinuteEverHoldsMoreThanTheCeiling) {
  for (const int ceiling : {1, 2, 3, 7, 10, 19, 60, 100, 333, 1200}) {
    const auto bucket = BucketOf(ceiling);
    EXPECT_GE(bucket.burst, 1);
    // Whoever takes all he can at every tenth of a second, beginning with a full bucket.
    double tokens = bucket.burst;
    std::vector<double> calls;
    for (int tick = 0; tick < 3000; ++tick) {
      for (; tokens >= 1; --tokens) calls.push_back(tick / 10.0);
      tokens = std::min(bucket.burst, tokens + bucket.per_min / 600);
    }
    for (std::size_t i = 0; i + static_cast<std::size_t>(ceiling) < calls.size(); ++i)
      ASSERT_GE(calls[i + static_cast<std::size_t>(ceiling)] - calls[i], 59.8)
          << ceiling << " calls a minute";
    EXPECT_GE(static_cast<int>(calls.size()), ceiling * 5 * 8 / 10) << "and it is nearly used";
  }
}

TEST_F(ApiLimiterPgTest, ProcessesAndClustersOfAGroupShareOneCeiling) {
  GivenCluster(1, "site", 0);
  GivenCluster(2, "site", 30);
  GivenCluster(3, "", 0);
  auto updator = ApiLimiter(1), other = ApiLimiter(2), apart = ApiLimiter(3);
  EXPECT_EQ(Calls(*updator) + Calls(*other), 3) << "what may be made at once of 30 a minute";
  std::optional<Why> why;
  EXPECT_NE(Asked(*updator, &why).find("at most 30 calls a minute are allowed"), std::string::npos);
  EXPECT_EQ(why, Why::kBusy);
  EXPECT_EQ(updator->ceiling(), 30);
  EXPECT_EQ(Asked(*apart), "");
  EXPECT_EQ(apart->ceiling(), 0);
}

TEST_F(ApiLimiterPgTest, ASubmissionLeavesCallsToThoseWhoPollAndKill) {
  GivenCluster(1, "", 60);
  auto runner = ApiLimiter(1, Caller::kRunner), updator = ApiLimiter(1),
       nikita = ApiLimiter(1, Caller::kNikita);
  EXPECT_EQ(runner->WaitFor(4), 0);
  EXPECT_EQ(Calls(*runner), 5);
  EXPECT_GT(runner->WaitFor(4), 1);
  EXPECT_EQ(Asked(*nikita), "");
  EXPECT_NE(Asked(*updator), "");
}

TEST_F(ApiLimiterPgTest, ACallWaitsForItsToken) {
  GivenCluster(1, "", 1200);
  auto limiter = ApiLimiter(1);
  EXPECT_GE(Calls(*limiter), 120);
  limiter->Before(cluster::CallLimiter::Clock::now() + std::chrono::seconds(30));  // 55 ms later
}

// A clock that was an hour ahead and is right now: nothing was asked for that hour.
TEST_F(ApiLimiterPgTest, ATimeThatIsStillToComeClosesNothing) {
  GivenCluster(1, "", 1200);
  auto limiter = ApiLimiter(1);
  EXPECT_GE(Calls(*limiter), 120);
  Sql("UPDATE api_load SET tokens = 0, filled_at = now() + interval '1 hour'");
  EXPECT_LT(limiter->WaitFor(1), 10);
  limiter->Before(cluster::CallLimiter::Clock::now() + std::chrono::seconds(30));
}

TEST_F(ApiLimiterPgTest, TheBreakerOpensForAllAndOnlyTheUpdatorTries) {
  GivenCluster(1, "site", 0);
  GivenCluster(2, "site", 0);
  auto updator = ApiLimiter(1), runner = ApiLimiter(2, Caller::kRunner),
       user = ApiLimiter(1, Caller::kApi);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Asked(*updator), "");
    updator->After(false, "connection refused");
  }
  std::optional<Why> why;
  const auto words = Asked(*updator, &why);
  EXPECT_EQ(why, Why::kUnreachable);
  EXPECT_NE(words.find("did not answer: connection refused"), std::string::npos) << words;
  EXPECT_NE(Asked(*runner), "") << "another cluster behind the same API";
  EXPECT_EQ(Asked(*user), "") << "an operator asks what is wrong";

  BreakerMayBeTried();
  EXPECT_NE(Asked(*runner), "") << "jobs are not what one tries with";
  EXPECT_EQ(Asked(*updator), "");
  auto second = ApiLimiter(2);
  EXPECT_NE(Asked(*second), "") << "one call tries, not one of each cluster";
  updator->After(false, "still refused");
  EXPECT_EQ(Sql("SELECT failures FROM api_load")[0][0].as<int>(), 4);

  BreakerMayBeTried();
  EXPECT_EQ(Asked(*updator), "");
  updator->After(true, "");
  EXPECT_EQ(Asked(*runner), "");
  EXPECT_EQ(Sql("SELECT half_open_limit FROM api_load")[0][0].as<int>(), 1) << "one job first";
}

// The call has been made: who was told that it failed for the database sent the same jobs again.
TEST_F(ApiLimiterPgTest, ACallThatCannotBeCountedHasBeenMadeAllTheSame) {
  GivenCluster(1, "", 0);
  auto limiter = ApiLimiter(1, Caller::kRunner);
  EXPECT_EQ(Asked(*limiter), "");
  Sql("ALTER TABLE api_load RENAME TO api_load_away");
  EXPECT_NO_THROW(limiter->After(false, "no answer"));
  Sql("ALTER TABLE api_load_away RENAME TO api_load");
}

TEST_F(ApiLimiterPgTest, TheBreakerStaysOpenLongerAndLonger) {
  EXPECT_EQ(BreakerOpenFor(2), 0);
  EXPECT_EQ(BreakerOpenFor(3), 2);
  EXPECT_EQ(BreakerOpenFor(5), 8);
  EXPECT_EQ(BreakerOpenFor(100), 300);
}

// N3 of CiGri 3: 1,000 jobs of a cluster that was away cost 25 s and two events each.
TEST_F(ApiLimiterPgTest, AnHoursOutageCostsAFewCallsHoweverOftenModulesAsk) {
  GivenCluster(1, "", 0);
  const auto modules = {ApiLimiter(1), ApiLimiter(1, Caller::kRunner),
                        ApiLimiter(1, Caller::kNikita)};
  constexpr int kStep = 5;  // seconds of the outage
  int calls = 0;
  for (int second = 0; second < 3600; second += kStep) {
    for (const auto& module : modules)
      if (Asked(*module).empty()) {
        ++calls;
        module->After(false, "connection refused");
      }
    Sql("UPDATE api_load SET open_until = open_until - " + std::to_string(kStep) +
        " * interval '1 second'");
  }
  EXPECT_GE(calls, 10) << "it is tried again and again";
  EXPECT_LE(calls, 25);
}

TEST_F(ApiLimiterPgTest, CallsAreCountedByClusterAndModule) {
  GivenCluster(1, "", 0);
  GivenCluster(2, "", 600);
  {
    auto updator = ApiLimiter(1), runner = ApiLimiter(1, Caller::kRunner), limited = ApiLimiter(2);
    for (int i = 0; i < 7; ++i) EXPECT_EQ(Asked(*updator), "");
    for (int i = 0; i < 2; ++i) EXPECT_EQ(Asked(*runner), "");
    for (int i = 0; i < 3; ++i) EXPECT_EQ(Asked(*limited), "");
  }
  const auto counted = [&](const std::string& where) {
    return Sql("SELECT coalesce(sum(n), 0) FROM api_calls WHERE " + where)[0][0].as<int>();
  };
  EXPECT_EQ(counted("cluster_id = 1 AND module = 'updator'"), 7);
  EXPECT_EQ(counted("cluster_id = 1 AND module = 'runner'"), 2);
  EXPECT_EQ(counted("cluster_id = 2"), 3);
}

}  // namespace
}  // namespace cigri::clusterdb
