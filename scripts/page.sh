#!/usr/bin/env bash
# scripts/page.sh [dev] [--into BUILD]: builds the web page (web/) into build/web or BUILD/web. Says in
# one line what became of it; a build without node, npm or a registry goes on without the page.
#
#   dev            with what ./check needs
#   --into BUILD   for a package: nothing is installed on this machine
set -u -o pipefail
cd "$(dirname "$(readlink -f "$0")")/.." || exit 70
kind=prod build=build may_install=yes
while [ $# -gt 0 ]; do
  case $1 in
    dev) kind=dev ;;
    --into) build=$2 may_install=no; shift ;;
    *) echo "page.sh: unknown: $1" >&2; exit 64 ;;
  esac
  shift
done
mkdir -p "$build/page" && build=$(readlink -f "$build") || exit 73
log=$build/page.log
. ./scripts/setup.sh
: > "$log"
say() { echo "$1" | tee -a "$log"; }
without() { say "no page: $1; without it the API serves the tools (log: $log)"; exit 69; }

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  [ $may_install = yes ] || without 'nodejs and npm are not installed'
  sudo=; [ "$(id -u)" = 0 ] || sudo='sudo -n'
  apt() { $sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600 "$@" >> "$log" 2>&1; }
  install() { apt install -y --no-install-recommends $(packages_of page); }
  install || { apt update && install; } || without 'nodejs and npm cannot be installed'
fi
omit=--omit=dev; [ $kind = prod ] || omit=--include=dev
cp -r web/. "$build/page/"
if [ "$omit $(sha256sum < web/package-lock.json)" != "$(cat "$build/page/installed" 2>/dev/null)" ]; then
  (cd "$build/page" && npm ci $omit --no-fund --no-audit --ignore-scripts --fetch-retries=1 --fetch-timeout=20000) \
    >> "$log" 2>&1 || without 'npm ci failed'
  echo "$omit $(sha256sum < web/package-lock.json)" > "$build/page/installed"
fi
size=$(cd "$build/page" && node build.mjs ../web 2>> "$log") || without 'esbuild failed'
say "${build#"$PWD/"}/web, $size"
