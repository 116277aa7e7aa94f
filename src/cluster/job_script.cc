#include "cluster/job_script.h"

#include <zlib.h>

#include <map>

#include "cluster/job_environment.h"
#include "cluster/job_record.h"
#include "core/text.h"
#include "secrets/base64.h"

namespace cigri::cluster {
namespace {

// Variables whose value is an argument of the script, not a constant of the batch.
const std::map<std::string, std::string>& ElementVariables() {
  static const std::map<std::string, std::string> variables{{"CIGRI_JOB_ID", "$2"},
                                                            {"CIGRI_JOBID", "$2"},
                                                            {"CIGRI_TASK_INDEX", "$3"},
                                                            {"CIGRI_ATTEMPT", "$4"}};
  return variables;
}

// Behind each command. A job that is killed while it begins, or a node without base64, may decode
// nothing or half of it: nothing of that may run, since an empty command succeeds.
constexpr char kCommandEnd[] = "#end of command";

// OAR gives a node file, one line per resource, and the user's own environment.
constexpr char kOarPart[] = R"sh(rid=$OAR_JOB_ID
CIGRI_NODE_FILE=$OAR_NODE_FILE
read -r node <"$OAR_NODE_FILE"
)sh";

// Grid Engine gives the user's environment, and a file of "HOST SLOTS QUEUE RANGE" lines for parallel
// jobs. It does not tell the signal that ended a script from its own kill, so that the script ends
// with 128 + signal.
constexpr char kGridEnginePart[] = R"sh(rid=$JOB_ID.$SGE_TASK_ID
node=$(hostname)
CIGRI_NODE_FILE=$(mktemp)
if [ -n "$PE_HOSTFILE" ]; then
  while read -r h k rest; do
    while [ "$k" -gt 0 ]; do echo "$h"; k=$((k - 1)); done
  done <"$PE_HOSTFILE"
else
  echo "$node"
fi >"$CIGRI_NODE_FILE"
nodes=$CIGRI_NODE_FILE
)sh";

// Slurm gives the environment of the request and nothing else, and a list of nodes to be expanded.
constexpr char kSlurmPart[] = R"sh(USER=$(id -un)
eval "HOME=~$USER"
LOGNAME=$USER SHELL=${SHELL:-/bin/sh}
export USER HOME LOGNAME SHELL
rid=${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}_${SLURM_ARRAY_TASK_ID:-0}
node=$SLURMD_NODENAME
lines() { k=$2; while [ "$k" -gt 0 ]; do echo "$1"; k=$((k - 1)); done; }
CIGRI_NODE_FILE=$(mktemp)
if [ "${SLURM_JOB_NUM_NODES:-1}" = 1 ]; then
  lines "$node" "${SLURM_CPUS_ON_NODE:-1}"
else
  cpus=$(echo "$SLURM_JOB_CPUS_PER_NODE" | sed 's/(x\([0-9]*\))/ \1/g' | tr , '\n' |
    while read -r n k; do lines "$n" "${k:-1}"; done)
  for h in $(scontrol show hostnames "$SLURM_JOB_NODELIST"); do
    lines "$h" "${cpus%%[!0-9]*}"
    cpus=${cpus#*[!0-9]}
  done
fi >"$CIGRI_NODE_FILE"
nodes=$CIGRI_NODE_FILE
)sh";

