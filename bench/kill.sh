#!/usr/bin/env bash
# A campaign of 5,000 jobs while every second one process of the grid, chosen at random, is killed -9:
# modules, almighty and standby, api, local clusters, PostgreSQL; not the jobs (a job and its cigri-job).
# Each job appends its index to a file. Usage: bench/kill.sh [JOBS [SEED]]
# shellcheck source-path=SCRIPTDIR disable=SC2154,SC2119,SC2086
. "$(dirname "$0")/lib.sh"
jobs=${1:-5000} RANDOM=${2:-$$}
grid_up
load
: > record
seq "$jobs" > values
# A moment each, so that many processes are killed meanwhile.
timed gridsub -- "sleep 0.02; echo {} >> $work/record" :::: values || fail "not submitted: $(tail -3 out)"
campaign=$(grep -o 'CAMPAIGN_ID=[0-9]*' out | cut -d= -f2)
kills=0 deadline=$((SECONDS + 1800))
while [ "$(sql "SELECT state FROM campaigns WHERE id = $campaign" 2> /dev/null)" != terminated ]; do
  [ "$SECONDS" -lt "$deadline" ] || { echo "the campaign does not end: $(sort -u record | wc -l) of $jobs done"; exit 1; }
  # By program first: PostgreSQL's many sessions are no more likely than the one runner.
  mapfile -t victims < <(for pid in $(own_pids; postgres_pids); do echo "$(cat "/proc/$pid/comm") $pid"; done 2> /dev/null |
    shuf --random-source=<(yes "$RANDOM") | sort -s -u -k1,1)
  if [ "${#victims[@]}" -gt 0 ]; then
    read -r name pid <<< "${victims[RANDOM % ${#victims[@]}]}"
    kill -9 "$pid" 2> /dev/null && kills=$((kills + 1)) && echo "$name" >> killed
  fi
  sleep 1
done
ran=$(wc -l < record) once=$(sort -n record | uniq -u | wc -l)
printf '  killed: %s\n' "$(sort killed | uniq -c | awk '{ printf "%s %s  ", $1, $2 }')"
conserved
verdict 'kill -9' "$once of $jobs indices exactly once, $ran runs, $kills kills in $SECONDS s" '-' \
  "$(calc "($once == $jobs && $ran == $jobs) ? 1 : 0" 0)" least 1
exit $missed
