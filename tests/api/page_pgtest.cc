// The web page as browsers fetch it: where it is, what it allows, and what no browser can be made
// to do for another page.
#include <fstream>

#include "tests/api/api_fixture.h"

namespace cigri::test {
namespace {

const std::string kBrowser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

// A folder with a page, as the build leaves it.
class PageTest : public ApiTest {
 protected:
  void Configure(Config& config) override {
    Write("index.html", "<script src=\"@base@/page/main-X.js\"></script>");
    Write("main-X.js", "script");
    Write("main-X.js.br", "\x8b\x02\x80script\x03");
    Write("secret.key", "secret");
    config.Set("PAGE", page_.empty() ? (dir_ / "web").string() : page_);
  }
  void Write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(dir_ / "web");
    std::ofstream(dir_ / "web" / name) << text;
  }
  http::Response Get(const std::string& path, const http::Client::Headers& headers = {}) {
    return Http().Get(path, headers);
  }
  std::string page_;
};

std::string HeaderOf(const http::Response& r, const std::string& name) {
  const auto at = r.headers.find(name);
  return at == r.headers.end() ? "" : at->second;
}

TEST_F(PageTest, ABrowserGetsThePageAndAToolTheLinksOfCigri3) {
  const auto page = Get("/", {{"Accept", kBrowser}});
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.body, "<script src=\"/page/main-X.js\"></script>");
  const auto below = Get("/cigri-api/", {{"Accept", kBrowser}, {"User-Agent", "Mozilla/5.0"}});
  EXPECT_EQ(below.body, "<script src=\"/cigri-api/page/main-X.js\"></script>");
  EXPECT_EQ(HeaderOf(page, "vary"), "Accept");
  for (const std::string accept : {"*/*", "application/json"})
    EXPECT_TRUE(nlohmann::json::parse(Get("/", {{"Accept", accept}}).body).contains("links"));
  const auto behind = Get("/", {{"Accept", kBrowser}, {"X-Cigri-Api-Path-Prefix", "/grid"}});
  EXPECT_NE(behind.body.find("\"/grid/page/"), std::string::npos) << behind.body;
  const auto hostile = Get("/", {{"Accept", kBrowser}, {"X-Cigri-Api-Path-Prefix", "\"><b>"}});
  EXPECT_EQ(hostile.body.find("<b>"), std::string::npos) << "a header became HTML";
}

TEST_F(PageTest, ThePageMayLoadAndAskNothingButThisServer) {
  const auto page = Get("/", {{"Accept", kBrowser}});
  EXPECT_EQ(HeaderOf(page, "content-security-policy"),
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
            "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
            "require-trusted-types-for 'script'; trusted-types 'none'");
  EXPECT_EQ(HeaderOf(Get("/health"), "x-content-type-options"), "nosniff");
}

TEST_F(PageTest, FilesAreSentAsTheyWereCompressed) {
  const auto plain = Get("/page/main-X.js", {{"Accept-Encoding", "identity"}});
  EXPECT_EQ(plain.body, "script");
  EXPECT_NE(HeaderOf(plain, "cache-control").find("immutable"), std::string::npos);
  const auto packed = Get("/page/main-X.js", {{"Accept-Encoding", "gzip, deflate, br, zstd"}});
  EXPECT_EQ(packed.body, "script");
  EXPECT_EQ(packed.headers.count("content-encoding"), 1u);
  EXPECT_EQ(HeaderOf(packed, "content-encoding"), "br");
  EXPECT_EQ(HeaderOf(Get("/page/main-X.js", {{"Accept-Encoding", "br;q=0"}}), "content-encoding"),
            "");
}

TEST_F(PageTest, NothingOutsideOfThePageIsAFileOfIt) {
  for (const std::string path : {"/page/../cigri.conf", "/page/%2e%2e%2fsecret.key", "/page/..",
                                 "/page/secret.key", "/page/main-X.js%00", "/page/none.js",
                                 "/page/%2fetc%2fpasswd", "/page/index.html"})
    EXPECT_EQ(Get(path).status, 404) << path;
}

TEST_F(PageTest, AnswersAreNeverCompressedByBrotliWhileSomebodyWaits) {
  for (int i = 0; i < 20; ++i) Submit();
  const auto answer = Http().Get("/campaigns", {{"X-Cigri-User", "alice"},
                                                {"Accept-Encoding", "gzip, deflate, br, zstd"}});
  EXPECT_EQ(HeaderOf(answer, "content-encoding"), "gzip");
}

TEST_F(PageTest, MeNamesTheCallerAndNobody) {
  EXPECT_EQ(Ask("alice", "GET", "/me").body, nlohmann::json({{"user", "alice"}, {"operator", false}}));
  EXPECT_EQ(Ask("oscar", "GET", "/me").body["operator"], true);
  EXPECT_EQ(Ask("", "GET", "/me").body, nlohmann::json({{"user", ""}, {"operator", false}}));
}

class NoPageTest : public PageTest {
 protected:
  NoPageTest() { page_ = "off"; }
};

TEST_F(NoPageTest, SwitchedOffThereIsNoneAndTheLinksStay) {
  const auto root = Get("/", {{"Accept", kBrowser}});
  EXPECT_EQ(root.status, 200);
  EXPECT_TRUE(nlohmann::json::parse(root.body).contains("links"));
  EXPECT_EQ(Get("/page/main-X.js").status, 404);
}

// A browser behind `ssh -L 8080:/run/api.sock` is its user to the kernel, for any page that asks.
class SocketTest : public PageTest {
 protected:
  void Configure(Config& config) override {
    PageTest::Configure(config);
    config.Set("API_TRUSTED_PROXY", "");
    config.Set("API_HOSTS", "grid.example");
  }
};

TEST_F(SocketTest, PagesOfOtherSitesChangeNothingThroughTheUnixSocket) {
  const auto status = [&](const http::Client::Headers& headers) {
    return Ask("", "POST", "/uploads", nullptr, headers).status;
  };
  EXPECT_EQ(status({{"Host", "localhost:8080"}}), 201) << "a tool";
  EXPECT_EQ(status({{"Host", "localhost:8080"}, {"Origin", "http://localhost:8080"},
                    {"Sec-Fetch-Site", "same-origin"}}), 201) << "our page";
  EXPECT_EQ(status({{"Host", "localhost:8080"}, {"Origin", "http://evil.example"}}), 403);
  EXPECT_EQ(status({{"Host", "localhost:8080"}, {"Sec-Fetch-Site", "cross-site"}}), 403);
  EXPECT_EQ(status({{"Host", "localhost:8080"}, {"Origin", "null"}}), 403);
}

TEST_F(SocketTest, ANameThatAForeignDnsServerPointsHereReadsNothing) {
  EXPECT_EQ(Ask("", "GET", "/campaigns", nullptr, {{"Host", "evil.example:8080"}}).status, 403);
  for (const std::string host : {"localhost:8080", "127.0.0.1:8080", "[::1]:8080", "grid",
                                 "grid.example"})
    EXPECT_EQ(Ask("", "GET", "/campaigns", nullptr, {{"Host", host}}).status, 200) << host;
}

}  // namespace
}  // namespace cigri::test
