#include <pwd.h>

#include "core/text.h"
#include "tests/api/api_fixture.h"

namespace cigri::test {

std::string ApiTest::Me() { return getpwuid(geteuid())->pw_name; }

Answer ApiTest::Ask(const std::string& user, const std::string& method, const std::string& path,
                    const nlohmann::json& body, http::Client::Headers headers,
                    const std::string& type) {
  auto client = Http();
  if (!user.empty()) headers["X-Cigri-User"] = user;
  const std::string text = body.is_null()     ? ""
                           : body.is_string() ? body.get<std::string>()
                                              : body.dump();
  const auto r = method == "GET"      ? client.Get(path, headers)
                 : method == "DELETE" ? client.Delete(path, headers)
                 : method == "PUT"    ? client.Put(path, text, type, headers)
                 : method == "PATCH"  ? client.Patch(path, text, type, headers)
                                      : client.Post(path, text, type, headers);
  EXPECT_EQ(r.outcome, http::Outcome::kAnswered) << method << " " << path << ": " << r.error;
  return {r.status, nlohmann::json::parse(r.body, nullptr, false), r.headers};
}

std::int64_t ApiTest::Submit(const nlohmann::json& more, const std::string& query) {
  nlohmann::json jdl{
      {"name", "sweep"},
      {"exec_file", "./run.sh"},
      {"clusters", {{"alpha", nlohmann::json::object()}, {"beta", nlohmann::json::object()}}}};
  jdl.update(more);
  const auto answer = Ask("alice", "POST", "/campaigns" + query, jdl);
  EXPECT_EQ(answer.status, 201) << answer.body;
  return answer.body.value("id", std::int64_t{0});
}

std::int64_t ApiTest::Upload(const std::vector<std::string>& lines) {
  const auto opened = Ask("alice", "POST", "/uploads");
  EXPECT_EQ(opened.status, 201);
  const std::int64_t id = opened.body["id"];
  const auto put =
      Ask("alice", "PUT", "/uploads/" + std::to_string(id) + "/blocks/0", jdl::EncodeBlock(lines),
          {{"X-Cigri-Lines", std::to_string(lines.size())}}, "text/plain");
  EXPECT_EQ(put.status, 200) << put.body;
  return id;
}

void ApiTest::ExpectConservation(std::int64_t campaign) {
  const std::string id = std::to_string(campaign);
  EXPECT_EQ(One("SELECT ntasks FROM campaign_cursor WHERE campaign_id = " + id),
            One("SELECT (SELECT waiting FROM campaign_cursor WHERE campaign_id = " + id +
                ")"
                " + (SELECT count(*) FROM retry WHERE campaign_id = " +
                id + ") + (SELECT count(*) FROM needs_attention WHERE campaign_id = " + id +
                ")"
                " + (SELECT count(*) FROM done WHERE counted AND campaign_id = " +
                id + ")"));
}

}  // namespace cigri::test
