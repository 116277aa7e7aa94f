#!/usr/bin/env bash
# scripts/page.sh [dev]: builds the web page (web/) into build/web. Says in one line what became of it;
# a build without node, npm or a registry goes on without the page. `dev`: with what ./check needs.
set -u -o pipefail
cd "$(dirname "$(readlink -f "$0")")/.." || exit 70
log=$PWD/build/page.log
. ./scripts/setup.sh
mkdir -p build/page && : > "$log"
say() { echo "$1" | tee -a "$log"; }
without() { say "no page: $1; without it the API serves the tools (log: build/page.log)"; exit 69; }

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  sudo=; [ "$(id -u)" = 0 ] || sudo='sudo -n'
  apt() { $sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600 "$@" >> "$log" 2>&1; }
  install() { apt install -y --no-install-recommends $(packages_of page); }
  install || { apt update && install; } || without 'nodejs and npm cannot be installed'
fi
omit=--omit=dev; [ "${1:-}" = dev ] && omit=--include=dev
cp -r web/. build/page/
if [ "$omit $(sha256sum < web/package-lock.json)" != "$(cat build/page/installed 2>/dev/null)" ]; then
  (cd build/page && npm ci $omit --no-fund --no-audit --ignore-scripts --fetch-retries=1 --fetch-timeout=20000) \
    >> "$log" 2>&1 || without 'npm ci failed'
  echo "$omit $(sha256sum < web/package-lock.json)" > build/page/installed
fi
size=$(cd build/page && node build.mjs ../web 2>> "$log") || without 'esbuild failed'
say "build/web, $size"
