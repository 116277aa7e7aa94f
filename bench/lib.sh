# shellcheck shell=bash disable=SC2034
# Sourced by the measures of bench/: an embedded grid of one's own, the clock, medians, verdicts.
# Programs come from $CIGRI_BIN, else from build/bin of this tree.
set -u -o pipefail
bin=${CIGRI_BIN:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build/bin}
export PATH=$bin:$PATH
# The defaults are measured: nothing of the caller's configuration is looked at.
unset CIGRICONFFILE CIGRICONFDIR CIGRI_API CIGRI_DB CIGRI_TOKEN "${!PG@}"
missed=0

fail() { printf '%s: %s\n' "$(basename "$0")" "$1" >&2; exit "${2:-69}"; }

for program in cigri gridsub gridadmin parallel psql; do
  command -v "$program" > /dev/null || fail "there is no $program (looked in $bin and PATH)"
done

# grid_up [options of `cigri up`]: a grid in a folder of its own, gone when the script ends.
grid_up() {
  CIGRI_HOME=$(mktemp -d "${TMPDIR:-/tmp}/cigri-bench.XXXXXX") || fail "cannot make a folder"
  export CIGRI_HOME
  chmod 755 "$CIGRI_HOME"  # root's PostgreSQL runs as another user, that must get in
  trap grid_down EXIT
  trap 'exit 130' INT TERM
  cd "$CIGRI_HOME" || exit 70
  cigri up --embedded "$@" > "$CIGRI_HOME/up.out" 2>&1 || fail "$(tail -3 "$CIGRI_HOME/up.out")"
  work=$CIGRI_HOME/work
  mkdir "$work"
  cd "$work" || exit 70
}

grid_down() {
  local code=$?
  trap '' INT TERM
  cigri down > "$CIGRI_HOME/down.out" 2>&1 || { cat "$CIGRI_HOME/down.out" >&2; code=1; }
  cd /
  if [ "$code" -le 1 ] && [ -z "${KEEP:-}" ]; then rm -rf "$CIGRI_HOME"
  else printf 'kept: %s\n' "$CIGRI_HOME" >&2; fi
  exit "$code"
}

# sql QUERY: its rows, columns separated by blanks.
sql() { psql -X -q -A -t -F ' ' -v ON_ERROR_STOP=1 "$(cat "$CIGRI_HOME/conninfo")" -c "SET search_path = cigri, public" -c "$1"; }

# timed COMMAND...: its seconds in $took, its CPU ticks in $used; its output goes to $work/out.
timed() {
  local code=0 before stat to
  read -r stat < "/proc/$$/stat"
  read -r -a before <<< "${stat##*) }"
  began=$EPOCHREALTIME
  "$@" > "$work/out" 2>&1 < /dev/null || code=$?
  to=$EPOCHREALTIME
  read -r stat < "/proc/$$/stat"
  read -r -a after <<< "${stat##*) }"
  used=$((after[13] + after[14] - before[13] - before[14]))
  took=$(calc "$to - $began" 6)
  return $code
}

# median: of the numbers on standard input.
median() { sort -g | awk '{ v[NR] = $1 } END { if (NR) print NR % 2 ? v[(NR+1)/2] : (v[NR/2] + v[NR/2+1]) / 2 }'; }

calc() { awk "BEGIN { printf \"%.${2:-2}f\", $1 }"; }

# verdict NAME OURS OTHER RATIO least|most BOUND: the line of one measure.
verdict() {
  local ok='ok'
  awk -v r="$4" -v b="$6" -v how="$5" 'BEGIN { exit !(how == "least" ? r >= b : r <= b) }' ||
    { ok='MISSED'; missed=1; }
  printf '%s: ours %s, other %s, ratio %s (asked: at %s %s) %s\n' "$1" "$2" "$3" "$4" "$5" "$6" "$ok"
}

# What else ran: on a loaded machine the numbers say little.
load() { printf 'machine: %s CPUs, load %s\n' "$(nproc)" "$(cut -d' ' -f1-3 /proc/loadavg)"; }

# The conservation of tasks (docs/design.md): every task is in exactly one place.
conserved() { gridadmin check > "$work/check" 2>&1 || { cat "$work/check" >&2; missed=1; echo "gridadmin check: broken"; }; }

# Processes of the grid, PostgreSQL not included / of its private PostgreSQL. Jobs are neither.
own_pids() {
  local comm name pid
  for comm in /proc/[0-9]*/comm; do
    read -r name < "$comm" || continue
    case $name in almighty|updator|predictor|metascheduler|runner|nikita|api|localcluster) ;; *) continue ;; esac
    pid=${comm#/proc/} pid=${pid%/comm}
    grep -qzxF "CIGRI_HOME=$CIGRI_HOME" "/proc/$pid/environ" && echo "$pid"
  done 2> /dev/null
}
postgres_pids() {
  local server
  server=$(head -1 "$CIGRI_HOME/pg/postmaster.pid" 2> /dev/null) || return 0
  echo "$server"
  pgrep -P "$server"
}

# CPU ticks of some processes, with those of their children that have ended.
ticks() {
  for pid in "$@"; do sed 's/.*) //' "/proc/$pid/stat" 2> /dev/null; done |
    awk '{ n += $12 + $13 + $14 + $15 } END { print n + 0 }'
}
grid_ticks() {
  # shellcheck disable=SC2046  # one word a process
  ticks $(own_pids; postgres_pids)
}
