#include "cluster/command_transport.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>

#include "cluster/rest_api.h"
#include "core/text.h"
#include "process/run.h"

namespace cigri::cluster {
namespace {

using CommandOutcome = CommandResult::Outcome;

// The shell around a command prints the first before it, and the second with the exit code when the
// command has ended: without it an answer is cut.
constexpr char kBegin[] = "cigri-begin\n", kEnd[] = "\ncigri-end ";
constexpr int kDenied = 403, kExitOfSsh = 255;

// ssh's own last line when it was not let in: "user@host: Permission denied (publickey)."
bool Denied(const std::string& line) {
  return line.find("Permission denied (") != std::string::npos ||
         line.find("Too many authentication failures") != std::string::npos;
}

// The last line is ssh's own, which has not reached a shell there. Lines before it may be
// anybody's.
bool NotConnected(const std::string& line) {
  return StartsWith(line, "ssh: ") || StartsWith(line, "Host key verification failed") ||
         Denied(line);
}

// Words, and a text of any bytes, as the body of a call; a word holds no zero byte.
std::string Pack(const std::vector<std::string>& words, const std::string& text) {
  std::string packed = std::to_string(words.size()) + '\0';
  for (const auto& word : words) packed.append(word.c_str()).push_back('\0');
  return packed + text;
}

std::pair<std::vector<std::string>, std::string> Unpack(const std::string& packed) {
  std::size_t at = 0;
  const auto next = [&] {
    const auto end = std::min(packed.find('\0', at), packed.size());
    auto word = packed.substr(at, end - at);
    at = std::min(end + 1, packed.size());
    return word;
  };
  std::vector<std::string> words(std::min<std::size_t>(std::stoul(next()), packed.size()));
  for (auto& word : words) word = next();
  return {std::move(words), packed.substr(at)};
}

std::string OurName() {
  const auto* entry = getpwuid(geteuid());
  return entry == nullptr ? "" : entry->pw_name;
}

// Ours may hold the password of the database ($CIGRI_DB, which almighty sets; $PGPASSWORD), and
// users read the environment of what runs as them.
process::Environment EnvironmentForUsers() {
  process::Environment lines;
  for (char** line = environ; *line != nullptr; ++line)
    if (!StartsWith(*line, "CIGRI_") && !StartsWith(*line, "PG")) lines.emplace_back(*line);
  return lines;
}

// A name that ssh, runuser and sudo take for a name and not for an option.
void RequireName(const std::string& user) {
  const auto odd = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.' && c != '-';
  };
  if (user.empty() || user[0] == '-' || std::any_of(user.begin(), user.end(), odd))
    throw CallFailed(CallFailed::Why::kAuth,
                     "cannot run commands as \"" + user + "\": this is no user's name");
}

}  // namespace

CommandTransport::CommandTransport(const ClusterConfig& config)
    : config_(config), route_(config.other_host) {}

std::vector<std::string> CommandTransport::Words(const std::string& script,
                                                 const std::string& user) const {
  std::vector<std::string> words;
  const auto append = [&](const std::string& text) {
    for (const auto& word : Split(text, ' '))
      if (!word.empty()) words.push_back(ReplaceAll(word, "%u", user));
  };
  const std::string ssh = "ssh://";
  const bool far = StartsWith(config_.api_url, ssh);
  if (const auto wrapper = TextIn(config_.options, "command_wrapper"); !wrapper.empty()) {
    append(wrapper);
  } else if (far) {
    const auto place = Split(config_.api_url.substr(ssh.size()), ':');
    append("ssh -o BatchMode=yes -o ConnectTimeout=10 " + TextIn(config_.options, "ssh_options") +
           (place.size() > 1 ? " -p " + place[1] : "") + " %u@" + place[0]);
  } else if (user != OurName()) {
    append(geteuid() == 0 ? "runuser -u %u --" : "sudo -n -u %u --");
  }
  // ssh gives its words to a shell there.
  if (far) return words.push_back("exec sh -c " + ShellQuote(script)), words;
  words.insert(words.end(), {"sh", "-c", script});
  return words;
}

http::Response CommandTransport::Relayed(const RelayedCall& call,
                                         const std::set<std::string>& programs) const {
  const auto argv = Unpack(call.body).first;
  if (!argv.empty() && programs.count(argv[0]) != 0) return RunFromHere(call);
  http::Response refused;
  refused.error = "another host may only run " +
                  Join({programs.begin(), programs.end()}, ", ") + " here";
  return refused;
}

