// The table of changes: whatever route changes something, by whomever, is in it; and nothing takes
// a row out of it again.
#include <gmock/gmock.h>

#include <set>

#include "db/native.h"
#include "tests/api/api_fixture.h"

namespace cigri::test {
namespace {

using nlohmann::json;

// Routes that change nothing which outlives them, and why they need no row.
const std::map<std::string, const char*> kNothingToAudit = {
    {"POST /uploads", "nobody sees an upload until a campaign names it: that is audited"},
    {"DELETE /uploads/{id}", "the same"},
    {"PUT /uploads/{id}/blocks/{block}", "the same"},
    {"POST /admin/whatif", "simulates"},
    {"POST /admin/rules/{name:text}/test", "runs a rule on a campaign that is not submitted"},
    {"POST /admin/rules/{name:text}/trial", "runs a rule on copies of past campaigns"}};

struct Change {
  const char *user, *route, *path;
  json body;
  const char *action, *subject;  ///< of the row it must leave
};

// In this order: each finds what those before it have made. Alice has campaign 1.
const std::vector<Change>& Changes() {
  static const std::vector<Change> changes = {
      {"alice",
       "POST /campaigns",
       "/campaigns",
       {{"name", "two"},
        {"nb_jobs", 3},
        {"exec_file", "true"},
        {"clusters", {{"alpha", json::object()}}}},
       "added",
       "campaign 2"},
      {"alice",
       "PUT /campaigns/{id}",
       "/campaigns/2",
       {{"name", "three"}},
       "changed",
       "campaign 2"},
      {"alice",
       "PATCH /campaigns/{id}",
       "/campaigns/2",
       {{"set", {{"walltime", 7200}}}},
       "changed",
       "campaign 2"},
      {"alice", "POST /campaigns/{id}/jobs", "/campaigns/2/jobs", json::array({"a", "b"}),
       "changed", "campaign 2"},
      {"alice",
       "POST /campaigns/{id}/retry",
       "/campaigns/2/retry",
       {{"failed", true}},
       "retried",
       "campaign 2"},
      {"alice",
       "POST /campaigns/{id}/boost",
       "/campaigns/2/boost",
       {{"tasks", {0}}},
       "boosted",
       "campaign 2"},
      {"oscar",
       "POST /events",
       "/events",
       {{"class", "campaign"}, {"code", "MANUAL_EVENT"}, {"campaign_id", 2}},
       "added",
       "event *"},
      {"alice", "DELETE /campaigns/{id}/events", "/campaigns/2/events", nullptr, "closed",
       "campaign 2"},
      {"alice", "DELETE /events/{id}", "/events/77", nullptr, "closed", "event 77"},
      {"alice", "DELETE /jobs/{id}", "/jobs/900", nullptr, "killed", "job 900"},
      {"alice", "DELETE /campaigns/{id}", "/campaigns/2", nullptr, "changed", "campaign 2"},
      {"alice",
       "POST /notifications/{type:text}",
       "/notifications/mail",
       {{"identity", "a@b.org"}, {"severity", "high"}},
       "added",
       "notification alice mail a@b.org"},
      {"alice", "DELETE /notifications/{type:text}", "/notifications/mail?identity=a@b.org",
       nullptr, "removed", "notification alice mail a@b.org"},
      {"alice",
       "POST /tokens",
       "/tokens",
       {{"cluster_id", 3}, {"token", "eyJsecret"}},
       "added",
       "mapping alice gamma"},
      {"alice", "DELETE /tokens/{id}", "/tokens/3", nullptr, "changed", "mapping alice gamma"},
      {"oscar",
       "PATCH /events/{id}",
       "/events/78",
       {{"ack", "I call the site"}},
       "acknowledged",
       "event 78"},
      {"oscar",
       "POST /admin/clusters",
       "/admin/clusters",
       {{"name", "new"}, {"kind", "local"}, {"api_url", "unix:/x"}, {"api_password", "hunter2"}},
       "added",
       "cluster new"},
      {"oscar",
       "PATCH /admin/clusters/{name:text}",
       "/admin/clusters/new",
       {{"power", 50}},
       "changed",
       "cluster new"},
      {"oscar", "POST /admin/clusters/{name:text}/check", "/admin/clusters/new/check?submit=1",
       nullptr, "tested", "cluster new"},
      {"oscar",
       "POST /admin/drain",
       "/admin/drain",
       {{"cluster", "new"}, {"reason", "disks"}},
       "changed",
       "cluster new"},
      {"oscar",
       "POST /admin/resume",
       "/admin/resume",
       {{"cluster", "new"}},
       "changed",
       "cluster new"},
      {"oscar", "POST /admin/clusters/{name:text}/lost", "/admin/clusters/new/lost", nullptr,
       "changed", "cluster new"},
      {"oscar", "DELETE /admin/clusters/{name:text}", "/admin/clusters/new", nullptr, "removed",
       "cluster new"},
      {"oscar",
       "PUT /admin/affinity",
       "/admin/affinity",
       {{"user", "bob"}, {"cluster", "alpha"}, {"priority", 3}},
       "added",
       "affinity bob alpha"},
      {"oscar", "DELETE /admin/affinity/{user:text}/{cluster:text}", "/admin/affinity/bob/alpha",
       nullptr, "removed", "affinity bob alpha"},
      {"oscar",
       "PUT /admin/members",
       "/admin/members",
       {{"user", "bob"}, {"kind", "class"}, {"name", "short"}},
       "added",
       "member class short bob"},
      {"oscar", "DELETE /admin/members/{kind:text}/{name:text}/{user:text}",
       "/admin/members/class/short/bob", nullptr, "removed", "member class short bob"},
      {"oscar",
       "PUT /admin/mapping",
       "/admin/mapping",
       {{"user", "bob"}, {"cluster", "alpha"}, {"login", "b0b"}},
       "added",
       "mapping bob alpha"},
      {"oscar", "DELETE /admin/mapping/{user:text}/{cluster:text}", "/admin/mapping/bob/alpha",
       nullptr, "removed", "mapping bob alpha"},
      {"oscar",
       "POST /admin/operators",
       "/admin/operators",
       {{"name", "olga"}},
       "added",
       "operator olga"},
      {"oscar", "DELETE /admin/operators/{name:text}", "/admin/operators/olga", nullptr, "removed",
       "operator olga"},
      {"oscar", "POST /admin/tokens", "/admin/tokens", {{"user", "bob"}}, "added", "token 1"},
      {"oscar", "POST /admin/tokens/{id}/rotate", "/admin/tokens/1/rotate", json::object(), "added",
       "token 2"},
      {"oscar", "DELETE /admin/tokens/{id}", "/admin/tokens/1", nullptr, "changed", "token 1"},
      {"oscar",
       "POST /admin/rules",
       "/admin/rules",
       {{"name", "r"}, {"code", "-- nothing"}},
       "added",
       "rule r"},
      {"oscar",
       "PATCH /admin/rules/{name:text}",
       "/admin/rules/r",
       {{"mode", "off"}},
       "changed",
       "rule r"},
      {"oscar",
       "POST /admin/rules/{name:text}/revert",
       "/admin/rules/r/revert",
       {{"version", 1}},
       "",
       ""},  // the text is the same: nothing changes
      {"oscar", "DELETE /admin/rules/{name:text}", "/admin/rules/r", nullptr, "removed", "rule r"},
      {"oscar",
       "POST /admin/errors",
       "/admin/errors",
       {{"name", "full"}, {"action", "retry_elsewhere"}},
       "added",
       "error class full"},
      {"oscar",
       "PATCH /admin/errors/{name:text}",
       "/admin/errors/full",
       {{"mode", "active"}},
       "changed",
       "error class full"},
      {"oscar", "DELETE /admin/errors/{name:text}", "/admin/errors/full", nullptr, "removed",
       "error class full"},
      {"oscar",
       "PATCH /admin/policy",
       "/admin/policy",
       {{"canary_jobs", 5}},
       "added",
       "policy canary_jobs"},
  };
  return changes;
}

class AuditPgTest : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    Sql("INSERT INTO clusters (name, kind, api_url, api_auth_type) VALUES "
        "('gamma', 'oar3', 'http://127.0.0.1:1', 'jwt')");
    Submit();
    Sql("INSERT INTO events (id, class, code, campaign_id) VALUES (77, 'job', 'EXIT_ERROR', 1)");
    Sql("INSERT INTO events (id, class, code, cluster_id) VALUES (78, 'cluster', "
        "'CLUSTER_UNREACHABLE', 1)");
    Sql("INSERT INTO batches (id, first_job_id, kind, campaign_id, cluster_id, n, first_idx, "
        "slots, "
        "tag, state, epoch, send_by) VALUES (1, 900, 'task', 1, 1, 1, 0, 1, 't', 'recorded', 0, "
        "now())");
    Sql("INSERT INTO live (job_id, campaign_id, idx, kind, batch_id, element, cluster_id, "
        "remote_id, attempt, slots) VALUES (900, 1, 0, 'task', 1, 0, 1, 'r', 1, 1)");
    Sql("UPDATE campaigns SET state = 'in_treatment'");
  }
  std::int64_t Last() { return std::stoll(One("SELECT coalesce(max(id), 0) FROM audit")); }
};

