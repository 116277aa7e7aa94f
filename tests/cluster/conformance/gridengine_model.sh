#!/bin/sh
# Grid Engine's commands with a memory, as much of them as the driver uses: called as qsub, qstat,
# qacct and qdel, with $STATE and $FAKE_USER. A task is a file STATE/jobs/JOB.TASK with the line
# "NAME OWNER running", or "NAME OWNER FAILED EXIT" when it has ended. Tasks start at once.
cd "$STATE/jobs" || exit 70
tasks() { ls | sort -t. -k1,1n -k2,2n; }
case ${0##*/} in
qsub)
  name= queue=
  while [ $# -gt 0 ]; do
    case $1 in
    -N) name=$2 ;;
    -q) queue=$2 ;;
    esac
    shift
  done
  if [ "$queue" = nosuch.q ]; then
    echo 'Unable to run job: Job was rejected because job requests unknown queue "nosuch.q"' >&2
    exit 1
  fi
  job=$(($(cat ../last) + 1))
  echo $job >../last
  n=0
  grep ') set -- ' | while read -r _ _ _ _ _ _ _ _ data _; do
    n=$((n + 1))
    command=$(printf %s "$data" | base64 -d)
    case $command in
    exit*) echo "$name $FAKE_USER 0 ${command#exit }" >$job.$n ;;
    *) echo "$name $FAKE_USER running" >$job.$n ;;
    esac
  done
  echo "$job.1-$(ls $job.* | wc -l):1" ;;
qstat)
  if [ "$1" = -help ]; then echo "SGE 8.1.9"; exit; fi
  echo "<?xml version='1.0'?><job_info xmlns:xsd=\"x\"><queue_info>"
  [ "$1" != -f ] || echo "<Queue-List><name>all.q@n1</name><slots_used>1</slots_used><slots_total>32</slots_total></Queue-List>"
  echo "</queue_info><job_info>"
  for id in $(tasks); do
    read -r name owner state _ <$id
    [ "$state" = running ] || continue
    echo "<job_list state=\"running\"><JB_job_number>${id%.*}</JB_job_number><JB_name>$name</JB_name>
<JB_owner>$owner</JB_owner><state>r</state><JAT_start_time>2026-11-22T16:59:00</JAT_start_time>
<queue_name>all.q@n1</queue_name><slots>1</slots><tasks>${id#*.}</tasks></job_list>"
  done
  echo "</job_info></job_info>" ;;
qacct)
  found=
  for id in $(tasks); do
    read -r name owner failed code <$id
    [ "$failed" != running ] || continue
    case $name in $2) ;; *) [ "$2" = "${id%.*}" ] || continue ;; esac
    found=1
    echo "=============================================================="
    printf '%-12s %-20s\n' hostname n1 owner "$owner" jobname "$name" jobnumber "${id%.*}" taskid "${id#*.}" \
      start_time "Sun Nov 22 16:58:18 2026" end_time "Sun Nov 22 16:58:19 2026" failed "$failed" exit_status "$code"
  done
  [ -n "$found" ] || { echo "error: job id $2 not found" >&2; exit 1; } ;;
qdel)
  rc=0
  for id in "$@"; do
    if [ ! -e $id ]; then echo "job \"${id%.*}\" task \"${id#*.}\" does not exist"; rc=1; continue; fi
    read -r name owner state _ <$id
    if [ "$owner" != "$FAKE_USER" ]; then
      echo "$FAKE_USER - you do not have the necessary privileges to delete the job \"${id%.*}\""
      rc=1
      continue
    fi
    [ "$state" != running ] || echo "$name $owner 100 137" >$id
    echo "$FAKE_USER has registered the job-array task $id for deletion"
  done
  exit $rc ;;
esac
