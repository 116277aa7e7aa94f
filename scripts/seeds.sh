#!/usr/bin/env bash
# Plays seeds 1 to N (2,000) of the simulation of faults (docs/testing.md), or N from FIRST on, a hundred
# a process and a process a core. Fails on a seed that fails, whose number is in build/seeds, and when a
# step was hit fewer than 200 times in 2,000. Ends before its time when there is a file build/seeds/stop.
# Usage: scripts/seeds.sh [N [FIRST]]
set -eu
cd "$(dirname "$(readlink -f "$0")")/.."
n=${1:-2000} first=${2:-1}
[[ $n =~ ^[1-9][0-9]*$ && $first =~ ^[1-9][0-9]*$ ]] || { echo "seeds: \"$*\" is no number of seeds, and the first of them" >&2; exit 64; }
folder=build/seeds
rm -rf $folder
mkdir -p $folder
export CIGRI_TEST_FOLDER=/dev/shm CIGRI_LOG_LEVEL=error

# hundred FIRST: takes the core that it is on, since a seed is one thread at a time in turns with its server.
hundred() {
  local last=$((first + n - 1))
  CIGRI_FIRST_SEED=$1 CIGRI_SEEDS=$((last - $1 < 99 ? last - $1 + 1 : 100)) \
    build/tests/simulation_pgtest --gtest_filter='*EveryTask*' > $folder/"$1".log 2>&1 && return
  grep -E 'CIGRI_SEED=|Failure|FAILED' $folder/"$1".log || tail -5 $folder/"$1".log
  touch $folder/failed
}
# worker CORE: hundreds that nobody has taken yet, until one has failed or they are to stop.
worker() {
  taskset -cp "$1" $BASHPID > /dev/null
  local seed
  for ((seed = first; seed < first + n; seed += 100)); do
    [ ! -e $folder/failed ] && [ ! -e $folder/stop ] || return 0
    mkdir $folder/$seed 2>/dev/null || continue
    hundred $seed
  done
}
for ((core = 0; core < $(nproc); ++core)); do worker $core & done
wait
[ ! -e $folder/failed ] || { echo 'seeds: one has failed'; exit 1; }
[ ! -e $folder/stop ] || { echo 'seeds: stopped'; exit 1; }
awk -v n="$n" '$0 ~ / taken +[0-9]+ +hit / {
    step = substr($0, 1, 22); rest = substr($0, 23); split(rest, word); taken[step] += word[2]; hit[step] += word[4] }
  END {
    for (step in hit) {
      printf "%s taken %d, hit %d\n", step, taken[step], hit[step]
      if (hit[step] * 10 < n) { printf "seeds: too few faults at %s\n", step; bad = 1 }
    }
    exit bad }' $folder/*.log
echo "$n seeds from $first on, none has failed"
