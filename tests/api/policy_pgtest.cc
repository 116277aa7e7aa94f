// The policy as operators set it through the API, and who may give which priority.
#include <cstdlib>

#include "secrets/secrets.h"
#include "tests/api/api_fixture.h"

namespace cigri::test {
namespace {

using nlohmann::json;

class PolicyPgTest : public ApiTest {
 protected:
  Answer Set(const json& body, const std::string& who = "oscar") {
    return Ask(who, "PATCH", "/admin/policy", body);
  }
  std::string Rows() {
    return One(
        "SELECT coalesce(string_agg(key || '=' || value, ' ' ORDER BY key), '') FROM "
        "policy_settings");
  }
};

TEST_F(PolicyPgTest, EveryRouteIsForOperators) {
  for (const char* path :
       {"", "/explain", "/lint", "/history", "/presets", "/schedulers", "/shares"}) {
    EXPECT_EQ(Ask("alice", "GET", std::string("/admin/policy") + path).status, 403) << path;
    EXPECT_EQ(Ask("oscar", "GET", std::string("/admin/policy") + path).status, 200) << path;
  }
  EXPECT_EQ(Set({{"policy", "fifo"}}, "alice").status, 403);
  EXPECT_EQ(Rows(), "");
}

TEST_F(PolicyPgTest, ShowHasEveryKeyWithItsValueAndSaysWhichAreSet) {
  ASSERT_EQ(Set({{"policy", "usage"}, {"usage.window", 900}}).status, 200);
  const auto shown = Ask("oscar", "GET", "/admin/policy").body;
  EXPECT_EQ(shown["settings"]["policy"], "usage");
  EXPECT_EQ(shown["settings"]["usage.window"], 900);
  EXPECT_EQ(shown["settings"]["canary_jobs"], 10) << "a default";
  const std::string text = shown["text"];
  EXPECT_NE(text.find("policy = \"usage\"   (set)"), std::string::npos) << text;
  EXPECT_EQ(text.find("canary_jobs = 10   (set)"), std::string::npos) << text;
  const auto explained = Ask("oscar", "GET", "/admin/policy/explain").body;
  EXPECT_EQ(explained["items"].size(), shown["settings"].size());
  for (const auto& item : explained["items"])
    EXPECT_FALSE(item["meaning"].get<std::string>().empty());
}

// FAIR-02, FAIR-04.
TEST_F(PolicyPgTest, SharesReportWhoIsDueWhatAndHadWhat) {
  auto shares = Ask("oscar", "GET", "/admin/policy/shares").body;
  EXPECT_EQ(shares["items"].size(), 0u);
  EXPECT_TRUE(shares["utilisation"].is_null());
  ASSERT_EQ(Set({{"policy", "fairshare"},
                 {"projects", {{"phys", {{"share", 3}}}, {"bio", {{"share", 1}}}}},
                 {"users", {{"alice", {{"parent", "phys"}}}, {"bob", {{"parent", "phys"}}}}}})
                .status,
            200);
  // 600 s, 200 s and 200 s; an old one that counts for nobody.
  Sql("INSERT INTO usage (bucket, campaign_id, cluster_id, grid_user, project, slot_s) VALUES "
      "(now() - interval '2 hours', 1, 1, 'alice', 'phys', 600), "
      "(now() - interval '3 days', 2, 1, 'bob', 'phys', 200), "
      "(now() - interval '1 hour', 3, 2, 'carol', 'bio', 200), "
      "(now() - interval '99 days', 4, 1, 'bob', 'phys', 5000)");
  Sql("INSERT INTO gridstatus (cluster_id, at, max_resources, free_resources, used_resources, "
      "unavailable_resources, used_by_cigri, jobs_running, jobs_waiting) VALUES "
      "(1, now() - interval '20 minutes', 10, 0, 8, 2, 6, 6, 0), "
      "(1, now() - interval '10 minutes', 10, 5, 3, 2, 3, 3, 0)");
  shares = Ask("oscar", "GET", "/admin/policy/shares").body;
  std::map<std::string, std::pair<double, double>> of;
  for (const auto& i : shares["items"]) of[i["user"]] = {i["due"], i["had"]};
  const double eps = 1e-9;
  ASSERT_EQ(of.size(), 3u);
  EXPECT_NEAR(of["alice"].first, 0.375, eps);
  EXPECT_NEAR(of["alice"].second, 0.6, eps);
  EXPECT_NEAR(of["bob"].first, 0.375, eps);
  EXPECT_NEAR(of["bob"].second, 0.2, eps);
  EXPECT_NEAR(of["carol"].first, 0.25, eps);
  EXPECT_NEAR(shares["share_error"], 0.225, eps);
  EXPECT_NEAR(shares["utilisation"], 9.0 / 14, 0.01) << "6 of 10 - 2 - 2, then 3 of 10 - 2";
  const std::string text = shares["text"];
  EXPECT_NE(text.find("share error 22.5 %"), std::string::npos) << text;
  EXPECT_EQ(text.find("does not aim"), std::string::npos) << text;
  // Of the last day bob wanted nothing and is due nothing.
  shares = Ask("oscar", "GET", "/admin/policy/shares?window=86400").body;
  ASSERT_EQ(shares["items"].size(), 2u);
  EXPECT_NEAR(shares["items"][0]["due"], 0.75, eps);
  EXPECT_NEAR(shares["items"][0]["had"], 0.75, eps);
  ASSERT_EQ(Set({{"policy", "fifo"}}).status, 200);
  EXPECT_NE(Ask("oscar", "GET", "/admin/policy/shares")
                .body["text"]
                .get<std::string>()
                .find("policy fifo does not aim at these shares"),
            std::string::npos);
}

// T-14 and the rest of what is impossible: refused with the key and the reason, nothing is stored.
TEST_F(PolicyPgTest, T14WhatIsImpossibleIsRefusedWithItsReasonAndChangesNothing) {
  ASSERT_EQ(Set({{"policy", "fifo"}}).status, 200);
  const struct {
    json body;
    const char* says;
  } cases[] = {
      {{{"sla.groups", {{"a", 10}, {"b", 0.5}}}}, "mixes numbers of slots and parts"},
      {{{"sla.groups", {{"a", 1.5}, {"b", 0.2}}}}, "neither a number of slots nor a part"},
      {{{"sla.groups", {{"a", 0.7}, {"b", 0.6}}}}, "add up to more than the whole"},
      {{{"policy", "sla"}}, "policy sla needs groups"},
      {{{"weights", {{"4", 0}}}}, "must be above 0"},
      {{{"weights", {{"4", -1}}}}, "must be above 0"},
      {{{"weights", {{"4", "NaN"}}}}, "must be a number"},
      {{{"weights", {{"12", 1}}}}, "priorities are 0 to 9"},
      {{{"user_weights", {{"alice", 0}}}}, "of \"alice\" must be above 0"},
      {{{"usage.window", "NaN"}}, "must be a number"},
      {{{"usage.window", "1e999"}}, "must be a number"},
      {{{"usage.window", 0}}, "must be at least 1"},
      {{{"users", {{"alice", {{"share", 1}, {"parent", "phyics"}}}}},
        {"projects", {{"physics", {{"share", 1}}}}}},
       "did you mean \"physics\"?"},
      {{{"projects",
         {{"a", {{"share", 1}, {"parent", "b"}}}, {"b", {{"share", 1}, {"parent", "a"}}}}}},
       "go in a circle"},
      {{{"projects", {{"a", {{"share", -2}}}}}}, "must be above 0"},
      {{{"reserves",
         json::array({{{"class", "a"}, {"fraction", 0.6}}, {{"class", "b"}, {"fraction", 0.6}}})}},
       "add up to more than the whole"},
      {{{"quotas", json::array({{{"scope", "usr"}, {"slots", 1}}})}}, "did you mean \"user\"?"},
      {{{"quotas", json::array({{{"scope", "user"}}})}}, "limits nothing"},
      {{{"start_rates", json::array({{{"scope", "user"}, {"per_minute", 0}}})}}, "must be above 0"},
      {{{"queues", {{"a", {{"min", 5}, {"max", 5}}}}}}, "needs max above min"},
      {{{"urgent.percent", 101}}, "must be from 0 to 100"},
      {{{"user_priority", 11}}, "must be from 0 to 10"},
      {{{"polcy", "usage"}}, "did you mean \"policy\"?"},
      {{{"policy", "fairshair"}}, "did you mean \"fairshare\"?"},
      {{{"preset", "departements"}}, "there are: site-default"},
  };
  for (const auto& c : cases) {
    json both = c.body;
    both["first_results"] = 3;  // right on its own, and not taken either
    const auto answer = Set(both);
    EXPECT_EQ(answer.status, 400) << c.body;
    EXPECT_NE(answer.body.value("message", "").find(c.says), std::string::npos)
        << c.body << answer.body;
  }
  for (const json& body : {json("text"), json::array(), json(3)})
    EXPECT_EQ(Ask("oscar", "PATCH", "/admin/policy", body.dump()).status, 400) << body;
  EXPECT_EQ(Rows(), "policy=\"fifo\"");
  EXPECT_EQ(One("SELECT count(*) FROM policy_log"), "1");
}

TEST_F(PolicyPgTest, SettingsAreCheckedTogetherWithWhatIsThere) {
  ASSERT_EQ(Set({{"sla.groups", {{"a", 0.5}}}, {"policy", "sla"}}).status, 200)
      << "groups and the policy that needs them come in one change";
  const auto answer = Set({{"sla.groups", nullptr}});
  EXPECT_EQ(answer.status, 400) << "the policy still needs them";
  EXPECT_EQ(Set({{"sla.groups", nullptr}, {"policy", nullptr}}).status, 200);
  EXPECT_EQ(Rows(), "");
}

TEST_F(PolicyPgTest, ArgumentsOfACommandLineAreReadAsJson) {
  ASSERT_EQ(Set({{"weights", "{\"4\": 2.5}"}, {"test_first", "false"}, {"policy", "usage"}}).status,
            200);
  EXPECT_EQ(Rows(), "policy=\"usage\" test_first=false weights={\"4\": 2.5}");
}

TEST_F(PolicyPgTest, EachChangeIsKeptWithWhoAndWhen) {
  ASSERT_EQ(Set({{"policy", "usage"}}).status, 200);
  ASSERT_EQ(Set({{"policy", "fifo"}}).status, 200);
  ASSERT_EQ(Set({{"policy", "fifo"}}).status, 200);  // nothing new
  ASSERT_EQ(Set({{"policy", nullptr}}).status, 200);
  const auto items = Ask("oscar", "GET", "/admin/policy/history").body["items"];
  ASSERT_EQ(items.size(), 3u) << items;
  EXPECT_EQ(items[0]["old"], "fifo") << "the last first";
  EXPECT_EQ(items[0]["new"], nullptr);
  EXPECT_EQ(items[1]["old"], "usage");
  EXPECT_EQ(items[1]["new"], "fifo");
  EXPECT_EQ(items[2]["old"], nullptr);
  for (const auto& item : items) {
    EXPECT_EQ(item["by"], "oscar");
    EXPECT_FALSE(item["at"].get<std::string>().empty());
  }
}

TEST_F(PolicyPgTest, LintWarnsOfWhatIsAllowedAndProbablyNotMeant) {
  const auto warned = [&](const std::string& what) {
    const auto answer = Ask("oscar", "GET", "/admin/policy/lint").body;
    EXPECT_EQ(answer["ok"], true) << answer;
    return answer["warnings"].dump().find(what) != std::string::npos;
  };
  EXPECT_FALSE(warned("\""));
  // FBS-23
  ASSERT_EQ(Set({{"policy", "dynamic"},
                 {"queues", {{"high", {{"min", 5}}}, {"bg", {{"min", 0}, {"max", 5}}}}}})
                .status,
            200);
  EXPECT_TRUE(warned("can rise to 5 and pass"));
  ASSERT_EQ(Set({{"queues", {{"high", {{"min", 5}}}, {"bg", {{"min", 0}, {"max", 4}}}}}}).status,
            200);
  EXPECT_FALSE(warned("can rise"));
  const auto answer = Set({{"multi_slot.age", 3}});
  EXPECT_NE(answer.body["text"].get<std::string>().find("two holds compete"), std::string::npos)
      << "who sets it is reported at once";
  ASSERT_EQ(Set({{"preset", "site-default"}, {"strict_priority", true}}).status, 200);
  EXPECT_TRUE(warned("before everybody else's"));
  ASSERT_EQ(Set({{"user_priority", 4}}).status, 200);
  EXPECT_FALSE(warned("before everybody else's"));
  ASSERT_EQ(Set({{"preset", "teaching"}, {"policy", "fairshare-simple"}}).status, 200);
  EXPECT_TRUE(warned("does not hold shares"));
}

TEST_F(PolicyPgTest, LintNamesARowThatSomebodyBrokeByHand) {
  Sql("INSERT INTO policy_settings (key, value) VALUES ('canary_jobs', '0'), ('polcy', "
      "'\"usage\"')");
  const auto answer = Ask("oscar", "GET", "/admin/policy/lint").body;
  EXPECT_EQ(answer["ok"], false);
  EXPECT_EQ(answer["faults"].size(), 2u) << answer;
  const auto set = Set({{"first_results", 3}});
  EXPECT_EQ(set.status, 400) << "nothing is added to what is broken";
  EXPECT_EQ(Set({{"first_results", 3}, {"canary_jobs", nullptr}, {"polcy", nullptr}}).status, 200);
}

TEST_F(PolicyPgTest, EveryPresetIsTakenWholeAndItsNamesAreListed) {
  const auto presets = Ask("oscar", "GET", "/admin/policy/presets").body["items"];
  ASSERT_GE(presets.size(), 5u);
  EXPECT_EQ(presets[0]["name"], "site-default");
  for (const auto& preset : presets) {
    ASSERT_EQ(Set({{"preset", preset["name"]}}).status, 200) << preset;
    for (const auto& [key, value] : preset["settings"].items())
      EXPECT_EQ(Ask("oscar", "GET", "/admin/policy").body["settings"][key], value) << key;
    EXPECT_EQ(One("SELECT count(*) FROM policy_settings"),
              std::to_string(preset["settings"].size()))
        << "what the last one set is gone";
  }
}

// ---------------------------------------------------------------- priorities of campaigns
class PriorityPgTest : public PolicyPgTest {
 protected:
  Answer Give(const std::string& who, std::int64_t id, const json& level) {
    return Ask(who, "PATCH", "/campaigns/" + std::to_string(id), {{"set", {{"priority", level}}}});
  }
  std::string Level() {
    return One("SELECT priority || ' ' || (jdl ->> 'priority') FROM campaigns");
  }
};

TEST_F(PriorityPgTest, UsersChangeTheirOwnAndItIsKeptWithWhoAndWhen) {
  const auto id = Submit();
  EXPECT_EQ(Give("bob", id, 2).status, 403);
  const auto answer = Give("alice", id, "low");
  ASSERT_EQ(answer.status, 202) << answer.body;
  EXPECT_EQ(answer.body["priority"], 2);
  EXPECT_EQ(answer.body["changes"], json::array({"priority 4 -> 2"}));
  EXPECT_EQ(Level(), "2 2");
  EXPECT_EQ(Give("alice", id, 0).status, 202) << "suspended";
  EXPECT_EQ(Level(), "0 0");
  EXPECT_EQ(Give("alice", id, 10).status, 403);
  EXPECT_EQ(Give("alice", id, "urgent").status, 403);
  for (const json& bad : {json(11), json(-1), json("hihg"), json(2.5)})
    EXPECT_EQ(Give("alice", id, bad).status, 400) << bad;
  EXPECT_EQ(Level(), "0 0");
  const auto notes = json::parse(One("SELECT notes::text FROM campaigns"));
  ASSERT_EQ(notes.size(), 2u) << notes;
  EXPECT_EQ(notes[1]["by"], "alice");
  EXPECT_EQ(notes[1]["text"], "priority 2 -> 0");
  EXPECT_EQ(One("SELECT string_agg(closed_by || ': ' || message, ', ' ORDER BY id) FROM events "
                "WHERE code = 'SETTINGS_CHANGED'"),
            "alice: priority 4 -> 2, alice: priority 2 -> 0");
}

TEST_F(PriorityPgTest, ThePolicySaysHowHighUsersMayGo) {
  ASSERT_EQ(Set({{"user_priority", 5}}).status, 200);
  const auto id = Submit();
  EXPECT_EQ(Give("alice", id, 5).status, 202);
  const auto refused = Give("alice", id, 6);
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(refused.body.value("hint", "").find("up to 5"), std::string::npos) << refused.body;
  EXPECT_EQ(Give("oscar", id, 9).status, 202);
  EXPECT_EQ(Give("alice", id, 8).status, 202) << "lowering is always allowed";
  EXPECT_EQ(Give("alice", id, 9).status, 403);
  const json jdl{{"name", "x"},
                 {"exec_file", "./x"},
                 {"nb_jobs", 1},
                 {"priority", 7},
                 {"clusters", {{"alpha", json::object()}}}};
  EXPECT_EQ(Ask("alice", "POST", "/campaigns", jdl).status, 403);
  EXPECT_EQ(Ask("oscar", "POST", "/campaigns", jdl).status, 201);
  ASSERT_EQ(Set({{"user_priority", 2}}).status, 200);
  Submit();  // normal is always allowed
}

TEST_F(PriorityPgTest, OperatorsMayMakeItUrgentPastTheRulesAndItStaysSo) {
  const auto id = Submit();
  Sql("INSERT INTO admission_rules (name, code) VALUES ('tame', 'if campaign.priority > 3 then "
      "set_priority(3) end')");
  ASSERT_EQ(Give("alice", id, 8).status, 202);
  EXPECT_EQ(Level(), "3 3") << "rules bind users";
  ASSERT_EQ(Give("oscar", id, "urgent").status, 202);
  EXPECT_EQ(Level(), "10 10");
  Sql("DELETE FROM admission_rules");
  ASSERT_EQ(Ask("alice", "PATCH", "/campaigns/" + std::to_string(id), {{"set", {{"walltime", 60}}}})
                .status,
            202);
  EXPECT_EQ(Level(), "10 10") << "another setting leaves it alone";
  EXPECT_EQ(Give("alice", id, "normal").status, 202);
  EXPECT_EQ(Level(), "4 4");
  const json jdl{{"name", "x"},
                 {"exec_file", "./x"},
                 {"nb_jobs", 1},
                 {"priority", 10},
                 {"clusters", {{"alpha", json::object()}}}};
  EXPECT_EQ(Ask("oscar", "POST", "/campaigns", jdl).status, 400) << "nobody submits an urgent one";
}

TEST_F(PriorityPgTest, GridmodChangesSeveralAndSaysWhatItDid) {
  const auto a = Submit(), b = Submit();
  const std::string url =
      "http://" + std::string("127.0.0.1:") + std::to_string(server_->ListenTcp("127.0.0.1:0"));
  const std::string token = RandomToken();
  Sql("INSERT INTO api_tokens (grid_user, hash, prefix, created_by) VALUES ('alice', '" +
      HashToken(token) + "', 'x', 'test')");
  const auto run = [&](const std::string& args) {
    const std::string command = "CIGRI_API=" + url + " CIGRI_TOKEN=" + token +
                                " " CIGRI_BIN_DIR "/gridmod " + args + " 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    std::string out;
    char buffer[4096];
    for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
    const int status = pclose(pipe);
    return std::pair(WEXITSTATUS(status), out);
  };
  const std::string both = std::to_string(a) + "," + std::to_string(b);
  EXPECT_EQ(run("-c " + both + " -p low"),
            std::pair(0, "campaign " + std::to_string(a) + ": priority 4 -> 2\ncampaign " +
                             std::to_string(b) + ": priority 4 -> 2\n"));
  EXPECT_EQ(run(std::to_string(a) + " -p suspended"),
            std::pair(0, "campaign " + std::to_string(a) +
                             ": priority 2 -> 0 (suspended: nothing is sent)\n"));
  EXPECT_EQ(One("SELECT string_agg(priority::text, ',' ORDER BY id) FROM campaigns"), "0,2");
  const auto unknown = run("-c 99," + std::to_string(b) + " -p 5");
  EXPECT_EQ(unknown.first, 1);
  EXPECT_NE(unknown.second.find(std::to_string(b) + ": priority 2 -> 5"), std::string::npos)
      << "one that is not there keeps the others from nothing: " << unknown.second;
  EXPECT_EQ(
      run(std::to_string(b) + " --boost 0,0-0"),
      std::pair(0, "campaign " + std::to_string(b) + ": 1 task to be sent before the others\n"));
  for (const char* wrong : {"x", "4-", "5-4", "1-2-3", "0,,1", "0-10000", "99999999999999999999"})
    EXPECT_EQ(run(std::to_string(b) + " --boost " + wrong).first, 64) << wrong;
  EXPECT_EQ(run(std::to_string(b) + " --boost 0").first, 1) << "it is first already";
  EXPECT_EQ(run(std::to_string(b)).first, 64);
  EXPECT_EQ(run(std::to_string(b) + " -p low --boost 0").first, 64);
  EXPECT_EQ(run("-c " + std::to_string(b) + " -p soon").first, 65);
  const auto urgent = run("-c " + std::to_string(b) + " -p urgent");
  EXPECT_EQ(urgent.first, 77);
  EXPECT_NE(urgent.second.find("up to 9 is allowed"), std::string::npos) << urgent.second;
  EXPECT_EQ(run("-c x -p 3").first, 64);
  EXPECT_EQ(run("-c 1").first, 64);
  EXPECT_EQ(run("-p 3").first, 64);
}

}  // namespace
}  // namespace cigri::test
