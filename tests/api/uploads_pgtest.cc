// Ten million parameters in numbered, repeatable blocks.
#include <sql/parameters.h>

#include <future>
#include <random>

#include "tests/api/api_fixture.h"
#include "tests/support/await.h"

namespace cigri::test {
namespace {

using nlohmann::json;

class UploadsPgTest : public ApiTest {
 protected:
  Answer Put(std::int64_t id, int block, const std::string& text,
             const std::string& user = "alice") {
    return Ask(user, "PUT", "/uploads/" + std::to_string(id) + "/blocks/" + std::to_string(block),
               text, {}, "text/plain");
  }
  std::int64_t Open() { return Ask("alice", "POST", "/uploads").body["id"]; }
};

std::string Block(int first, int n) {
  std::vector<std::string> lines;
  for (int i = 0; i < n; ++i) lines.push_back("p" + std::to_string(first + i));
  return jdl::EncodeBlock(lines);
}

TEST_F(UploadsPgTest, BlocksMayBeRepeatedButNotSkippedOrChanged) {
  const auto id = Open();
  EXPECT_EQ(Put(id, 0, Block(0, 1000)).body, (json{{"blocks", 1}, {"lines", 1000}}));
  EXPECT_EQ(Put(id, 1, Block(1000, 1000)).body, (json{{"blocks", 2}, {"lines", 2000}}));
  EXPECT_EQ(Put(id, 1, Block(1000, 1000)).body, (json{{"blocks", 2}, {"lines", 2000}}))
      << "repeated";
  const auto skipped = Put(id, 3, Block(3000, 10));
  EXPECT_EQ(skipped.status, 409);
  EXPECT_EQ(skipped.body["next"], 2);
  EXPECT_EQ(Put(id, 0, Block(7, 1000)).status, 409) << "another content";
  EXPECT_EQ(Put(id, 2, Block(2000, 5)).body["lines"], 2005);
  const auto campaign = Submit(json::object(), "?upload=" + std::to_string(id));
  EXPECT_EQ(One("SELECT n || ' ' || upload_id FROM segments WHERE campaign_id = " +
                std::to_string(campaign)),
            "2005 " + std::to_string(id));
  EXPECT_EQ(Ask("alice", "GET", "/uploads/" + std::to_string(id)).body["published"], true);
}

TEST_F(UploadsPgTest, AnUploadIsUsedOnceByItsOwner) {
  const auto id = Upload({"a", "b"});
  EXPECT_EQ(Put(id, 1, Block(0, 1), "bob").status, 403);
  EXPECT_EQ(Ask("bob", "GET", "/uploads/" + std::to_string(id)).status, 403);
  const json jdl{{"name", "x"}, {"exec_file", "./x"}, {"clusters", {{"alpha", json::object()}}}};
  EXPECT_EQ(Ask("bob", "POST", "/campaigns?upload=" + std::to_string(id), jdl).status, 403);
  const auto first = Ask("alice", "POST", "/campaigns?upload=" + std::to_string(id), jdl);
  ASSERT_EQ(first.status, 201) << first.body;
  const auto user_requeues = Ask("alice", "POST", "/campaigns?upload=" + std::to_string(id), jdl);
  EXPECT_EQ(user_requeues.status, 409);
  EXPECT_EQ(user_requeues.body["campaign"], first.body["id"]) << "a lost answer can be found again";
  EXPECT_EQ(Put(id, 1, Block(0, 1)).status, 409) << "immutable from now on";
  EXPECT_EQ(Ask("alice", "POST", "/campaigns?upload=9999", jdl).status, 404);
  EXPECT_EQ(Ask("alice", "POST", "/campaigns?upload=" + std::to_string(Open()), jdl).status, 400)
      << "empty";
}

// nikita removes so many blocks a minute: what was left could be submitted, and its tasks ran with
// their numbers as parameters.
TEST_F(UploadsPgTest, AnUploadIsNoneFromTheFirstBlockOnThatIsRemoved) {
  const auto id = Open();
  for (int k = 0; k < 3; ++k) ASSERT_EQ(Put(id, k, Block(1000 * k, 1000)).status, 200);
  const std::string path = "/uploads/" + std::to_string(id);
  const json jdl{{"name", "x"}, {"exec_file", "./x"}, {"clusters", {{"alpha", json::object()}}}};
  Sql("UPDATE uploads SET touched_at = now() - interval '2 days'");
  auto nikita = Connect("nikita");
  db::Tx removing(*nikita);
  removing.Exec(sql::kDropStaleUploadBlocks, 86400.0, 1);
  auto submitted = std::async(std::launch::async, [&] {
    return Ask("alice", "POST", "/campaigns?upload=" + std::to_string(id), jdl);
  });
  ASSERT_TRUE(Await([&] {
    return One("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
               "application_name = 'cigri api'") != "0";
  }));
  removing.Commit();
  const auto answer = submitted.get();
  EXPECT_EQ(answer.status, 410) << answer.body;
  EXPECT_NE(answer.body["message"].get<std::string>().find("is being removed"), std::string::npos)
      << answer.body;
  EXPECT_EQ(Put(id, 3, Block(3000, 10)).status, 410);
  EXPECT_EQ(Put(id, 0, Block(0, 1000)).status, 410) << "repeated";
  EXPECT_EQ(One("SELECT count(*) FROM campaigns"), "0");
  EXPECT_EQ(Ask("alice", "DELETE", path).status, 202);
  EXPECT_EQ(One("SELECT count(*) FROM params_chunk"), "0");
}

TEST_F(UploadsPgTest, BadBlocksAreRefusedWithTheLine) {
  const auto id = Open();
  EXPECT_EQ(Put(id, 0, std::string("a\nb\0c\n", 6)).status, 400);
  const auto longer = Put(id, 0, jdl::EncodeBlock({"a", std::string(100'001, 'x')}));
  EXPECT_EQ(longer.status, 400);
  EXPECT_NE(longer.body["message"].get<std::string>().find("2"), std::string::npos) << longer.body;
  EXPECT_EQ(Put(id, 0, Block(0, 1001)).status, 400);
  EXPECT_EQ(Put(id, 0, "").status, 400);
  EXPECT_EQ(Put(id, 0, "no newline").status, 400);
  const auto miscounted = Ask("alice", "PUT", "/uploads/" + std::to_string(id) + "/blocks/0",
                              Block(0, 3), {{"X-Cigri-Lines", "4"}}, "text/plain");
  EXPECT_EQ(miscounted.status, 400);
  EXPECT_EQ(One("SELECT count(*) FROM params_chunk"), "0");
}

// Issue 3: refused at submission with the cluster, its limit and the parameter, and nothing is
// kept.
TEST_F(UploadsPgTest, WhatAClusterCannotTakeIsRefusedAtSubmission) {
  Sql("UPDATE clusters SET kind = 'slurm', api_url = 'http://127.0.0.1:1' WHERE name = 'alpha'");
  Sql("UPDATE clusters SET kind = 'oar2', api_url = 'http://127.0.0.1:1' WHERE name = 'beta'");
  const auto jdl = [](const std::string& cluster, const std::string& program) {
    return json{{"name", "x"}, {"exec_file", program}, {"clusters", {{cluster, json::object()}}}};
  };
  const auto submit = [&](const json& campaign, std::int64_t upload) {
    return Ask("alice", "POST", "/campaigns?upload=" + std::to_string(upload), campaign);
  };
  std::mt19937 random(7);  // what can be compressed would pass through OAR
  const auto letters = [&](int n) {
    std::string text;
    while (n-- > 0) text += static_cast<char>('A' + random() % 58);
    return text;
  };
  const std::string longest = letters(90'000);
  const auto upload = Upload({"a", "b", longest, "c"});

  const auto slurm = submit(jdl("alpha", "./p" + letters(60'000)), upload);
  EXPECT_EQ(slurm.status, 400);
  EXPECT_EQ(slurm.body["parameter"], 3) << slurm.body;
  EXPECT_NE(slurm.body["message"].get<std::string>().find(
                "cluster alpha takes commands of at most 131000 bytes"),
            std::string::npos)
      << slurm.body;
  const auto oar = submit(jdl("beta", "./p" + letters(60'000)), upload);
  EXPECT_EQ(oar.status, 400) << oar.body;
  EXPECT_EQ(oar.body["parameter"], 3) << oar.body;
  const auto later = Upload(std::vector<std::string>(1000, "a"));
  Put(later, 1, jdl::EncodeBlock({"a", longest, "b"}));
  const auto second = submit(jdl("alpha", "./p" + letters(60'000)), later);
  EXPECT_EQ(second.status, 400) << "in any block";
  EXPECT_EQ(second.body["parameter"], 1002) << second.body;
  auto memory = jdl("beta", "./p");
  memory["mem"] = "1G";
  const auto whole = submit(memory, Upload({"a"}));
  EXPECT_EQ(whole.status, 400);
  EXPECT_NE(whole.body["message"].get<std::string>().find("mem_property"), std::string::npos)
      << whole.body;
  EXPECT_EQ(One("SELECT count(*) FROM campaigns"), "0");

  // The same parameters where they can be taken; then one more that cannot.
  const auto good = submit(jdl("alpha", "./p"), upload);
  ASSERT_EQ(good.status, 201) << good.body;
  const auto changed =
      Ask("alice", "PATCH", "/campaigns/" + std::to_string(good.body["id"].get<int>()),
          json{{"set", {{"exec_file", "./p" + std::string(140'000, 'y')}}}});
  EXPECT_EQ(changed.status, 400) << changed.body;
}

TEST_F(UploadsPgTest, ValuesThatAreNoneAreFoundAtSubmission) {
  const json jdl{
      {"name", "x"}, {"exec_file", "./x {b}"}, {"clusters", {{"alpha", json::object()}}}};
  const auto bad = Upload({"[\"1\",\"2\"]", "[\"1\"]"});
  const auto a = Ask("alice", "POST",
                     "/campaigns?format=values&columns=a,b&upload=" + std::to_string(bad), jdl);
  EXPECT_EQ(a.status, 400);
  EXPECT_EQ(a.body["message"], "parameter 2: it has 1 value for 2 columns");
  EXPECT_EQ(a.body["parameter"], 2) << "for a client that knows its line";
  EXPECT_EQ(a.body["problem"], "it has 1 value for 2 columns");
  std::vector<std::string> many(1000, R"(["1","2"])");
  const auto upload = Upload(many);
  Put(upload, 1, jdl::EncodeBlock(many));
  many[222] = R"(["1",2])";
  Put(upload, 2, jdl::EncodeBlock(many));
  const auto late =
      Ask("alice", "POST", "/campaigns?format=values&columns=a,b&upload=" + std::to_string(upload),
          jdl);
  EXPECT_EQ(late.status, 400) << "in any block";
  EXPECT_NE(late.body["message"].get<std::string>().find("parameter 2223"), std::string::npos);
  EXPECT_EQ(One("SELECT count(*) FROM campaigns"), "0");
  const auto good = Upload({"[\"1\",\"it's\"]"});
  const auto b =
      Ask("alice", "POST",
          "/campaigns?dry_run=1&format=values&columns=a,b&upload=" + std::to_string(good), jdl);
  ASSERT_EQ(b.status, 200) << b.body;
  EXPECT_EQ(b.body["commands"][0], "./x 'it'\\''s'");
  EXPECT_EQ(One("SELECT count(*) FROM uploads WHERE published"), "0")
      << "a dry run uses nothing up";
}

TEST_F(UploadsPgTest, RowsThatAreAddedMustFitTheCampaign) {
  const auto campaign =
      Ask("alice", "POST",
          "/campaigns?format=values&columns=a,b&upload=" + std::to_string(Upload({R"(["1","2"])"})),
          json{{"name", "x"}, {"exec_file", "./x {b}"}, {"clusters", {{"alpha", json::object()}}}});
  ASSERT_EQ(campaign.status, 201) << campaign.body;
  const std::string path =
      "/campaigns/" + std::to_string(campaign.body["id"].get<int>()) + "/jobs?";
  const auto bad =
      Ask("alice", "POST", path + "upload=" + std::to_string(Upload({R"(["3","4"])", "5"})));
  EXPECT_EQ(bad.status, 400);
  EXPECT_NE(bad.body["message"].get<std::string>().find("parameter 2"), std::string::npos)
      << bad.body;
  const std::string good = "upload=" + std::to_string(Upload({R"(["3","4"])"}));
  EXPECT_EQ(Ask("alice", "POST", path + good + "&columns=b,a").status, 400) << "in another order";
  EXPECT_EQ(Ask("alice", "POST", path + good + "&columns=a,b").status, 201);
  EXPECT_EQ(One("SELECT nb_params FROM campaigns"), "2");
}

TEST_F(UploadsPgTest, AUploadCanBeDropped) {
  const auto id = Upload({"a"});
  EXPECT_EQ(Ask("bob", "DELETE", "/uploads/" + std::to_string(id)).status, 403);
  EXPECT_EQ(Ask("alice", "DELETE", "/uploads/" + std::to_string(id)).status, 202);
  EXPECT_EQ(One("SELECT count(*) FROM params_chunk"), "0");
}

}  // namespace
}  // namespace cigri::test
