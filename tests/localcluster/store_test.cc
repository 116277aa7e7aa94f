// What the store of a local cluster keeps over starts of its daemon.
#include "localcluster/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace cigri::localcluster {
namespace {

// A start that failed after a reboot made the next one believe that there had been none: it looked for
// its jobs by numbers of processes that were strangers' by then, and killed these.
TEST(StoreTest, ARebootCountsUntilWhatRanBeforeItIsSettled) {
  char folder[] = "/tmp/cigri-store-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string file = std::string(folder) + "/store.db";
  EXPECT_FALSE(Store(file).rebooted()) << "a new one";
  {
    SQLite::Database db(file, SQLite::OPEN_READWRITE);
    db.exec("UPDATE identity SET boot = 'another'");
  }
  EXPECT_TRUE(Store(file).rebooted());
  {
    Store again(file);
    EXPECT_TRUE(again.rebooted()) << "the first start did not come to its end";
    again.KeepBoot();
  }
  EXPECT_FALSE(Store(file).rebooted());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cigri::localcluster
