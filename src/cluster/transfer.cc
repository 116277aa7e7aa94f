#include "cluster/transfer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cluster/job_script.h"
#include "core/text.h"
#include "http/client.h"

namespace cigri::cluster {
namespace {

using nlohmann::json;

// A kind of transfer, as lines for the shell. They get $from and $to; $to of `get` and $from of
// `put` are local; $d is "/" for a folder. OPTIONS is replaced.
struct TransferKind {
  const char* name;
  const char* get;
  const char* put;
  const char* version;  ///< prints what changes when the content does
  const char* missing;  ///< how `get` and `version` end when nothing is there: "CODE:STDERR"
  const char* sent;     ///< of a folder, each with a `put`, in words of find; "": it as a whole
  bool gets_folders;
  bool encodes;         ///< names are parts of a URL
};

constexpr TransferKind kKinds[] = {
    {.name = "cp",
     .get = R"sh([ -e "$from" ] || { echo "No such file: $from" >&2; return 1; }
  cp -RLp OPTIONS -- "$from" "$to" && cigri_same "$from" "$to")sh",
     .put = R"sh([ ! -d "$from" ] || { mkdir -p -- "$to"; return; }
  part=$to.cigri-$CIGRI_JOB_ID
  mkdir -p -- "$(dirname -- "$to")" && cp -p OPTIONS -- "$from" "$part" &&
    cigri_same "$from" "$part" && mv -fT -- "$part" "$to" ||
    { rm -f -- "$part"; false; })sh",
     .version = R"sh([ -e "$from" ] || { echo "No such file: $from" >&2; return 1; }
  find -L "$from" -printf '%P %s %T@\n' | sort)sh",
     .missing = "1:'No such file'*",
     .sent = "-type f -o -type d -empty",
     .gets_folders = true,
     .encodes = false},
    // rsync compares the checksum of each file that it has sent, and renames it then.
    {.name = "rsync",
     .get = R"sh(rsync -rLts OPTIONS -- "$from$d" "$to$d")sh",
     .put = R"sh(rsync -rLts --mkpath OPTIONS -- "$from$d" "$to$d")sh",
     .version = R"sh(rsync -rLs --list-only OPTIONS -- "$from$d")sh",
     .missing = "23:*'No such file'*",
     .sent = "",
     .gets_folders = true,
     .encodes = false},
    // An object appears when it is whole. S3 compares the sha256 that is signed with what it gets.
    {.name = "curl",
     .get = R"sh(curl -fsS OPTIONS -H x-amz-content-sha256:UNSIGNED-PAYLOAD \
  -D "$cigri_job/head" -o "$to" -- "$from" && cigri_etag "$to")sh",
     .put = R"sh(curl -fsS OPTIONS -H "x-amz-content-sha256:$(cigri_sum "$from")" \
  -D "$cigri_job/head" -o /dev/null -T "$from" -- "$to" && cigri_etag "$from")sh",
     .version = R"sh(curl -fsSI OPTIONS -H x-amz-content-sha256:UNSIGNED-PAYLOAD \
  -- "$from" >"$cigri_job/head" || return
  grep -i '^etag:\|^last-modified:\|^content-length:' "$cigri_job/head")sh",
     .missing = "22:*404*",
     .sent = "-type f",
     .gets_folders = false,
     .encodes = true},
    {.name = "irods",
     .get = R"sh(iget -K -f -r OPTIONS "$from" "$to")sh",
     .put = R"sh(imkdir -p "$(dirname -- "$to")" && iput -K -f -r OPTIONS "$from" "$to")sh",
     .version = R"sh(ils -lr "$from")sh",
     .missing = "*'does not exist'*|*OBJ_PATH_DOES_NOT_EXIST*",
     .sent = "",
     .gets_folders = true,
     .encodes = false},
};

