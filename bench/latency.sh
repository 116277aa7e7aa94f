#!/usr/bin/env bash
# One `true` job on an idle grid, gridsub --wait from begin to end, against `parallel true ::: 1`, in
# runs; and where the time goes. Usage: bench/latency.sh [RUNS]
# shellcheck source-path=SCRIPTDIR disable=SC2154,SC2119,SC2086
. "$(dirname "$0")/lib.sh"
runs=${1:-15}
grid_up
load
for ((run = 1; run <= runs; ++run)); do
  timed gridsub --wait -- true ::: 1 || fail "the campaign failed: $(tail -3 out)"
  echo "$took" >> ours
  echo "$(sql "SELECT max(id) FROM campaigns") $began $(calc "$began + $took" 6)" >> runs
  timed parallel true ::: 1 || fail "parallel failed: $(tail -3 out)"
  echo "$took" >> theirs
done
# Each part is the time since the one before it; all but the two ends are the database's clock, which
# is this machine's. A step between two of them is the work of those named in docs/benchmarks.md.
while read -r id from to; do
  sql "SELECT extract(epoch FROM c.submission_time) - $from, b.created_at - c.submission_time,
          b.recorded_at - b.created_at, d.started_at - b.created_at, d.ended_at - d.started_at,
          c.completion_time - d.ended_at, $to - extract(epoch FROM c.completion_time)
       FROM campaigns AS c JOIN batches AS b ON b.campaign_id = c.id JOIN done AS d ON d.campaign_id = c.id
       WHERE c.id = $id"
done < runs | awk '
  function ms(t,  p) { if (t !~ /:/) return t * 1000; s = t ~ /^-/ ? -1 : 1; gsub("-", "", t); split(t, p, ":")
                       return s * (p[1] * 3600 + p[2] * 60 + p[3]) * 1000 }
  { for (i = 1; i <= 7; ++i) printf "%.2f%s", ms($i), i < 7 ? " " : "\n" }' > parts
i=0
for part in 'accepted (after begin)' 'decided and claimed' 'sent and recorded' 'started (after claimed)' 'ended' \
    'seen, campaign over' 'reported, gridsub gone'; do
  i=$((i + 1))
  printf '  %-24s %7.2f ms\n' "$part" "$(awk -v i=$i '{ print $i }' parts | median)"
done
ours=$(calc "$(median < ours) * 1000" 1) theirs=$(calc "$(median < theirs) * 1000" 1)
verdict latency "$ours ms" "parallel $theirs ms" "$(calc "$ours / $theirs")" most 3
exit $missed
