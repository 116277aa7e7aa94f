// Admission rules from the operator's keyboard, or SQL, to a refused campaign.
#include "api/submit/admission.h"
#include "tests/gridadmin/grid.h"

namespace cigri::test {
namespace {

using nlohmann::json;
using RulePgTest = GridadminPgTest;

const json kCampaign = {
    {"name", "x"}, {"jobs", 10}, {"type", "default"}, {"clusters", {{"c1", {{"walltime", 60}}}}}};

rules::Verdict Submit(api::Context& context, const json& campaign = kCampaign) {
  return context.Transact([](db::Tx& tx) { return api::LoadAdmission(tx, "alice"); })
      .Admit(campaign);
}

TEST_F(RulePgTest, ARuleLivesFromNewToRemovedWithItsHistory) {
  const std::string v1 = Written("v1.lua", "reject('closed today')\n");
  ASSERT_EQ(Admin("rule new closed --mode warn --title 'no jobs' --file " + v1).code, 0);
  EXPECT_EQ(Submit(*context_).notes.size(), 1u);
  EXPECT_EQ(Admin("rule enable closed").code, 0);
  EXPECT_EQ(Submit(*context_).message, "rule 1 (closed): closed today");
  EXPECT_EQ(Admin("rule show closed").out, "reject('closed today')\n");

  const Ran edited = Admin("rule edit closed", "EDITOR='sed -i s/today/tomorrow/' VISUAL=");
  EXPECT_EQ(edited.out, "rule closed saved\n") << edited.err;
  EXPECT_EQ(Submit(*context_).message, "rule 1 (closed): closed tomorrow");
  EXPECT_EQ(Admin("rule edit closed", "EDITOR=true VISUAL=").out, "rule closed not changed\n");

  EXPECT_EQ(Admin("rule revert closed 1").code, 0);
  EXPECT_EQ(Submit(*context_).message, "rule 1 (closed): closed today");
  EXPECT_EQ(Admin("rule disable closed").code, 0);
  EXPECT_TRUE(Submit(*context_).ok());

  const Ran list = Admin("rule list");
  EXPECT_TRUE(Has(list.out, "closed") && Has(list.out, "no jobs")) << list.out << list.err;
  EXPECT_EQ(Admin("rule remove closed").code, 0);
  const json history = json::parse(Admin("--json rule history closed").out);
  // Added, enabled, edited, reverted, disabled, removed; newest first, all by whom the kernel
  // named.
  ASSERT_EQ(history["items"].size(), 6u);
  EXPECT_TRUE(history["items"][0]["code"].is_null());
  EXPECT_EQ(history["items"][3]["code"], "reject('closed tomorrow')\n");
  for (const auto& item : history["items"])
    EXPECT_EQ(item["changed_by"], history["items"][5]["changed_by"]);
  EXPECT_TRUE(Has(Admin("rule show closed --version 3").out, "tomorrow"));
}

TEST_F(RulePgTest, ARuleThatDoesNotCompileCannotBeSaved) {
  const std::string bad = Written("bad.lua", "local x = 1\nif then\n");
  const Ran added = Admin("rule new bad --file " + bad);
  EXPECT_EQ(added.code, 65);
  EXPECT_TRUE(Has(added.err, "line 2: unexpected symbol near 'then'")) << added.err;
  EXPECT_EQ(One("SELECT count(*) FROM admission_rules"), "0");

  Admin("rule new good --file " + Written("good.lua", "local a = 1\n"));
  const Ran edited = Admin("rule edit good", "VISUAL='sed -i s/=/+/'");
  EXPECT_EQ(edited.code, 65);
  EXPECT_TRUE(Has(edited.err, "HINT: your text is in ")) << edited.err;
  EXPECT_EQ(One("SELECT code FROM admission_rules"), "local a = 1\n");
}

TEST_F(RulePgTest, TwoWhoEditAtOnceDoNotOverwriteEachOther) {
  Admin("rule new r --file " + Written("r.lua", "local a = 1\n"));
  const std::string rude = Written(
      "rude.sh", std::string("#!/bin/sh\nunset VISUAL\nEDITOR='sed -i s/1/2/' " CIGRI_BIN_DIR
                             "/gridadmin rule edit r >/dev/null\necho 'local b = 3' > \"$1\"\n"));
  const Ran late = Admin("rule edit r", "VISUAL='sh " + rude + "'");
  EXPECT_EQ(late.code, 1);
  EXPECT_TRUE(Has(late.err, "was changed meanwhile")) << late.err;
  EXPECT_EQ(One("SELECT code FROM admission_rules"), "local a = 2\n");
}

TEST_F(RulePgTest, AnEditInSqlTakesEffectAtTheNextSubmissionAndIsInTheHistory) {
  Sql("INSERT INTO admission_rules (name, code) VALUES ('cap', 'campaign.clusters.c1.walltime = "
      "30')");
  const auto changed = Submit(*context_);
  ASSERT_EQ(changed.changes.size(), 1u) << changed.message;
  EXPECT_EQ(changed.changes[0], "rule cap changed /clusters/c1/walltime 60 -> 30");
  Sql("UPDATE admission_rules SET code = 'if' WHERE name = 'cap'");
  const auto broken = Submit(*context_);
  EXPECT_EQ(broken.outcome, rules::Outcome::kBroken);
  EXPECT_TRUE(Has(broken.message, "rule 1 (cap) failed: line 1")) << broken.message;
  EXPECT_TRUE(Has(Admin("rule show cap").err, "refuses every campaign"));
  EXPECT_EQ(One("SELECT count(*) FROM admission_rules_log"), "2");
  Sql("UPDATE admission_rules SET mode = 'off'");
  EXPECT_TRUE(Submit(*context_).ok());
}

TEST_F(RulePgTest, TestRunsARuleThatIsOffOnAJdl) {
  Sql("INSERT INTO admission_rules (name, mode, code) VALUES ('small', 'off', "
      "'require_that(campaign.jobs <= 3, user.name .. \" may have 3 jobs, not \" .. "
      "campaign.jobs)')");
  const std::string jdl =
      R"({"name": "t", "exec_file": "true", "nb_jobs": %, "clusters": {"c1": {"walltime": 60}}})";
  const std::string few = Written("few.json", ReplaceAll(jdl, "%", "2"));
  const std::string many = Written("many.json", ReplaceAll(jdl, "%", "20"));
  const Ran admitted = Admin("rule test small --user bob --jdl " + few);
  EXPECT_EQ(admitted.code, 0) << admitted.err;
  EXPECT_EQ(admitted.out, "admitted\n");
  const Ran refused = Admin("rule test small --user bob --jdl " + many);
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(refused.out, "refused: rule 1 (small): bob may have 3 jobs, not 20\n") << refused.err;
  const std::string lines = Written("lines", "a\nb\nc\nd");
  const std::string file =
      Written("file.json", ReplaceAll(jdl, R"("nb_jobs": %)", "\"param_file\": \"" + lines + "\""));
  EXPECT_TRUE(Has(Admin("rule test small --user bob --jdl " + file).out, "not 4"));
  EXPECT_EQ(Admin("rule test nosuch --user bob --jdl " + few).code, 1);
  EXPECT_EQ(Admin("rule test small --user bob --jdl " + Written("x.json", "{")).code, 65);
}

TEST_F(RulePgTest, ARuleKnowsItsUserAndTheGrid) {
  GivenCluster("c1");
  Sql("UPDATE clusters SET options = '{\"max_walltime\": 45}'");
  Sql("INSERT INTO campaigns (grid_user, name, nb_params, first_task_id, jdl, type, state) VALUES "
      "('alice', 'a', 1, 1, '{}', 'test', 'in_treatment'), ('alice', 'b', 1, 1, '{}', 'default', "
      "'paused'), "
      "('alice', 'c', 1, 1, '{}', 'default', 'terminated'), ('bob', 'd', 1, 1, '{}', 'default', "
      "'in_treatment')");
  Sql("INSERT INTO counters (campaign_id, cluster_id, kind, state, writer, n, slots) VALUES "
      "(1, 1, 'task', 'running', 'updator', 3, 6), (1, 1, 'task', 'submitted', 'runner', 2, 4)");
  Sql("INSERT INTO admission_rules (name, code) VALUES ('facts', $$"
      "warn(user.name .. ' ' .. user.active_campaigns .. ' ' .. user.active_test_campaigns .. ' ' "
      ".. "
      "user.running_jobs .. ' ' .. user.running_slots .. ' ' .. user.waiting_jobs .. ' ' .. "
      "grid.clusters.c1.max_walltime .. ' ' .. grid.clusters.c1.kind .. ' ' .. "
      "type(user.groups))$$)");
  const auto v = Submit(*context_);
  ASSERT_EQ(v.notes.size(), 1u) << v.message;
  EXPECT_EQ(v.notes[0], "rule 1 (facts): alice 2 1 3 6 2 45 local table");
}

TEST_F(RulePgTest, ShippedRulesAreInstalledOnceAndStayRemoved) {
  const auto install = [&] {
    context_->Transact([](db::Tx& tx) { api::InstallShippedRules(tx); });
  };
  install();
  EXPECT_EQ(One("SELECT count(*) FROM admission_rules"),
            std::to_string(rules::ShippedRules().size()));
  EXPECT_EQ(One("SELECT string_agg(name, ' ' ORDER BY name) FROM admission_rules "
                "WHERE mode = 'enforce'"),
            "best-effort-rights lowest-scavenges test-campaigns");
  EXPECT_TRUE(Submit(*context_).ok());
  Admin("rule remove walltime-cap");
  Admin("rule disable best-effort-rights");
  install();
  EXPECT_EQ(One("SELECT count(*) FROM admission_rules WHERE name = 'walltime-cap'"), "0");
  EXPECT_EQ(One("SELECT mode FROM admission_rules WHERE name = 'best-effort-rights'"), "off");
}

}  // namespace
}  // namespace cigri::test
