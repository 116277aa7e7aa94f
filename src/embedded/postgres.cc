#include "embedded/postgres.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/error.h"
#include "core/text.h"
#include "embedded/process.h"

namespace cigri::embedded {
namespace {
namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Part of the socket's name. PGPORT in somebody's shell is for something else.
constexpr const char* kPort = "5432";

constexpr const char* kSettings[] = {
    "listen_addresses=''", "unix_socket_permissions=0700",
    // Small: a whole idle grid has to fit into 150 MB, and not grow by 10 % after 100,000 jobs. The
    // kernel caches the files anyway.
    "shared_buffers=6MB", "max_connections=60", "max_wal_senders=0", "wal_level=minimal",
    "max_worker_processes=0", "max_logical_replication_workers=0", "max_parallel_workers=0",
    "min_wal_size=64MB", "max_wal_size=512MB", "wal_buffers=1MB",
    // Quiet: idle it must cost nothing.
    "autovacuum_naptime=60s", "checkpoint_timeout=30min", "wal_compression=lz4",
    "bgwriter_delay=1s", "wal_writer_delay=1s", "log_checkpoints=off",
    "log_autovacuum_min_duration=-1", "jit=off", "huge_pages=off",
    // A leader on a host that has vanished must not keep its lock for two hours.
    "tcp_keepalives_idle=10", "tcp_keepalives_interval=5", "tcp_keepalives_count=3"};

std::string FirstLine(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string LastLines(const std::string& text, std::size_t n) {
  auto lines = Split(Trim(text), '\n');
  if (lines.size() > n) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(n));
  return Join(lines, "\n");
}

// Who the server runs as: it refuses to be root.
const passwd* Owner() {
  if (geteuid() != 0) return getpwuid(geteuid());
  if (const passwd* pw = getpwnam("postgres")) return pw;
  return getpwnam("nobody");
}

std::vector<std::string> AsOwner(std::vector<std::string> argv) {
  if (geteuid() != 0) return argv;
  const passwd* pw = Owner();
  std::vector<std::string> arguments{"setpriv", "--reuid=" + std::to_string(pw->pw_uid),
                                     "--regid=" + std::to_string(pw->pw_gid), "--init-groups",
                                     "--"};
  arguments.insert(arguments.end(), argv.begin(), argv.end());
  return arguments;
}

// Where a home's path is too long, sockets are in /tmp: somebody may have put a link there, to a
// folder that root must not change.
void GiveToOwner(const std::string& path, mode_t mode) {
  std::error_code failed;
  fs::create_directories(path, failed);
  if (failed) throw Fatal(kExitNoPermission, "cannot make " + path + ": " + failed.message());
  const process::Fd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat st {};
  if (!folder || fstat(folder.get(), &st) != 0 ||
      (st.st_uid != geteuid() && st.st_uid != Owner()->pw_uid))
    throw Fatal(kExitNoPermission, path + " belongs to somebody else", "choose another CIGRI_HOME");
  if (fchmod(folder.get(), mode) != 0 && errno != EPERM)
    throw Fatal(kExitNoPermission, "cannot set the mode of " + path);
  if (geteuid() == 0 && fchown(folder.get(), Owner()->pw_uid, Owner()->pw_gid) != 0)
    throw Fatal(kExitNoPermission, "cannot give " + path + " to " + Owner()->pw_name);
}

// The folder of the newest PostgreSQL here that has a program; "" where none has it.
std::string NewestWith(const std::string& program) {
  if (const char* given = std::getenv("PG_BINDIR"); given != nullptr && *given != '\0')
    return given;
  // Ours may bring one along: next to bin, or above libexec/cigri (scripts/release).
  const std::string own = OwnFolder();
  for (const std::string& prefix : {own + "/..", own + "/../..", std::string("/usr")})
    for (int version = 40; version >= 12; --version) {
      const std::string bin = prefix + "/lib/postgresql/" + std::to_string(version) + "/bin";
      if (access((bin + "/" + program).c_str(), X_OK) == 0) return bin;
    }
  return "";
}

std::string NewestBin() {
  if (auto bin = NewestWith("initdb"); !bin.empty()) return bin;
  throw Fatal(kExitUnavailable, "no PostgreSQL server is installed",
              "apt install postgresql-15, or name a database in cigri.conf (DATABASE_*)");
}

// Data made by one major version is only read by the same.
std::string BinOf(const Home& home) {
  const std::string newest = NewestBin();
  const std::string version = FirstLine(home.data() + "/PG_VERSION");
  if (version.empty() || newest.find("/" + version + "/") != newest.npos) return newest;
  const std::string bin = "/usr/lib/postgresql/" + version + "/bin";
  if (access((bin + "/postgres").c_str(), X_OK) == 0) return bin;
  throw Fatal(kExitConfig,
              "the database in " + home.data() + " was made by PostgreSQL " + version +
                  ", which is not installed any more",
              "apt install postgresql-" + version + ", or move the data with pg_upgrade");
}

std::string OwnUserName() {
  const passwd* pw = getpwuid(geteuid());
  return pw != nullptr ? pw->pw_name : std::to_string(geteuid());
}

// Peer authentication: the kernel says who calls; the owner and root are the role `cigri`.
void WriteAuthentication(const std::string& data) {
  const std::string owner = Owner()->pw_name;
  std::ofstream(data + "/pg_hba.conf") << "local all all peer map=grid\n";
  std::ofstream ident(data + "/pg_ident.conf");
  std::set<std::string> names{owner, OwnUserName(), "root"};
  for (const auto& name : names) ident << "grid \"" << name << "\" cigri\n";
}

void Initialise(const Home& home, const std::string& bin) {
  const std::string fresh = home.dir + "/pg.tmp";
  std::error_code ignored;
  fs::remove_all(fresh, ignored);
  GiveToOwner(fresh, 0700);
  const auto made = RunCommand(AsOwner({bin + "/initdb", "-D", fresh, "-U", "cigri", "-A", "peer",
                                        "--auth-host=scram-sha-256", "-E", "UTF8",
                                        "--locale=C.UTF-8", "--data-checksums", "--wal-segsize=4"}),
                               seconds(120));
  if (made.code != 0)
    throw Fatal(kExitUnavailable,
                "cannot make a database in " + fresh + ": " + LastLines(made.output, 3),
                geteuid() == 0 ? std::string("user ") + Owner()->pw_name +
                                     " must be able to enter every folder above it: set CIGRI_HOME"
                               : "is the disk full? `df " + home.dir + "`");
  WriteAuthentication(fresh);
  fs::rename(fresh, home.data());
}

// A pid file that survived a power cut names a process that is gone, or another program.
void RemoveStalePid(const Home& home) {
  const std::string file = home.data() + "/postmaster.pid";
  std::error_code ignored;
  if (fs::exists(file, ignored) && PostgresPid(home) == 0) fs::remove(file, ignored);
}

bool Answers(const Home& home, const std::string& bin) {
  return RunCommand({bin + "/pg_isready", "-q", "-h", home.PostgresSocketDir(), "-p", kPort},
                    seconds(10))
             .code == 0;
}

std::string ServerOptions(const Home& home) {
  std::string options = "-c unix_socket_directories=" + ShellQuote(home.PostgresSocketDir());
  options += std::string(" -c port=") + kPort;
  for (const char* setting : kSettings) options += std::string(" -c ") + setting;
  return options;
}

// A killed server's last processes may still hold its memory: some tries.
void Launch(const Home& home, const std::string& bin) {
  CommandResult result;
  for (int i = 0; i < 20; ++i) {
    RemoveStalePid(home);
    result = RunCommand(AsOwner({bin + "/pg_ctl", "-D", home.data(), "-s", "-w", "-t", "60", "-l",
                                 home.postgres_log(), "-o", ServerOptions(home), "start"}),
                        seconds(70));
    if (result.code == 0 || Answers(home, bin)) return;
    std::this_thread::sleep_for(milliseconds(300));
  }
  throw Fatal(kExitUnavailable,
              "cannot start PostgreSQL in " + home.data() + ": " + LastLines(result.output, 2),
              "see the end of " + home.postgres_log());
}

// Statements that failed are in it, with the values of whoever sent them: nothing for other users.
void MakeLog(const Home& home) {
  const std::string log = home.postgres_log(), folder = home.dir + "/log";
  const std::ofstream made(log, std::ios::app);
  bool done = chmod(log.c_str(), 0640) == 0;
  // The folder is ours: the server gets its file, and may enter.
  if (geteuid() == 0)
    done = done && chown(log.c_str(), Owner()->pw_uid, Owner()->pw_gid) == 0 &&
           chown(folder.c_str(), 0, Owner()->pw_gid) == 0 && chmod(folder.c_str(), 0750) == 0;
  if (!done) throw Fatal(kExitNoPermission, "cannot give " + log + " to " + Owner()->pw_name);
}

std::string Conninfo(const Home& home) {
  return "host='" + ReplaceAll(home.PostgresSocketDir(), "'", "\\'") + "' port=" + kPort +
         " user=cigri dbname=postgres";
}

void WriteConninfo(const Home& home) {
  if (FirstLine(home.conninfo_file()) == Conninfo(home)) return;
  const std::string fresh = home.conninfo_file() + ".tmp";
  std::ofstream(fresh) << Conninfo(home) << "\n";
  fs::rename(fresh, home.conninfo_file());
}

process::Fd LockToStart(const Home& home) {
  process::Fd lock = LockFile(home.dir + "/.pg.lock", seconds(120));
  if (!lock) throw Fatal(kExitTryLater, "somebody else has been starting PostgreSQL for 2 minutes");
  return lock;
}

void StartLocked(const Home& home) {
  const std::string bin = BinOf(home);
  GiveToOwner(home.PostgresSocketDir(), 0700);
  if (PostgresPid(home) != 0 && Answers(home, bin)) return;
  MakeLog(home);
  Launch(home, bin);
}

}  // namespace

bool HasPostgres(const Home& home) { return fs::exists(home.data() + "/PG_VERSION"); }

int PostgresPid(const Home& home) {
  const int pid = std::atoi(FirstLine(home.data() + "/postmaster.pid").c_str());
  if (pid <= 1) return 0;
  const std::string stat = FirstLine("/proc/" + std::to_string(pid) + "/stat");
  const auto name_end = stat.rfind(") ");
  if (stat.find("(postgres)") == stat.npos || name_end == stat.npos) return 0;
  if (stat[name_end + 2] == 'Z') return 0;
  // Pids come round again, and several grids run side by side: it must be the server of this data.
  std::error_code failed;
  const auto where = fs::read_symlink("/proc/" + std::to_string(pid) + "/cwd", failed);
  return failed || where != fs::canonical(home.data()) ? 0 : pid;
}

std::string StartPostgres(const Home& home) {
  home.Make();
  const process::Fd lock = LockToStart(home);
  if (!HasPostgres(home)) Initialise(home, BinOf(home));
  StartLocked(home);
  WriteConninfo(home);
  return Conninfo(home);
}

void RestartPostgres(const Home& home) {
  const auto require = [&] {
    if (!HasPostgres(home))
      throw Fatal(kExitConfig, "there is no database in " + home.data() + " any more",
                  "bring it back, or `cigri down`, and `cigri up` makes a new one");
  };
  require();
  const process::Fd lock = LockToStart(home);
  require();
  StartLocked(home);
}

std::string PostgresProgram(const Home* home, const std::string& name) {
  if (home != nullptr) return BinOf(*home) + "/" + name;
  const auto bin = NewestWith(name);
  return bin.empty() ? name : bin + "/" + name;
}

void StopPostgres(const Home& home) {
  if (!HasPostgres(home) || PostgresPid(home) == 0) return;
  const auto result = RunCommand(AsOwner({BinOf(home) + "/pg_ctl", "-D", home.data(), "-s", "-w",
                                          "-t", "60", "-m", "fast", "stop"}),
                                 seconds(70));
  if (result.code != 0 && PostgresPid(home) != 0)
    throw Fatal(kExitUnavailable, "cannot stop PostgreSQL: " + LastLines(result.output, 2));
}

}  // namespace cigri::embedded
