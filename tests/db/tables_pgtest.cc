// docs/tables.md against the schema and the statements: every column is in the page, and whoever
// writes one is named there as its writer.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "core/text.h"
#include "tests/db/statements.h"
#include "tests/support/pg.h"

namespace cigri {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

struct PageRow {
  Names columns;
  std::string writer;
};
using Page = std::map<std::string, std::vector<PageRow>>;

std::string ReadText(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

Names QuotedIn(const std::string& text) {
  static const std::regex kQuoted("`(\\w+)`");
  Names names;
  for (std::sregex_iterator it(text.begin(), text.end(), kQuoted), end; it != end; ++it)
    names.insert((*it)[1]);
  return names;
}

Names ColumnsIn(const Page& page, const std::string& table) {
  Names columns;
  const auto found = page.find(table);
  if (found == page.end()) return columns;
  for (const auto& row : found->second) columns.insert(row.columns.begin(), row.columns.end());
  return columns;
}

// "| `table` | columns | writer |"; a row without a table continues the one before it.
Page WritersPage() {
  static const std::regex kRow(R"(\| (?:`(\w+)`.*?)? ?\| (.*?) \| (.*) \|)");
  Page page;
  std::string table;
  std::ifstream in(fs::path(CIGRI_SOURCE_DIR) / "docs/tables.md");
  std::smatch match;
  for (std::string line; std::getline(in, line) && line != "## Views";) {
    if (!std::regex_match(line, match, kRow)) continue;
    if (match[1].matched) table = match[1];
    PageRow row{QuotedIn(match[2]), match[3]};
    if (StartsWith(match[2].str(), "those of `"))
      row.columns = ColumnsIn(page, *QuotedIn(match[2]).begin());
    page[table].push_back(row);
  }
  return page;
}

// Who uses each statement: a folder of src, or "cigri" for the tools.
std::map<std::string, Names> UsersOfStatements() {
  static const std::regex kUse(R"(sql::k(\w+))");
  std::map<std::string, Names> users;
  for (const std::string top : {"src", "tools"}) {
    const fs::path root = fs::path(CIGRI_SOURCE_DIR) / top;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
      const std::string text = ReadText(entry.path());
      const std::string folder =
          top == "tools" ? "cigri" : fs::relative(entry.path(), root).begin()->string();
      for (std::sregex_iterator it(text.begin(), text.end(), kUse), end; it != end; ++it)
        users[(*it)[1]].insert(folder);
    }
  }
  return users;
}

// How the page names a folder that is not a module's: a library acts for whoever calls it.
const std::map<std::string, std::string> kNamedAs = {
    {"cigri", "`cigri (up|migrate|import-cigri3)`"},
    {"embedded", "`cigri up`"},
    {"module", "each module"},
    {"clusterdb", "(every|each) module|`cigri up`|src/clusterdb"},
    {"db", ".*"}};
// The page says above its tables that these remove all of a campaign, for the api and nikita.
const Names kPurge = {"PurgeCampaign", "PurgeCampaignRows"};

bool IsNamedAsWriter(const PageRow& row, const std::string& folder) {
  const auto named = kNamedAs.find(folder);
  const std::string words = named == kNamedAs.end() ? "\\b" + folder + "\\b" : named->second;
  return std::regex_search(row.writer, std::regex(words));
}

// The columns that `folder` may write of `table`; nullopt when it is no writer of the table.
std::optional<Names> MayWrite(const Page& page, const std::string& table,
                              const std::string& folder) {
  std::optional<Names> columns;
  const auto found = page.find(table);
  if (found == page.end()) return columns;
  for (const auto& row : found->second) {
    if (!IsNamedAsWriter(row, folder)) continue;
    if (!columns) columns.emplace();
    columns->insert(row.columns.begin(), row.columns.end());
  }
  return columns;
}

TEST(WritesOfTest, FindsWhatEachPartOfAStatementWrites) {
  const auto writes = test::WritesOf(
      "-- DELETE FROM not_this\n"
      "WITH gone AS (DELETE FROM a WHERE x = 'UPDATE b SET y = 1'),\n"
      "moved AS (UPDATE c AS k SET p = (q = 1), (r, s) = (1, 2) FROM gone WHERE t = 3)\n"
      "INSERT INTO d AS e (u, v) SELECT 1, 2 FROM f FOR UPDATE\n"
      "ON CONFLICT (u) DO UPDATE SET v = excluded.v, w = 5 RETURNING z;");
  using Columns = std::vector<std::string>;
  const std::vector<std::pair<std::string, Columns>> expected = {
      {"a", {}}, {"c", {"p", "r", "s"}}, {"d", {"u", "v"}}, {"d", {"v", "w"}}};
  ASSERT_EQ(writes.size(), expected.size());
  for (std::size_t i = 0; i < writes.size(); ++i) {
    EXPECT_EQ(writes[i].table, expected[i].first);
    EXPECT_EQ(writes[i].columns, expected[i].second);
  }
}

TEST(TablesPageTest, NamesWhoeverWritesAColumnAsItsWriter) {
  const auto page = WritersPage();
  const auto users = UsersOfStatements();
  std::size_t seen = 0;
  for (const auto& s : test::Statements()) {
    const auto used = users.find(s.name);
    EXPECT_TRUE(used != users.end()) << s.file << ": nobody uses " << s.name;
    if (used == users.end() || kPurge.count(s.name) != 0) continue;
    for (const auto& write : test::WritesOf(s.sql))
      for (const auto& folder : used->second) {
        const auto allowed = MayWrite(page, write.table, folder);
        EXPECT_TRUE(allowed) << "src/" << folder << " writes " << write.table << " (" << s.name
                             << "): docs/tables.md does not say so";
        if (!allowed) continue;
        for (const auto& column : write.columns) {
          ++seen;
          EXPECT_TRUE(allowed->count(column))
              << "src/" << folder << " writes " << write.table << "." << column << " (" << s.name
              << "): docs/tables.md names another writer";
        }
      }
  }
  EXPECT_GT(seen, 300u) << "the search finds too few";
}

class TablesPagePgTest : public test::PgTest {};

TEST_F(TablesPagePgTest, HasEveryTableAndColumnOfTheSchemaAndNoOther) {
  std::map<std::string, Names> schema;
  for (const auto& row : Sql("SELECT table_name, column_name FROM information_schema.columns "
                             "JOIN information_schema.tables USING (table_schema, table_name) "
                             "WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'"))
    schema[row[0].as<std::string>()].insert(row[1].as<std::string>());
  const auto page = WritersPage();
  ASSERT_GT(schema.size(), 40u);
  for (const auto& [table, columns] : schema) {
    const auto listed = ColumnsIn(page, table);
    for (const auto& column : columns)
      EXPECT_TRUE(listed.count(column)) << table << "." << column << " is not in docs/tables.md";
  }
  for (const auto& [table, rows] : page)
    EXPECT_TRUE(schema.count(table)) << "docs/tables.md has a table " << table;
}

}  // namespace
}  // namespace cigri