TEST_F(AuditPgTest, EveryRouteThatChangesSomethingLeavesARow) {
  std::set<std::string> tried;
  for (const auto& change : Changes()) {
    tried.insert(change.route);
    const std::string method = Split(change.route, ' ')[0];
    const auto last = Last();
    const auto answer =
        Ask(change.user, method, change.path, change.body, {{"X-Forwarded-For", "10.1.2.3"}});
    EXPECT_LT(answer.status, 300) << change.route << ": " << answer.body;
    const auto rows = Sql("SELECT actor, source, request, action, subject FROM audit WHERE id > " +
                          std::to_string(last) + " ORDER BY id");
    if (*change.action == '\0') continue;
    bool found = false;
    for (const auto& row : rows) {
      EXPECT_STREQ(row[0].c_str(), change.user) << change.route;
      EXPECT_THAT(row[1].c_str(), testing::ContainsRegex(
                                      "unix socket, uid [0-9]+, pid [0-9]+, proxy for 10.1.2.3"));
      EXPECT_EQ(std::string(row[2].c_str()).size(), 8u) << "the request, as in the log";
      const std::string subject = row[4].c_str(), wanted = change.subject;
      found =
          found || (row[3].c_str() == std::string(change.action) &&
                    (subject == wanted || (wanted == "event *" && StartsWith(subject, "event "))));
    }
    EXPECT_TRUE(found) << change.route << " left no row \"" << change.action << " "
                       << change.subject << "\" but " << rows.size() << " others";
  }
  for (const auto& route : api::AllRoutes().Routes())
    if (!StartsWith(route, "GET ")) {
      EXPECT_TRUE(tried.count(route) || kNothingToAudit.count(route))
          << route << " changes something? Then add it to Changes(), and see that it leaves a row";
    }
}

