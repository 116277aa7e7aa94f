// Every statement of sql/queries is one that PostgreSQL takes, and gives the columns that its
// `-- returns:` line promises.
#include <gtest/gtest.h>

#include <libpq-fe.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <regex>
#include <set>

#include "tests/db/statements.h"
#include "tests/support/pg.h"

namespace cigri {
namespace {

using test::Statement;
using test::Statements;

// Which types of PostgreSQL a declared type reads without a loss. A sum of bigint is numeric and
// count(*) is bigint: the statement casts them to what it promises. extract() is numeric.
const std::map<std::string, std::set<std::string>> kReads = {
    {"bool", {"boolean"}},
    {"int", {"integer", "smallint"}},
    {"int64", {"bigint", "integer", "smallint"}},
    {"double", {"double precision", "real", "numeric", "integer"}},
    {"text", {"text", "json", "jsonb", "timestamp with time zone"}},
    {"bytes", {"bytea"}},
    {"int[]", {"integer[]"}},
    {"int64[]", {"bigint[]"}},
    {"double[]", {"real[]", "double precision[]"}},
    {"text[]", {"text[]"}}};

// Columns that may be NULL in their table, and are not in the rows that the statement chooses.
const std::set<std::string> kChosenNotNull = {"FeedTokens.feed_token",
                                              "Leader.leader",
                                              "ListClusterTokens.token",
                                              "MissingTokens.campaign_id",
                                              "OpenBlackHoles.campaign_id",
                                              "OpenBlackHoles.cluster_id",
                                              "OverdueJobs.overdue_s",
                                              "RefundTasks.event_id",
                                              "ReportedOverdueJobs.campaign_id",
                                              "ReportedOverdueJobs.cluster_id",
                                              "RuleVersion.code",
                                              "RuleVersion.priority",
                                              "StopHeldCampaigns.state_reason",
                                              "UserClusterToken.token"};

struct TableColumn {
  std::string table;
  bool not_null;
};

class StatementsPgTest : public test::PgTest {
 protected:
  void SetUp() override {
    test::PgTest::SetUp();
    session_.reset(PQconnectdb(conninfo().c_str()));
    ASSERT_EQ(PQstatus(session_.get()), CONNECTION_OK) << PQerrorMessage(session_.get());
    std::ifstream in(std::string(CIGRI_SOURCE_DIR) + "/tests/support/cigri3_tables.sql");
    Sql("CREATE SCHEMA cigri3_tables; SET LOCAL search_path TO cigri3_tables; " +
        std::string(std::istreambuf_iterator<char>(in), {}));
  }
  void TearDown() override {
    Sql("DROP SCHEMA cigri3_tables CASCADE");
    test::PgTest::TearDown();
  }
  using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;
  // Prepares `sql`; a failure is a failure of the test.
  Result Describe(const Statement& s) {
    Sees(s.file.find("cigri3.sql") != s.file.npos);
    Result prepared(PQprepare(session_.get(), s.name.c_str(), s.sql.c_str(), 0, nullptr), PQclear);
    EXPECT_EQ(PQresultStatus(prepared.get()), PGRES_COMMAND_OK)
        << s.file << ": " << s.name << ": " << PQresultErrorMessage(prepared.get());
    return Result(PQdescribePrepared(session_.get(), s.name.c_str()), PQclear);
  }
  // What `cigri import-cigri3` reads is in tables of a CiGri 3, some with names of ours.
  void Sees(bool cigri3) {
    if (cigri3 == cigri3_) return;
    cigri3_ = cigri3;
    const std::string path = cigri3 ? "SET search_path TO cigri3_tables" : "RESET search_path";
    Result(PQexec(session_.get(), path.c_str()), PQclear);
  }
  // Enums are texts to us.
  std::string TypeName(Oid oid) {
    const auto found = types_.find(oid);
    if (found != types_.end()) return found->second;
    const auto row =
        Sql("SELECT CASE WHEN typtype = 'e' THEN 'text' ELSE format_type(oid, NULL) "
            "END FROM pg_type WHERE oid = " +
            std::to_string(oid));
    return types_[oid] = row[0][0].as<std::string>();
  }
  // Of all tables (no views), by the number of the table and of the column in it.
  std::map<std::pair<Oid, int>, TableColumn> TableColumns() {
    std::map<std::pair<Oid, int>, TableColumn> columns;
    for (const auto& row : Sql("SELECT attrelid, attnum, relname, attnotnull FROM pg_attribute "
                               "JOIN pg_class ON pg_class.oid = attrelid "
                               "WHERE relkind = 'r' AND attnum > 0"))
      columns[{row[0].as<Oid>(), row[1].as<int>()}] = {row[2].as<std::string>(), row[3].as<bool>()};
    return columns;
  }

