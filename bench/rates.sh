#!/usr/bin/env bash
# What a newcomer compares on one machine, with 2 slots on both sides, in runs: 200 files with their
# output in order, one `true`, 10,000 `true` and 10,000 empty Python functions, against GNU parallel,
# xargs and ProcessPoolExecutor. Usage: bench/rates.sh [RUNS [TASKS [FUNCTIONS]]]
# 10,000 functions take each side five minutes; a rate is the same with 500.
# shellcheck source-path=SCRIPTDIR disable=SC2154,SC2119,SC2086
. "$(dirname "$0")/lib.sh"
runs=${1:-3} tasks=${2:-10000} functions=${3:-10000}
module=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../python")
# That of Debian 12 by default: cloudpickle, where it is installed, takes 20 ms of each job.
export PYTHON=${PYTHON:-/usr/bin/python3}
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "$PYTHON is older than 3.11"
grid_up --slots one=2
load
mkdir in
for ((i = 0; i < 200; ++i)); do printf '%*s' "$i" '' > "in/$i.txt"; done
seq "$tasks" > values

cat > grid_map.py <<PY
import resource, sys
sys.path.insert(0, "$module")
import cigri
def nothing(x):
    return None
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
if __name__ == "__main__":
    with cigri.Grid() as grid:
        for n in map(int, sys.argv[1:]):
            assert sum(1 for _ in grid.map(nothing, range(n))) == n
            print("peak_kb", peak())
PY
cat > pool_map.py <<'PY'
import sys
from concurrent.futures import ProcessPoolExecutor
def nothing(x):
    return None
if __name__ == "__main__":
    with ProcessPoolExecutor(2, max_tasks_per_child=1) as pool:
        assert sum(1 for _ in pool.map(nothing, range(int(sys.argv[1])))) == int(sys.argv[1])
PY

# measure NAME COMMAND...: its seconds, one line more in the file NAME.
measure() { local name=$1; shift; timed "$@" || fail "$name failed: $(tail -3 out)"; echo "$took" >> "$name"; }
gridsub --wait -q -- true ::: 1 2 3 4 > /dev/null || fail "the grid does not work"
for ((run = 1; run <= runs; ++run)); do
  measure files_ours gridsub --wait -O -k -- wc -c {} ::: in/*.txt
  measure files_theirs parallel -j2 -k wc -c {} ::: in/*.txt
  measure one_ours gridsub --wait -- true ::: 1
  measure one_theirs parallel true ::: 1
  measure true_ours gridsub --wait -a values -- true
  measure true_theirs xargs -P2 -n1 -a values true
  measure map_ours "$PYTHON" grid_map.py "$functions"
  measure map_theirs "$PYTHON" pool_map.py "$functions"
  printf 'run %d: files %s %s, one %s %s, true %s %s, map %s %s s\n' "$run" \
    $(tail -qn1 files_ours files_theirs one_ours one_theirs true_ours true_theirs map_ours map_theirs)
done
timed "$PYTHON" grid_map.py $((functions / 10)) "$functions" || fail "grid.map failed: $(tail -3 out)"
read -r few many <<< "$(awk '{ print $2 }' out | tr '\n' ' ')"
conserved

ratio() { calc "$(median < "$1") / $(median < "$2")"; }
verdict '200 files' "$(median < files_ours) s" "parallel -j2 -k $(median < files_theirs) s" "$(ratio files_ours files_theirs)" most 0.5
verdict 'one true' "$(median < one_ours) s" "parallel $(median < one_theirs) s" "$(ratio one_ours one_theirs)" most 0.5
verdict "$tasks true, rate" "$(median < true_ours) s" "xargs -P2 -n1 $(median < true_theirs) s" "$(ratio true_theirs true_ours)" least 0.8
verdict "grid.map of $functions, rate" "$(median < map_ours) s" "ProcessPoolExecutor $(median < map_theirs) s" "$(ratio map_theirs map_ours)" least 1.0
verdict 'grid.map, memory' "$many kB" "a tenth of the tasks $few kB" "$(calc "$many / $few")" most 1.1
exit $missed
