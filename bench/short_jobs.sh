#!/usr/bin/env bash
# 120 tasks of 3 s on two clusters of 8 and 4 slots: on a grid that has run thousands of `true` before
# against a fresh grid, in runs. No cluster may stay idle because what ran before was short.
# Usage: bench/short_jobs.sh [RUNS [SHORT]]
# shellcheck source-path=SCRIPTDIR disable=SC2154,SC2119,SC2086
. "$(dirname "$0")/lib.sh"
runs=${1:-1} short=${2:-3000}

# seconds_after N: what the campaign takes on a grid of its own, after N jobs of `true`.
seconds_after() (
  grid_up --slots one=8,two=4
  if [ "$1" -gt 0 ]; then
    seq "$1" > values
    timed gridsub --wait -- true {} :::: values || fail "the short jobs failed: $(tail -3 out)"
  fi
  for ((i = 0; i < 120; ++i)); do echo 3; done > values
  timed gridsub --wait -- sleep {} :::: values || fail "the campaign failed: $(tail -3 out)"
  conserved >&2
  echo "$took"
  exit $missed
)

load
results=$(mktemp -d "${TMPDIR:-/tmp}/cigri-bench.XXXXXX")
for ((run = 1; run <= runs; ++run)); do
  seconds_after 0 >> "$results/fresh" || exit
  seconds_after "$short" >> "$results/after" || exit
  printf 'run %d: fresh %s s, after %d short jobs %s s\n' "$run" "$(tail -1 "$results/fresh")" \
    "$short" "$(tail -1 "$results/after")"
done
fresh=$(median < "$results/fresh") after=$(median < "$results/after")
rm -r "$results"
verdict 'short jobs before' "$after s" "fresh grid $fresh s" "$(calc "$after / $fresh")" most 1.2
exit $missed
