// A cluster's row: how it begins, and what it says that the cluster can do.
#include "clusterdb/clusterdb.h"
#include "tests/support/pg.h"

namespace cigri::clusterdb {
namespace {

class ClustersPgTest : public test::PgTest {
 protected:
  void SetUp() override {
    PgTest::SetUp();
    db_ = Connect();
  }
  void TearDown() override {
    db_.reset();
    PgTest::TearDown();
  }
  std::optional<std::int64_t> Add(const std::string& kind, const std::string& name) {
    db::Tx tx(*db_);
    const auto id = AddCluster(tx, *cluster::FindDriver(kind), name, "http://127.0.0.1:1");
    tx.Commit();
    return id;
  }
  std::string Row(const std::string& name) {
    const auto row =
        Sql("SELECT mode, change_feed, exact_walltime, dedicated, time_resolution_s "
            "FROM clusters WHERE name = '" +
            name + "'")[0];
    std::string text;
    for (const auto& field : row) text += std::string(field.c_str()) + " ";
    return text;
  }

 private:
  std::unique_ptr<db::Connection> db_;
};

TEST_F(ClustersPgTest, ARemoteClusterBeginsObservedAndALocalOneOpen) {
  EXPECT_TRUE(Add("local", "alpha"));
  EXPECT_EQ(Row("alpha"), "unlimited t t t 0 ");
  for (const char* kind : {"oar2", "oar3", "slurm"}) {
    EXPECT_TRUE(Add(kind, kind));
    EXPECT_EQ(Row(kind), "observe f f f 1 ") << kind;
  }
}

TEST_F(ClustersPgTest, TheDatabaseKnowsWhereTasksMayShareAJobAndWhoReadsWhatItWrites) {
  for (const char* kind : {"oar2", "slurm"}) Add(kind, kind);
  const auto rows = Sql("SELECT groups, gives_files FROM clusters ORDER BY name");
  EXPECT_TRUE(rows[0][0].as<bool>() && rows[0][1].as<bool>());
  EXPECT_TRUE(rows[1][0].as<bool>());
  EXPECT_FALSE(rows[1][1].as<bool>());
}

TEST_F(ClustersPgTest, ANameIsGivenOnce) {
  EXPECT_TRUE(Add("local", "alpha"));
  EXPECT_FALSE(Add("oar2", "alpha"));
  EXPECT_EQ(Row("alpha"), "unlimited t t t 0 ");
}

TEST_F(ClustersPgTest, WhatAnotherVersionHasWrittenIsCorrected) {
  Add("local", "alpha");
  Sql("UPDATE clusters SET change_feed = false, time_resolution_s = 7, mode = 'observe'");
  auto db = Connect();
  db::Tx tx(*db);
  StoreCapabilities(tx);
  tx.Commit();
  EXPECT_EQ(Row("alpha"), "observe t t t 0 ") << "the mode is its operator's";
}

TEST_F(ClustersPgTest, AClusterWithAChangeFeedIsPolledWithoutAPause) {
  Add("local", "alpha");
  Add("oar2", "froggy");
  auto db = Connect();
  db::Tx tx(*db);
  const auto rows = LoadClusters(tx);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].min_cycle_s, 0);
  EXPECT_EQ(rows[1].min_cycle_s, 5);
}

TEST_F(ClustersPgTest, AKindIsAWord) {
  EXPECT_THROW(Sql("INSERT INTO clusters (name, kind, api_url) VALUES ('x', '', 'http://x')"),
               pqxx::check_violation);
}

}  // namespace
}  // namespace cigri::clusterdb