// A job has a folder of its own, below $cigri_node/jobs, which it locks as long as it lives: what a
// killed job leaves there is removed by the next one. Common inputs are in the cache, by the sha256
// of their content; a name there is what was asked for, in one version. The job gets hard links to
// files that nobody may write.
constexpr char kLibrary[] = R"sh(
cigri_die() { cigri_code=$1; shift; echo "cigri: $*" >&2; exit "$cigri_code"; }
cigri_sum() {
  if [ -d "$1" ]; then
    (cd "$1" && find -L . -type f -exec sha256sum {} + | LC_ALL=C sort | sha256sum)
  else
    sha256sum <"$1"
  fi | cut -c1-64
}
# An ETag is an MD5, unless the object has several parts or a key of its own.
cigri_etag() {
  etag=$(sed -n 's/^etag: *"\([0-9a-f]\{32\}\)".*/\1/ip' "$cigri_job/head" | tail -n 1)
  [ -z "$etag" ] ||
    grep -qi '^x-amz-server-side-encryption.*\(kms\|customer\)' "$cigri_job/head" ||
    [ "$etag" = "$(md5sum <"$1" | cut -c1-32)" ] || { echo "wrong checksum" >&2; false; }
}
cigri_same() { [ "$(cigri_sum "$1")" = "$(cigri_sum "$2")" ]; }
# What transfers take of the job's time, in ms, for those who asked.
cigri_count() {
  cigri_moved=$((cigri_moved + $(date +%s%3N) - cigri_since))
  [ -z "$CIGRI_TRANSFERS" ] || { echo "$cigri_moved" >"$CIGRI_TRANSFERS"; } 2>/dev/null
}
cigri_start() {
  cigri_since=$(date +%s%3N) cigri_moved=0
  cigri_home=$PWD CIGRI_WORKDIR=${CIGRI_WORKDIR:-$PWD}
  export CIGRI_WORKDIR
  cigri_cache=$cigri_node/cache cigri_rc=0 cigri_unsent= cigri_unwritten= cigri_copies=
  cigri_why=$( (umask 077; mkdir -p "$cigri_node/jobs" "$cigri_cache/objects" \
    "$cigri_cache/names" "$cigri_cache/uses") 2>&1) && [ -O "$cigri_node" ] ||
    cigri_die 216 "cannot use $cigri_node on $(uname -n): ${cigri_why:-it belongs to another user}"
  for cigri_old in "$cigri_node"/jobs/*; do
    [ ! -d "$cigri_old" ] ||
      (exec 8<"$cigri_old/lock" && flock -n 8 && rm -rf "$cigri_old") 2>/dev/null
  done
  cigri_job=$(mktemp -d "$cigri_node/jobs/.XXXXXX") && touch "$cigri_job/lock" &&
    exec 7>"$cigri_job/lock" && flock 7 && mkdir "$cigri_job/work" &&
    mv "$cigri_job" "$cigri_node/jobs/$CIGRI_JOB_ID${cigri_job##*/}" ||
    cigri_die 216 "cannot make a folder for the job in $cigri_node/jobs on $(uname -n)"
  cigri_job=$cigri_node/jobs/$CIGRI_JOB_ID${cigri_job##*/}
  trap 'cd /; rm -rf "$cigri_job"' 0
  cd "$cigri_job/work" || exit 216
}
cigri_why() { tail -n 3 "$cigri_job/errors" | tr '\n' ' '; }
# get, put or version, again and again; 44: nothing is there.
cigri_try() {
  cigri_n=1 cigri_wait=1
  while :; do
    (LC_ALL=C from=$2 to=$3; export LC_ALL; "cigri_$1") \
      >"$cigri_job/out" 2>"$cigri_job/errors" </dev/null 6>&- 7>&- 8>&- && return
    case $?:$(cat "$cigri_job/errors") in MISSING) return 44 ;; esac
    [ "$cigri_n" -lt "${cigri_tries:-TRIES}" ] || return 1
    [ "$1" != get ] || rm -rf "$3"
    sleep "$cigri_wait.$(($$ % 10))"
    cigri_n=$((cigri_n + 1)) cigri_wait=$((cigri_wait * 2))
  done
}
cigri_place() {
  case $2 in */*) mkdir -p "${2%/*}" || return ;; esac
  cp -RlfT -- "$1" "$2"
}
cigri_fetch() {
  rm -rf "$cigri_job/part"
  cigri_try get "$1" "$cigri_job/part"
}
cigri_own() { cigri_fetch "$1" && cigri_place "$cigri_job/part" "$2" && rm -rf "$cigri_job/part"; }
# From the cache into the job's folder.
cigri_cached() {
  [ -n "$cigri_hash" ] && [ -e "$cigri_cache/objects/$cigri_hash" ] &&
    touch "$cigri_cache/uses/$cigri_hash" && cigri_place "$cigri_cache/objects/$cigri_hash" "$1"
}
# $cigri_job/part, of $cigri_kb, into the cache; what was used last stays.
cigri_keep() {
  while [ $(($(du -sk "$cigri_cache/objects" | cut -f1) + cigri_kb)) -gt CACHE_KB ]; do
    cigri_oldest=$(ls -tr "$cigri_cache/uses" | head -n 1)
    [ -n "$cigri_oldest" ] || break
    rm -rf "$cigri_cache/objects/$cigri_oldest" "$cigri_cache/uses/$cigri_oldest"
  done
  find "$cigri_cache/names" -type f -mtime +30 -exec rm -f {} +
  find "$cigri_job/part" -type f -exec chmod a-w {} +
  touch "$cigri_cache/uses/$cigri_hash"
  [ -e "$cigri_cache/objects/$cigri_hash" ] ||
    mv "$cigri_job/part" "$cigri_cache/objects/$cigri_hash"
  echo "$cigri_hash" >"$cigri_name"
}
cigri_common() {
  command -v flock >/dev/null || { cigri_own "$@"; return; }
  cigri_try version "$1" "" || return
  cigri_name=$( (echo "KIND $1"; cat "$cigri_job/out") | sha256sum | cut -c1-64)
  cigri_name=$cigri_cache/names/$cigri_name
  touch "$cigri_name" 2>/dev/null || { cigri_own "$@"; return; }
  exec 8>>"$cigri_name"
  flock 8
  read -r cigri_hash <"$cigri_name" || cigri_hash=
  if ! (flock 6; cigri_cached "$2") 6>>"$cigri_cache/lock"; then
    cigri_fetch "$1" || { set -- $?; exec 8>&-; return "$1"; }
    cigri_hash=$(cigri_sum "$cigri_job/part")
    cigri_place "$cigri_job/part" "$2" || { exec 8>&-; return 1; }
    cigri_kb=$(du -sk "$cigri_job/part" | cut -f1)
    if [ "$cigri_kb" -le CACHE_KB ]; then
      # On disk first: after a power cut its name in the cache would stand for less than it says.
      find "$cigri_job/part" -type f -exec sync {} + 2>/dev/null
      (flock 6; cigri_keep) 6>>"$cigri_cache/lock"
    fi
    rm -rf "$cigri_job/part"
  fi
  exec 8>&-
}
cigri_in() {
  cigri_how=$1 d=
  case $1 in *d*) d=/ ;; esac
  case /$3/ in //* | */../*)
    cigri_die 217 "input $2 must stay in the job's folder, not go to $3" ;;
  esac
  case $1 in *c*) cigri_common "$2" "$3" ;; *) cigri_own "$2" "$3" ;; esac
  case $?$1 in
    0* | 44*o*) ;;
    44*) cigri_die 217 "there is no input $2" ;;
    *) cigri_die 216 "cannot fetch input $2 to $(uname -n) with KIND: $(cigri_why)" ;;
  esac
}
# The checkpoint of a program that goes on is sent as often as it changes: what has stood still from
# one look to the next is copied, so that the program may write the next one, and the copy is sent.
# As much time as that takes passes until it is sent again.
cigri_stamp() { find -L "./$2" -printf '%p %i %s %T@\n' 2>/dev/null; }
cigri_copy() {
  [ -e "$2" ] || return 0
  case $2 in */*) mkdir -p "../saved/${2%/*}" ;; esac
  cp -RLpT -- "$2" "../saved/$2"
}
cigri_send_copy() {
  rm -rf ../saved
  mkdir ../saved && cigri_saves cigri_copy && [ "$(cigri_saves cigri_stamp)" = "$1" ] &&
    (cd ../saved && cigri_saves cigri_out && [ -z "$cigri_unsent" ])
}
cigri_watch() {
  trap '' HUP USR1 USR2
  cigri_tries=1 cigri_next=0 cigri_seen=$(cat ../sent)
  while sleep $((1 + ${#cigri_seen} / 100000)) && kill -0 $$ && [ -e ../running ]; do
    set -- "$(cigri_saves cigri_stamp)"
    if [ "$1" = "$cigri_seen" ] && [ "$1" != "$(cat ../sent)" ] &&
      [ "$(date +%s)" -ge "$cigri_next" ]; then
      cigri_next=$(date +%s)
      if cigri_send_copy "$1"; then printf %s "$1" >../sent; else sleep 1; fi
      cigri_next=$((2 * $(date +%s) - cigri_next))
    fi
    cigri_seen=$1
  done
}
cigri_run() {
  cigri_count
  cigri_watcher=
  if command -v cigri_saves >/dev/null; then
    touch ../running
    printf %s "$(cigri_saves cigri_stamp)" >../sent
    cigri_watch >/dev/null 2>&1 7>&- &
    cigri_watcher=$!
  fi
  (unset CIGRI_TRANSFERS; eval "$1") 7>&-
  cigri_rc=$?
  cigri_since=$(date +%s%3N)
  rm -f ../running
  while [ -n "$cigri_watcher" ] && kill -0 "$cigri_watcher" 2>/dev/null; do
    wait "$cigri_watcher"
  done
  case $cigri_rc in 216 | 217 | 218)
    echo "cigri: the program ended with $cigri_rc, which is kept for transfers: taken as 1" >&2
    cigri_rc=1 ;;
  esac
}
cigri_out() {
  d=
  # Another copy of the task may have sent what a good program wrote.
  case $cigri_copies:$cigri_rc$1 in :* | *:0* | *k*) ;; *) return ;; esac
  case $1 in *k*)
    [ ! -e ../sent ] || [ "$(cigri_saves cigri_stamp)" != "$(cat ../sent)" ] || return 0 ;;
  esac
  if [ ! -e "$2" ]; then
    case $cigri_rc$1 in 0*o*) ;; 0*) cigri_unwritten="$cigri_unwritten $2" ;; esac
    return
  fi
  case $1 in
    *d*)
      d=/
      if [ -n "SENT" ]; then
        # Links are followed, as rsync does; one that leads nowhere is no output.
        (cd "$2" && find -L . SENT) >"$cigri_job/files" 2>"$cigri_job/errors" || {
          cigri_unsent="$3: $(cigri_why)"; return; }
        cigri_lost=$(cd "$2" && find -L . -type l | head -n 1)
        [ -z "$cigri_lost" ] || {
          cigri_unwritten="$cigri_unwritten $2/${cigri_lost#./}"; return; }
        while IFS= read -r cigri_file; do
          cigri_try put "$2/$cigri_file" "$3/${cigri_file#./}" ||
            { cigri_unsent="$3: $(cigri_why)"; break; }
        done <"$cigri_job/files"
        return
      fi ;;
  esac
  cigri_try put "$2" "$3" || cigri_unsent="$3: $(cigri_why)"
}
cigri_end() {
  cigri_count
  [ -z "$cigri_unsent" ] || echo "cigri: cannot send output with KIND to $cigri_unsent" >&2
  [ "$cigri_rc" = 0 ] || exit "$cigri_rc"
  [ -z "$cigri_unsent" ] || exit 216
  [ -z "$cigri_unwritten" ] || cigri_die 218 "the program did not write its output$cigri_unwritten"
  exit 0
}
)sh";

