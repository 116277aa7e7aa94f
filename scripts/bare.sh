# Sourced by scripts/package-test and scripts/release-test: bare Debian releases. REQUIRES: $root.

# bare RELEASE: a folder with that release and nothing else, made once.
bare() {
  local mirror file dir=$root/$1
  [ ! -x "$dir/bin/bash" ] || return 0
  mirror=$({ cat /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null || true; } |  # one of them
    sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\?\(http[^ ]*\) .*/\2/p' | grep -m1 debian)
  mkdir -p "$root"
  debootstrap --variant=minbase --include=ca-certificates "$1" "$dir.new" "$mirror"
  for file in /etc/apt/apt.conf.d/*; do  # how to reach the mirror
    if grep -qE '^ *Acquire::(http|https|Check|Retries)' "$file"; then cp "$file" "$dir.new/etc/apt/apt.conf.d/"; fi
  done
  echo force-unsafe-io > "$dir.new/etc/dpkg/dpkg.cfg.d/unsafe-io"
  mv "$dir.new" "$dir"
}

# inside RELEASE FOLDER COMMAND...: in a copy of the bare release, with FOLDER as /NAME of its own; the copy is gone
# afterwards, with its processes.
inside() {
  local release=$1 folder=$2; shift 2
  unshare --mount --pid --fork --kill-child --propagation private bash -euc '
    base=$1 folder=$2; shift 2
    mount -t tmpfs -o size=4g tmpfs /mnt
    mkdir /mnt/upper /mnt/work /mnt/root
    mount -t overlay -o lowerdir="$base",upperdir=/mnt/upper,workdir=/mnt/work overlay /mnt/root
    cd /mnt/root
    mount -t proc proc proc; mount --rbind /dev dev; mount -t tmpfs tmpfs tmp; chmod 1777 tmp
    name=${folder##*/}; mkdir "$name"; mount --bind "$folder" "$name"
    cat /etc/hosts > etc/hosts; rm -f etc/resolv.conf usr/sbin/policy-rc.d; cat /etc/resolv.conf > etc/resolv.conf
    exec chroot . env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/root "$@"
  ' inside "$root/$release" "$folder" "$@"
}