 private:
  bool cigri3_ = false;
  std::unique_ptr<PGconn, decltype(&PQfinish)> session_{nullptr, PQfinish};
  std::map<Oid, std::string> types_;
};

TEST_F(StatementsPgTest, EachIsPreparedAndGivesTheColumnsOfItsStruct) {
  const auto statements = Statements();
  ASSERT_GT(statements.size(), 250u) << "the search finds too few";
  for (const auto& s : statements) {
    const Result description = Describe(s);
    const int n = PQnfields(description.get());
    const bool is_void = n == 1 && TypeName(PQftype(description.get(), 0)) == "void";
    ASSERT_EQ(static_cast<std::size_t>(is_void ? 0 : n), s.columns.size())
        << s.file << ": " << s.name << " and its -- returns: line have not the same columns";
    for (int i = 0; i < n && !is_void; ++i) {
      const auto& column = s.columns[static_cast<std::size_t>(i)];
      EXPECT_EQ(PQfname(description.get(), i), column.name) << s.file << ": " << s.name;
      const auto reads = kReads.find(column.type);
      ASSERT_NE(reads, kReads.end()) << s.name << ": unknown type " << column.type;
      const auto type = TypeName(PQftype(description.get(), i));
      EXPECT_TRUE(reads->second.count(type)) << s.file << ": " << s.name << ": " << column.name
                                             << " is " << type << ", not " << column.type;
    }
  }
}

bool IsLeftJoined(const Statement& s, const std::string& table) {
  return std::regex_search(s.sql, std::regex("LEFT JOIN " + table + "\\b"));
}

TEST_F(StatementsPgTest, AColumnThatMayBeNullIsDeclaredSo) {
  const auto table_columns = TableColumns();
  std::size_t seen = 0;
  for (const auto& s : Statements()) {
    const Result description = Describe(s);
    for (std::size_t i = 0; i < s.columns.size(); ++i) {
      const auto& column = s.columns[i];
      const int field = static_cast<int>(i);
      const auto found = table_columns.find(
          {PQftable(description.get(), field), PQftablecol(description.get(), field)});
      // An array that is NULL is read as an empty one, as bytes are.
      if (found == table_columns.end() || column.nullable || column.type.back() == ']' ||
          column.type == "bytes" || kChosenNotNull.count(s.name + "." + column.name) != 0)
        continue;
      ++seen;
      const auto& [table, not_null] = found->second;
      EXPECT_TRUE(not_null && !IsLeftJoined(s, table))
          << s.file << ": " << s.name << ": " << column.name << " of " << table
          << " may be NULL: declare " << column.type << "?";
    }
  }
  EXPECT_GT(seen, 300u) << "the search finds too few";
}

std::vector<std::string> NamesOfStatementsWith(const std::string& text) {
  std::vector<std::string> names;
  for (const auto& s : Statements())
    if (s.sql.find(text) != std::string::npos) names.push_back(s.name);
  return names;
}

TEST_F(StatementsPgTest, OneStatementRaisesEventsAndOneClosesThem) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(NamesOfStatementsWith("INTO events"), Names{"RaiseEvent"});
  EXPECT_EQ(NamesOfStatementsWith("UPDATE events"), (Names{"AcknowledgeEvent", "CloseEvents"}));
}

TEST_F(StatementsPgTest, WhatHasAViewIsReadThroughIt) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(NamesOfStatementsWith("IN ('launching', 'submitted', 'remote_waiting', 'running')"),
            Names{})
      << "jobs_in_flight has them";
  EXPECT_EQ(NamesOfStatementsWith("ORDER BY at DESC LIMIT 1"), Names{})
      << "cluster_now has the newest row of gridstatus";
}

