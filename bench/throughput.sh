#!/usr/bin/env bash
# 10,000 `true` jobs with 2 slots on one local cluster, from gridsub to all terminated, against GNU
# parallel with 2 slots, in runs. Usage: bench/throughput.sh [JOBS [RUNS]]
# shellcheck source-path=SCRIPTDIR disable=SC2154,SC2119,SC2086
. "$(dirname "$0")/lib.sh"
jobs=${1:-10000} runs=${2:-3}
cpu_ms() { calc "$1 * 1000 / $(getconf CLK_TCK) / $jobs"; }
grid_up --slots one=2
load
for ((run = 1; run <= runs; ++run)); do
  seq "$jobs" > values
  was=$(grid_ticks)
  timed gridsub --wait -- true {} :::: values || fail "the campaign failed: $(tail -3 out)"
  ours_cpu=$(($(grid_ticks) - was + used))
  echo "$took" >> ours
  # shellcheck disable=SC2046  # as users type it
  timed parallel -j2 true ::: $(cat values) || fail "parallel failed: $(tail -3 out)"
  echo "$took" >> theirs
  # Rates move with what else the machine does, CPU hardly; the jobs themselves are included.
  printf 'run %d: ours %s s, CPU %s ms/job; parallel %s s, CPU %s ms/job\n' "$run" "$(tail -1 ours)" \
    "$(cpu_ms "$ours_cpu")" "$(tail -1 theirs)" "$(cpu_ms "$used")"
done
recorded=$(sql "SELECT count(*) FROM done WHERE counted AND started_at IS NOT NULL")
[ "$recorded" = $((jobs * runs)) ] || { echo "recorded $recorded of $((jobs * runs)) jobs"; missed=1; }
conserved
ours=$(calc "$jobs / $(median < ours)") theirs=$(calc "$jobs / $(median < theirs)")
verdict throughput "$ours jobs/s" "parallel -j2 $theirs jobs/s" "$(calc "$ours / $theirs")" least 1.0
exit $missed