// $record and $out are "" until their folders are there. Signals that a scheduler sends before it
// kills (checkpoint, walltime) are for the program: the script outlives them to write the record.
//
// The record is also a lock: made at the start, where it is not there yet. A slurmctld that
// crashed forgets that it has started a job and starts it again, OAR resubmits on its own: the
// second start of the same job runs nothing. It waits for the end of the first and ends as that
// did; where the first is gone without an end (or must be, by its walltime) nobody knows what it
// did.
constexpr char kRunPart[] = R"sh(t0=$(date +%s)
leave() {
  if [ -n "$CIGRI_TRANSFERS" ] && read -r ms 2>/dev/null <"$CIGRI_TRANSFERS"; then
    for f in "$record" "$measured"; do
      [ -z "$f" ] || echo "cigri1 moved $CIGRI_JOB_ID $ms" >>"$f"
    done
    rm -f "$CIGRI_TRANSFERS"
  fi
  [ -z "$out" ] || { [ -s "$out.out" ] || rm -f "$out.out"; [ -s "$out.err" ] || rm -f "$out.err"; }
  for f in "$record" "$group"; do
    [ -z "$f" ] || echo "cigri1 $1 $t0 $(date +%s) ${node:-?} ${rid:-?} $CIGRI_JOB_ID end" >>"$f"
  done
  [ -z "$nodes" ] || rm -f "$nodes"
}
die() {
  trap "exit $1" 0
  echo "cigri: $2" >"${out:-/dev/null}${out:+.err}"
  leave $(($1 * 256))
  exit "$1"
}
again() {
  trap - 0
  gone= odd=0
  [ -z "$nodes" ] || rm -f "$nodes"
  while :; do
    set -- $(tail -n 1 "$record" 2>/dev/null)
    if [ "$8" = end ]; then
      [ $(($2 & 127)) = 0 ] || { ulimit -c 0; kill -$(($2 & 127)) $$; }
      exit $(($2 >> 8))
    elif [ "$2" != began ]; then
      odd=$((odd + 1))
      [ $odd -lt 5 ] || { [ "$2$8" != used0 ] || exit 0; break; }
    elif [ -n "$gone" ] || [ "$(date +%s)" -ge $(($3 + CIGRI_WALLTIME_SECONDS)) ]; then
      break
    elif [ "$4" = "${node:-?}" ] && ! kill -0 "$6" 2>/dev/null; then
      gone=1; continue  # what it wrote meanwhile counts
    fi
    sleep 1
  done
  exit 215
}
# Runs the command; its measurements go to the record, and to $measured with those of others. They say
# how it ended: who is killed before leave() has done all the same what it had to do, if that is 0.
run() {
  [ -n "$record" ] || { "$@"; return; }
  case $PERL5OPT$(uname -m) in
  x86_64) n=98 ;;
  aarch64 | riscv64) n=165 ;;
  i?86 | ppc64le | s390x) n=77 ;;
  *) n= ;;
  esac
  if [ -n "$n" ] && command -v perl >/dev/null; then
    perl -e "$perl" "$CIGRI_JOB_ID" "$n" "$record" "$measured" "$@"
    return
  fi
  "$@"
  set -- $?
  times >"$record.t"
  { read -r _ && read -r u s; } <"$record.t"
  for f in "$record" "$measured"; do
    [ -z "$f" ] || echo "cigri1 used $CIGRI_JOB_ID $u+$s - - - $(($1 * 256)) $(date +%s)" >>"$f"
  done
  rm -f "$record.t"
  return "$1"
}
# The checkpoint signal, to those of the job's processes that catch it: it would end the others. A
# cluster sends it to the script alone.
pass() {
  for p in $(cat /proc/[0-9]*/status 2>/dev/null | awk -v root="$child" -v n="$ckptn" '
    /^Pid:/ { p = $2 } /^PPid:/ { parent[p] = $2 } /^SigCgt:/ { mask[p] = $2 }
    END {
      ours[root] = 1
      do {
        more = 0
        for (p in parent) if (!(p in ours) && (parent[p] in ours)) { ours[p] = 1; more = 1 }
      } while (more)
      for (p in ours) {
        d = substr(mask[p], length(mask[p]) - int((n - 1) / 4), 1)
        d = index("0123456789abcdef", d) - 1
        if (mask[p] != "" && d > 0 && int(d / 2 ^ ((n - 1) % 4)) % 2 == 1) print p
      }
    }'); do kill "-$ckpt" "$p" 2>/dev/null; done
}
# The cluster has sent the signal to this script, because it will kill the job. Where nobody else
# says so, the exit code does: the program may well end before it is killed.
asked() {
  used=$(date +%s)
  asked_at=${asked_at:-$used}
  used=$((used - t0 + CIGRI_CHECKPOINT_GRACE))
  case $warned in
  1) early=65 ;;  # Slurm looks once a minute
  2) early=2 ;;
  *) return ;;
  esac
  saved=212
  [ $used -lt $((CIGRI_WALLTIME_SECONDS - early)) ] || saved=211
}
# How often a checkpoint is asked for, once jobs of the campaign have measured what one costs: as
# CheckpointInterval() says.
learnt_interval() {
  [ -n "$CIGRI_CHECKPOINT_LIFETIME" ] || return
  cost=$(cat "$costs" 2>/dev/null) && [ -n "$cost" ] || return
  CIGRI_CHECKPOINT_EVERY=$(awk -v c="$cost" -v l="$CIGRI_CHECKPOINT_LIFETIME" \
    'BEGIN { i = int(sqrt(2 * c * l)); print (i > 10 ? i : 10) }')
}
# Runs in the background until the program has ended, and leaves nothing behind.
help() { { trap "" USR1 USR2; eval "$1"; } </dev/null >/dev/null 2>&1 & helpers="$helpers $!"; }
after() {
  sleep "$1" &
  trap "kill $!; exit" TERM
  wait $!
}
# Slurm announces an eviction to the steps of a job, and to its script only where it was asked for.
help_step() {
  srun --overlap -w "$node" -N1 -n1 --mem=0 -Q /bin/sh -c \
    'trap "kill -$1 $2; kill \$!; exit" TERM; while :; do /bin/sleep 3600 & wait $!; done' \
    sh "$ckpt" $$ </dev/null >/dev/null 2>&1 &
  helpers="$helpers $!"
}
mkdir -p "$folder/$outdir" 2>/dev/null || die 214 "cannot write below $folder on $node"
out=$folder/$outdir/$1
if [ -n "$recorddir" ] && mkdir -p "$folder/$recorddir" 2>/dev/null; then
  record=$folder/$recorddir/$1
  measured=${group:-${together:+$folder/$recorddir/measured}}
  set -C
  if true 2>/dev/null >"$record"; then
    echo "cigri1 began $t0 ${node:-?} ${rid:-?} $$" 2>/dev/null >>"$record"
  elif [ -e "$record" ]; then
    again
  fi
  set +C
  [ -z "${CIGRI_TRANSFERS+set}" ] || CIGRI_TRANSFERS=$record.moved
  [ "$1" != 0 ] || (cd "$folder/records" && {
    find . -mindepth 1 -maxdepth 1 -mtime +30 -exec rm -rf {} +
    ls -1t | tail -n +101 | while read -r old; do
      [ -n "$(grep -rLs --exclude=measured --exclude='*.moved' ' end$' "./$old")" ] || rm -rf "./$old"  # the record of what runs is needed
    done
  }) 2>/dev/null
