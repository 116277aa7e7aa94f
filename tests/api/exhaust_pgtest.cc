// Attacks by a user on what the API shares among all: its memory, its time, the database's disk.
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
