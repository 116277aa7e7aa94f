#!/bin/sh
# STATE USER WORDS...: runs WORDS as the file STATE/run says (%u = USER), and spoils what passes
# between a driver and the commands of its scheduler as STATE/fault says.
state=$1 user=$2
shift 2
read -r fault <"$state/fault"
read -r which <"$state/which"
case "$which $*" in
submissions*qsub*) ;;
submissions*) fault=none ;;
esac
if [ "$fault" = no_connection ]; then
  echo "ssh: connect to host frontend port 22: Connection refused" >&2
  exit 255
fi
set -- $(sed "s/%u/$user/g" "$state/run") "$@"
case $fault in
none) exec "$@" ;;
answer_lost)
  "$@" >/dev/null 2>&1
  echo "Connection to frontend closed by remote host." >&2
  exit 255 ;;
answer_cut)
  out=$("$@" 2>/dev/null)
  printf %s "$out" | head -c $((${#out} / 2))
  exit 255 ;;
server_error)
  "$@" >/dev/null 2>&1
  echo "error: a failure without a reason" >&2
  printf '\ncigri-end 1\n' ;;
garbage)
  "$@" >/dev/null 2>&1
  cat "$state/garbage"
  printf '\ncigri-end 0\n' ;;
silence)  # what ssh has begun on a frontend goes on when ssh is killed
  setsid -w "$@" >/dev/null 2>&1
  exec sleep 100 ;;
esac