fi
# Their folder may be there, and read-only, or have no room for files.
true 2>/dev/null >"$out.out" && true 2>/dev/null >"$out.err" ||
  die 214 "cannot write below $folder on $node"
cd "$directory" 2>/dev/null || die 213 "no directory $directory on $node"
CIGRI_WORKDIR=$PWD CIGRI_WORKING_DIRECTORY=$PWD CIGRI_NODEFILE=$CIGRI_NODE_FILE
export CIGRI_WORKDIR CIGRI_WORKING_DIRECTORY CIGRI_NODE_FILE CIGRI_NODEFILE
case $5 in
z) c=$(printf %s "$6" | base64 -d | gzip -dc) ;;
*) c=$(printf %s "$6" | base64 -d) ;;
esac
case $c in
*"$commandend") c=${c%"$commandend"} ;;
*) die 210 "cannot decode the command on $node" ;;
esac
trap - 0
trap : HUP INT TERM USR1 USR2 XCPU
if [ -z "$ckpt" ]; then
  run $shell -c "$setup$c" sh <"/dev/null" >"$out.out" 2>"$out.err"
  rc=$?
else
  saved= helpers= asked_at= costs=$folder/${outdir%/*}/checkpoint_s
  learnt_interval
  {
    trap : HUP INT TERM USR1 USR2 XCPU
    run $shell -c "trap : $ckpt${others:+; trap '' $others}
$setup$c" sh
    rc=$?
    echo $rc >"$out.rc"
    exit $rc
  } <"/dev/null" >"$out.out" 2>"$out.err" &
  child=$!
  trap 'asked; pass' "$ckpt"
  [ -z "$own" ] || {
    trap 'asked; pass' $own $others
    case $ckpt in USR?) trap asked "$ckpt" ;; esac  # all of the job's processes have had it
  }
  [ -z "$CIGRI_CHECKPOINT_EVERY" ] || help 'while after "$CIGRI_CHECKPOINT_EVERY"; do pass; done'
  [ "$warned" != 2 ] || {
    help 'after $((CIGRI_WALLTIME_SECONDS - CIGRI_CHECKPOINT_GRACE)) && kill -${own:-$ckpt} $$'
    [ -z "$SLURM_JOB_ID" ] || help_step
  }
  while :; do
    wait $child
    rc=$?
    kill -0 $child 2>/dev/null || break
  done
  # It may have ended while the shell did what a signal asked for, which ended the wait. bash does not
  # tell afterwards how.
  read -r last 2>/dev/null <"$out.rc" && rc=$last
  rm -f "$out.rc"
  [ -z "$helpers" ] || kill $helpers 2>/dev/null
  # It has ended on its own, when it had saved its work.
  [ -z "$asked_at" ] || [ "$rc" -ge 126 ] || {
    cost=$(($(date +%s) - asked_at))
    echo $((cost > 1 ? cost : 1)) >"$costs"
  }
  [ "$rc" = 0 ] || [ -z "$saved" ] || { leave $((saved * 256)); exit "$saved"; }
fi
case $rc in
211 | 212)
  echo "cigri: the program ended with $rc, which is kept for checkpoints: taken as 1" >>"$out.err"
  rc=1
  ;;
esac
case $rc in
129 | 13[0-9] | 14[0-3] | 152 | 153)
  leave $((rc - 128))
  [ -z "$plain_exit" ] || exit $rc
  ulimit -c 0
  trap - HUP INT TERM USR1 USR2 XCPU
  kill -$((rc - 128)) $$ ;;
esac
leave $((rc * 256))
exit $rc
)sh";

// A job that runs several elements, each in a subshell as if it were alone. Its log is the lock
// that the record of a single job is: a second start runs nothing, and does not end before the
// first. What that has not begun would be sent again, and then be begun by it after all. A job
// begins none after half of its walltime, so that each has the other half, and none after a signal.
constexpr char kGroupPart[] = R"sh(group=$folder/$recorddir/$1.group
mkdir -p "$folder/$recorddir" 2>/dev/null || exit 214
set -C
if ! true 2>/dev/null >"$group"; then
  [ -e "$group" ] || exit 214
  [ -z "$nodes" ] || rm -f "$nodes"
  sleep 1  # its first line is being written
  set -- $(head -n 1 "$group")
  while [ "$2" = began ] && [ "$(tail -n 1 "$group")" != "cigri1 over" ] &&
    [ "$(date +%s)" -lt $(($3 + 2 * half)) ]; do
    [ "$4" != "${node:-?}" ] || kill -0 "$6" 2>/dev/null || break
    sleep 1
  done
  exit 215
fi
set +C
begun=$(date +%s) stop=
echo "cigri1 began $begun ${node:-?} ${rid:-?} $$" >>"$group" || exit 214
trap stop=1 HUP INT TERM USR1 USR2 XCPU
while [ $# -ge 6 ] && [ -z "$stop" ] && [ $(($(date +%s) - begun)) -lt $half ]; do
  echo "cigri1 begins $2 $(date +%s)" >>"$group" || break
  one "$@"
  shift 6
done
echo "cigri1 over" >>"$group"
[ -z "$nodes" ] || rm -f "$nodes"
exit 0
)sh";

// Only the parent of a process can say how much memory it took, and a shell does not: where a node
// has perl, it stands between. getrusage has a number of its own on each kind of machine.
constexpr char kPerl[] =
    R"pl(($j,$n,@f[0,1],@c)=@ARGV;$SIG{$_}=sub{}for qw(HUP INT TERM USR1 USR2 XCPU);)pl"
    R"pl(system{$c[0]}@c;$s=$?;$b="\0"x512;)pl"
    R"pl(if(syscall($n+0,-1,$b)==0){@u=unpack"l!13",$b;for$f(@f){)pl"
    R"pl(length$f and open F,">>",$f and printf(F "cigri1 used %s %.3f %d %d %d %d %d\n",$j,)pl"
    R"pl($u[0]+$u[2]+($u[1]+$u[3])/1e6,$u[4],$u[11]/2,$u[12]/2,$s,time),close F}})pl"
    R"pl(exit($s<0?127:$s&127?128+($s&127):$s>>8))pl";

// How a job with checkpoints learns that it will be killed: "" its cluster sends the signal and says
// so, 1 the cluster sends it, 2 the job finds out itself when its walltime ends.
std::string WarnsOfEnds(const ScriptSettings& settings) {
  if (settings.kind == ScriptSettings::Kind::kOar) return settings.oar_signals ? "" : "2";
  return settings.cluster_signals ? "1" : "2";
}

// Grid Engine announces a suspension with USR1 and a kill with USR2, to all processes of a job: it
// would end those that do not catch it. The script tells its own news with another signal.
std::string NoticesOf(const ScriptSettings& settings, const std::string& signal) {
  if (settings.kind != ScriptSettings::Kind::kGridEngine) return " own= others=";
  const std::string others = signal == "USR1"   ? "USR2"
                             : signal == "USR2" ? "USR1"
                                                : "'USR1 USR2'";
  return " own=XCPU others=" + others;
}

std::string Exports(const Batch& batch) {
  std::string text;
  for (const auto& [name, value] : JobEnvironment(batch, {})) {
    const auto own = ElementVariables().find(name);
    text += "export " + name + "=" +
            (own != ElementVariables().end() ? own->second : ShellQuote(value)) + "\n";
  }
  return text;
}

}  // namespace

ScriptSettings ScriptSettings::From(const ClusterConfig& config, Kind kind) {
  ScriptSettings s;
  s.kind = kind;
  s.folder = config.options.value("job_folder", s.folder);
  s.shell = config.options.value("shell", s.shell);
  s.records = config.options.value("records", true);
  return s;
}

std::string HomeWord(const std::string& path) {
  for (const std::string home : {"$HOME", "${HOME}", "~"})
    if (path == home || StartsWith(path, home + "/"))
      return "\"$HOME\"" + (path == home ? "" : ShellQuote(path.substr(home.size())));
  return path.empty() ? "\"$HOME\"" : ShellQuote(path);
}

std::string JobScript(const Batch& batch, const ScriptSettings& settings) {
  static const std::map<ScriptSettings::Kind, const char*> parts{
      {ScriptSettings::Kind::kOar, kOarPart},
      {ScriptSettings::Kind::kSlurm, kSlurmPart},
      {ScriptSettings::Kind::kGridEngine, kGridEnginePart}};
  const std::string shell = !settings.shell.empty() ? settings.shell
                            : batch.setup.empty()   ? "sh"
                                                    : "bash -l";
  const std::string setup = batch.setup.empty() ? "" : batch.setup + "\n";
  const bool group = batch.tasks_per_job > 1;
  const auto checkpoint = CheckpointOf(batch);
  const auto flag = [](bool on) { return std::string(on ? "1" : ""); };
  const std::string records = "folder=" + HomeWord(settings.folder) + "\nrecorddir=" +
                              (settings.records ? RecordFolder(batch.tag, "$(($1/500))") : "") +
                              "\n";
  const std::string one =
      Exports(batch) + (group ? "nodes=\n" : "") +
      "out= record= measured= together=" + flag(settings.kind == ScriptSettings::Kind::kOar) +
      " plain_exit=" + flag(group || settings.kind == ScriptSettings::Kind::kGridEngine) +
      " ckpt=" + (checkpoint ? checkpoint->signal : "") +
      " ckptn=" + (checkpoint ? std::to_string(checkpoint->number) : "") +
      " warned=" + WarnsOfEnds(settings) +
      NoticesOf(settings, checkpoint ? checkpoint->signal : "") +
      "\ncommandend=" + ShellQuote(kCommandEnd) + "\nperl=" + ShellQuote(kPerl) +
      "\nshell=" + ShellQuote(shell) + "\nsetup=" + ShellQuote(setup) +
      "\ndirectory=" + HomeWord(batch.directory) +
      "\noutdir=" + OutputFolder(batch.tag, "$(($1/500))") + "\n" + records + kRunPart;
  const std::string begin = parts.at(settings.kind) + std::string("group=\n");
  // A shell that can start no process ends on its own with 1 or 2, as programs do.
  if (!group) return "trap 'exit " + std::to_string(kExitCommandLost) + "' 0\n" + begin + one;
  return begin + "one() (\n" + one + ")\nhalf=" + std::to_string(batch.walltime_s / 2) + "\n" +
         records + kGroupPart;
}

std::vector<std::string> JobArguments(const Batch& batch) {
  std::vector<std::string> jobs;
  for (std::size_t i = 0; i < batch.elements.size(); ++i) {
    const auto words = ElementArguments(batch.elements[i], static_cast<int>(i));
    if (i % static_cast<std::size_t>(batch.tasks_per_job) == 0)
      jobs.push_back(words);
    else
      jobs.back() += " " + words;
  }
  return jobs;
}

std::string ElementArguments(const Element& element, int index) {
  const std::string command = element.command + kCommandEnd;
  // Compressing costs the job a process: only where the line would not fit otherwise.
  const bool big = command.size() > 48 << 10;
  return std::to_string(index) + " " + std::to_string(element.job_id) + " " +
         std::to_string(element.task_index) + " " + std::to_string(element.attempt) +
         (big ? " z " + Base64(Gzip(command)) : " b " + Base64(command));
}

std::string Gzip(std::string_view bytes) {
  z_stream z{};
  constexpr int kGzipFormat = 15 + 16;
  if (deflateInit2(&z, 9, Z_DEFLATED, kGzipFormat, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("cannot compress");
  std::string out(deflateBound(&z, bytes.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  const int end = deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  if (end != Z_STREAM_END) throw std::runtime_error("cannot compress");
  return out;
}

}  // namespace cigri::cluster
