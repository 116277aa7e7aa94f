#!/usr/bin/env bash
# CPU of the updator and of its session in PostgreSQL for a look at 10,000 running jobs of an OAR with
# 10,000 cores (a recorded server), against the same calls, parsed with simdjson and compared in memory.
# All that the two do between the first and the last look counts. Usage: bench/poll.sh [POLLS]
# shellcheck source-path=SCRIPTDIR disable=SC2154,SC2119,SC2086
. "$(dirname "$0")/lib.sh"
polls=${1:-30}
grid_up --slots here=1
recorded_oar serve > port &
server=$!
trap 'code=$?; kill $server; (exit $code); grid_down' EXIT
until [ -s port ]; do sleep 0.05; done
url=http://127.0.0.1:$(cat port)/oarapi-cigri
gridadmin cluster add recorded --kind oar2 --auth header --url "$url" --no-check > /dev/null || fail 'cannot add the cluster'
gridadmin cluster set recorded min_cycle_s=1 > /dev/null
gridadmin cluster unlimited recorded > /dev/null
seq 10010 > values
gridsub --clusters recorded --walltime 100:00:00 -- true {} :::: values > submitted 2>&1 || fail "$(cat submitted)"
running() { sql "SELECT count(*) FROM live WHERE state = 'running'"; }
for ((i = 0; i < 300; ++i)); do [ "$(running)" = 10000 ] && break; sleep 1; done
[ "$(running)" = 10000 ] || fail "only $(running) of 10000 jobs run"
polled() { sql "SELECT polls FROM cluster_status s JOIN clusters c ON c.id = s.cluster_id WHERE c.name = 'recorded'"; }
updator() { for pid in $(own_pids); do [ "$(cat /proc/$pid/comm)" = updator ] && echo "$pid"; done; }
pid=$(updator) first=$(polled)
session=$(sql "SELECT pid FROM pg_stat_activity WHERE application_name = 'cigri updator'")
until [ "$(polled)" != "$first" ]; do sleep 0.02; done
first=$(polled) was=$(ticks $pid) sql_was=$(ticks $session)
until [ "$(polled)" -ge $((first + polls)) ]; do sleep 0.1; done
used=$(($(ticks $pid) - was)) in_sql=$(($(ticks $session) - sql_was)) seen=$(($(polled) - first))
ms() { calc "$1 * 1000 / $(getconf CLK_TCK) / $seen"; }
read -r least same < <(recorded_oar poll "$url" 11 10010 "$seen")
[ "$same" = 20000 ] || fail "the other side saw $same things of 20000"
[ "$(running)" = 10000 ] || fail "$(running) of 10000 jobs run"
load
ours=$(ms $((used + in_sql)))
verdict poll "$ours ms CPU (updator $(ms $used), its session $(ms $in_sql))" "transfer, parse, compare $least ms" \
  "$(calc "$ours / $least")" most 2
exit $missed
