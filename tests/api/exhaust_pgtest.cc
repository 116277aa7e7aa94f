// Attacks by a user on what the API shares among all: its memory, its time, the database's disk.
#include <fstream>

#include "core/limits.h"
#include "tests/api/api_fixture.h"

namespace cigri::test {
namespace {

using nlohmann::json;

class ExhaustPgTest : public ApiTest {
 protected:
  static json Jdl(const json& more) {
    json jdl{{"name", "x"}, {"exec_file", "true"}, {"clusters", {{"alpha", json::object()}}}};
    jdl.update(more);
    return jdl;
  }
};

// Bytes that this process, which is the API, has had at most since Begin().
class PeakMemory {
 public:
  PeakMemory() {
    std::ofstream("/proc/self/clear_refs") << "5";
    before_ = Peak();
  }
  std::int64_t Grown() const { return Peak() - before_; }

 private:
  static std::int64_t Peak() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (StartsWith(line, "VmHWM:")) return std::stoll(line.substr(6)) * 1024;
    return 0;
  }
  std::int64_t before_ = 0;
};

constexpr std::int64_t kMost = 64 << 20;

std::string Repeated(const std::string& text, int n) {
  std::string out;
  while (n-- > 0) out += text;
  return out;
}

// 210 kB of JDL made the API build 1.7 GB, and its memory rise to 3.7 GB.
TEST_F(ExhaustPgTest, ACommandIsCountedBeforeItIsFilled) {
  const PeakMemory memory;
  const auto many = Ask("bob", "POST", "/campaigns?dry_run=1",
                        Jdl({{"exec_file", Repeated("{1}", 20'000)},
                             {"params", json::array({json::array({std::string(20'000, 'v')})})}}));
  EXPECT_EQ(many.status, 400);
  EXPECT_NE(many.body["message"].get<std::string>().find("20000 placeholders, the limit is 1000"),
            std::string::npos)
      << many.body;
  const auto large =
      Ask("bob", "POST", "/campaigns",
          Jdl({{"exec_file", Repeated("{1}", 1000)},
               {"params",
                json::array({json::array({"a"}), json::array({std::string(90'000, '\'')})})}}));
  EXPECT_EQ(large.status, 400);
  EXPECT_EQ(large.body["parameter"], 2) << large.body;
  EXPECT_NE(large.body["message"].get<std::string>().find(
                "its command would have 360002000 bytes, the limit is 1048576"),
            std::string::npos)
      << large.body;
  EXPECT_LT(memory.Grown(), kMost);
}

// Lines of less than 1,000 bytes were not looked at, except the first.
TEST_F(ExhaustPgTest, EveryLineIsCountedHoweverShort) {
  const std::string quotes(300, '\'');
  const json jdl = Jdl({{"exec_file", Repeated("{1}", 1000)}, {"format", "values"}});
  std::vector<std::string> lines(3000, R"(["a"])");
  lines[2500] = json::array({quotes}).dump();
  json inline_params = json::array();
  for (const auto& line : lines) inline_params.push_back(json::parse(line));
  auto with_params = jdl;
  with_params["params"] = inline_params;
  const auto inlined = Ask("alice", "POST", "/campaigns", with_params);
  EXPECT_EQ(inlined.status, 400);
  EXPECT_EQ(inlined.body["parameter"], 2501) << inlined.body;

  const std::int64_t upload = Ask("alice", "POST", "/uploads").body["id"];
  for (int block = 0; block < 3; ++block)
    Ask("alice", "PUT", "/uploads/" + std::to_string(upload) + "/blocks/" + std::to_string(block),
        jdl::EncodeBlock({lines.begin() + block * 1000, lines.begin() + block * 1000 + 1000}), {},
        "text/plain");
  const auto uploaded =
      Ask("alice", "POST", "/campaigns?format=values&upload=" + std::to_string(upload), jdl);
  EXPECT_EQ(uploaded.status, 400);
  EXPECT_EQ(uploaded.body["parameter"], 2501) << uploaded.body;
  EXPECT_EQ(One("SELECT count(*) FROM campaigns"), "0");
}

// 90,000 of them took 17 s of CPU.
TEST_F(ExhaustPgTest, ManyUnknownKeysAreOneFault) {
  json jdl = Jdl({{"nb_jobs", 1}});
  for (int i = 0; i < 20'000; ++i) jdl["walltimes" + std::to_string(i)] = 1;
  const auto top = Ask("bob", "POST", "/campaigns?dry_run=1", jdl);
  EXPECT_EQ(top.status, 400);
  ASSERT_EQ(top.body["faults"].size(), 1u);
  EXPECT_EQ(top.body["faults"][0]["message"], "more than 100 keys that nobody knows");
  jdl = Jdl({{"nb_jobs", 1}});
  for (int i = 0; i < 20'000; ++i) jdl["clusters"]["alpha"]["walltimes" + std::to_string(i)] = 1;
  EXPECT_EQ(Ask("bob", "POST", "/campaigns?dry_run=1", jdl).body["faults"].size(), 1u);
  jdl = Jdl({{"nb_jobs", 1}});
  for (int i = 0; i < 100; ++i) jdl["walltimes" + std::to_string(i)] = 1;
  EXPECT_EQ(Ask("bob", "POST", "/campaigns", jdl).status, 201) << "CiGri 3 keeps them";
}

// 31 changes of a setup of 0.9 MB took 1.4 GB of the database: each wrote all notes again, with the
// old and the new text in them, and the audit, which nobody may remove, has both, too.
TEST_F(ExhaustPgTest, ALongSettingIsStoredOnceAndNotInEachRecordOfItsChange) {
  const auto id = Submit();
  const std::string path = "/campaigns/" + std::to_string(id);
  Sql("UPDATE campaigns SET notes = (SELECT jsonb_agg(jsonb_build_object('text', i)) "
      "FROM generate_series(1, 200) AS i)");
  for (int i = 0; i < 3; ++i) {
    const json set{{"setup", "# " + RandomHex(200'000)}, {"class", "scavenger"}};
    ASSERT_EQ(Ask("alice", "PATCH", path, json{{"set", set}}).status, 202);
  }
  EXPECT_EQ(One("SELECT length(setup) FROM campaign_clusters"), "400002");
  EXPECT_EQ(One("SELECT jsonb_array_length(notes) FROM campaigns"), "100");
  EXPECT_EQ(One("SELECT notes -> 0 ->> 'text' FROM campaigns"), "1");
  EXPECT_NE(One("SELECT count(*) FROM campaigns, jsonb_array_elements(notes) AS note WHERE "
                "note ->> 'text' ~ '^clusters/alpha/setup .*[.]{3} -> .*[.]{3}$'"),
            "0");
  EXPECT_LT(std::stoi(One("SELECT length(notes::text) FROM campaigns")), 20'000);
  EXPECT_LT(std::stoi(One("SELECT max(length(message)) FROM events")), 5000);
  EXPECT_LT(std::stoi(One("SELECT max(length(audit::text)) FROM audit")), 10'000);
  EXPECT_EQ(One("SELECT new_value #>> '{jdl,class}' FROM audit WHERE new_value #>> '{jdl,class}' "
                "IS NOT NULL"),
            "scavenger");
}

// Each poll looked at all nodes with all of it, and each cycle read it.
TEST_F(ExhaustPgTest, ALongConstraintIsNoClassOfResources) {
  Sql("INSERT INTO clusters (name, kind, api_url, mode) "
      "VALUES ('s', 'slurm', 'unix:/nowhere', 'unlimited')");
  const auto class_of = [&](const std::string& constraint) {
    const json block{{"s", {{"constraint", constraint}}}};
    const auto answer =
        Ask("alice", "POST", "/campaigns", Jdl({{"nb_jobs", 1}, {"clusters", block}}));
    EXPECT_EQ(answer.status, 201) << answer.body;
    return One("SELECT coalesce(resource_class, '') FROM campaign_clusters WHERE campaign_id = " +
               answer.body["id"].dump());
  };
  EXPECT_NE(class_of("a&b"), "");
  EXPECT_EQ(class_of(Repeated("a&", 15'000) + "a"), "");
}

// A rule ran out of memory: it was the operators who had to mend it.
TEST_F(ExhaustPgTest, ACampaignThatIsTooLargeForRulesIsNoFaultOfTheRules) {
  Sql("INSERT INTO admission_rules (name, code) "
      "VALUES ('cap', 'if campaign.jobs > 3 then reject(\"no\") end')");
  Sql("INSERT INTO clusters (name, kind, api_url, mode) SELECT 'c' || i, 'local', 'unix:/nowhere', "
      "'unlimited' FROM generate_series(1, 6) AS i");
  auto jdl = Jdl({{"nb_jobs", 1}, {"setup", std::string(3 << 20, 'x')}});
  for (int i = 1; i < 7; ++i) jdl["clusters"]["c" + std::to_string(i)] = json::object();
  const auto refused = Ask("alice", "POST", "/campaigns", jdl);
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body["message"].get<std::string>().find("has more than the 8 MB"),
            std::string::npos)
      << refused.body["message"];
  EXPECT_EQ(One("SELECT count(*) FROM events WHERE code = 'RULE_BROKEN'"), "0");
}

class DiskPgTest : public ExhaustPgTest {
 protected:
  void Configure(Config& config) override { config.Set("UPLOAD_MAX_MB", "1"); }
  Answer Put(std::int64_t upload, int block, int kilobytes) {
    return Ask("bob", "PUT",
               "/uploads/" + std::to_string(upload) + "/blocks/" + std::to_string(block),
               Repeated(std::string(999, 'x') + "\n", kilobytes), {}, "text/plain");
  }
};

// Uploads had no limit of bytes: the disk of the database would have been full first.
TEST_F(DiskPgTest, TheParametersOfAUserHaveALimitOfBytes) {
  const std::int64_t first = Ask("bob", "POST", "/uploads").body["id"],
                     second = Ask("bob", "POST", "/uploads").body["id"];
  EXPECT_EQ(Put(first, 0, 600).status, 200);
  const auto refused = Put(second, 0, 600);
  EXPECT_EQ(refused.status, 413);
  EXPECT_NE(refused.body["message"].get<std::string>().find("UPLOAD_MAX_MB = 1 MB"),
            std::string::npos)
      << refused.body;
  EXPECT_EQ(Ask("bob", "POST", "/campaigns?upload=" + std::to_string(first), Jdl(json::object())).status, 201);
  EXPECT_EQ(Put(second, 0, 600).status, 413) << "a campaign has them, they are still there";
  json lines = json::array();
  for (int i = 0; i < 600; ++i) lines.push_back(std::string(999, 'x'));
  EXPECT_EQ(Ask("bob", "POST", "/campaigns", Jdl({{"params", lines}})).status, 413);
  EXPECT_EQ(Ask("bob", "POST", "/campaigns", Jdl({{"nb_jobs", 1000}})).status, 201);
  EXPECT_EQ(Put(second, 0, 300).status, 200);
  EXPECT_EQ(Ask("alice", "POST", "/campaigns", Jdl({{"params", lines}})).status, 201)
      << "of each user";
}

// What operators see when a user has nearly all that he may have.
// Only parameters were counted: JDLs without any filled the disk.
TEST_F(DiskPgTest, LongJdlsCountAsParameters) {
  const auto with_setup = [] {
    return Jdl({{"nb_jobs", 1}, {"setup", "# " + RandomHex(300'000)}});
  };
  EXPECT_EQ(Ask("bob", "POST", "/campaigns", with_setup()).status, 201);
  const auto refused = Ask("bob", "POST", "/campaigns", with_setup());
  EXPECT_EQ(refused.status, 413) << refused.body;
  EXPECT_EQ(Ask("alice", "POST", "/campaigns", with_setup()).status, 201) << "of each user";
  const auto small = Ask("bob", "POST", "/campaigns", Jdl({{"nb_jobs", 1}}));
  ASSERT_EQ(small.status, 201);
  EXPECT_EQ(Ask("bob", "PATCH", "/campaigns/" + std::to_string(small.body["id"].get<int>()),
                json{{"set", {{"setup", with_setup()["setup"]}}}})
                .status,
            413);
}

TEST_F(DiskPgTest, TheLimitsShowWhoHasMostOfEachAndWhatChangesIt) {
  const std::int64_t first = Ask("bob", "POST", "/uploads").body["id"];
  for (int i = 1; i < limits::kUploads.value; ++i)
    ASSERT_EQ(Ask("bob", "POST", "/uploads").status, 201);
  ASSERT_EQ(Ask("alice", "POST", "/uploads").status, 201);
  ASSERT_EQ(Put(first, 0, 600).status, 200);
  const auto refused = Ask("bob", "POST", "/uploads");
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(refused.body["message"].get<std::string>().find("the limit uploads"), std::string::npos)
      << refused.body;
  ASSERT_EQ(Ask("alice", "POST", "/campaigns", Jdl({{"nb_jobs", 1}, {"jobs_type", "test"}})).status,
            201);

  const auto shown = Ask("oscar", "GET", "/admin/limits");
  ASSERT_EQ(shown.status, 200) << shown.body;
  std::map<std::string, json> limit;
  for (const auto& item : shown.body["items"]) limit[item["name"]] = item;
  EXPECT_EQ(limit["uploads"]["used"], limits::kUploads.value);
  EXPECT_EQ(limit["uploads"]["used_by"], "user bob");
  EXPECT_EQ(limit["uploads"]["setting"], nullptr) << "compiled in";
  EXPECT_EQ(limit["upload-mb"]["value"], 1) << "as this grid has it";
  EXPECT_EQ(limit["upload-mb"]["setting"], "UPLOAD_MAX_MB");
  EXPECT_EQ(limit["upload-mb"]["used"], 1);
  EXPECT_EQ(limit["test-campaigns"]["used"], 1);
  EXPECT_EQ(limit["test-campaigns"]["used_by"], "user alice");
  EXPECT_GE(limit["all-connections"]["used"], 1) << "this one";
  EXPECT_EQ(limit["long-polls"]["used"], 0);
  EXPECT_EQ(limit["head-bytes"]["used"], nullptr) << "each request";
}

class FullDiskPgTest : public DiskPgTest {
 protected:
  void Configure(Config& config) override {
    config.Set("DATABASE_DISK", dir_);
    config.Set("DATABASE_FREE_MB", "1000000000");
  }
};

TEST_F(FullDiskPgTest, ADiskThatIsNearlyFullTakesNoParameters) {
  const std::int64_t upload = Ask("bob", "POST", "/uploads").body["id"];
  const auto refused = Put(upload, 0, 1);
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body["message"].get<std::string>().find("DATABASE_FREE_MB"), std::string::npos)
      << refused.body;
  EXPECT_EQ(Ask("bob", "POST", "/campaigns", Jdl({{"params", json::array({"a"})}})).status, 503);
  EXPECT_EQ(Ask("bob", "POST", "/campaigns", Jdl({{"nb_jobs", 1}})).status, 201);
  const std::string setup(100'000, '#');
  EXPECT_EQ(Ask("bob", "POST", "/campaigns", Jdl({{"nb_jobs", 1}, {"setup", setup}})).status, 503);
}

// ESC in a project reached the operator's terminal; a byte that is no UTF-8 was a 500.
TEST_F(ExhaustPgTest, NamesThatSteerATerminalAreRefused) {
  const auto id = Submit();
  const std::string path = "/campaigns/" + std::to_string(id);
  const std::vector<std::string> bad = {"a\x1b]0;x\x07", "a\nb", "a\x7f",
                                        "a\xc2\x9b"
                                        "2J",
                                        "a\xe2\x80\xae"
                                        "b"};
  for (const auto& text : bad) {
    for (const char* key : {"name", "project", "share_project", "class", "sla_group"}) {
      const auto refused = Ask("alice", "POST", "/campaigns", Jdl({{"nb_jobs", 1}, {key, text}}));
      EXPECT_EQ(refused.status, 400) << key;
      EXPECT_NE(refused.body.dump().find("control character"), std::string::npos) << refused.body;
      EXPECT_EQ(Ask("alice", "PATCH", path, json{{"set", {{key, text}}}}).status, 400) << key;
    }
    EXPECT_EQ(
        Ask("alice", "POST", "/campaigns", Jdl({{"nb_jobs", 1}, {"licences", {{text, 1}}}})).status,
        400);
    EXPECT_EQ(Ask("alice", "PUT", path, json{{"name", text}}).status, 400);
  }
  for (const char* form : {"name=%FF", "name=a%00b", "name=%1b[2J", "name=a%0ab"})
    EXPECT_EQ(Ask("alice", "PUT", path, form, {}, "application/x-www-form-urlencoded").status, 400)
        << form;
  EXPECT_EQ(One("SELECT name FROM campaigns"), "sweep");
  EXPECT_EQ(Ask("alice", "PUT", path, json{{"name", "caf\xc3\xa9"}}).status, 202);
}

}  // namespace
}  // namespace cigri::test
