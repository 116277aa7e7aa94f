// cigri up --with: real batch schedulers on loopback, for users to play with (docs/clusters.md).
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "commands.h"
#include "core/error.h"
#include "core/text.h"
#include "embedded/process.h"
#include "http/client.h"

namespace cigri::cli {
namespace {

namespace fs = std::filesystem;
using embedded::Home;
using nlohmann::json;

constexpr int kMostInstances = 9;
constexpr auto kScriptLimit = std::chrono::seconds(300);
// Which grid has which instance of the machine; gone with the machine's next start.
const std::string kClaims = "/run/cigri-with";

std::string WithFile(const Home& home) { return home.dir + "/with"; }

// Installed next to the programs, or in the source tree they were built in.
std::string Scripts() {
  const std::string bin = embedded::OwnFolder();
  for (const char* place : {"/../share/cigri/clusters", "/../../scripts/clusters"})
    if (access((bin + place + "/oar-up").c_str(), X_OK) == 0) return fs::canonical(bin + place);
  throw Fatal(kExitConfig, "the scripts oar-up and slurm-up are not there",
              "they belong into ../share/cigri/clusters next to " + bin);
}

// A batch scheduler that `--with` can start. All that differs between them stands here.
struct Product {
  std::string name;  // in --with, of the scripts NAME-up and NAME-down, and of clusters: NAME1
  std::string driver, description;
  std::string user;  // who root's jobs run as
  std::string (*environment)(int instance);
  std::vector<std::string> (*arguments)(int instance, const std::string& what);  // of its scripts
  json (*row)(int instance);  // its cluster in the grid, but for name and kind
};

const std::string kLoopback = "http://127.0.0.1:";

std::string OarEnvironment(int instance) { return "OAR_INSTANCE=" + std::to_string(instance); }
std::vector<std::string> OarArguments(int, const std::string&) { return {}; }
json OarRow(int instance) {
  return {{"api_url", kLoopback + std::to_string(6668 + 100 * (instance - 1)) + "/oarapi-cigri"},
          {"api_auth_type", "header"},
          {"enabled", true}};
}

int SlurmPort(int instance) { return 7517 + 100 * (instance - 1); }
std::string SlurmEnvironment(int) { return "SLURM_UP_TOKEN_LIFE=31536000"; }
std::vector<std::string> SlurmArguments(int instance, const std::string& what) {
  std::vector<std::string> arguments{"slurm" + std::to_string(instance)};
  if (what == "up") arguments.push_back(std::to_string(SlurmPort(instance)));
  return arguments;
}
json SlurmRow(int instance) {
  return {{"api_url", kLoopback + std::to_string(SlurmPort(instance) + 3)},
          {"api_auth_type", "jwt"},
          {"api_username", "grid"},
          {"enabled", true},
          {"options",
           {{"partition", "normal"},
            {"best_effort_partition", "besteffort"},
            {"shared_folder", "/home/%u/.cigri"}}}};
}

const std::vector<Product>& Products() {
  static const std::vector<Product> products{
      {"oar", "oar2", "OAR 2.5", "alice", OarEnvironment, OarArguments, OarRow},
      {"slurm", "slurm", "Slurm", "grid", SlurmEnvironment, SlurmArguments, SlurmRow}};
  return products;
}

const Product* FindProduct(const std::string& name) {
  for (const auto& product : Products())
    if (product.name == name) return &product;
  return nullptr;
}

// Of a cluster that Parse, or a file that we wrote, has named.
const Product& ProductOf(const RealCluster& c) {
  const auto* product = FindProduct(c.kind);
  if (product == nullptr)
    throw Fatal(kExitConfig, "\"" + c.kind + "\" is nothing that --with can start");
  return *product;
}

std::vector<std::string> Script(const RealCluster& c, const std::string& what) {
  const auto& product = ProductOf(c);
  std::vector<std::string> argv{"env", product.environment(c.instance),
                                Scripts() + "/" + c.kind + "-" + what};
  for (const auto& argument : product.arguments(c.instance, what)) argv.push_back(argument);
  return argv;
}

// The grid that owns this instance; "" when none does: its grid may have been removed.
std::string HolderOf(const RealCluster& c) {
  std::ifstream in(kClaims + "/" + c.name());
  std::string holder;
  std::getline(in, holder);
  return !holder.empty() && access((holder + "/with").c_str(), F_OK) == 0 ? holder : "";
}

void Claim(const Home& home, const RealCluster& c) {
  fs::create_directories(kClaims);
  std::ofstream(kClaims + "/" + c.name()) << home.dir << "\n";
}

void Write(const Home& home, const std::vector<RealCluster>& clusters) {
  std::ofstream out(WithFile(home));
  for (const auto& c : clusters) out << c.kind << " " << c.instance << "\n";
  if (!out.flush()) throw Fatal(kExitNoPermission, "cannot write " + WithFile(home));
}

// "oar,slurm=2" as how many of each.
std::map<std::string, int> Parse(const std::string& text) {
  std::map<std::string, int> wanted;
  if (text == "none") return wanted;
  for (const auto& part : Split(text, ',')) {
    const auto at = part.find('=');
    const std::string kind = part.substr(0, at);
    const std::string number = at == part.npos ? "1" : part.substr(at + 1);
    if (FindProduct(kind) == nullptr || number.size() != 1 || number < "1" || number > "9" ||
        !wanted.emplace(kind, number[0] - '0').second)
      throw Fatal(kExitUsage, "--with is \"" + text + "\"",
                  "write " + RealClusterKinds() + ", several, or how many: oar=2,slurm=2; or none");
  }
  return wanted;
}

// Ours first, then those that nobody has.
std::vector<RealCluster> Choose(const Home& home, const std::map<std::string, int>& wanted) {
  std::vector<RealCluster> chosen;
  for (const auto& [kind, n] : wanted) {
    std::vector<RealCluster> ours, free;
    for (int i = 1; i <= kMostInstances; ++i) {
      const RealCluster c{kind, i};
      const std::string holder = HolderOf(c);
      if (holder == home.dir) ours.push_back(c);
      if (holder.empty()) free.push_back(c);
    }
    ours.insert(ours.end(), free.begin(), free.end());
    if (static_cast<int>(ours.size()) < n)
      throw Fatal(kExitTryLater,
                  "other grids have all but " + std::to_string(ours.size()) + " of the " +
                      std::to_string(kMostInstances) + " places for " + kind,
                  "`cigri down` in one of them: see " + kClaims);
    chosen.insert(chosen.end(), ours.begin(), ours.begin() + n);
  }
  return chosen;
}

// Nothing is installed behind the user's back: apt is theirs.
void NeedPackages(const std::map<std::string, int>& wanted) {
  std::string missing;
  for (const auto& [kind, n] : wanted) {
    const auto said = embedded::RunCommand({Scripts() + "/" + kind + "-up", "--missing"},
                                           std::chrono::seconds(30));
    if (said.code != 0) throw Fatal(kExitUnavailable, "cannot ask dpkg: " + said.output);
    const auto words = Trim(said.output);
    if (!words.empty()) missing += " " + std::string(words);
  }
  if (missing.empty()) return;
  throw Fatal(kExitUnavailable, "Debian packages are missing, and nothing is installed unasked",
              "apt-get install -y --no-install-recommends" + missing + "; or run " + Scripts() +
                  "/oar-up and slurm-up once: they install them without "
                  "starting the packages' own services");
}

std::string Tail(const std::string& text) {
  const auto words = Trim(text);
  return std::string(words.substr(words.size() - std::min<std::size_t>(words.size(), 600)));
}

std::string LineOf(const std::string& text, const std::string& key) {
  for (const auto& line : Split(text, '\n'))
    if (StartsWith(line, key)) return line.substr(key.size());
  return "";
}

// The API, asked as root; what it refuses ends the program.
class Api {
 public:
  explicit Api(const std::string& socket)
      : client_(http::Endpoint::Parse("unix:" + socket), http::Options()) {}
  bool Has(const std::string& path) { return client_.Get(path).ok(); }
  json Get(const std::string& path) { return Body("GET " + path, client_.Get(path)); }
  void Put(const std::string& path, const json& b) {
    Body("PUT " + path, client_.Put(path, b.dump()));
  }
  void Patch(const std::string& path, const json& b) {
    Body("PATCH " + path, client_.Patch(path, b.dump()));
  }
  json Post(const std::string& path, const json& b) {
    return Body("POST " + path,
                client_.Post(path, b.dump(), "application/json", {}, std::chrono::minutes(2)));
  }

