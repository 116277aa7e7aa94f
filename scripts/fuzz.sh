#!/usr/bin/env bash
# Fuzzes the JDL and the heads of requests for a minute each (or $1 seconds) with libFuzzer, and
# tries the properties of policies and simulator on 5,000 new cases each; fails on a crash or a case
# that breaks one.
set -eu
cd "$(dirname "$(readlink -f "$0")")/.."
seconds=${1:-60}
command -v clang++-14 >/dev/null || apt-get install -y -qq --no-install-recommends clang-14 libclang-rt-14-dev >/dev/null
cmake --preset dev -DCIGRI_FUZZ=ON >/dev/null
ninja -C build-dev fuzz_jdl fuzz_head
mkdir -p build-dev/corpus build-dev/corpus-head
build-dev/tests/fuzz_jdl -max_total_time="$seconds" -timeout=10 \
  build-dev/corpus tests/jdl/corpus
build-dev/tests/fuzz_head -max_total_time="$seconds" -timeout=10 -max_len=4096 \
  -dict=tests/http/head.dict build-dev/corpus-head
cmake --preset check >/dev/null
ninja -C build policy_test sim_test
for suite in policy sim; do
  RC_PARAMS=max_success=5000 "build/tests/${suite}_test" --gtest_filter='*Property.*'
done
