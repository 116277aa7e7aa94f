#!/usr/bin/env bash
# Tasks of one second on a real OAR or Slurm, best-effort: with jobs that tasks share, as the grid finds out
# itself, against a job for each task (`--tasks-per-job 1`). Rates from the start of gridsub to the end
# of its last task; the second campaign has fewer tasks, since each takes two seconds. As root.
# Usage: bench/grouping.sh [TASKS [ALONE [oar|slurm]]]
# shellcheck source-path=SCRIPTDIR disable=SC2154,SC2119,SC2086
. "$(dirname "$0")/lib.sh"
tasks=${1:-1000} alone=${2:-200} kind=${3:-oar}
[ "$(id -u)" = 0 ] || fail 'only root may start real batch schedulers' 77
grid_up --slots here=1 --with "$kind"
chmod 1777 "$work"
load
read -r _ instance < "$CIGRI_HOME/with"

# rate N OPTIONS...: tasks a second, in $rate
rate() {
  local n=$1; shift
  for ((i = 0; i < n; ++i)); do echo 1; done > values
  timed gridsub --wait --clusters "$kind$instance" "$@" -- sleep {} :::: values || fail "the campaign failed: $(tail -3 out)"
  rate=$(calc "$n / $took")
  printf '%d tasks %s: %s s in %s jobs\n' "$n" "$*" "$took" \
    "$(sql "SELECT count(DISTINCT remote_id) FROM done WHERE campaign_id = (SELECT max(id) FROM campaigns)")"
}

rate "$tasks"; ours=$rate
rate "$alone" --tasks-per-job 1
[ "$(sql 'SELECT count(*) FROM done WHERE counted')" = $((tasks + alone)) ] ||
  { echo 'not every task is recorded'; missed=1; }
least=5
[ "$kind" = oar ] || least=1  # it takes less for each job
verdict 'tasks that share jobs' "$ours tasks/s" "alone $rate tasks/s" "$(calc "$ours / $rate")" least $least
conserved
exit $missed