const TransferKind* KindOf(const std::string& name) {
  const auto* it = std::find_if(std::begin(kKinds), std::end(kKinds),
                                [&](const auto& kind) { return kind.name == name; });
  return it == std::end(kKinds) ? nullptr : it;
}

std::string TextIn(const json& options, const char* key, const std::string& otherwise) {
  const auto at = options.find(key);
  return at != options.end() && at->is_string() ? at->get<std::string>() : otherwise;
}

int NumberIn(const json& options, const char* key, int otherwise) {
  const auto at = options.find(key);
  return at != options.end() && at->is_number_integer() ? at->get<int>() : otherwise;
}

bool AtHome(const std::string& path) {
  for (const char* home : {"~/", "$HOME/", "${HOME}/"})
    if (StartsWith(path, home)) return true;
  return false;
}

std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// Where a file that users call `name` is, as a word of the shell.
std::string Remote(const TransferSettings& s, const std::string& user, const std::string& name) {
  const auto path = WithoutSlash(name);
  if (s.kind == "cp" && path[0] == '/') return ShellQuote(path);
  if (s.kind == "cp" && AtHome(path)) return HomeWord(path);
  const auto base = ReplaceAll(s.base, "%u", user);
  if (s.kind == "cp")
    return (base.empty() ? "\"$cigri_home\"" : HomeWord(base)) + ShellQuote("/" + path);
  const auto* kind = KindOf(s.kind);
  const bool joined = base.empty() || base.back() == '/' || base.back() == ':';
  const auto below = path[0] == '/' ? path.substr(1) : path;
  return ShellQuote(base + (joined ? "" : "/") +
                    (kind->encodes ? http::PercentEncode(below, true) : below));
}