 private:
  static json Body(const std::string& what, const http::Response& r) {
    if (!r.ok())
      throw Fatal(kExitUnavailable, what + ": " + (r.error.empty() ? Tail(r.body) : r.error));
    return json::parse(r.body, nullptr, false);
  }
  http::Client client_;
};

// As an operator would: the cluster, who root is there, a token, the check, and only then jobs.
void AddToGrid(Api& api, const RealCluster& c, const std::string& token) {
  const std::string path = "/admin/clusters/" + c.name();
  const auto& product = ProductOf(c);
  json row = product.row(c.instance);
  if (api.Has(path)) {
    api.Patch(path, row);
  } else {
    row["name"] = c.name();
    row["kind"] = product.driver;
    api.Post("/admin/clusters", row);
  }
  api.Put("/admin/mapping", {{"user", "root"}, {"cluster", c.name()}, {"login", product.user}});
  if (!token.empty())
    api.Post("/tokens",
             {{"cluster_id", api.Get("/clusters/" + c.name()).at("id")}, {"token", token}});
  const json check = api.Post(path + "/check", json::object());
  std::string faults;
  for (const auto& item : check.at("checks"))
    if (item.at("verdict") == "fail")
      faults +=
          "\n  " + item.at("what").get<std::string>() + ": " + item.at("detail").get<std::string>();
  if (!faults.empty()) throw Fatal(kExitUnavailable, c.name() + " is up, but not usable:" + faults);
  api.Patch(path, {{"mode", "unlimited"}});
}

bool Stop(const RealCluster& c) {
  const auto down = embedded::RunCommand(Script(c, "down"), kScriptLimit);
  if (down.code != 0) {
    std::fprintf(stderr, "%s was not stopped: %s\n", c.name().c_str(), Tail(down.output).c_str());
    return false;
  }
  std::error_code failed;
  fs::remove(kClaims + "/" + c.name(), failed);
  return true;
}

}  // namespace

std::string RealClusterKinds() {
  std::vector<std::string> names;
  for (const auto& product : Products()) names.push_back(product.name);
  return Join(names, ", ");
}

std::vector<RealCluster> RealClusters(const Home& home) {
  std::vector<RealCluster> clusters;
  std::ifstream in(WithFile(home));
  for (RealCluster c; in >> c.kind >> c.instance;) clusters.push_back(c);
  return clusters;
}

std::vector<RealCluster> ClaimReal(const Home& home, const std::string& with) {
  const auto known = RealClusters(home);
  if (with.empty() && known.empty()) return {};
  std::map<std::string, int> wanted = Parse(with.empty() ? "none" : with);
  if (with.empty())
    for (const auto& c : known) ++wanted[c.kind];
  if (geteuid() != 0)
    throw Fatal(kExitNoPermission, "--with starts real batch schedulers, which only root may",
                "run it as root, or without --with");
  NeedPackages(wanted);
  const auto chosen = Choose(home, wanted);
  auto all = chosen;  // what is left out now is still ours until it is stopped
  for (const auto& c : known)
    if (std::find(all.begin(), all.end(), c) == all.end()) all.push_back(c);
  Write(home, all);
  for (const auto& c : chosen) Claim(home, c);
  return chosen;
}

void StartReal(const Home& home, const std::string& socket,
               const std::vector<RealCluster>& wanted) {
  Api api(socket);
  for (const auto& c : RealClusters(home)) {
    if (std::find(wanted.begin(), wanted.end(), c) != wanted.end()) continue;
    if (api.Has("/admin/clusters/" + c.name()))
      api.Patch("/admin/clusters/" + c.name(), {{"enabled", false}});
    Stop(c);
  }
  if (wanted.empty() && access(WithFile(home).c_str(), F_OK) == 0) fs::remove(WithFile(home));
  if (wanted.empty()) return;
  Write(home, wanted);
  for (const auto& c : wanted) {
    std::fprintf(stderr, "starting %s, a real %s ...\n", c.name().c_str(),
                 ProductOf(c).description.c_str());
    const auto up = embedded::RunCommand(Script(c, "up"), kScriptLimit);
    if (up.code != 0)
      throw Fatal(kExitUnavailable, c.name() + " does not start: " + Tail(up.output),
                  "the rest of the grid is up; `cigri down` stops all of it");
    AddToGrid(api, c, LineOf(up.output, "SLURM_REST_TOKEN="));
  }
  std::vector<std::string> users;
  for (const auto& product : Products())
    users.push_back(product.user + " on " + product.description);
  std::fprintf(stderr,
               "root's jobs run as %s: submit from a folder that "
               "they may enter, such as one in /tmp with mode 1777\n",
               Join(users, " and as ").c_str());
}

int StopReal(const Home& home) {
  int stopped = 0;
  for (const auto& c : RealClusters(home))
    if (HolderOf(c) == home.dir && Stop(c)) ++stopped;
  return stopped;
}

}  // namespace cigri::cli
