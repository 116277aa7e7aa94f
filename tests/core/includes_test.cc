// Which folder may include which, and which libraries: docs/design.md section 1.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace cigri {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

// An arrow not in this table is an error of design, not of the table.
const std::map<std::string, Names> kMayInclude = {
    {"core", {}},
    {"process", {"core"}},
    {"db", {"core"}},
    {"http", {"core"}},
    {"secrets", {"core"}},
    {"jdl", {"core"}},
    // The engine and its data; policies, forecasts and explanations use it, never the reverse.
    {"policy", {"core"}},
    {"policy/policies", {"core", "policy"}},
    {"policy/forecast", {"core", "policy"}},
    {"policy/explain", {"core", "policy"}},
    {"rules", {"core", "process"}},
    {"sim", {"core", "jdl", "policy", "policy/policies", "policy/forecast"}},
    {"embedded", {"core", "process", "db"}},
    {"module", {"core", "db"}},
    {"cluster", {"core", "http", "process", "secrets"}},
    {"clusterdb", {"core", "process", "db", "secrets", "cluster"}},
    {"localcluster", {"core", "http", "process"}},
    {"almighty", {"core", "process", "db", "module", "embedded"}},
    {"updator", {"core", "db", "module", "cluster", "clusterdb"}},
    {"predictor", {"core", "db", "module", "policy/forecast"}},
    {"metascheduler", {"core", "db", "module", "policy", "policy/forecast"}},
    {"runner", {"core", "db", "module", "cluster", "clusterdb", "jdl"}},
    {"nikita", {"core", "db", "module", "cluster", "clusterdb", "policy/forecast"}},
    {"notifier", {"core", "db", "module", "process"}},
    // The server and what every handler uses; a folder for each kind of request above it.
    {"api/http", {"core", "db", "http", "secrets", "rules", "clusterdb"}},
    {"api/read", {"core", "http", "jdl", "clusterdb", "api/http"}},
    {"api/submit",
     {"core", "process", "db", "jdl", "policy", "rules", "cluster", "clusterdb", "api/http",
      "api/read"}},
    {"api/control", {"core", "db", "secrets", "jdl", "api/http", "api/read", "api/submit"}},
    {"api/why", {"core", "policy", "policy/explain", "api/http", "api/read"}},
    {"api/admin",
     {"core", "process", "db", "secrets", "policy", "policy/policies", "clusterdb", "api/http",
      "api/read", "api/submit"}},
    {"api/page", {"core", "api/http"}},
    {"api/openapi", {"core", "api/http"}},
    {"api",
     {"core", "db", "clusterdb", "rules", "api/http", "api/read", "api/submit", "api/control",
      "api/why", "api/admin", "api/page", "api/openapi"}},
    // Tools speak to the API; only `cigri` opens the database.
    {"tools/cigri",
     {"core", "db", "http", "secrets", "jdl", "embedded", "cluster", "clusterdb", "localcluster",
      "api/submit", "tools/common"}},
    {"tools/common", {"core", "http", "process"}},
    {"tools/gridadmin", {"core", "process", "jdl", "cluster", "tools/common"}},
    {"tools/gridmod", {"core", "tools/common"}},
    {"tools/gridsim", {"core", "sim", "tools/common"}},
    {"tools/gridsub", {"core", "jdl", "tools/common"}},
    {"tools/gridstat", {"core", "tools/common"}},
    {"tools/gridclusters", {"core", "tools/common"}},
    {"tools/griddel", {"core", "tools/common"}},
    {"tools/gridevents", {"core", "tools/common"}},
    {"tools/gridnotify", {"core", "tools/common"}},
    {"tools/gridtoken", {"core", "tools/common"}},
    {"tools/localsub", {"core", "http"}},
};

// Exceptions: a factory includes what it makes.
const std::map<std::string, std::string> kFactories = {
    {"src/policy/policy.cc", "policy/policies/policies.h"},
    {"src/api/http/context.cc", "api/why/snapshot.h"}};

// Who may include the headers of a library itself; everybody else includes that folder's.
const std::map<std::string, std::string> kLibraryOf = {{"pqxx", "db"},
                                                       {"libpq-fe.h", "db"},
                                                       {"httplib.h", "http"},
                                                       {"sodium.h", "secrets"},
                                                       {"SQLiteCpp", "localcluster"},
                                                       {"lua.hpp", "rules"},
                                                       {"simdjson.h", "cluster"},
                                                       {"prometheus", "api/http"},
                                                       {"curl", "notifier"},
                                                       {"archive.h", "tools/gridstat"},
                                                       {"archive_entry.h", "tools/gridstat"},
                                                       {"boost", "process"},
                                                       {"utf8.h", "core"},
                                                       {"CLI", "core"},
                                                       {"spdlog", "core"}};

// "policy/model.h" -> policy, "tools/common/args.h" -> tools/common, "args.h" -> "".
std::string FolderOf(const std::string& header) {
  const auto last = header.rfind('/');
  return last == std::string::npos ? "" : header.substr(0, last);
}

// Libraries that are slow to compile. Only .cc files include them.
const Names kSlowLibraries = {"httplib.h", "nlohmann/json.hpp", "CLI", "spdlog", "boost"};
// Headers that may include one all the same: its wrapper, or one whose structs hold such values.
const std::map<std::string, Names> kMayBeSlow = {
    {"httplib.h", {"src/http/server.h", "src/http/answer_stream.h", "src/http/request_stream.h"}},
    {"nlohmann/json.hpp",
     {"src/api/http/message.h", "src/cluster/cluster.h", "src/jdl/document.h", "src/jdl/jdl.h",
      "src/db/events.h", "src/policy/config.h", "src/policy/config_json.h", "src/rules/rules.h",
      "tools/common/api.h"}}};

