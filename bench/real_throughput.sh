#!/usr/bin/env bash
# Best-effort `true` jobs through a real OAR and a real Slurm, the grid in its default configuration,
# against the same arrays submitted by hand with oarsub and sbatch --array, in runs. As root.
# Usage: bench/real_throughput.sh [OAR_JOBS [SLURM_JOBS [RUNS]]]      a number of 0 leaves one out
# shellcheck source-path=SCRIPTDIR disable=SC2154,SC2119,SC2086
. "$(dirname "$0")/lib.sh"
oar_jobs=${1:-300} slurm_jobs=${2:-3000} runs=${3:-3}
[ "$(id -u)" = 0 ] || fail 'only root may start real batch schedulers' 77
with=
[ "$oar_jobs" = 0 ] || with=oar
[ "$slurm_jobs" = 0 ] || with=${with:+$with,}slurm
grid_up --slots here=1 --with "$with"
chmod 1777 "$work"
load

oar_by_hand() { # JOBS NAME: from oarsub to the end of the last job, as OAR's database has it
  local in=
  [ "$oar" = 1 ] || in="nsenter --mount=/run/oar-up/ns/$oar --"
  $in runuser -u alice -- oarsub -n "$2" -t besteffort -l /resource_id=1,walltime=1:00:00 --array "$1" -d /tmp -O /dev/null -E /dev/null true || return
  while [ "$(cd / && runuser -u postgres -- psql -XqAt -h /run/oar-up/pg -p 5441 -d "oar$oar" \
      -c "SELECT count(*) FROM jobs WHERE job_name = '$2' AND state NOT IN ('Terminated', 'Error')")" != 0 ]; do sleep 0.3; done
}
slurm_by_hand() { # JOBS
  local id
  id=$(runuser -u grid -- sbatch --parsable -p besteffort --array="0-$(($1 - 1))" -D /tmp -o /dev/null -t 60 --wrap true) || return
  while [ -n "$(squeue -h -j "$id" 2> /dev/null)" ]; do sleep 0.3; done
}

measure() { # CLUSTER JOBS COMMAND...: ours and theirs by runs
  local cluster=$1 jobs=$2 run; shift 2
  rm -f ours theirs
  seq "$jobs" > values
  for ((run = 1; run <= runs; ++run)); do
    timed gridsub --wait --clusters "$cluster" -- true {} :::: values || fail "the campaign failed: $(tail -3 out)"
    echo "$took" >> ours
    timed "$@" "$jobs" "hand-$run" || fail "submitting by hand failed: $(tail -3 out)"
    echo "$took" >> theirs
    printf '%s run %d: ours %s s, by hand %s s\n' "$cluster" "$run" "$(tail -1 ours)" "$(tail -1 theirs)"
  done
  [ "$(sql "SELECT count(*) FROM done WHERE counted AND cluster_id = (SELECT id FROM clusters WHERE name = '$cluster')")" = $((jobs * runs)) ] ||
    { echo "not every job of $cluster is recorded"; missed=1; }
  local mine=$(calc "$jobs / $(median < ours)") other=$(calc "$jobs / $(median < theirs)")
  verdict "$cluster throughput" "$mine jobs/s" "by hand $other jobs/s" "$(calc "$mine / $other")" least 0.9
}

while read -r kind instance; do
  case $kind in
    oar) oar=$instance; measure "oar$instance" "$oar_jobs" oar_by_hand ;;
    slurm) export SLURM_CONF=/var/lib/slurm-clusters/slurm$instance/etc/slurm.conf
           measure "slurm$instance" "$slurm_jobs" slurm_by_hand ;;
  esac
done < "$CIGRI_HOME/with"
conserved
exit $missed
