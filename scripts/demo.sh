#!/usr/bin/env bash
# The demonstration of ./quickstart, on a grid that is up: a picture in 16 tiles, while a local user
# takes a slot and the runner is killed. Every number is measured. REQUIRES: build/bin in PATH.
set -u
demo=build/demo
rm -rf $demo && mkdir -p $demo

socket=${CIGRI_HOME:-$([ "$(id -u)" = 0 ] && echo /var/lib/cigri || echo "${XDG_STATE_HOME:-$HOME/.local/state}/cigri")}/run/api.sock
field() { python3 -c 'import json,sys; d=json.load(sys.stdin); print(d.get(sys.argv[1]) if d.get(sys.argv[1]) is not None else "")' "$1"; }
# What the API says of the campaign, as gridsub --wait sees it.
progress() { curl -s --unix-socket "$socket" "http://localhost/campaigns/$id/progress" 2>/dev/null; }
runner_pid() { cigri status --json 2>/dev/null | python3 -c 'import json,sys
for p in json.load(sys.stdin).get("processes", []):
    if p.get("name") == "runner": print(p["pid"])' | tail -1; }
records() { cat $demo/ran.txt 2>/dev/null | wc -l; }
now() { date +%s.%N; }

gridsub --wait examples/picture/16-tiles.json > $demo/gridsub.out 2> $demo/gridsub.err &
waiter=$!
for _ in $(seq 200); do id=$(sed -n 's/^CAMPAIGN_ID=//p' $demo/gridsub.out); [ -n "$id" ] && break; sleep 0.05; done
[ -n "$id" ] || { echo "demo: the campaign was not accepted:" >&2; cat $demo/gridsub.err >&2; exit 1; }
echo " 4/4 \$ build/bin/gridsub --wait examples/picture/16-tiles.json     CAMPAIGN_ID=$id"

for _ in $(seq 400); do [ "$(records)" -ge 3 ] && break; sleep 0.05; done
local_job=0
if localsub -c beta --walltime 60 -- sleep 1 > $demo/localsub.out 2>&1; then local_job=1; fi
if [ $local_job = 1 ]; then
  for _ in $(seq 160); do [ "$(progress | field preempted)" != 0 ] && break; kill -0 $waiter 2>/dev/null || break; sleep 0.05; done
fi
state=$(progress)
printf '  %s/16 done   ' "$(printf '%s' "$state" | field done)"
printf '%s' "$state" | python3 -c 'import json,sys
d = json.load(sys.stdin)
print("  ".join(str(c.get("name")) + " " + str(c.get("done", 0)) for c in d.get("clusters", [])), end="")'
preempted=$(printf '%s' "$state" | field preempted)
[ "${preempted:-0}" != 0 ] && printf '      beta: a local user took the slot, %s tile killed, is retried (not your fault)' "$preempted"
echo

pid=$(runner_pid)
if [ -n "$pid" ] && kill -0 $waiter 2>/dev/null; then
  for _ in $(seq 100); do  # while jobs run: that is the point
    running=$(progress | field running)
    [ "${running:-0}" -gt 0 ] && break
    kill -0 $waiter 2>/dev/null || break
  done
  jobs=jobs; [ "${running:-0}" = 1 ] && jobs=job
  began=$(now)
  kill -9 "$pid"
  for _ in $(seq 500); do new=$(runner_pid); [ -n "$new" ] && [ "$new" != "$pid" ] && break; sleep 0.01; done
  printf '  demo: kill -9 runner (%s) ... back in %.1f s, %s running %s went on\n' "$pid" "$(echo "$(now) - $began" | bc 2>/dev/null || python3 -c "print($(now) - $began)")" "${running:-0}" "$jobs"
fi

wait $waiter; code=$?
state=$(progress)
python3 - "$state" $demo/ran.txt <<'PY'
import collections, json, sys
state = json.loads(sys.argv[1])
ran = collections.Counter(open(sys.argv[2]).read().split())
doubled = sum(n - 1 for n in ran.values())
lost = 16 - len(ran)
print(f" {len(ran)} of 16 done once (by the jobs' own record), {state.get('preempted', 0)} preempted, {lost} lost, {doubled} doubled")
sys.exit(1 if lost or doubled else 0)
PY
verdict=$?
if [ $code != 0 ] || [ $verdict != 0 ]; then
  cat $demo/gridsub.out $demo/gridsub.err >&2
  echo "demo: the campaign did not end as it must (gridsub --wait: exit $code); look with build/bin/gridstat -c $id -f" >&2
  exit 1
fi
for _ in $(seq 100); do [ -s $demo/picture.png ] && break; sleep 0.1; done
[ -s $demo/picture.png ] || { echo "demo: the epilogue has not made $demo/picture.png; look with build/bin/gridevents -c $id -a" >&2; exit 1; }
gridstat -c "$id" -f | sed -n '1,8p'
[ -t 1 ] && python3 examples/picture/preview.py $demo
echo " Picture: $demo/picture.png    The grid stays up. Next:"
echo "   build/bin/gridsub --wait -- wc -c {} ::: *.md  |  build/bin/gridstat -c $id -f  |  build/bin/cigri down"
