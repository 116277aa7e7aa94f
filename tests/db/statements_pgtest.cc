// Every statement of sql/queries is one that PostgreSQL takes, and gives the columns that its
// `-- returns:` line promises.
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "core/text.h"
#include "tests/support/pg.h"

namespace cigri {
namespace {

namespace fs = std::filesystem;

struct Column {
  std::string name, type;
};
struct Statement {
  std::string file, name, sql;
  std::vector<Column> columns;
};

// "n int64?" -> name n, type int64: whether a column may be NULL is not PostgreSQL's to say.
Column ColumnOf(const std::string& text) {
  const auto words = Split(Trim(text), ' ');
  std::string type = std::string(Trim(words.back()));
  if (type.back() == '?') type.pop_back();
  return {std::string(Trim(words.front())), type};
}

std::vector<Statement> Statements() {
  std::vector<Statement> out;
  for (const auto& entry : fs::directory_iterator(fs::path(CIGRI_SOURCE_DIR) / "sql/queries")) {
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      if (StartsWith(line, "-- name: ")) {
        out.push_back({entry.path().filename(), std::string(Trim(line.substr(9))), "", {}});
      } else if (StartsWith(line, "-- returns: ")) {
        for (const auto& column : Split(line.substr(12), ','))
          if (!Trim(column).empty()) out.back().columns.push_back(ColumnOf(std::string(column)));
      } else if (!out.empty()) {
        out.back().sql += line + "\n";
      }
    }
  }
  return out;
}

// Which types of PostgreSQL a declared type reads. Sums of bigint are numeric: whole numbers.
const std::map<std::string, std::set<std::string>> kReads = {
    {"bool", {"boolean"}},
    {"int", {"integer", "smallint", "bigint", "numeric"}},
    {"int64", {"bigint", "integer", "smallint", "numeric"}},
    {"double", {"double precision", "real", "numeric", "integer", "bigint"}},
    {"text", {"text", "json", "jsonb", "timestamp with time zone", "integer", "bigint", "numeric"}},
    {"bytes", {"bytea"}},
    {"int[]", {"integer[]"}},
    {"int64[]", {"bigint[]"}},
    {"double[]", {"real[]", "double precision[]"}},
    {"text[]", {"text[]"}}};

class StatementsPgTest : public test::PgTest {
 protected:
  void SetUp() override {
    test::PgTest::SetUp();
    session_.reset(PQconnectdb(conninfo().c_str()));
    ASSERT_EQ(PQstatus(session_.get()), CONNECTION_OK) << PQerrorMessage(session_.get());
  }
  using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;
  // Prepares `sql`; a failure is a failure of the test.
  Result Describe(const Statement& s) {
    Result prepared(PQprepare(session_.get(), s.name.c_str(), s.sql.c_str(), 0, nullptr), PQclear);
    EXPECT_EQ(PQresultStatus(prepared.get()), PGRES_COMMAND_OK)
        << s.file << ": " << s.name << ": " << PQresultErrorMessage(prepared.get());
    return Result(PQdescribePrepared(session_.get(), s.name.c_str()), PQclear);
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

 private:
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

std::vector<std::string> NamesOfStatementsWith(const std::string& text) {
  std::vector<std::string> names;
  for (const auto& s : Statements())
    if (s.sql.find(text) != std::string::npos) names.push_back(s.name);
  return names;
}

TEST_F(StatementsPgTest, OneStatementRaisesEventsAndOneClosesThem) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(NamesOfStatementsWith("INTO events"), Names{"RaiseEvent"});
  EXPECT_EQ(NamesOfStatementsWith("UPDATE events"), Names{"CloseEvents"});
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
