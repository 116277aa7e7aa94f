#!/usr/bin/env bash
# clang-format and clang-tidy on what differs from a commit: scripts/tidy.sh [COMMIT], default main.
# `scripts/tidy.sh all` looks at everything. Needs clang-format, clang-tidy (installed when missing).
set -eu -o pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
base=${1:-main}
for tool in clang-format clang-tidy; do
  command -v $tool > /dev/null || apt-get install -y -qq --no-install-recommends $tool > /dev/null
done
[ -e build-dev/compile_commands.json ] || cmake --preset dev > /dev/null
cmake --build build-dev --target cigri_sql_headers > /dev/null
files() {
  if [ "$base" = all ]; then git ls-files "$@"; else git diff --name-only --diff-filter=d "$base" -- "$@"; fi
}
mapfile -t all < <(files 'src/*.cc' 'src/*.h' 'tools/*.cc' 'tools/*.h' 'tests/*.cc' 'tests/*.h' 'bench/*.cc')
mapfile -t units < <(files 'src/*.cc' 'tools/*.cc')
[ ${#all[@]} = 0 ] || clang-format --dry-run --Werror "${all[@]}"
[ ${#units[@]} = 0 ] || printf '%s\n' "${units[@]}" | xargs -P "$(nproc)" -n 1 clang-tidy --quiet -p build-dev
echo "${#all[@]} files formatted, ${#units[@]} without findings"