// A POST that only reads: its transaction is in one snapshot, and nobody's.
TEST_F(AuditPgTest, TheTrialOfARuleReadsPastCampaignsAndLeavesNoRow) {
  Ask("oscar", "POST", "/admin/rules", {{"name", "r"}, {"code", "-- nothing"}});
  const auto last = Last();
  const auto answer = Ask("oscar", "POST", "/admin/rules/r/trial",
                          {{"code", "reject('too many')"}, {"last", 5}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.body["tried"], 1);
  EXPECT_EQ(answer.body["counts"]["refused"], 1) << answer.body;
  EXPECT_EQ(Last(), last);
}

TEST_F(AuditPgTest, ARowHasTheOldValueAndTheNewOne) {
  Ask("oscar", "PATCH", "/admin/clusters/alpha", {{"power", 50}, {"hours", "20-8"}});
  EXPECT_EQ(One("SELECT old_value FROM audit ORDER BY id DESC LIMIT 1"),
            R"({"hours": null, "power": 100})");
  EXPECT_EQ(One("SELECT new_value FROM audit ORDER BY id DESC LIMIT 1"),
            R"({"hours": "20-8", "power": 50})");
  const auto last = Last();
  Ask("oscar", "PATCH", "/admin/clusters/alpha", {{"power", 50}});
  EXPECT_EQ(Last(), last) << "nothing has changed";
  Ask("alice", "PATCH", "/campaigns/1", {{"set", {{"clusters.alpha.walltime", 60}}}});
  EXPECT_THAT(One("SELECT new_value FROM audit ORDER BY id DESC LIMIT 1"),
              testing::HasSubstr(R"("jdl": {"clusters": {"alpha": {"walltime")"));
}

TEST_F(AuditPgTest, WhatIsRefusedOrRolledBackLeavesNone) {
  const auto last = Last();
  EXPECT_EQ(Ask("oscar", "PATCH", "/admin/clusters/alpha", {{"power", -3}}).status, 400);
  EXPECT_EQ(Ask("bob", "DELETE", "/campaigns/1").status, 403);
  EXPECT_EQ(Ask("bob", "PATCH", "/admin/clusters/alpha", {{"power", 3}}).status, 403);
  EXPECT_EQ(Last(), last);
}

TEST_F(AuditPgTest, SecretsAreNotInIt) {
  Ask("oscar", "PATCH", "/admin/clusters/alpha", {{"api_password", "hunter2"}});
  Ask("oscar", "PATCH", "/admin/clusters/alpha", {{"api_password", "hunter3"}});
  EXPECT_EQ(One("SELECT old_value::text || new_value FROM audit ORDER BY id DESC LIMIT 1"),
            R"x({"api_password": "(secret)"}{"api_password": "(another secret)"})x");
  const auto token = Ask("oscar", "POST", "/admin/tokens", {{"user", "bob"}});
  Ask("alice", "POST", "/tokens", {{"cluster_id", 3}, {"token", "eyJsecret"}});
  const std::string all = One("SELECT string_agg(to_jsonb(audit)::text, ' ') FROM audit");
  for (const std::string& secret : {std::string("hunter"), std::string("s1:"), std::string("eyJ"),
                                    token.body["token"].get<std::string>()})
    EXPECT_THAT(all, testing::Not(testing::HasSubstr(secret)));
  EXPECT_THAT(all, testing::Not(testing::HasSubstr(One("SELECT hash FROM api_tokens"))));
}

TEST_F(AuditPgTest, ChangesInSqlAndByModulesAreInItAsSuch) {
  Sql("UPDATE clusters SET power = 70 WHERE name = 'alpha'");
  EXPECT_THAT(One("SELECT actor || ': ' || source FROM audit ORDER BY id DESC LIMIT 1"),
              testing::ContainsRegex("^cigri: sql, cigri, local, "));
  db::Connection nikita(conninfo(), "cigri nikita");
  db::Tx tx(nikita);
  tx.Raw("UPDATE clusters SET power = 71 WHERE name = 'alpha'");
  tx.Commit();
  EXPECT_EQ(One("SELECT actor FROM audit ORDER BY id DESC LIMIT 1"), "cigri nikita");
  // The name of one transaction is not that of the next one in the same session.
  Ask("oscar", "PATCH", "/admin/clusters/alpha", {{"power", 72}});
  EXPECT_EQ(One("SELECT actor FROM audit ORDER BY id DESC LIMIT 1"), "oscar");
}

TEST_F(AuditPgTest, ItIsAppendOnly) {
  Sql("INSERT INTO audit (at, actor, source, action, subject) VALUES "
      "(now() - interval '31 days', 'x', 'x', 'x', 'old')");
  for (const std::string attack :
       {"UPDATE audit SET actor = 'bob'", "DELETE FROM audit WHERE subject LIKE 'campaign%'",
        "TRUNCATE audit"})
    EXPECT_THROW(Sql(attack), std::exception) << attack;
  Sql("DELETE FROM audit WHERE subject = 'old'");
  EXPECT_GT(Last(), 0);
}

TEST_F(AuditPgTest, OperatorsReadItByUserSubjectActionAndTime) {
  Ask("oscar", "PATCH", "/admin/clusters/alpha", {{"power", 50}});
  Ask("oscar", "PATCH", "/admin/clusters/beta", {{"power", 50}});
  EXPECT_EQ(Ask("alice", "GET", "/admin/audit").status, 403);
  const auto count = [&](const std::string& query) {
    const auto answer = Ask("oscar", "GET", "/admin/audit?" + query);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.body["total"].get<int>();
  };
  EXPECT_EQ(count("user=oscar"), 2);
  EXPECT_EQ(count("subject=cluster%20beta&user=oscar"), 1);
  EXPECT_EQ(count("subject=cluster&user=oscar&action=changed"), 2);
  EXPECT_EQ(count("subject=clus"), 0);
  EXPECT_EQ(count("user=oscar&limit=1"), 1);
  EXPECT_EQ(count("user=oscar&before=" + std::to_string(Last())), 1);
  EXPECT_EQ(count("since=4000000000"), 0);
  EXPECT_EQ(count("until=1000"), 0);
  EXPECT_EQ(Ask("oscar", "GET", "/admin/audit?since=yesterday").status, 400);
}

}  // namespace
}  // namespace cigri::test
