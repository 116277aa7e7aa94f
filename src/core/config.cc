#include "core/config.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/error.h"
#include "core/pattern.h"
#include "core/text.h"

namespace cigri {
namespace {

// A slip in a key is reported, not swallowed.
// clang-format off
const std::vector<std::string> kKnownKeys = {
    "DATABASE_HOST", "DATABASE_PORT", "DATABASE_NAME", "DATABASE_USER_NAME",
    "DATABASE_USER_PASSWORD", "DATABASE_SSL_MODE", "DEFAULT_JOB_RESOURCES", "DEFAULT_JOB_WALLTIME",
    "DEFAULT_CLUSTERS", "API_HEADER_USERNAME", "API_SOCKET", "API_LISTEN", "API_TRUSTED_PROXY",
    "API_READ_PARAM_FILES", "API_TLS_CERT", "API_TLS_KEY", "API_CA_FILE", "API_BASE",
    "API_OPERATORS", "API_HOSTS", "API_TIMEOUT", "API_HOST", "API_PORT", "API_SSL",
    "CAMPAIGN_THROUGHPUT_WINDOW", "LEADER_TERM", "SAFETY_TICK", "SECRET_KEY_FILE", "SEND_WINDOW",
    "TEST_CAMPAIGN_WAIT", "EPILOGUE_WAIT", "LOCAL_MAX_FILE", "LOCAL_PIN", "UPLOAD_KEEP", "UPLOAD_MAX_MB",
    "DATABASE_FREE_MB", "DATABASE_DISK", "KEEP_CAMPAIGNS_DAYS", "FULL_RECONCILIATION", "PAGE",
    "AUDIT_KEEP_DAYS", "NOTIFICATIONS_SMTP_SERVER", "NOTIFICATIONS_SMTP_PORT",
    "NOTIFICATIONS_SMTP_FROM", "NOTIFICATIONS_SMTP_SUBJECT_TAG", "NOTIFICATIONS_COMMAND",
    "NOTIFICATIONS_SMTP_TLS", "NOTIFICATIONS_SMTP_CA", "NOTIFICATIONS_SMTP_USER",
    "NOTIFICATIONS_SMTP_PASSWORD", "NOTIFICATIONS_SENDMAIL", "NOTIFICATIONS_WEBHOOK",
    "NOTIFICATIONS_WINDOW", "NOTIFICATIONS_PER_HOUR"};

const std::vector<KeyWithoutEffect> kWithoutEffect = {
    {"DATABASE_TYPE", "nothing: the database is PostgreSQL"},
    {"INSTALL_PATH", "nothing: the programs find each other"},
    {"PID_FILE", "nothing: `cigri status` shows the processes"},
    {"LOG_FILE", "nothing: `cigri up` writes $CIGRI_HOME/log, services the journal"},
    {"LOG_LEVEL", "$CIGRI_LOG_LEVEL: debug, info, warn, error"},
    {"LOG_JOBS", "gridstat -j, which shows each job"},
    {"LOG_JOBS_DIRECTORY", "gridstat -j, which shows each job"},
    {"STDERR_TAIL", "gridstat -j JOB --stderr: all of it"},
    {"REMOTE_WAITING_TIMEOUT", "gridadmin cluster set NAME waiting_timeout_s=SECONDS"},
    {"STRESS_FACTOR", "gridadmin cluster set NAME stress_limit=NUMBER"},
    {"AUTOFIX_DELAY", "nothing: the grid asks a cluster that fails again automatically"},
    {"REST_QUERIES_TIMEOUT", "nothing: a call to a cluster ends after 25 s"},
    {"REST_CLIENT_CERTIFICATE_FILE", "client_cert_file, an option of a cluster"},
    {"REST_CLIENT_KEY_FILE", "client_key_file, an option of a cluster"},
    {"REST_CLIENT_CA_FILE", "ca_file, an option of a cluster"},
    {"REST_CLIENT_VERIFY_SSL", "verify_tls, an option of a cluster"},
    {"RUNNER_MIN_CYCLE_DURATION", "gridadmin cluster set NAME min_cycle_s=SECONDS"},
    {"RUNNER_DEFAULT_INITIAL_NUMBER_OF_JOBS", "gridadmin policy set canary_jobs=N"},
    {"RUNNER_TAP_INCREASE_FACTOR", "gridadmin cluster set NAME job_ratio=RULE"},
    {"RUNNER_TAP_INCREASE_MAX", "gridadmin cluster set NAME max_waiting=N"},
    {"RUNNER_TAP_GRACE_PERIOD", "gridadmin cluster set NAME queue_s=SECONDS"},
    {"GRID_USAGE_UPDATE_PERIOD", "nothing: usage is measured with each poll"},
    {"GRID_USAGE_SYNC_TIME", "nothing: usage is measured with each poll"},
};
// clang-format on

std::optional<std::string> InsteadOf(const std::string& key) {
  if (StartsWith(key, "NOTIFICATIONS_XMPP_")) return "NOTIFICATIONS_COMMAND: a program that sends";
  for (const auto& [name, instead] : kWithoutEffect)
    if (key == name) return instead;
  return std::nullopt;
}

std::string HomeOfUser() {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') return home;
  if (const passwd* pw = getpwuid(geteuid())) return pw->pw_dir;
  return "/";
}

std::string ConnPart(const std::string& key, const std::string& value) {
  if (value.empty()) return "";
  std::string quoted;
  for (char c : value) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return key + "='" + quoted + "' ";
}

}  // namespace

const std::vector<std::string>& KnownKeys() { return kKnownKeys; }

const std::vector<KeyWithoutEffect>& KeysWithoutEffect() { return kWithoutEffect; }

Config Config::Parse(std::string_view text, const std::string& file) {
  static const Pattern kLine(
      R"re(^([A-Za-z_][A-Za-z0-9_]*)\s*=\s*("([^"]*)"|'([^']*)'|([^"'#[:space:]][^#]*)|)\s*(#.*)?$)re");
  Config config;
  config.file_ = file;
  int number = 0;
  for (const std::string& line : Split(text, '\n')) {
    ++number;
    const auto plain = Trim(line);
    if (plain.empty() || plain[0] == '#') continue;
    const auto match = kLine.Find(plain);
    if (!match)
      throw Fatal(kExitConfig,
                  file + ":" + std::to_string(number) + ": not a KEY = \"value\" line");
    const std::string value = match.Has(3)   ? match.Text(3)
                              : match.Has(4) ? match.Text(4)
                                             : std::string(Trim(match.group[5]));
    config.values_[match.Text(1)] = {value, number};
  }
  return config;
}

Config Config::LoadFile(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw Fatal(kExitConfig, "cannot read the configuration file " + path);
  std::stringstream text;
  text << in.rdbuf();
  return Parse(text.str(), path);
}

Config Config::Load() {
  if (const char* file = std::getenv("CIGRICONFFILE"); file != nullptr && *file != '\0')
    return LoadFile(file);
  // Not the folder that we are in: it may be another user's, and NOTIFICATIONS_COMMAND is run.
  std::vector<std::string> places;
  if (const char* dir = std::getenv("CIGRICONFDIR"); dir != nullptr && *dir != '\0')
    places.push_back(std::string(dir) + "/cigri.conf");
  places.emplace_back("/etc/cigri/cigri.conf");
  for (const auto& place : places)
    if (access(place.c_str(), R_OK) == 0) return LoadFile(place);
  return {};
}

std::string Config::Get(const std::string& key, const std::string& fallback) const {
  const auto it = values_.find(key);
  return it == values_.end() ? fallback : it->second.text;
}

std::string Config::Named(const std::string& key) const {
  const auto it = values_.find(key);
  const Value value = it == values_.end() ? Value() : it->second;
  return file_ + ":" + std::to_string(value.line) + ": " + key + " = \"" + value.text + "\"";
}

std::int64_t Config::GetInt(const std::string& key, std::int64_t fallback, std::int64_t least,
                            std::int64_t most) const {
  const auto it = values_.find(key);
  if (it == values_.end()) return fallback;
  char* end = nullptr;
  errno = 0;
  const long long n = std::strtoll(it->second.text.c_str(), &end, 10);
  if (errno != 0 || it->second.text.empty() || *end != '\0' || n < least || n > most)
    throw Fatal(kExitConfig, Named(key) + " is not a whole number from " + std::to_string(least) +
                                 " to " + std::to_string(most));
  return n;
}

double Config::GetDouble(const std::string& key, double fallback) const {
  const auto it = values_.find(key);
  if (it == values_.end()) return fallback;
  char* end = nullptr;
  const double x = std::strtod(it->second.text.c_str(), &end);
  if (it->second.text.empty() || *end != '\0' || !(x >= 0) || x > 1e12)
    throw Fatal(kExitConfig, Named(key) + " is not a number from 0");
  return x;
}

bool Config::GetBool(const std::string& key, bool fallback) const {
  const auto it = values_.find(key);
  if (it == values_.end()) return fallback;
  const std::string word = Lower(it->second.text);
  if (word == "true" || word == "yes" || word == "1" || word == "on") return true;
  if (word == "false" || word == "no" || word == "0" || word == "off" || word.empty()) return false;
  throw Fatal(kExitConfig, Named(key) + " is neither true nor false");
}

std::optional<ListenAddress> ParseListenAddress(const std::string& text) {
  static const Pattern kAddress(R"re(^(\[([^] []+)\]|([^]:/ []+)):([0-9]{1,5})$)re");
  const auto match = kAddress.Find(text);
  if (!match) return std::nullopt;
  const int port = std::stoi(match.Text(4));
  if (port > 65535) return std::nullopt;
  return ListenAddress{match.Has(2) ? match.Text(2) : match.Text(3), port};
}

std::vector<std::string> Config::Warnings() const {
  std::vector<std::string> out;
  for (const auto& [key, value] : values_) {
    if (std::find(kKnownKeys.begin(), kKnownKeys.end(), key) != kKnownKeys.end()) continue;
    const std::string at = file_ + ":" + std::to_string(value.line) + ": ";
    if (const auto instead = InsteadOf(key)) {
      out.push_back(at + key + " of CiGri 3 has no effect here; instead: " + *instead);
      continue;
    }
    std::string line = at + "unknown key " + key;
    if (const auto near = DidYouMean(key, kKnownKeys)) line += ", did you mean " + *near + "?";
    out.push_back(line);
  }
  return out;
}

std::string HostName() {
  char name[256] = "localhost";
  gethostname(name, sizeof name - 1);
  return name;
}

std::string CigriHome() {
  if (const char* home = std::getenv("CIGRI_HOME"); home != nullptr && *home != '\0') return home;
  if (geteuid() == 0) return "/var/lib/cigri";
  if (const char* xdg = std::getenv("XDG_STATE_HOME"); xdg != nullptr && *xdg == '/')
    return std::string(xdg) + "/cigri";
  return HomeOfUser() + "/.local/state/cigri";
}

std::string ConfiguredDatabase(const Config& config) {
  if (!config.Has("DATABASE_HOST") && !config.Has("DATABASE_NAME")) return "";
  return ConnPart("host", config.Get("DATABASE_HOST")) +
         ConnPart("port", config.Get("DATABASE_PORT")) +
         ConnPart("dbname", config.Get("DATABASE_NAME", "cigri")) +
         ConnPart("user", config.Get("DATABASE_USER_NAME")) +
         ConnPart("password", config.Get("DATABASE_USER_PASSWORD")) +
         ConnPart("sslmode", config.Get("DATABASE_SSL_MODE"));
}

std::string DatabaseConninfo(const Config& config) {
  if (const char* db = std::getenv("CIGRI_DB"); db != nullptr && *db != '\0') return db;
  if (auto configured = ConfiguredDatabase(config); !configured.empty()) return configured;
  for (const char* name : {"PGHOST", "PGSERVICE", "PGDATABASE"})
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return "";
  std::ifstream in(CigriHome() + "/conninfo");
  std::string line;
  if (in && std::getline(in, line) && !line.empty()) return line;
  throw Fatal(kExitUnavailable,
              "no database: no embedded grid in " + CigriHome() + " and none configured",
              "start one with `cigri up`, or set DATABASE_* in cigri.conf");
}

}  // namespace cigri
