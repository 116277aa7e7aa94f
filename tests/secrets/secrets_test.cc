#include "secrets/secrets.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <set>

#include "core/error.h"

namespace cigri {
namespace {

class SecretsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cigri-secrets-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    dir_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::string File(const std::string& name = "sub/secret.key") const { return dir_ + "/" + name; }

  static std::string FaultOf(const std::function<void()>& f) {
    try {
      f();
    } catch (const Fatal& e) {
      EXPECT_EQ(e.code(), kExitConfig);
      return e.what();
    }
    return "";
  }

 private:
  std::string dir_;
};

TEST_F(SecretsTest, WhatIsEncryptedComesBackByteForByte) {
  SecretBox box(File());
  for (const std::string& plain : {std::string(), std::string("päss wörd"),
                                   std::string("\0x\xff", 3), std::string(5000, 'k')}) {
    const std::string text = box.Encrypt(plain);
    EXPECT_TRUE(SecretBox::IsEncrypted(text));
    EXPECT_EQ(text.find("wörd"), text.npos);
    EXPECT_EQ(box.Decrypt(text), plain);
  }
  EXPECT_NE(box.Encrypt("x"), box.Encrypt("x"));
}

TEST_F(SecretsTest, TheKeyOutlivesTheProcessAndIsItsOwnersAlone) {
  const std::string text = SecretBox(File()).Encrypt("hunter2");
  EXPECT_EQ(SecretBox(File()).Decrypt(text), "hunter2");
  struct stat st {};
  ASSERT_EQ(stat(File().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
}

TEST_F(SecretsTest, AnotherKeyOrACutTextIsAnErrorThatNamesTheFileAndNotTheSecret) {
  SecretBox box(File());
  const std::string text = box.Encrypt("hunter2");
  SecretBox other(File("other.key"));
  other.Encrypt("x");
  const std::string fault = FaultOf([&] { other.Decrypt(text); });
  EXPECT_NE(fault.find("other.key"), fault.npos) << fault;
  EXPECT_EQ(fault.find(text), fault.npos) << fault;
  EXPECT_NE(FaultOf([&] { box.Decrypt(text.substr(0, text.size() - 2)); }), "");
  EXPECT_NE(FaultOf([&] { box.Decrypt("s1:short"); }), "");
  EXPECT_NE(FaultOf([&] { box.Decrypt("s1:!!"); }), "");
}

// A key of its own on a second host would only hide that the first one's must be copied.
TEST_F(SecretsTest, WithoutAKeyFileNothingIsDecryptedAndNoKeyIsMade) {
  const std::string text = SecretBox(File()).Encrypt("hunter2");
  const SecretBox second(File("second.key"));
  const std::string fault = FaultOf([&] { second.Decrypt(text); });
  EXPECT_NE(fault.find("there is no key file " + File("second.key") + " on " + HostName()),
            fault.npos)
      << fault;
  EXPECT_FALSE(std::filesystem::exists(File("second.key")));
}

TEST_F(SecretsTest, ATextWrittenByHandIsTakenAsItIs) {
  EXPECT_EQ(SecretBox(File()).Decrypt("plain"), "plain");
}

TEST_F(SecretsTest, AKeyThatOthersMayReadOrThatIsNoneIsRefused) {
  SecretBox(File()).Encrypt("x");
  chmod(File().c_str(), 0640);
  EXPECT_NE(FaultOf([&] { SecretBox{File()}; }).find("others may read it"), std::string::npos);
  std::ofstream(File("bad.key")) << "not a key\n";
  chmod(File("bad.key").c_str(), 0600);
  EXPECT_NE(FaultOf([&] { SecretBox{File("bad.key")}; }).find("it holds no key"),
            std::string::npos);
  EXPECT_NE(FaultOf([&] { SecretBox("/proc/nowhere/secret.key").Encrypt("x"); }), "");
}

TEST_F(SecretsTest, ManyWhoMakeTheKeyAtOnceEndWithOne) {
  std::vector<std::future<std::string>> texts;
  for (int i = 0; i < 8; ++i)
    texts.push_back(std::async(std::launch::async, [&] { return SecretBox(File()).Encrypt("x"); }));
  for (auto& made : texts) {
    const std::string text = made.get();
    EXPECT_EQ(SecretBox(File()).Decrypt(text), "x");
  }
}

TEST_F(SecretsTest, TokensAreUniqueAndOnlyTheirHashIsStable) {
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) tokens.insert(RandomToken());
  EXPECT_EQ(tokens.size(), 100u);
  const std::string token = *tokens.begin();
  EXPECT_EQ(token.rfind("cigri_", 0), 0u);
  EXPECT_EQ(HashToken(token), HashToken(token));
  EXPECT_EQ(HashToken(token).size(), 64u);
  EXPECT_NE(HashToken(token), HashToken(token + "x"));
  EXPECT_EQ(ShownPart(token), token.substr(0, 10) + "...");
  EXPECT_EQ(ShownPart("abcd"), "ab...");
}

}  // namespace
}  // namespace cigri
