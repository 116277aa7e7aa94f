// Every event code there is, with its line of the runbook. docs/events.md holds the same table; a
// test compares the two and greps the sources for codes that are not here.
#pragma once
#include <string_view>

namespace cigri {

struct EventCode {
  std::string_view code, cls, opened_by, meaning, what_to_do;
};

/// "task" in `cls`: not an event of its own, but the code of a job's end (`done`, `retry`); it
/// becomes an event of class job only when the tries of its task are spent.
inline constexpr EventCode kEventCodes[] = {
    // ends of jobs
    {"EXIT_ERROR", "job", "updator",
     "the program exited with a code that is not 0, 66 or 67; it counts as a try",
     "read the sample's stderr (gridstat -c N on a terminal, gridstat -j J -E), fix the program or "
     "its parameter, then gridsub --retry-failed N or gridevents -c N -f -r"},
    {"KILLED_BY_SIGNAL", "job", "updator",
     "the program ended by a signal that the grid did not send; it counts as a try",
     "signal 9 is often memory: ask for more (mem, resources); signals 6, 8 and 11 are faults of "
     "the program; then gridsub --retry-failed N"},
    {"WALLTIME", "job", "updator", "the job ran into its walltime; it counts as a try",
     "gridsub -c N --set walltime=h:mm:ss, then gridsub --retry-failed N; or make the jobs "
     "shorter"},
    {"WORKING_DIRECTORY_ERROR", "job", "updator",
     "exec_directory is not there or not usable on that cluster; it counts as a try, unless a job of "
     "the campaign has succeeded there before",
     "make the directory there (a prologue can), or correct exec_directory; then gridsub "
     "--retry-failed N"},
    {"OUTPUT_ERROR", "job", "updator",
     "the job's output file could not be written; it counts as a try, unless a job of the campaign "
     "has succeeded there before",
     "look at quota, rights and free space in exec_directory on that cluster; then gridsub "
     "--retry-failed N"},
    {"INPUT_MISSING", "job", "updator",
     "an input of the JDL that is not optional is not there; it counts as a try",
     "the last line of the job's stderr names it (gridstat -j J -E): put it there, correct inputs, or "
     "mark it optional; then gridsub --retry-failed N"},
    {"OUTPUT_MISSING", "job", "updator",
     "the program ended well without an output of the JDL that is not optional; it counts as a try",
     "the last line of the job's stderr names it (gridstat -j J -E): correct outputs or the program, "
     "or mark it optional; then gridsub --retry-failed N"},
    {"TRANSFER_FAILED", "task", "updator",
     "inputs or outputs could not be moved, also after several tries; not charged, it is retried, "
     "elsewhere if possible",
     "nothing for the user; the operator reads the job's stderr, and looks at the store, the disk of "
     "the node, and the cluster's options transfer_*"},
    {"LAUNCH_FAILED", "task", "updator",
     "the cluster could not start the job, or a local cluster could not file its output; not "
     "charged, it is retried",
     "nothing for the user; many of them on one cluster: its operator looks at that cluster's log"},
    {"NODE_FAILED", "task", "updator",
     "the node went away under the job; not charged, it is retried", "nothing"},
    {"PREEMPTED", "notify", "updator",
     "the cluster took the slot back for its own users (best-effort); not charged, it is retried",
     "nothing; when the same task is killed again and again, make its jobs shorter or name other "
     "clusters (gridstat -c N --why)"},
    {"UNKNOWN_END", "task", "updator",
     "the job is gone and its exit status is not known; never taken for a success; not charged, it "
     "is retried",
     "nothing; often: raise how long the cluster remembers ended jobs (MinJobAge on Slurm)"},
    {"FRAG_RESUBMIT", "task", "updator",
     "somebody deleted the job on its cluster, past the grid; not charged, it is retried",
     "to be rid of a job for good: griddel -j J"},
    {"KILLED_BY_GRID", "task", "updator",
     "the grid ended the job itself (campaign cancelled, copy done elsewhere, drain, excess "
     "pending jobs, too long in a queue); not charged",
     "nothing"},
    {"USER_FRAG", "job", "updator", "its user cancelled this job with griddel -j",
     "gridevents -e E -f -r runs the task again; gridevents -e E -f leaves it"},
    {"RESUBMIT", "task", "updator",
     "the program asked to run again at once (exit code 66); at most 10 times a task", "nothing"},
    {"RESUBMIT_END", "task", "updator",
     "the program asked to run again after the others (exit code 67); at most 10 times a task",
     "nothing"},
    {"TOO_MANY_REQUEUES", "job", "updator", "a task asked to run again (66, 67) more than 10 times",
     "see what the program waits for; then gridevents -e E -f -r"},
    {"TOO_MANY_UNCHARGED", "job", "updator",
     "a task was lost 60 times by the infrastructure, or killed 1,000 times by a cluster or by the "
     "grid (or as often as its JDL's retry.budgets say), and is not retried any more",
     "gridstat -c N --task I shows where; choose clusters where its jobs live long enough, or make "
     "them shorter; then gridevents -e E -f -r"},
    // campaigns
    {"PROLOGUE_FAILED", "job", "updator",
     "the prologue failed on a cluster: nothing of the campaign runs there",
     "read its output (gridstat -j J -E), fix the cause, then gridevents -e E -f tries it again"},
    {"EPILOGUE_FAILED", "job", "updator",
     "the epilogue failed on a cluster; the results of the tasks are there",
     "do by hand what it should have done; gridevents -e E -f"},
    {"EPILOGUE_GIVEN_UP", "campaign", "updator",
     "a cluster stayed away longer than EPILOGUE_WAIT: its epilogue was not run",
     "when the cluster is back, do by hand what it should have done; gridevents -e E -f"},
    {"CANARY_FAILED", "campaign", "updator",
     "the first 10 jobs on that cluster all failed: the campaign is held there, no try was charged",
     "the message has command, exit code, node and stderr: most often a wrong path; fix it "
     "(gridsub -c N --set exec_file=...), then gridevents -e E -f"},
    {"HELD_EVERYWHERE", "campaign", "updator",
     "the campaign is held on all its clusters and has stopped",
     "fix what its CANARY_FAILED and PROLOGUE_FAILED events say, then gridevents -c N -f"},
    {"BLACK_HOLE", "campaign", "metascheduler",
     "jobs ended there too fast to be true, one after another: the cluster is excluded for the "
     "campaign for a while, these jobs are retried elsewhere",
     "see what the program does there; a node without the data or program is the usual cause; it "
     "recovers automatically (policy key black_hole.hold), or when the event is closed"},
    {"OVERDUE", "notify", "metascheduler",
     "jobs run far longer than those of the campaign that have ended: twice the median, and half "
     "as long again as 95 of 100",
     "look at one (gridstat -j J); one that hangs: griddel -j J; \"finalize\": true in the JDL "
     "lets the grid start copies elsewhere"},
    {"PREEMPTION", "log", "metascheduler",
     "jobs of ours were cancelled to make room for this campaign: how many, how much of their work "
     "was lost, how much of the room it got",
     "a low yield means that local users take the freed slots: gridadmin policy set "
     "urgent.percent 0 (or scavenger.preempt, sla.preempt false)"},
    {"NOT_TESTED", "campaign", "updator", "a test campaign got no answer from that cluster in time",
     "gridclusters --why NAME (operators); submit the test again later"},
    {"SUBMIT_REFUSED", "campaign", "runner",
     "the cluster refuses this campaign's jobs as they are (resources, project, directory, user)",
     "the message has the cluster's error message; correct with gridsub -c N --set ..., then "
     "gridevents -e E -f"},
    {"SUBMIT_IN_DOUBT", "cluster", "runner",
     "jobs were sent and the answer was lost: the grid looks for them before anything is sent "
     "again",
     "nothing, it ends on its own; when the cluster is gone for good: gridadmin cluster lost NAME"},
    {"RESTORE_UNCLEAR", "campaign", "runner",
     "a backup was restored, and a cluster ran jobs of this campaign since whose tasks are not "
     "known: nothing of it is sent, since a task might run twice",
     "compare its results with gridstat -c N -t; gridevents -e E -f goes on, and may repeat these "
     "tasks"},
    {"TOKEN_MISSING", "campaign", "runner",
     "the user has no valid token for that cluster; the campaign sends nothing there",
     "gridtoken -i CLUSTER -t TOKEN; closes automatically when there is a valid one"},
    {"TOKEN_EXPIRES", "notify", "runner",
     "the user's token for that cluster expires before the campaign is expected to end",
     "gridtoken -i CLUSTER -t TOKEN with a longer one; closes automatically"},
    // clusters
    {"CLUSTER_UNREACHABLE", "cluster", "updator",
     "the cluster does not answer; nothing new is sent, what runs there goes on",
     "gridclusters --check NAME says at which step; closes automatically when it answers"},
    {"CLUSTER_ERROR", "cluster", "updator", "the cluster answers with errors",
     "gridclusters --check NAME; look at the log of its API; closes automatically"},
    {"CLUSTER_FAULT", "cluster", "updator, runner",
     "jobs failed, or were refused, by a fault of the cluster: a full file system, a lost shared "
     "folder, no account there (gridadmin error list); no try was charged, and ten of them in a row "
     "close the cluster to the campaign for six minutes, then for longer",
     "the message and the sample say what failed where; fix it there; it closes automatically "
     "about an hour after the last of them"},
    {"BLACK_HOLE_NODE", "cluster", "updator",
     "jobs of several users failed on one node within seconds: the node gets no job, these "
     "jobs cost no try; after a while one job at a time tries it. The last node that works, and a "
     "local cluster, are not excluded: then the event says so",
     "repair the node; it comes back when a job succeeds there, or when the event is closed "
     "(gridevents -e E -f)"},
    {"UNDER_STRESS", "cluster", "updator",
     "the cluster says that it is overloaded: nothing new is sent",
     "nothing, it closes automatically; wrong limit: gridadmin cluster set NAME stress_limit=0.9"},
    {"DRAINED", "cluster", "api", "an operator stopped sending jobs there",
     "gridadmin resume NAME when it is over"},
    {"LIMIT_LEARNT", "log", "runner",
     "the cluster refused an array as too large; smaller ones are sent from now on",
     "nothing; gridclusters -I shows max_array and max_bytes"},
    {"DUPLICATE_JOB", "cluster", "updator",
     "the cluster has a job of ours a second time, under an id that we were never given; the copy "
     "is killed",
     "on Slurm forbid requeue (JobRequeue=0), on OAR its automatic resubmission, for the grid's "
     "jobs"},
    {"NOT_STARTING", "cluster", "updator",
     "the cluster says of jobs of ours that they are starting or running, and they give no sign of "
     "it; after start_limit_s seconds (600) they are killed and retried, uncharged",
     "OAR: nothing, a server that died was launching them; Slurm: a node that says \"Duplicate "
     "jobid\" refuses them: restart slurmd there, then scontrol update nodename=N state=resume; "
     "closes automatically"},
    {"ORPHAN_JOB", "cluster", "updator",
     "jobs on the cluster carry our tag and are in no record of ours; they are left alone",
     "after a restored backup: delete them on the cluster by the ids of the sample; else report "
     "it"},
    {"KILL_UNCONFIRMED", "cluster", "nikita",
     "the cluster has not confirmed our kills for a long time; they are repeated",
     "look for the jobs on the cluster; its operator deletes them there"},
    {"CLUSTER_MANUALLY_DISABLED", "cluster", "operator",
     "an operator excluded the cluster (gridevents --blacklist-cluster): nothing is sent there",
     "gridevents -e E -f gives it back"},
    // the grid itself
    {"MODULE_RESTARTED", "log", "almighty",
     "a module had died and was started again; nothing was lost",
     "once: nothing; often: its log, and cigri doctor"},
    {"MODULE_STUCK", "log", "almighty",
     "a module did not answer its step, or was stopped (SIGSTOP), and was killed and started "
     "again",
     "its log; a slow database is the usual cause (cigri doctor)"},
    {"ALMIGHTY_STARTING", "log", "almighty", "the grid was started, or a standby took over",
     "nothing"},
    {"DATABASE_FAILOVER", "log", "almighty",
     "the database was unavailable: for how long, and which server the grid uses now",
     "nothing; often: the database's own log (docs/high-availability.md)"},
    {"RULE_BROKEN", "cluster", "api",
     "an admission rule does not run: submissions are refused until it is fixed",
     "gridadmin rule show NAME, gridadmin rule edit NAME, or gridadmin rule mode NAME off"},
    {"POLICY_INVALID", "cluster", "metascheduler",
     "a row of policy_settings is wrong: the policy that was valid before goes on",
     "gridadmin policy lint names the setting; gridadmin policy set fixes it"},
    {"MANUAL_EVENT", "job", "operator", "an operator marked this job (gridevents --mark-job-event)",
     "ask the operator; gridevents -e E -f"},
    // what happened, for the record
    {"PAUSED", "log", "api", "the campaign was paused", "griddel -r N resumes it"},
    {"RESUMED", "log", "api", "the campaign was resumed", "nothing"},
    {"CANCELLED", "log", "api", "the campaign was cancelled; its jobs are being killed",
     "nothing"},
    {"FINISHED_CAMPAIGN", "notify", "updator", "every task of the campaign has ended",
     "gridstat -c N"},
    {"TASKS_ADDED", "log", "api", "tasks were added to the campaign", "nothing"},
    {"RETRIED", "log", "api", "a user had the failed tasks of the campaign run again", "nothing"},
    {"BOOSTED", "log", "api", "a user had tasks of the campaign sent before its others", "nothing"},
    {"SETTINGS_CHANGED", "log", "api",
     "settings of the campaign were changed; what is sent from now on has them", "nothing"},
    {"CIGRI3_EVENT", "log", "cigri import-cigri3",
     "what a CiGri 3 had noted about an imported campaign or cluster, as history", "nothing"},
};

}  // namespace cigri
