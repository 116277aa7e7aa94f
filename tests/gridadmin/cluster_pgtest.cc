// Clusters: tested before they are saved, secrets sealed, changes checked.
#include <stdexcept>

#include "secrets/secrets.h"
#include "tests/gridadmin/grid.h"

namespace cigri::test {
namespace {

using nlohmann::json;
using Verdict = cluster::CheckItem::Verdict;

class ClusterPgTest : public GridadminPgTest {
 protected:
  void SetUp() override {
    GridadminPgTest::SetUp();
    context_->make_cluster = [this](const clusterdb::ClusterRow& row) {
      const auto& config = seen_ = row.config;
      const auto verdict =
          config.kind == real_kind_ && (real_auth_.empty() || config.auth_type == real_auth_)
              ? Verdict::kOk
              : Verdict::kFail;
      return std::make_unique<CheckedCluster>(
          std::vector<cluster::CheckItem>{{"reachable", Verdict::kOk, "0.01 s"},
                                          {"authorised", verdict, "as " + config.auth_user}});
    };
  }
  cluster::ClusterConfig seen_;  // what the driver was given last
  std::string real_kind_ = cluster::ClusterKinds().front(), real_auth_;
};

TEST_F(ClusterPgTest, AClusterIsTestedWithTheRowThatIsSavedAndItsPasswordIsSealed) {
  const std::string password = Written("password", "hunter2\n");
  const Ran added = Admin("cluster add froggy --kind " + real_kind_ +
                          " --url http://froggy/api --auth basic --user grid --password-file " +
                          password + " --set power=120 option.max_walltime=7200");
  ASSERT_EQ(added.code, 0) << added.err;
  EXPECT_EQ(seen_.auth_password, "hunter2");
  EXPECT_EQ(seen_.options["max_walltime"], 7200);
  const std::string stored = One("SELECT api_password FROM clusters WHERE name = 'froggy'");
  EXPECT_TRUE(SecretBox::IsEncrypted(stored)) << stored;
  EXPECT_EQ(SecretBox(File("secret.key")).Decrypt(stored), "hunter2");
  const std::string shown = Admin("--json cluster show froggy").out +
                            Admin("cluster show froggy").out + Admin("--json cluster list").out +
                            added.out + added.err;
  EXPECT_FALSE(Has(shown, "hunter2") || Has(shown, stored)) << shown;
  EXPECT_EQ(json::parse(Admin("--json cluster show froggy").out)["power"], 120);
}

TEST_F(ClusterPgTest, AClusterWhoseCheckFailsIsNotSavedUnlessAsked) {
  real_kind_ = "none";
  const std::string words =
      "cluster add x --kind " + cluster::ClusterKinds().front() + " --url http://x/api";
  const Ran refused = Admin(words);
  EXPECT_EQ(refused.code, 65);
  EXPECT_TRUE(Has(refused.out, "fail") && Has(refused.out, "authorised")) << refused.out;
  EXPECT_TRUE(Has(refused.err, "was not saved")) << refused.err;
  EXPECT_EQ(One("SELECT count(*) FROM clusters"), "0");
  EXPECT_EQ(Admin(words + " --no-check").code, 0);
  EXPECT_EQ(Admin("cluster check x").code, 1);
  EXPECT_EQ(Admin(words + " --no-check").code, 1);  // the name is taken
}

TEST_F(ClusterPgTest, TheKindIsFoundOut) {
  real_kind_ = cluster::ClusterKinds().back();
  ASSERT_EQ(Admin("cluster add y --url http://y/api").code, 0);
  EXPECT_EQ(One("SELECT kind FROM clusters WHERE name = 'y'"), real_kind_);
  real_kind_ = "none";
  const Ran none = Admin("cluster add z --url http://z/api");
  EXPECT_EQ(none.code, 65);
  EXPECT_TRUE(Has(none.err, "cannot find out what kind of cluster is at http://z/api")) << none.err;
  EXPECT_EQ(Admin("cluster add z").code, 64);  // no terminal to ask for the URL
}

TEST_F(ClusterPgTest, HowWeAreKnownThereIsFoundOutUnlessItIsSaid) {
  real_kind_ = "oar2";
  real_auth_ = "header";
  ASSERT_EQ(Admin("cluster add y --url http://y/api").code, 0);
  EXPECT_EQ(One("SELECT kind || ' ' || api_auth_type FROM clusters"), "oar2 header");
  EXPECT_EQ(Admin("cluster add z --url http://z/api --kind oar2 --auth none").code, 65);
  real_kind_ = "slurm";
  real_auth_ = "jwt";
  ASSERT_EQ(Admin("cluster add z --url http://z/api --set 'token_command=make %u'").code, 0);
  EXPECT_EQ(One("SELECT kind || ' ' || api_auth_type FROM clusters WHERE name = 'z'"), "slurm jwt");
}

TEST_F(ClusterPgTest, SettingsAreCheckedWhole) {
  GivenCluster("c1");
  EXPECT_EQ(Admin("cluster limited c1 5").code, 0);
  EXPECT_EQ(One("SELECT mode::text || mode_limit FROM clusters"), "limited5");
  EXPECT_EQ(Admin("cluster unlimited c1").code, 0);
  EXPECT_EQ(Admin("cluster disable c1").code, 0);
  EXPECT_EQ(One("SELECT mode::text || ' ' || enabled FROM clusters"), "unlimited false");
  EXPECT_EQ(Admin("cluster set c1 hours=20-8 max_running=7 option.page=1 option.shell=x").code, 0);
  EXPECT_EQ(Admin("cluster set c1 max_running= option.page=").code, 0);
  EXPECT_EQ(One("SELECT hours || (max_running IS NULL) || options::text FROM clusters"),
            "20-8true{\"shell\": \"x\"}");
  const Ran slip = Admin("cluster set c1 max_runing=7");
  EXPECT_EQ(slip.code, 65);
  EXPECT_TRUE(Has(slip.err, "did you mean \"max_running\"?")) << slip.err;
  for (const char* wrong :
       {"max_running=many", "power=-3", "mode=wild", "job_ratio=fast", "id=7", "drained=true",
        "power=", "stress_limit=", "properties=", "queue_s=", "enabled=maybe", "enabled="})
    EXPECT_EQ(Admin(std::string("cluster set c1 power=90 ") + wrong).code, 65) << wrong;
  // A number that is none made statements for all clusters fail.
  for (const auto& [wrong, said] : std::map<std::string, std::string>{
           {"option.start_limit_s=10m", "start_limit_s is a number from 1 on, not \"10m\""},
           {"option.max_walltime=abc", "max_walltime is a number"},
           {"option.max_waltime=3600", "did you mean max_walltime?"},
           {"option.records=no", "records is true or false"},
           {"enabled=maybe", "enabled cannot be \"maybe\""},
           {"queue_s=", "queue_s cannot be empty"}}) {
    const Ran ran = Admin("cluster set c1 " + wrong);
    EXPECT_EQ(ran.code, 65) << wrong;
    EXPECT_TRUE(Has(ran.err, said)) << wrong << ": " << ran.err;
  }
  EXPECT_EQ(One("SELECT power FROM clusters"), "100");
  EXPECT_EQ(Admin("cluster set nosuch power=90").code, 1);
  EXPECT_EQ(Admin("cluster limited c1 0").code, 64);
}

TEST_F(ClusterPgTest, OneWithHistoryStaysAndALostOneIsMarked) {
  GivenCluster("c1");
  GivenCluster("c2");
  Sql("INSERT INTO campaigns (grid_user, name, nb_params, first_task_id, jdl) VALUES ('a', 'a', 1, "
      "1, '{}')");
  Sql("INSERT INTO campaign_clusters (campaign_id, cluster_id, exec_file, resources, walltime_s, "
      "cluster_login) "
      "VALUES (1, 1, 'true', '/core=1', 60, 'a')");
  const Ran kept = Admin("cluster remove c1");
  EXPECT_EQ(kept.code, 1);
  EXPECT_TRUE(Has(kept.err, "HINT: `gridadmin cluster disable c1`")) << kept.err;
  EXPECT_EQ(Admin("cluster remove c2").code, 0);
  EXPECT_EQ(Admin("cluster lost c1").code, 64);  // nobody to ask
  EXPECT_EQ(One("SELECT lost_at FROM clusters"), "");
  EXPECT_EQ(Admin("cluster lost c1 --yes").code, 0);
  EXPECT_NE(One("SELECT lost_at FROM clusters"), "");
}

}  // namespace
}  // namespace cigri::test