http::Response CommandTransport::RunFromHere(const RelayedCall& call) const {
  const auto [argv, input] = Unpack(call.body);
  RequireName(call.cluster_user);
  std::string script = "printf 'cigri-begin\\n'; cd; ";
  for (const auto& [name, value] : At(config_.options, "environment").items())
    script += "export " + name + "=" + ShellQuote(value.get<std::string>()) + "; ";
  for (const auto& word : argv) script += ShellQuote(word) + " ";
  script += "; printf '\\ncigri-end %d\\n' $?";
  process::Command command;
  command.argv = Words(script, call.cluster_user);
  command.input = input;
  command.environment = EnvironmentForUsers();
  command.time_limit = call.timeout;
  command.output_limit = 256 << 20;
  const auto ran = process::Run(command);
  http::Response r;
  const auto begin = ran.out.find(kBegin), end = ran.out.rfind(kEnd);
  const bool exited = ran.outcome == process::Outcome::kExited, begun = begin != ran.out.npos;
  if (exited && begun && end != ran.out.npos) {
    r.outcome = http::Outcome::kAnswered;
    r.status = std::atoi(ran.out.c_str() + end + sizeof kEnd - 1);
    const auto from = std::min(begin + sizeof kBegin - 1, end);
    r.body = Pack({ran.err}, ran.out.substr(from, end - from));
    return r;
  }
  // Without ssh nothing cuts an answer: runuser or sudo has not let the user in.
  const bool may_be_cut =
      StartsWith(config_.api_url, "ssh://") || !TextIn(config_.options, "command_wrapper").empty();
  const std::string said(Trim(ran.err));
  const auto line = said.substr(said.rfind('\n') + 1);
  const bool kept_out =
      exited && !begun && (!may_be_cut || (ran.code == kExitOfSsh && NotConnected(line)));
  if (kept_out && (!may_be_cut || Denied(line))) r.status = kDenied;
  const bool none = ran.outcome == process::Outcome::kNotStarted || kept_out;
  r.outcome = none ? http::Outcome::kNotSent : http::Outcome::kMaybeSent;
  r.error = process::HowItEnded(command, ran) + ": " + ErrorText(ran.err);
  return r;
}

CommandResult CommandTransport::Run(const std::vector<std::string>& argv, const std::string& user,
                                    const std::string& input,
                                    CallLimiter::Clock::time_point begin_by) {
  const RelayedCall call{"RUN", "", Pack(argv, input), config_.call_timeout,
                         user.empty() ? config_.auth_user : user};
  RequireName(call.cluster_user);
  if (config_.limiter)
    config_.limiter->Before(std::min(begin_by, CallLimiter::Clock::now() + config_.call_timeout));
  CommandResult result;
  if (CallLimiter::Clock::now() >= begin_by) {
    result.outcome = CommandOutcome::kNotBegun;
    result.why = "its time to be sent had passed";
    return result;
  }
  const auto r = route_.Send(call, [&] { return RunFromHere(call); });
  ++calls_;
  if (r.outcome == http::Outcome::kAnswered) {
    auto [err, out] = Unpack(r.body);
    result = {CommandOutcome::kDone, r.status, std::move(out), err.at(0), ""};
  } else {
    result.outcome =
        r.outcome == http::Outcome::kNotSent ? CommandOutcome::kNotBegun : CommandOutcome::kUnknown;
    result.why = r.error;
    result.denied = result.outcome == CommandOutcome::kNotBegun && r.status == kDenied;
  }
  // A host that does not let one user in is there for the others.
  const bool answered = result.outcome == CommandOutcome::kDone || result.denied;
  if (config_.limiter) config_.limiter->After(answered, result.why);
  return result;
}

CallFailed CommandTransport::Failed(const std::string& what, const CommandResult& result) const {
  using Why = CallFailed::Why;
  const auto head = "cannot " + what + ": ";
  if (result.denied) return {Why::kAuth, head + result.why};
  if (result.outcome == CommandOutcome::kNotBegun) return {Why::kUnreachable, head + result.why};
  if (result.outcome == CommandOutcome::kUnknown) return {Why::kTimeout, head + result.why};
  const bool nobody = result.err.find("Connection refused") != std::string::npos;
  return {nobody ? Why::kUnreachable : Why::kServer,
          head + "exit code " + std::to_string(result.code) + ": " +
              ErrorText(result.err.empty() ? result.out : result.err)};
}

}  // namespace cigri::cluster
