// The words of src/core/states.h are those of the SQL types, in the same order.
#include "core/states.h"
#include "tests/support/pg.h"

namespace cigri {
namespace {

class StatesPgTest : public test::PgTest {
 protected:
  template <typename Enum>
  void ExpectSame(const std::string& type) {
    std::vector<std::string> words;
    for (const auto& row : Sql("SELECT unnest(enum_range(NULL::" + type + "))::text"))
      words.emplace_back(row[0].c_str());
    const auto& ours = EnumNames<Enum>();
    EXPECT_EQ(words, std::vector<std::string>(ours.begin(), ours.end())) << type;
    for (const auto& word : words) {
      const auto value = FromString<Enum>(word);
      ASSERT_TRUE(value) << type << " " << word;
      EXPECT_EQ(ToString(*value), word);
    }
    ++compared_;
  }
  int compared_ = 0;
};

TEST_F(StatesPgTest, EveryTypeHasTheWordsOfItsEnumAndNoOther) {
  ExpectSame<CampaignState>("campaign_state");
  ExpectSame<BatchKind>("batch_kind");
  ExpectSame<BatchState>("batch_state");
  ExpectSame<JobState>("job_state");
  ExpectSame<ExitClass>("exit_class");
  ExpectSame<ClusterMode>("cluster_mode");
  EXPECT_EQ(Sql("SELECT count(*) FROM pg_type WHERE typtype = 'e' AND "
                "typnamespace = current_schema()::regnamespace")[0][0]
                .as<int>(),
            compared_)
      << "a type of the schema is not compared here";
}

}  // namespace
}  // namespace cigri
