// Requests that are repeated with their Idempotency-Key.
#include <future>
#include <set>

#include "tests/api/api_fixture.h"

namespace cigri::test {
namespace {

using nlohmann::json;

class OncePgTest : public ApiTest {
 protected:
  // The client has given up the first one, which goes on.
  void ExpectOneOf(int n, const std::string& path, const json& jdl, const std::string& key) {
    std::vector<std::future<Answer>> answers;
    for (int i = 0; i < n; ++i)
      answers.push_back(std::async(std::launch::async, [&] {
        return Ask("alice", "POST", path, jdl, {{"Idempotency-Key", key}});
      }));
    std::set<std::string> ids;
    for (auto& future : answers) {
      const auto answer = future.get();
      EXPECT_TRUE(answer.status == 200 || answer.status == 201) << answer.body;
      ids.insert(answer.body["id"].dump());
    }
    EXPECT_EQ(ids.size(), 1u);
  }
};

TEST_F(OncePgTest, ARequestThatIsRepeatedWithItsKeyIsCarriedOutOnce) {
  const json jdl{{"name", "x"},
                 {"exec_file", "./x"},
                 {"nb_jobs", 3},
                 {"clusters", {{"alpha", json::object()}}}};
  const auto post = [&](const std::string& user, const std::string& path, const json& body,
                        const std::string& key) {
    return Ask(user, "POST", path, body, {{"Idempotency-Key", key}});
  };
  const auto first = post("alice", "/campaigns", jdl, "k1");
  ASSERT_EQ(first.status, 201) << first.body;
  const auto again = post("alice", "/campaigns", jdl, "k1");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.body["id"], first.body["id"]);
  EXPECT_NE(post("alice", "/campaigns", jdl, "k2").body["id"], first.body["id"]);
  const auto other = post("bob", "/campaigns", jdl, "k1");
  EXPECT_EQ(other.status, 201) << "keys are each user's own";
  EXPECT_NE(other.body["id"], first.body["id"]);

  const auto id = Upload({"a", "b"});
  const json uploaded{
      {"name", "x"}, {"exec_file", "./x"}, {"clusters", {{"alpha", json::object()}}}};
  const std::string path = "/campaigns?upload=" + std::to_string(id);
  const auto of_upload = post("alice", path, uploaded, "k3");
  ASSERT_EQ(of_upload.status, 201) << of_upload.body;
  EXPECT_EQ(post("alice", path, uploaded, "k3").body["id"], of_upload.body["id"]);

  const std::string jobs = "/campaigns/" + of_upload.body["id"].dump() + "/jobs";
  EXPECT_EQ(post("alice", jobs, {"c"}, "k4").status, 201);
  const auto added = post("alice", jobs, {"c"}, "k4");
  EXPECT_EQ(added.status, 200);
  EXPECT_EQ(added.body["total_jobs"], 3);
  for (const auto& bad : {std::string("a b"), std::string(65, 'k')})
    EXPECT_EQ(post("alice", "/campaigns", jdl, bad).status, 400) << bad;
  EXPECT_EQ(One("SELECT count(*) FROM request_keys"), "5");

  const auto paths = Ask("alice", "GET", "/openapi.json").body["paths"];
  for (const char* route : {"/campaigns", "/campaigns/{id}/jobs"})
    EXPECT_NE(paths[route]["post"]["parameters"].dump().find("\"Idempotency-Key\""),
              std::string::npos)
        << route;
}

// It said "look before you repeat it" of all.
TEST_F(OncePgTest, AnAnswerThatIsInDoubtSaysWhetherToSendItAgain) {
  const json jdl{{"name", "x"},
                 {"exec_file", "./x"},
                 {"nb_jobs", 3},
                 {"clusters", {{"alpha", json::object()}}}};
  Sql("CREATE FUNCTION go_away() RETURNS trigger AS $$BEGIN PERFORM "
      "pg_terminate_backend(pg_backend_pid()); RETURN NULL; END$$ LANGUAGE plpgsql;"
      "CREATE CONSTRAINT TRIGGER go_away AFTER INSERT ON campaigns DEFERRABLE INITIALLY DEFERRED"
      " FOR EACH ROW EXECUTE FUNCTION go_away()");
  const auto plain = Ask("alice", "POST", "/campaigns", jdl);
  EXPECT_EQ(plain.status, 503);
  EXPECT_EQ(plain.body["in_doubt"], true);
  EXPECT_EQ(plain.body["hint"], "look before you repeat it");
  const auto keyed = Ask("alice", "POST", "/campaigns", jdl, {{"Idempotency-Key", "k1"}});
  EXPECT_EQ(keyed.status, 503);
  EXPECT_EQ(keyed.body["in_doubt"], true);
  EXPECT_EQ(keyed.body["hint"],
            "send it again with the same Idempotency-Key: it is carried out once");
  Sql("DROP TRIGGER go_away ON campaigns");
  EXPECT_EQ(Ask("alice", "POST", "/campaigns", jdl, {{"Idempotency-Key", "k1"}}).status, 201);
}

TEST_F(OncePgTest, RequestsWithOneKeyAtOnceAreOne) {
  json jdl{{"name", "x"}, {"exec_file", "./x"}, {"clusters", {{"alpha", json::object()}}}};
  ExpectOneOf(6, "/campaigns?upload=" + std::to_string(Upload({"a", "b"})), jdl, "k1");
  jdl["nb_jobs"] = 3;
  ExpectOneOf(6, "/campaigns", jdl, "k2");
  EXPECT_EQ(One("SELECT count(*) FROM campaigns"), "2");
}

}  // namespace
}  // namespace cigri::test