struct Include {
  std::string file, folder, what;
  bool ours;
};

std::vector<Include> Includes() {
  static const std::regex kLine(R"re(^\s*#include\s*(["<])([^">]+)[">])re");
  std::vector<Include> out;
  for (const std::string top : {"src", "tools"}) {
    const fs::path root = fs::path(CIGRI_SOURCE_DIR) / top;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      const auto extension = entry.path().extension();
      if (extension != ".cc" && extension != ".h") continue;
      const std::string below = fs::relative(entry.path(), root).string();
      const std::string folder = (top == "src" ? "" : "tools/") + FolderOf(below);
      std::ifstream in(entry.path());
      std::smatch match;
      for (std::string line; std::getline(in, line);)
        if (std::regex_search(line, match, kLine))
          out.push_back({top + "/" + below, folder, match[2], match[1] == "\""});
    }
  }
  return out;
}

TEST(IncludesTest, ArrowsBetweenFoldersPointOneWay) {
  std::size_t seen = 0;
  for (const auto& include : Includes()) {
    const auto folder = kMayInclude.find(include.folder);
    ASSERT_NE(folder, kMayInclude.end())
        << include.file << ": a folder without a line in this test";
    const std::string to = FolderOf(include.what);
    if (!include.ours || to.empty() || to == include.folder) continue;
    ++seen;
    const auto factory = kFactories.find(include.file);
    if (factory != kFactories.end() && factory->second == include.what) continue;
    EXPECT_TRUE(folder->second.count(to)) << include.file << " includes " << include.what;
  }
  EXPECT_GT(seen, 100u) << "the search finds nothing: fix it";
}

TEST(IncludesTest, ALibraryIsUsedByOneFolder) {
  Names used;
  for (const auto& include : Includes()) {
    if (include.ours) continue;
    const auto it = kLibraryOf.find(include.what.substr(0, include.what.find('/')));
    if (it == kLibraryOf.end()) continue;
    used.insert(it->second);
    EXPECT_EQ(include.folder, it->second) << include.file << " includes <" << include.what << ">";
  }
  EXPECT_EQ(used, (Names{"db", "http", "secrets", "localcluster", "rules", "cluster", "process",
                         "core", "api/http", "notifier", "tools/gridstat"}));
}

// "boost/process.hpp" -> boost; "" when `header` belongs to no slow library.
std::string SlowLibraryOf(const std::string& header) {
  if (kSlowLibraries.count(header)) return header;
  const std::string folder = header.substr(0, header.find('/'));
  return kSlowLibraries.count(folder) ? folder : "";
}

TEST(IncludesTest, HeadersLeaveSlowLibrariesToTheSources) {
  Names seen;
  for (const auto& include : Includes()) {
    const std::string library = include.ours ? "" : SlowLibraryOf(include.what);
    if (library.empty()) continue;
    seen.insert(library);
    if (!include.file.ends_with(".h")) continue;
    const auto allowed = kMayBeSlow.find(library);
    EXPECT_TRUE(allowed != kMayBeSlow.end() && allowed->second.count(include.file))
        << include.file << " includes <" << include.what
        << ">: declare what it names and include it in the source";
  }
  EXPECT_EQ(seen, kSlowLibraries) << "nobody uses one of them any more: remove it here";
}

TEST(IncludesTest, HeadersDoNotPassTheHttpServerOn) {
  for (const auto& include : Includes())
    EXPECT_FALSE(include.file.ends_with(".h") && include.what == "http/server.h")
        << include.file << ": http/server_fwd.h is enough for a header";
}

TEST(IncludesTest, OnlyTheDatabaseFolderOpensConnections) {
  // Connections are opened in one place, with its settings (plan_cache_mode, timeouts,
  // TCP_NODELAY).
  static const std::regex kOpens(
      R"(pqxx::connection\s*[({]|make_unique<pqxx::connection>|PqxxConnection|PQconnect)");
  for (const std::string top : {"src", "tools"})
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(CIGRI_SOURCE_DIR) / top)) {
      if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
      if (entry.path().parent_path().filename() == "db") continue;
      std::ifstream in(entry.path());
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      EXPECT_FALSE(std::regex_search(text, kOpens)) << entry.path();
    }
}

// Who knows one module finds its way in the others: main.cc only reads the command line,
// <module>.cc holds the pass, decide.cc is pure, store.cc holds the SQL.
TEST(IncludesTest, ModulesHaveOneShape) {
  for (const std::string module : {"almighty", "updator", "predictor", "metascheduler", "runner",
                                   "nikita", "notifier"}) {
    const fs::path folder = fs::path(CIGRI_SOURCE_DIR) / "src" / module;
    for (const std::string& name : {module, std::string("decide"), std::string("store")})
      for (const char* extension : {".h", ".cc"})
        EXPECT_TRUE(fs::exists(folder / (name + extension))) << module << "/" << name << extension;
    std::ifstream main(folder / "main.cc");
    int lines = 0;
    for (std::string line; std::getline(main, line);) ++lines;
    EXPECT_GT(lines, 0) << module << "/main.cc";
    EXPECT_LT(lines, 30) << module << "/main.cc";
    std::ifstream in(folder / "decide.cc");
    for (std::string line; std::getline(in, line);)
      EXPECT_FALSE(line.starts_with("#include <sql/") || line.starts_with("#include \"db/"))
          << module << "/decide.cc uses the database: " << line;
  }
}

}  // namespace
}  // namespace cigri