TEST_F(StatementsPgTest, ANullInAColumnThatMustNotBeNullNamesStatementAndColumn) {
  struct Row {
    std::int64_t n;
    static Row Read(db::RowReader& reader) { return {reader.Get<std::int64_t>()}; }
  };
  const db::Query<Row> query{"OneNull", "SELECT NULL::bigint AS n"};
  auto session = Connect();
  db::Tx tx(*session);
  try {
    tx.Exec(query);
    FAIL() << "a NULL was read as a number";
  } catch (const db::Error& e) {
    EXPECT_EQ(std::string(e.what()), "OneNull: column n is NULL");
  }
}

// What the parser of values meets: a fault names statement and column, also after others were read.
TEST_F(StatementsPgTest, AValueThatIsNotOfItsTypeNamesStatementAndColumn) {
  struct Row {
    double before;
    std::int64_t n;
    static Row Read(db::RowReader& reader) {
      return {reader.Get<double>(), reader.Get<std::int64_t>()};
    }
  };
  struct Array {
    std::vector<std::int64_t> n;
    static Array Read(db::RowReader& reader) { return {reader.Get<std::vector<std::int64_t>>()}; }
  };
  auto session = Connect();
  db::Tx tx(*session);
  const auto fault = [&](const auto& query) {
    try {
      tx.Exec(query);
      return std::string("none");
    } catch (const db::Error& e) {
      return std::string(e.what());
    }
  };
  const auto rows = [](const char* name, const char* sql) { return db::Query<Row>{name, sql}; };
  EXPECT_EQ(fault(rows("Text", "SELECT 1.5 AS x, '12x' AS n")),
            "Text: column n cannot be read: 12x");
  EXPECT_EQ(fault(rows("Large", "SELECT 1.5 AS x, 9223372036854775808 AS n")),
            "Large: column n cannot be read: 9223372036854775808");
  EXPECT_EQ(fault(rows("Few", "SELECT 1.5 AS x")), "Few: too few columns");
  EXPECT_EQ(fault(db::Query<Array>{"InArray", "SELECT ARRAY['1', 'b'] AS n"}),
            "InArray: column n cannot be read: b");
  const auto read = tx.Exec(rows("Floats",
                                 "SELECT * FROM (VALUES ('-Infinity'::float8, -1), ('1e-300', 2), "
                                 "('NaN', 3)) AS v (x, n)"));
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(read[0].before, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(read[0].n, -1);
  EXPECT_EQ(read[1].before, 1e-300);
  EXPECT_TRUE(std::isnan(read[2].before));
}

TEST_F(StatementsPgTest, ASetOfRowsIsOneParameterPerColumn) {
  struct Row {
    std::int64_t n;
    std::optional<std::string> text;
    static Row Read(db::RowReader& reader) {
      return {reader.Get<std::int64_t>(), reader.Get<std::optional<std::string>>()};
    }
  };
  const db::Query<Row> query{"Unnested",
                             "SELECT n, t FROM unnest($1::bigint[], $2::text[]) AS r (n, t) "
                             "WHERE n > $3 ORDER BY n"};
  db::RowSet<std::int64_t, std::optional<std::string>> rows;
  rows.Add(1, "dropped");
  rows.Add(2, std::nullopt);
  rows.Add(3, "quo\"te, {brace} \\ NULL");
  auto session = Connect();
  db::Tx tx(*session);
  const auto answer = tx.Exec(query, rows, 1);
  ASSERT_EQ(answer.size(), 2u);
  EXPECT_EQ(answer[0].text, std::nullopt);
  EXPECT_EQ(answer[1].text, "quo\"te, {brace} \\ NULL");
}

}  // namespace
}  // namespace cigri
