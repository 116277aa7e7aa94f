#!/usr/bin/env bash
# What a campaign costs each kind of cluster in calls of its API, from submission to the end of its
# last job: a proxy before each API prints the requests. As root.
# Usage: bench/real_calls.sh [OAR_JOBS [SLURM_JOBS [LOCAL_JOBS]]]      a number of 0 leaves one out
# shellcheck source-path=SCRIPTDIR disable=SC2154,SC2119,SC2086
. "$(dirname "$0")/lib.sh"
oar_jobs=${1:-200} slurm_jobs=${2:-1000} local_jobs=${3:-1000}
[ "$(id -u)" = 0 ] || fail 'only root may start real batch schedulers' 77
with=none
[ "$oar_jobs" = 0 ] || with=oar
[ "$slurm_jobs" = 0 ] || with=${with#none}${with:+,}slurm
grid_up --slots here=2 --with "${with#,}"
chmod 1777 "$work"

proxy() { # CLUSTER LISTEN SERVER URL: the cluster is driven through a proxy from now on
  mkfifo "$work/$1.end"
  logging_proxy "$2" "$3" < "$work/$1.end" >> "$work/$1.calls" &
  exec {hold}> "$work/$1.end"
  until [ -s "$work/$1.calls" ]; do sleep 0.05; done
  gridadmin cluster set "$1" "api_url=${4//PORT/$(head -1 "$work/$1.calls")}" > /dev/null || fail "cannot move $1"
  until [ "$(wc -l < "$work/$1.calls")" -gt 1 ]; do sleep 0.1; done  # the updator has moved too
}
# Calls between two polls at the resources are one poll; a poll asks for an array, or a list of ids, once.
twice() { awk -v poll="$1" -v end="$2" '$0 ~ end { delete seen; next } $1 == "GET" && $2 ~ poll { if (seen[$2]++) n++ } END { print n + 0 }' "$3"; }
count() { grep -cE "$1" "$2"; }
most() { # NAME N BOUND
  local ok=ok
  [ "$2" -le "$3" ] || { ok=MISSED; missed=1; }
  printf '    %-34s %6d (at most %d) %s\n' "$1" "$2" "$3" "$ok"
}

campaign() { # CLUSTER JOBS KIND
  local cluster=$1 n=$2 kind=$3 log=$work/$1.calls batches polls0 polls
  polls0=$(sql "SELECT s.polls FROM cluster_status s JOIN clusters c ON c.id = s.cluster_id WHERE c.name = '$cluster'")
  : > "$log"
  seq "$n" > values
  timed gridsub --wait --clusters "$cluster" -- true {} :::: values || fail "the campaign failed: $(tail -3 out)"
  cp "$log" calls
  batches=$(sql "SELECT count(*) FROM batches b JOIN clusters c ON c.id = b.cluster_id WHERE c.name = '$cluster' AND b.recorded_at IS NOT NULL")
  polls=$(($(sql "SELECT s.polls FROM cluster_status s JOIN clusters c ON c.id = s.cluster_id WHERE c.name = '$cluster'") - polls0))
  printf '%s: %d jobs in %d arrays, %s s, %d polls; %d calls, %s per 1,000 jobs\n' "$cluster" "$n" "$batches" "$took" "$polls" \
    "$(wc -l < calls)" "$(calc "$(wc -l < calls) * 1000 / $n" 0)"
  case $kind in
    oar)
      most submissions "$(count '^POST [^ ]*/jobs.json$' calls)" "$batches"
      most 'polls (1 for 1,000 live ids)' "$(count '^GET [^ ]*ids=' calls)" $((polls + 1))
      printf '    %-34s %6d\n' 'look-ups of ended jobs' "$(count '^GET [^ ]*/jobs/[0-9]+.json' calls)" ;;
    slurm)
      most submissions "$(count '^POST [^ ]*/job/submit$' calls)" "$batches"
      most releases "$(count '^POST [^ ]*/job/[0-9]+$' calls)" "$batches"
      most 'arrays asked for twice in a poll' "$(twice '/job/[0-9]+$' '/(nodes|partition)' calls)" 0
      printf '    %-34s %6d, %s a poll\n' 'polls (1 for a live array)' "$(count '^GET [^ ]*/job/[0-9]+$' calls)" \
        "$(calc "$(count '^GET [^ ]*/job/[0-9]+$' calls) / ($polls + 0.001)")"
      printf '    %-34s %6d\n' 'look-ups of ended jobs' "$(count '^GET /slurmdb/' calls)" ;;
    local)
      most submissions "$(count '^POST [^ ]*/batches' calls)" "$batches"
      printf '    %-34s %6d\n' 'polls (answered when there is news)' "$(count '^GET [^ ]*/changes' calls)"
      most 'other calls (1 before an array)' "$(count '^GET [^ ]*/(resources|jobs)|^POST [^ ]*/lookups' calls)" "$batches" ;;
  esac
  sed -E 's/^([A-Z]+) ([^?]*).*/\1 \2/; s/[0-9]+(_[0-9]+)?/N/g' calls | sort | uniq -c | sort -rn | sed 's/^/      /'
}

load
while read -r kind i; do
  case $kind in
    oar) proxy "oar$i" 0 "$((6668 + 100 * (i - 1)))" http://127.0.0.1:PORT/oarapi-cigri; campaign "oar$i" "$oar_jobs" oar ;;
    slurm) proxy "slurm$i" 0 "$((7520 + 100 * (i - 1)))" http://127.0.0.1:PORT; campaign "slurm$i" "$slurm_jobs" slurm ;;
  esac
done < <(cat "$CIGRI_HOME/with" 2> /dev/null)
proxy here "$CIGRI_HOME/run/proxy.sock" "$CIGRI_HOME/run/here.sock" "unix:$CIGRI_HOME/run/proxy.sock"
campaign here "$local_jobs" local
conserved
exit $missed
