#!/usr/bin/env bash
# What an idle grid costs: CPU over 60 s, memory, disk; the same after 100,000 jobs.
# Usage: bench/idle.sh [JOBS [SECONDS]]
# shellcheck source-path=SCRIPTDIR disable=SC2154,SC2119,SC2086
. "$(dirname "$0")/lib.sh"
jobs=${1:-100000} duration=${2:-60}

# PSS by program, PostgreSQL's as one, largest first.
pss_by_name() {
  for pid in "$@"; do echo "$(pss_kb "$pid") $(cat "/proc/$pid/comm")"; done 2> /dev/null |
    awk '{ kb[$2] += $1 } END { for (n in kb) printf "%.1f %s\n", kb[n] / 1024, n }' | sort -rn |
    awk '{ printf "%s%s %s MB", (NR > 1 ? ", " : ""), $2, $1 } END { print "" }'
}
pss_kb() { for pid in "$@"; do awk '/^Pss:/ { print $2 }' "/proc/$pid/smaps_rollup" 2> /dev/null; done | awk '{ n += $1 } END { print n + 0 }'; }
wal_bytes() { sql "SELECT pg_current_wal_lsn() - '0/0'"; }
# Everything but the WAL, which is recycled and bounded (max_wal_size), and this script's own files.
data_bytes() { du -sb --exclude=pg_wal --exclude=work "$CIGRI_HOME" | cut -f1; }

# measure NAME: CPU, memory and disk over the duration, in cpu_NAME ...
measure() {
  sleep 5  # what the last campaign left to do is done
  local own pg before wal data from seconds used
  read -r -d '' -a own < <(own_pids) ; read -r -d '' -a pg < <(postgres_pids)
  wal=$(wal_bytes) data=$(data_bytes) from=$EPOCHREALTIME before=$(ticks "${own[@]}" "${pg[@]}")
  for pid in "${own[@]}" "${pg[@]}"; do echo "$(ticks "$pid") $pid"; done > before
  sleep "$duration"
  used=$(( $(ticks "${own[@]}" "${pg[@]}") - before ))
  seconds=$(calc "$EPOCHREALTIME - $from" 3)
  while read -r was pid; do
    echo "$(( $(ticks "$pid") - was )) $(cat "/proc/$pid/comm") $(tr '\0' ' ' < "/proc/$pid/cmdline" | cut -c1-70)"
  done < before 2> /dev/null | sort -rn | awk -v hz="$(getconf CLK_TCK)" 'NR <= 6 && $1 > 0 { $1 = sprintf("    %5.0f ms", $1 * 1000 / hz); print }'
  # Sessions were renewed meanwhile (a grid at rest gives their memory back): who is there now.
  read -r -d '' -a own < <(own_pids) ; read -r -d '' -a pg < <(postgres_pids)
  cpu=$(calc "$used * 100 / $(getconf CLK_TCK) / $seconds" 3)
  pss_own=$(calc "$(pss_kb "${own[@]}") / 1024" 1) pss_pg=$(calc "$(pss_kb "${pg[@]}") / 1024" 1)
  pss=$(calc "$pss_own + $pss_pg" 1)
  printf '  %s: %d processes %s MB, PostgreSQL %d processes %s MB\n' "$1" "${#own[@]}" "$pss_own" "${#pg[@]}" "$pss_pg"
  printf '    %s\n' "$(pss_by_name "${own[@]}" "${pg[@]}")"
  printf '  %s: disk %s MB and WAL written (recycled) %s MB an idle day, extrapolated from %s s\n' "$1" \
    "$(calc "($(data_bytes) - $data) * 86400 / $seconds / 1e6" 1)" "$(calc "($(wal_bytes) - $wal) * 86400 / $seconds / 1e6" 1)" "$duration"
}

grid_up
load
measure 'fresh'
verdict 'idle CPU' "$cpu % of a core" '-' "$cpu" most 1
verdict 'idle memory' "$pss MB" '-' "$pss" most 150
fresh=$pss data=$(data_bytes)
seq "$jobs" > values
timed gridsub --wait -- true {} :::: values || fail "the campaign failed: $(tail -3 out)"
printf '  %d jobs took %s s\n' "$jobs" "$took"
sql CHECKPOINT
printf '  disk: %s MB per million jobs (from %d)\n' "$(calc "($(data_bytes) - $data) / $jobs" 0)" "$jobs"
measure "after $jobs jobs"
verdict "idle CPU after $jobs jobs" "$cpu % of a core" '-' "$cpu" most 1
verdict "idle memory after $jobs jobs" "$pss MB" "fresh $fresh MB" "$(calc "$pss / $fresh")" most 1.10
exit $missed
