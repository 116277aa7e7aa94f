// A certificate authority for a test, and the certificates that it signs.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace cigri::test {

/// Makes and removes its files; "localhost" and 127.0.0.1 are who its certificates are for.
class Authority {
 public:
  explicit Authority(std::string dir) : dir_(std::move(dir)) {
    std::filesystem::create_directories(dir_);
    Openssl("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test"
            " -keyout " + dir_ + "/ca.key -out " + ca());
  }
  std::string ca() const { return dir_ + "/ca.pem"; }
  /// Writes `name`.pem and `name`.key; the file of both is replaced, as certbot does.
  void Issue(const std::string& name) const {
    const std::string made = dir_ + "/made";
    Openssl("req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost"
            " -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout " + made + ".key -out " +
            made + ".csr");
    Openssl("x509 -req -days 2 -copy_extensions copy -CAcreateserial -CA " + ca() + " -CAkey " + dir_ +
            "/ca.key -in " + made + ".csr -out " + made + ".pem");
    std::filesystem::rename(made + ".key", Key(name));
    std::filesystem::rename(made + ".pem", Certificate(name));
  }
  std::string Certificate(const std::string& name) const { return dir_ + "/" + name + ".pem"; }
  std::string Key(const std::string& name) const { return dir_ + "/" + name + ".key"; }

 private:
  static void Openssl(const std::string& words) {
    ASSERT_EQ(std::system(("openssl " + words + " 2>/dev/null").c_str()), 0) << words;
  }
  const std::string dir_;
};

}  // namespace cigri::test