std::string Flags(const Transfer& t) {
  std::string flags = "-";
  if (t.optional) flags += 'o';
  if (t.common) flags += 'c';
  if (t.checkpoint) flags += 'k';
  if (t.from.back() == '/') flags += 'd';
  return flags;
}

}  // namespace

TransferSettings TransferSettings::From(const json& options) {
  TransferSettings s;
  s.kind = TextIn(options, "transfer", s.kind);
  s.base = TextIn(options, "transfer_base", "");
  s.options = TextIn(options, "transfer_options", "");
  s.folder = TextIn(options, "transfer_folder", "");
  s.cache_mb = NumberIn(options, "transfer_cache_mb", s.cache_mb);
  s.tries = NumberIn(options, "transfer_tries", s.tries);
  return s;
}

std::string TransferProblem(const json& options) {
  const auto s = TransferSettings::From(options);
  std::vector<std::string> names;
  for (const auto& kind : kKinds) names.emplace_back(kind.name);
  if (KindOf(s.kind) == nullptr)
    return "there is no transfer \"" + s.kind + "\": " + Join(names, ", ");
  if (s.kind != "cp" && s.base.empty())
    return "transfer " + s.kind + " needs transfer_base: what names of files begin with";
  for (const auto& text : {s.base, s.options, s.folder})
    if (text.find('\n') != text.npos) return "options of transfers are one line";
  if (s.cache_mb < 0 || s.cache_mb > 1'000'000'000 || s.tries < 1 || s.tries > 20)
    return "transfer_cache_mb is 0 or more, transfer_tries 1 to 20";
  return "";
}

std::string TransferSetup(const TransferSettings& s) {
  const auto* kind = KindOf(s.kind);
  if (kind == nullptr)
    return "cigri_start() { echo 'cigri: bad option transfer' >&2; exit 216; }\n";
  std::string text = kLibrary;
  for (const auto& [word, value] : std::initializer_list<std::pair<const char*, std::string>>{
           {"MISSING", kind->missing},
           {"TRIES", std::to_string(s.tries)},
           {"CACHE_KB", std::to_string(std::int64_t{s.cache_mb} * 1024)},
           {"SENT", kind->sent},
           {"KIND", kind->name}})
    text = ReplaceAll(text, word, value);
  for (const auto& [name, lines] : std::initializer_list<std::pair<const char*, const char*>>{
           {"get", kind->get}, {"put", kind->put}, {"version", kind->version}})
    text += std::string("cigri_") + name + "() {\n  " + ReplaceAll(lines, "OPTIONS", s.options) +
            "\n}\n";
  return text + "cigri_node=" +
         (s.folder.empty() ? "${TMPDIR:-/tmp}/cigri-$(id -u)" : HomeWord(s.folder)) + "\n";
}

std::string RefusedTransfer(const std::string& why) {
  return "cigri_die " + std::to_string(kExitInputMissing) + " " + ShellQuote(why);
}

std::string TransferCommand(const TransferSettings& settings, const std::string& user,
                            const std::vector<Transfer>& inputs,
                            const std::vector<Transfer>& outputs, const std::string& command) {
  const auto* kind = KindOf(settings.kind);
  std::string text = "cigri_start\n";
  if (kind == nullptr) return text;  // it says so
  for (const auto& t : inputs) {
    if (!kind->gets_folders && t.from.back() == '/')
      text += RefusedTransfer("input " + t.from + ": " + kind->name + " cannot fetch a folder") +
              "\n";
    text += "cigri_in " + Flags(t) + " " + Remote(settings, user, t.from) + " " +
            ShellQuote(WithoutSlash(t.to)) + "\n";
  }
  std::string sends, saves;
  for (const auto& t : outputs) {
    const auto words = Flags(t) + " " + ShellQuote(WithoutSlash(t.from)) + " " +
                       Remote(settings, user, t.to) + "\n";
    sends += "cigri_out " + words;
    if (t.checkpoint) saves += "\"$@\" " + words;
  }
  if (!saves.empty()) text += "cigri_saves() {\n" + saves + "}\n";
  if (settings.copies) text += "cigri_copies=1\n";
  text += "cigri_run " + ShellQuote(command) + "\n" + sends;
  return text + "cigri_end";
}

}  // namespace cigri::cluster
