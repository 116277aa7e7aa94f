#!/usr/bin/env bash
# Fuzzes everything that comes from outside with libFuzzer, each target for a minute (or $1 seconds),
# two at a time, from seed $CIGRI_SEED or a new one; then tries the properties of policies and
# simulator on 5,000 new cases each, unless $2 is "targets". With "packages" it only installs what it
# needs. Fails on a crash, a hang, more than 2 GB, or what a target or a property denies. A hang is 100
# seconds by the clock: in CI all other work goes first. What a target has found lies in build-fuzz/found.
set -eu
cd "$(dirname "$(readlink -f "$0")")/.."
seconds=${1:-60}
command -v clang++-14 >/dev/null || apt-get install -y -qq --no-install-recommends clang-14 libclang-rt-14-dev >/dev/null
[ "${1:-}" != packages ] || exit 0

# TARGET FOLDER... : the seeds, which are the fixtures that other tests have where there are any.
targets='jdl tests/jdl/corpus
head
oar build-fuzz/seeds/oar
slurm build-fuzz/seeds/slurm
gridengine tests/fuzz/corpus/gridengine
feed tests/fuzz/corpus/feed
intake tests/fuzz/corpus/intake
records tests/fuzz/corpus/records
request tests/fuzz/corpus/request
rules sql/seed/admission_rules
swf tests/fuzz/corpus/swf examples/scenarios
scenario tests/sim/scenarios examples/scenarios
params tests/fuzz/corpus/params
conf tests/fuzz/corpus/conf systemd
policy tests/fuzz/corpus/policy'

declare -A options=(
  [jdl]=-dict=tests/jdl/jdl.dict
  [head]=-dict=tests/http/head.dict
)
cmake -S . -B build-fuzz -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCIGRI_FUZZ=ON >/dev/null
# shellcheck disable=SC2046  # one word a target
ninja -C build-fuzz $(awk '{ print "fuzz_" $1 }' <<< "$targets")
mkdir -p build-fuzz/found
recorded=tests/cluster/fixtures
python3 tests/fuzz/seeds.py build-fuzz/seeds/oar $recorded/oar $recorded/oar3
python3 tests/fuzz/seeds.py build-fuzz/seeds/slurm $recorded/slurm $recorded/slurm24

# fuzz TARGET FOLDER...: prints a line, and the end of its output when it has found something.
fuzz() {
  local name=$1 code=0; shift
  mkdir -p "build-fuzz/corpus/$name"
  build-fuzz/tests/fuzz_"$name" -max_total_time="$seconds" -seed="${CIGRI_SEED:-0}" -timeout=100 \
    -rss_limit_mb=2048 -max_len=16384 -print_final_stats=1 -artifact_prefix=build-fuzz/found/"$name"- "${options[$name]:--verbosity=1}" \
    "build-fuzz/corpus/$name" "$@" > "build-fuzz/$name.log" 2>&1 || code=$?
  echo "fuzz_$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "build-fuzz/$name.log") cases$(
    [ $code = 0 ] && echo ', nothing found' || echo ', FAILED')"
  [ $code = 0 ] || { tail -40 "build-fuzz/$name.log"; return 1; }
}
failed=0
running=0
while read -r line; do
  # shellcheck disable=SC2086  # a target and its folders
  fuzz $line &
  running=$((running + 1))
  if [ $running = 2 ]; then wait -n || failed=1; running=1; fi
done <<< "$targets"
wait -n || failed=1
[ $failed = 0 ] || { echo 'fuzz: something was found'; exit 1; }
[ "${2:-}" != targets ] || exit 0
cmake --preset check >/dev/null
ninja -C build policy_test sim_test
for suite in policy sim; do
  RC_PARAMS=max_success=5000 "build/tests/${suite}_test" --gtest_filter='*Property.*'
done
