// A user on another host: a token, over TLS, with a certificate that the tool checks.
#include "core/text.h"
#include "tests/gridadmin/grid.h"
#include "tests/support/certificate.h"

namespace cigri::test {
namespace {

class TlsPgTest : public GridadminPgTest {
 protected:
  void SetUp() override {
    GridadminPgTest::SetUp();
    authority_ = std::make_unique<Authority>(File("ca"));
    authority_->Issue("server");
    Config config;
    config.Set("SECRET_KEY_FILE", File("secret.key"));
    config.Set("API_TLS_CERT", authority_->Certificate("server"));
    config.Set("API_TLS_KEY", authority_->Key("server"));
    tls_context_ = std::make_unique<api::Context>(config, conninfo(), 4);
    tls_server_ = std::make_unique<api::ApiServer>(*tls_context_, api::AllRoutes());
    port_ = tls_server_->ListenTcp("127.0.0.1:0");
  }
  void TearDown() override {
    tls_server_.reset();
    tls_context_.reset();
    GridadminPgTest::TearDown();
  }
  std::string Far(const std::string& token) const {
    return "CIGRI_API=https://localhost:" + std::to_string(port_) + " CIGRI_TOKEN=" + token;
  }
  std::string Ca() const { return " CIGRI_CA=" + authority_->ca(); }

  std::unique_ptr<Authority> authority_;
  std::unique_ptr<api::Context> tls_context_;
  std::unique_ptr<api::ApiServer> tls_server_;
  int port_ = 0;
};

TEST_F(TlsPgTest, ATokenAndACheckedCertificateAreEnough) {
  const std::string token{Trim(Admin("token add carol").out)};
  Admin("operator add carol");
  EXPECT_EQ(One("SELECT last_used_at IS NULL FROM api_tokens"), "t");
  const Ran done = Admin("operator list", Far(token) + Ca());
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(One("SELECT last_used_at > now() - interval '1 minute' FROM api_tokens"), "t");
  const Ran unchecked = Admin("operator list", Far(token));
  EXPECT_EQ(unchecked.code, 69);
  EXPECT_NE(unchecked.err.find("is not to be trusted"), std::string::npos) << unchecked.err;
  EXPECT_NE(unchecked.err.find("CIGRI_CA"), std::string::npos) << unchecked.err;
}

TEST_F(TlsPgTest, ATokenThatHasExpiredIsRefused) {
  const std::string token{Trim(Admin("token add carol --days 1").out)};
  Admin("operator add carol");
  Sql("UPDATE api_tokens SET expires_at = now() - interval '1 second'");
  const Ran refused = Admin("operator list", Far(token) + Ca());
  EXPECT_EQ(refused.code, 77) << refused.err;
}

TEST_F(TlsPgTest, PythonChecksTheCertificateToo) {
  const std::string token{Trim(Admin("token add carol").out)};
  const auto python = [&](const std::string& environment) {
    const std::string command =
        environment + " PYTHONPATH=" CIGRI_SOURCE_DIR "/python timeout 20 python3 -B -c '"
        "import cigri; print(cigri._Api(None).call(\"GET\", \"/me\")[\"user\"])' >" + File("out") +
        " 2>&1";
    const int status = std::system(command.c_str());
    return std::pair(status, Read(File("out")));
  };
  EXPECT_EQ(python(Far(token) + Ca()), std::pair(0, std::string("carol\n")));
  const auto [code, unchecked] = python(Far(token));
  EXPECT_EQ(WEXITSTATUS(code), 1) << "refused at once, not asked again: " << unchecked;
  EXPECT_NE(unchecked.find("is not to be trusted"), std::string::npos) << unchecked;
  EXPECT_NE(unchecked.find("$CIGRI_CA"), std::string::npos) << unchecked;
  const auto [none, empty] = python(Far(token) + " CIGRI_CA=/dev/null");
  EXPECT_EQ(WEXITSTATUS(none), 1);
  EXPECT_NE(empty.find("$CIGRI_CA, /dev/null, has no certificate"), std::string::npos) << empty;
}

}  // namespace
}  // namespace cigri::test
