// Surroundings of a grid that a script of tests/ha makes, breaks and removes.
#pragma once
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "core/text.h"
#include "tests/system/grid.h"

namespace cigri::test {

/// In a folder of their own; removed with the object, or when the test is killed.
class Scripted {
 public:
  /// `script`: the name of a file in tests/ha.
  explicit Scripted(const std::string& script)
      : script_(std::string(CIGRI_SOURCE_DIR) + "/tests/ha/" + script) {
    char name[] = "/tmp/cigri-ha-XXXXXX";
    if (mkdtemp(name) != nullptr) folder_ = name;
    std::filesystem::permissions(folder_, std::filesystem::perms(0755));
    guard_ = std::make_unique<Guard>(Arguments{script_, folder_, "down"}, folder_);
  }
  ~Scripted() {
    Do({"down"});
    guard_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  /// What the script prints. A failure of the script is one of the test.
  std::string Do(Arguments words) const {
    words = Command(std::move(words));
    Child child(words, {"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "LANG=C.UTF-8"}, "/", "",
                folder_ + "/script");
    const Result result = child.Wait(Seconds(120));
    EXPECT_EQ(result.code, 0) << Join(words, " ") << "\n" << result.out << result.err;
    return std::string(Trim(result.out));
  }
  /// The call of the script with these words.
  Arguments Command(Arguments words) const {
    words.insert(words.begin(), {script_, folder_});
    return words;
  }

 private:
  std::string script_, folder_;
  std::unique_ptr<Guard> guard_;
};

}  // namespace cigri::test
