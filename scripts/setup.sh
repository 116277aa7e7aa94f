# Sourced by ./quickstart and ./check: packages and the build. REQUIRES: $log, cwd = top of the tree.

# packages_of runtime|all|page: words of packages.txt. `all` is without those of the page, which is bundled by any node.
packages_of() {
  local part=build word words
  while read -r words; do
    case $words in '#'*|'') continue ;; run:|page:|tests:) part=${words%:}; continue ;; esac
    case $1:$part in runtime:build|runtime:run|all:build|all:run|all:tests|page:page) for word in $words; do echo "$word"; done ;; esac
  done < packages.txt
}

# The mail server of this machine, when it is another than the tests': it is not replaced.
own_mail_server() {
  dpkg-query -W -f='${db:Status-Status} ${Package} ${Provides}\n' 2>/dev/null |
    awk '$1 == "installed" && /mail-transport-agent/ && $2 != "opensmtpd" { print $2; exit }'
}

installed() { dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; }

# install_packages runtime|all LABEL: installs what is missing; says the one line when it may not.
install_packages() {
  local missing=() package began=$SECONDS sudo=
  for package in $(packages_of "$1"); do
    [ "$package" = opensmtpd ] && [ -n "$(own_mail_server)" ] && continue
    installed "$package" || missing+=("$package")
  done
  if [ ${#missing[@]} = 0 ]; then printf ' %s packages  all there\n' "$2"; return 0; fi
  if [ "$(id -u)" != 0 ]; then
    if sudo -n true 2>/dev/null; then sudo=sudo; else
      printf '%s: %d Debian packages are missing and you may not install them. Ask for:\n  apt-get install -y --no-install-recommends %s\n' \
        "$(basename "$0")" ${#missing[@]} "${missing[*]}" >&2
      return 77
    fi
  fi
  printf ' %s packages  %d missing, apt ... ' "$2" ${#missing[@]}
  # The server's own cluster is not for us: it is not started by the installation.
  { $sudo mkdir -p /etc/postgresql-common/createcluster.d &&
    echo 'create_main_cluster = false' | $sudo tee /etc/postgresql-common/createcluster.d/cigri-ng.conf >/dev/null &&
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get update -qq &&
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=600 "${missing[@]}"; } >> "$log" 2>&1 || {
    printf '\n%s: apt-get failed:\n' "$(basename "$0")" >&2; tail -5 "$log" >&2; echo "Log: $log" >&2; return 69; }
  printf '%d s\n' $((SECONDS - began))
}

# build_preset PRESET DIR LABEL [TARGET...]: configures and builds, with one line of progress. Other
# accounts may run what it makes, also where root's files are for root alone.
build_preset() (
  umask 022
  local preset=$1 dir=$2 label=$3 began=$SECONDS; shift 3
  # It is configured once: ninja itself asks CMake again when a file of the build has changed.
  local kept=$dir/preset
  if [ "$(cat "$kept" 2>/dev/null)" != "$preset" ] || [ CMakePresets.json -nt "$kept" ] || [ "$dir/CMakeCache.txt" -nt "$kept" ]; then
    cmake --preset "$preset" >> "$log" 2>&1 || { echo "$(basename "$0"): cmake failed, the last of its words:" >&2; tail -15 "$log" >&2; echo "Log: $log" >&2; return 70; }
    echo "$preset" > "$kept"
  fi
  local arguments=(-C "$dir"); [ $# = 0 ] || arguments+=("$@")
  # ninja says [17/88] ...: show how far it is and how long it may take.
  NINJA_STATUS='[%f/%t] ' ninja "${arguments[@]}" 2>&1 | tee -a "$log" | while IFS= read -r line; do
    case $line in '['*/*']'*)
      local done=${line#[} total; done=${done%%]*}; total=${done#*/}; done=${done%%/*}
      if [ -t 1 ] && [ "$done" -gt 0 ] 2>/dev/null; then
        printf '\r %s build     %d/%d files, about %d s left   ' "$label" "$done" "$total" $(((SECONDS - began) * (total - done) / done))
      fi ;;
    esac
  done
  if [ "${PIPESTATUS[0]}" != 0 ]; then
    printf '\n%s: the build failed:\n' "$(basename "$0")" >&2
    grep -a -E 'error|FAILED' "$log" | tail -10 >&2; echo "Log: $log" >&2; return 70
  fi
  [ -t 1 ] && printf '\r'
  printf ' %s build     %s, %d s                          \n' "$label" "$dir/bin" $((SECONDS - began))
)

# Without the simulator, which no grid needs to run.
build_grid() { build_preset release build "$1" grid; }

# begin_page [dev]: bundles the web page in the background, while the C++ compiles.
begin_page() { nice -n 10 bash scripts/page.sh "$@" > build/page.out 2>&1 & page_pid=$!; }

# await_page LABEL SECONDS: says what became of it; what takes longer goes on without being waited for.
await_page() {
  local end=$((SECONDS + $2))
  while kill -0 "$page_pid" 2>/dev/null && [ $SECONDS -lt $end ]; do sleep 0.2; done
  printf ' %s page      %s\n' "$1" "$(kill -0 "$page_pid" 2>/dev/null && echo 'is still being bundled: build/page.log' || tail -1 build/page.out)"
}
