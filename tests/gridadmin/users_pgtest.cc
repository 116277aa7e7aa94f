// Affinities, mappings, operators, tokens, who may use any of this, and the conservation of tasks.
#include "secrets/secrets.h"
#include "tests/gridadmin/grid.h"

namespace cigri::test {
namespace {

using UsersPgTest = GridadminPgTest;

TEST_F(UsersPgTest, AffinitiesAndMappingsAreSetChangedAndRemoved) {
  GivenCluster("c1");
  EXPECT_EQ(Admin("affinity set alice c1 5").code, 0);
  EXPECT_EQ(Admin("affinity set alice c1 -- -2").code, 0);
  EXPECT_EQ(One("SELECT grid_user || priority FROM users_priority"), "alice-2");
  EXPECT_EQ(Admin("affinity set alice nosuch 5").code, 1);
  EXPECT_EQ(Admin("mapping set alice c1 al1ce").code, 0);
  EXPECT_TRUE(Has(Admin("mapping list").out, "al1ce"));
  EXPECT_EQ(Admin("affinity remove alice c1").code, 0);
  EXPECT_EQ(Admin("mapping remove alice c1").code, 0);
  EXPECT_EQ(Admin("mapping remove alice c1").code, 1);
  EXPECT_EQ(Admin("mapping list").out, "none\n");
}

TEST_F(UsersPgTest, MembersAreAddedListedAndRemoved) {
  EXPECT_EQ(Admin("member list").out, "none\n");
  EXPECT_EQ(Admin("member add bob project physics").code, 0);
  EXPECT_EQ(Admin("member add bob project physics").code, 0) << "again";
  EXPECT_EQ(Admin("member add '*' class short").code, 0);
  EXPECT_EQ(Admin("member add bob team a").code, 65);
  const std::string listed = Admin("member list").out;
  EXPECT_TRUE(Has(listed, "physics") && Has(listed, "bob") && Has(listed, "*")) << listed;
  EXPECT_EQ(Admin("member remove bob project physics").code, 0);
  EXPECT_EQ(Admin("member remove bob project physics").code, 1);
}

TEST_F(UsersPgTest, ARotatedTokenIsGoodUntilItsUserHasTheNewOne) {
  Admin("token add bob --days 30");
  const Ran made = Admin("token rotate 1 --keep 2");
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(One("SELECT hash FROM api_tokens WHERE id = 2"), HashToken(std::string(Trim(made.out))));
  EXPECT_EQ(One("SELECT grid_user FROM api_tokens WHERE id = 2"), "bob");
  EXPECT_EQ(One("SELECT expires_at BETWEEN now() + interval '1 hour' AND now() + interval '2 hours'"
                " FROM api_tokens WHERE id = 1"),
            "t");
  // The successor of a token that expired was once good for ever.
  const auto lasts = [&](const std::string& id) {
    return One("SELECT round(extract(epoch FROM expires_at - created_at) / 86400) FROM api_tokens "
               "WHERE id = " + id);
  };
  EXPECT_EQ(lasts("2"), "30");
  EXPECT_EQ(Admin("token rotate 1 --keep 9000").code, 64);
  EXPECT_EQ(Admin("token rotate 1").code, 0) << "the old one is good for hours";
  EXPECT_EQ(lasts("3"), "30") << "what it was made for, not what is left of it";
  EXPECT_EQ(Admin("token rotate 3 --days 7").code, 0);
  EXPECT_EQ(lasts("4"), "7");
  EXPECT_EQ(Admin("token rotate 2 --keep 0").code, 0);
  EXPECT_EQ(Admin("token rotate 2").code, 1) << "it is good no more";
}

TEST_F(UsersPgTest, ATokenIsShownOnceAndStoredAsItsHash) {
  const Ran made = Admin("token add bob --days 30");
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string token = made.out.substr(0, made.out.size() - 1);
  EXPECT_EQ(One("SELECT hash FROM api_tokens"), HashToken(token));
  const std::string listed = Admin("token list").out + Admin("--json token list").out;
  EXPECT_TRUE(Has(listed, ShownPart(token)));
  EXPECT_FALSE(Has(listed, token) || Has(listed, HashToken(token))) << listed;
  EXPECT_EQ(Admin("token revoke 1").code, 0);
  EXPECT_EQ(Admin("token revoke 1").code, 1);
  EXPECT_EQ(Admin("token list").out, "none\n");
}

TEST_F(UsersPgTest, LimitsAreShownAsATable) {
  const Ran shown = Admin("limits");
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(Has(shown.out, "long-polls")) << shown.out;
  EXPECT_TRUE(Has(shown.out, "BEYOND IT")) << shown.out;
}

TEST_F(UsersPgTest, TheAuditShowsWhoChangedWhatFromWhere) {
  GivenCluster("c1");
  Admin("cluster set c1 power=50 hours=20-8");
  Admin("operator add olga");
  const Ran shown = Admin("audit -s cluster --since 1h");
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(Has(shown.out, "hours 20-8, power 100 -> 50")) << shown.out;
  EXPECT_TRUE(Has(shown.out, "unix socket, uid ")) << shown.out;
  EXPECT_FALSE(Has(shown.out, "olga")) << shown.out;
  EXPECT_TRUE(Has(Admin("audit -a added").out, "operator olga"));
  EXPECT_EQ(Admin("audit --since 2030-01-01").out, "none\n");
  EXPECT_EQ(Admin("audit --since tuesday").code, 64);
}

TEST_F(UsersPgTest, OnlyOperatorsMayOperate) {
  const int port = server_->ListenTcp("127.0.0.1:0");
  const std::string there = "CIGRI_API=http://127.0.0.1:" + std::to_string(port) + " CIGRI_TOKEN=";
  const std::string bob{Trim(Admin("token add bob").out)};
  const std::string carol{Trim(Admin("token add carol").out)};
  Admin("operator add carol");
  EXPECT_EQ(Admin("rule list", there + bob).code, 77);
  EXPECT_EQ(Admin("drain all --reason x", there + bob).code, 77);
  EXPECT_EQ(Admin("rule list", there + "nonsense").code, 77);
  EXPECT_EQ(Admin("rule list", there + carol).code, 0);
  EXPECT_TRUE(Has(Admin("operator list").out, "carol"));
  EXPECT_EQ(Admin("operator remove carol").code, 0);
  EXPECT_EQ(Admin("operator remove carol").code, 1);
}

TEST_F(UsersPgTest, WrongUseAndAMissingApiAreDistinguished) {
  EXPECT_EQ(Admin("").code, 64);
  EXPECT_EQ(Admin("rule").code, 64);
  EXPECT_EQ(Admin("rule mode r wild").code, 64);
  EXPECT_EQ(Admin("--help").code, 0);
  const Ran away = Admin("rule list", "CIGRI_API=unix:/nowhere/api.sock");
  EXPECT_EQ(away.code, 69);
  EXPECT_TRUE(Has(away.err, "HINT: ")) << away.err;
}

class ConservationPgTest : public GridadminPgTest {
 protected:
  // 10 tasks: 4 waiting, 1 in retry, 1 about to be sent, 1 live (and a replica of a done one), 1 in
  // needs_attention, 2 done.
  void SetUp() override {
    GridadminPgTest::SetUp();
    GivenCluster("c1");
    Sql("INSERT INTO campaign_cursor VALUES (1, 10, 6)");
    Sql("INSERT INTO retry (campaign_id, idx, why) VALUES (1, 0, 'lost')");
    Sql("INSERT INTO batches (first_job_id, kind, campaign_id, cluster_id, n, first_idx, slots, "
        "tag, epoch, "
        "send_by) VALUES (1, 'task', 1, 1, 1, 1, 1, 't', 0, now())");
    Live(2, 2);
    Live(3, 4);
    Sql("INSERT INTO needs_attention (campaign_id, idx, job_id) VALUES (1, 3, 9)");
    Done(4);
    Done(5);
    Sql("INSERT INTO counters (campaign_id, cluster_id, kind, state, writer, n) VALUES "
        "(1, 1, 'task', 'launching', 'runner', 3), (1, 1, 'task', 'launching', 'updator', -2), "
        "(1, 1, 'task', 'submitted', 'runner', 2)");
  }
  void Live(int job, int idx) {
    Sql("INSERT INTO live (job_id, campaign_id, idx, kind, batch_id, element, cluster_id, "
        "remote_id, attempt, "
        "slots) VALUES (" +
        std::to_string(job) + ", 1, " + std::to_string(idx) + ", 'task', 1, 0, 1, 'r', 1, 1)");
  }
  void Done(int idx) {
    Sql("INSERT INTO done (job_id, campaign_id, idx, batch_id, cluster_id, attempt, kind, counted, "
        "state, exit_class, slots, submitted_at, remote_id) VALUES (1, 1, " +
        std::to_string(idx) + ", 1, 1, 1, 'task', true, 'terminated', 'none', 1, now(), 'r')");
  }
};

TEST_F(ConservationPgTest, AKeptConservationIsSaid) {
  const Ran kept = Admin("check");
  EXPECT_EQ(kept.code, 0) << kept.out << kept.err;
  EXPECT_EQ(kept.out, "1 campaign checked: every task is in exactly one place\n");
}

TEST_F(ConservationPgTest, EveryWayOfBreakingItIsFound) {
  const std::pair<const char*, const char*> cases[] = {
      {"DELETE FROM live WHERE idx = 2", "in flight 1"},  // a task lost
      {"DELETE FROM retry", "retry 0"},
      {"UPDATE campaign_cursor SET next_idx = 7", "waiting 3"},
      // The sums are right, but one task is in two places and another in none.
      {"UPDATE retry SET idx = 3", "1 in two places"},
      {"UPDATE retry SET idx = 5", "1 in two places"},
      {"UPDATE needs_attention SET idx = 8", "1 never handed out"},
      {"UPDATE counters SET n = n + 1 WHERE state = 'submitted'",
       "the counters say 3 submitted, there are 2"},
  };
  for (const auto& [damage, says] : cases) {
    Sql("CREATE TABLE IF NOT EXISTS undo_retry AS TABLE retry");
    Sql("CREATE TABLE IF NOT EXISTS undo_live AS TABLE live");
    Sql("CREATE TABLE IF NOT EXISTS undo_needs_attention AS TABLE needs_attention");
    Sql("CREATE TABLE IF NOT EXISTS undo_counters AS TABLE counters");
    Sql(damage);
    const Ran broken = Admin("check -c 1");
    EXPECT_EQ(broken.code, 1) << damage;
    EXPECT_TRUE(Has(broken.out, says)) << damage << ": " << broken.out << broken.err;
    for (const std::string table : {"retry", "live", "needs_attention", "counters"})
      Sql("TRUNCATE " + table + "; INSERT INTO " + table + " SELECT * FROM undo_" + table);
    Sql("UPDATE campaign_cursor SET next_idx = 6");
  }
  EXPECT_EQ(Admin("check").code, 0);
}

}  // namespace
}  // namespace cigri::test
