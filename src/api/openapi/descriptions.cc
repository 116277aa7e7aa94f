#include "api/openapi/descriptions.h"

namespace cigri::api {

// A line each, in the order of docs/api.md.
// clang-format off
const std::vector<Description>& Descriptions() {
  static const std::vector<Description> all = {
      {"GET /", "the page, for a browser; else the links of CiGri 3", "", "", "200 {links Links}"},
      {"GET /openapi.json", "this description", "", "", "200 object"},
      {"GET /page/{name}", "a script or style of the page", "", "", "200 text/javascript"},
      {"GET /me", "whom the caller is taken for; \"\": nobody", "", "", "200 {user text, operator bool}"},
      {"GET /health", "whether the daemon has its database, and the grid a leader", "", "",
       "200 {ok bool, database text, grid_id? text, epoch? int, led? bool, stuck? [text]}"},
      {"GET /ready", "whether the grid works: 503 says what keeps it from it", "", "",
       "200 {ready bool, database text}"},
      {"GET /metrics", "for Prometheus", "", "", "200 text/plain"},

      {"POST /campaigns", "submits a JDL", "type text, upload int, format text, columns text, dry_run bool",
       "object", "201 Campaign"},
      {"POST /uploads", "opens an upload of parameters", "", "object", "201 {id int}"},
      {"GET /uploads/{id}", "its progress", "", "", "200 {id int, blocks int, lines int, published bool}"},
      {"PUT /uploads/{id}/blocks/{block}", "1 to 1,000 lines of parameters", "", "text/plain",
       "200 {blocks int, lines int}"},
      {"DELETE /uploads/{id}", "drops it", "", "", "202 Done"},
      {"POST /campaigns/{id}/jobs", "adds tasks", "upload int, columns text", "[any]", "201 Campaign"},
      {"POST /campaigns/{id}/retry", "retries the failed tasks", "", "{failed bool}",
       "202 {message text, status int, tasks int}"},
      {"POST /campaigns/{id}/boost", "sends tasks before the others", "", "{tasks [int]}",
       "202 {message text, status int, tasks int}"},
      {"PATCH /campaigns/{id}", "changes what is not yet sent", "", "{set object}", "202 Campaign"},
      {"PUT /campaigns/{id}", "renames, pauses or resumes it", "", "{name? text, state? text}", "202 Campaign"},
      {"DELETE /campaigns/{id}", "cancels it; or holds, resumes, purges it", "hold bool, resume bool, purge bool",
       "", "202 Done"},
      {"DELETE /jobs/{id}", "kills a job without a charge to its task", "", "", "202 Done"},

      {"GET /campaigns", "campaigns",
       "all bool, user text, state text, name text, newest bool, limit int, offset int", "",
       "200 {items [Campaign], total int, limit int, offset int, links Links}"},
      {"GET /campaigns/{id}", "one campaign", "waits bool", "", "200 Campaign"},
      {"GET /campaigns/{id}/stats", "its pace", "", "",
       "200 {average_jobs_duration number|null, stddev_jobs_duration number|null, jobs_throughput number, "
       "failures_rate number|null, resubmit_rate number|null, remaining_time number|null, end_low number|null, "
       "end_high number|null, forecasts_held int, forecasts_judged int}"},
      {"GET /campaigns/{id}/series", "ends and slot-seconds over its life, at most 600 points", "from int, to int",
       "", "200 {at [time], width [number], ok [int], not_ok [int], slot_s [number]}"},
      {"GET /campaigns/{id}/jdl", "its JDL as it counts now", "", "", "200 object"},
      {"GET /campaigns/{id}/params", "parameters, one on each line", "state text", "", "200 text/plain"},
      {"GET /campaigns/{id}/joblog", "in the columns of GNU parallel", "", "", "200 text/plain"},
      {"GET /campaigns/{id}/output", "what its tasks have printed, in their order", "stream text", "",
       "200 application/octet-stream"},
      {"GET /campaigns/{id}/results", "outcomes of tasks that are over, as lines of JSON",
       "after int, in_order bool, among text, streams text", "", "200 application/octet-stream"},
      {"GET /campaigns/{id}/progress", "numbers of now; with `wait`, as soon as they differ from `seen`",
       "wait int, seen text", "", "200 Progress"},
      {"GET /campaigns/{id}/events", "its events", "all bool, limit int, offset int", "",
       "200 {items [Event], total int, limit int, offset int, links Links}"},
      {"GET /campaigns/{id}/failures", "failed tasks by cause", "limit int", "", "200 {items [Failure], total int}"},
      {"GET /campaigns/{id}/why", "why it waits, and what to do; `full`: what would help", "full bool", "",
       "200 Why"},
      {"GET /campaigns/{id}/why/history", "why it has waited", "limit int, offset int", "",
       "200 {items [object], total int, limit int, offset int, links Links}"},
      {"GET /campaigns/{id}/jobs", "jobs, or with `state` tasks", "state text, after int, limit int, offset int", "",
       "200 {items [Attempt], total? int, limit int, offset? int, links Links}"},
      {"GET /campaigns/{id}/jobs/finished", "jobs that have ended", "after int, limit int, offset int", "",
       "200 {items [FinishedJob], limit int, links Links}"},
      {"GET /campaigns/{id}/jobs/{p}", "one task by its number from 1", "", "", "200 Task"},
      {"GET /campaigns/{id}/tasks/{index}", "one task by its number from 0", "", "", "200 Task"},
      {"GET /campaigns/{id}/tasks/{index}/why", "why a task waits", "", "", "200 Why"},
      {"GET /jobs/remote", "a job by its number on its cluster", "cluster text, id text", "", "200 Job"},
      {"GET /jobs/{id}", "one job", "", "", "200 Job"},
      {"GET /jobs/{id}/why", "why a job waits", "", "", "200 Why"},
      {"GET /jobs/{id}/stdout", "what it has printed", "raw bool, offset int, tail int, bytes int", "", "200 Output"},
      {"GET /jobs/{id}/stderr", "its errors", "raw bool, offset int, tail int, bytes int", "", "200 Output"},
      {"GET /jobs/{id}/cinfos", "what its cluster says of it", "", "", "200 object"},
      {"GET /summary", "what runs, by user and cluster", "", "", "200 {items [object], users object}"},
      {"GET /usage", "what was used", "by text, user text, campaign int, since time, until time, limit int", "",
       "200 {by text, items [Usage], sum Usage, more bool}"},
      {"GET /clusters", "clusters", "all bool, full bool", "", "200 {items [ClusterName], total int, links Links}"},
      {"GET /clusters/{name}", "one cluster, by number or name", "", "", "200 Cluster"},
      {"GET /clusters/{name}/why", "why slots of it are idle", "", "",
       "200 {cluster text, message text, action text|null, slots int, free int, ours int, unavailable int, "
       "waiting_campaigns int, ceilings [text], reasons [object]}"},
      {"GET /gridusage", "slots of clusters over time", "from int, to int", "",
       "200 {from int|null, to int|null, items [{date int, clusters [SlotUse]}], total int, links Links}"},
      {"GET /grid", "slots, why some are idle, and who runs where", "", "",
       "200 {clusters [GridCluster], campaigns [object]}"},

      {"GET /events", "events of clusters and of the grid", "all bool, limit int, offset int", "",
       "200 {items [Event], total int, limit int, offset int, links Links}"},
      {"POST /events", "writes one", "",
       "{class text, code text, message? text, campaign_id? int, cluster_id? int, job_id? int}",
       "201 {id int, class text, code text, state text, campaign_id? int, cluster_id? int, job_id? int, links Links}"},
      {"GET /events/{id}", "one event", "", "", "200 Event"},
      {"PATCH /events/{id}", "takes an incident on, or (null) gives it back", "", "{ack text|null}",
       "200 {id int, acked_by text|null}"},
      {"DELETE /events/{id}", "closes it", "resubmit bool", "", "202 Closed"},
      {"DELETE /campaigns/{id}/events", "closes all of a campaign", "resubmit bool", "", "202 Closed"},
      {"GET /incidents", "what is broken, and who has it", "state text, before int, limit int", "",
       "200 {items [Incident]}"},
      {"GET /notifications", "the caller's subscriptions", "", "", "200 {items [Subscription], links Links}"},
      {"POST /notifications/{type}", "subscribes; type: mail, jabber", "",
       "{identity text, severity text, campaign? int|null, quiet_hours? text, digest_minutes? int|null}",
       "201 {status int, title text, message text, type text, identity text, severity text, note? text}"},
      {"DELETE /notifications/{type}", "ends subscriptions", "identity text, campaign int", "",
       "202 {status int, title text, removed int}"},
      {"GET /tokens", "the caller's tokens for clusters, by their first characters", "user text", "",
       "200 {items [{cluster_id int, cluster_name text, cluster_login text, expires time|null}], links Links}"},
      {"POST /tokens", "keeps one", "user text", "{cluster_id int|text, token text}",
       "201 {status int, title text, message text, cluster_id int}"},
      {"DELETE /tokens/{id}", "forgets that for a cluster", "user text", "", "202 Done"},

      {"GET /admin/audit", "who changed what",
       "user text, subject text, action text, since time, until time, before int, limit int", "",
       "200 {items [Change], total int}"},
      {"GET /admin/check", "whether each task is in exactly one place", "campaign int", "",
       "200 {ok bool, campaigns int, violated [any], drifted [any]}"},
      {"GET /admin/limits", "limits of one user or address, and who has most of each", "", "",
       "200 {items [{name text, value int, unit text, scope text, used int|null, used_by text|null, "
       "setting text|null, answer text}], total int}"},
      {"GET /admin/plans/history", "stored decisions", "from time, to time, limit int", "",
       "200 {items [object], durations [object], more bool}"},
      {"POST /admin/whatif", "when campaigns would end now, and after a change of the grid", "",
       "{without? [text], slots? {* int}, policy? text}",
       "200 {at time, now Outlook, then Outlook, campaigns [{campaign int, user text, ends_now time|null, "
       "ends_then time|null}], notes [text]}"},
      {"GET /admin/clusters", "clusters with their settings", "", "", "200 {items [ClusterSettings], total int}"},
      {"POST /admin/clusters", "adds one", "check bool, submit bool", "object", "201 ClusterSettings"},
      {"GET /admin/clusters/{name}", "one", "", "", "200 ClusterSettings"},
      {"PATCH /admin/clusters/{name}", "changes it", "check bool, submit bool", "object", "200 ClusterSettings"},
      {"DELETE /admin/clusters/{name}", "removes it, when it has had no campaign", "", "", "200 {removed text}"},
      {"POST /admin/clusters/{name}/check", "tries it; `submit`: with a job", "user text, submit bool", "",
       "200 {cluster text, ok bool, checks [Check]}"},
      {"POST /admin/clusters/{name}/lost", "gives it up with all its jobs", "", "",
       "200 {cluster text, batches int, jobs int}"},
      {"POST /admin/drain", "sends nothing new to a cluster, or to all", "",
       "{cluster text, reason? text, until? time|text|null, kill? bool}", "200 {drained [text], reason text, kill bool}"},
      {"POST /admin/resume", "ends a drain", "", "{cluster text}", "200 {resumed [text]}"},
      {"GET /admin/affinity", "users that come first on clusters", "", "", "200 {items [Affinity], total int}"},
      {"PUT /admin/affinity", "sets one", "", "Affinity", "200 Affinity"},
      {"DELETE /admin/affinity/{user}/{cluster}", "removes it", "", "", "200 {removed {user text, cluster text}}"},
      {"GET /admin/members", "who may name projects, classes and others", "", "",
       "200 {items [Member], total int}"},
      {"PUT /admin/members", "adds one", "", "Member", "200 Member"},
      {"DELETE /admin/members/{kind}/{name}/{user}", "removes it", "", "", "200 {removed Member}"},
      {"GET /admin/mapping", "logins of users on clusters", "", "", "200 {items [Mapping], total int}"},
      {"PUT /admin/mapping", "sets one", "", "Mapping", "200 Mapping"},
      {"DELETE /admin/mapping/{user}/{cluster}", "removes it", "", "", "200 {removed {user text, cluster text}}"},
      {"GET /admin/operators", "operators", "", "",
       "200 {items [{name text, added_by text|null, added_at text|null}], total int}"},
      {"POST /admin/operators", "adds one", "", "{name text}", "201 {name text}"},
      {"DELETE /admin/operators/{name}", "removes it", "", "", "200 {removed text}"},
      {"GET /admin/tokens", "tokens of users, by their first characters", "", "", "200 {items [Token], total int}"},
      {"POST /admin/tokens", "makes one, shown once", "", "{user text, days? number|null}", "201 Token"},
      {"POST /admin/tokens/{id}/rotate", "makes its successor", "", "{keep_hours? number, days? number|null}",
       "201 Token"},
      {"DELETE /admin/tokens/{id}", "revokes it", "", "", "200 {revoked int}"},
      {"GET /admin/rules", "admission rules", "", "", "200 {items [Rule], total int}"},
      {"POST /admin/rules", "adds one", "", "{name text, code text, title? text, mode? text, priority? int}",
       "201 Rule"},
      {"GET /admin/rules/{name}", "one", "", "", "200 Rule"},
      {"PATCH /admin/rules/{name}", "changes it", "", "{code? text, title? text, mode? text, priority? int}",
       "200 Rule"},
      {"DELETE /admin/rules/{name}", "removes it", "", "", "200 {removed text}"},
      {"GET /admin/rules/{name}/history", "its versions", "", "",
       "200 {items [{rule_name text, version int, code text|null, mode text|null, priority int|null, changed_by text, "
       "changed_at text}], total int}"},
      {"POST /admin/rules/{name}/revert", "back to a version", "", "{version int}", "200 Rule"},
      {"POST /admin/rules/{name}/test", "what it says to a campaign that is not submitted", "",
       "{campaign object, user text}", "200 object"},
      {"POST /admin/rules/{name}/trial", "what a text would have said to past campaigns", "", "{code text, last? int}",
       "200 {tried int, counts {* int}, items [{campaign int, name text, user text, verdict text, message text, "
       "changes [any], notes [any]}]}"},
      {"GET /admin/errors", "error classes", "", "", "200 {items [ErrorClass], total int}"},
      {"POST /admin/errors", "adds one", "", "object", "201 ErrorClass"},
      {"GET /admin/errors/{name}", "one", "", "", "200 ErrorClass"},
      {"PATCH /admin/errors/{name}", "changes it", "", "object", "200 ErrorClass"},
      {"DELETE /admin/errors/{name}", "removes it", "", "", "200 {removed text}"},
      {"GET /admin/errors/{name}/replay", "what it would have matched", "days int", "",
       "200 {items [object], total int}"},
      {"GET /admin/policy", "the policy and its settings", "", "", "200 {settings object, text text}"},
      {"PATCH /admin/policy", "changes settings; null: the default", "", "object", "200 {text text, warnings [text]}"},
      {"GET /admin/policy/explain", "what the settings mean", "", "",
       "200 {text text, items [{key text, value any, type text, meaning text}]}"},
      {"GET /admin/policy/lint", "what is wrong with the settings", "", "",
       "200 {ok bool, text text, faults [text], warnings [text]}"},
      {"GET /admin/policy/history", "who changed them", "", "",
       "200 {items [{key text, old any, new any, by text, at text}], total int}"},
      {"GET /admin/policy/shares", "what was due and received", "window int", "",
       "200 {policy text, window_s int, aimed_at bool, utilisation number, share_error number, text text, "
       "items [{user text, project text, due number, had number, slot_s number, running int, waiting int}]}"},
      {"GET /admin/policy/presets", "settings to begin with", "", "",
       "200 {text text, items [{name text, meaning text, settings object}]}"},
      {"GET /admin/policy/schedulers", "campaign schedulers", "", "",
       "200 {text text, items [{name text, description text}]}"},
  };
  return all;
}

const std::vector<NamedType>& NamedTypes() {
  static const std::vector<NamedType> all = {
      {"Error", "{status int, title text, message text, hint? text, parameter? int, problem? text, "
                "faults? [{line int, column int, key text, message text, hint? text}]}"},
      {"Done", "{status int, title? text, message? text}"},
      {"Closed", "{status int, message text, closed int, tasks int}"},
      {"Link", "{rel text, href text, title? text}"},
      {"Links", "[Link]"},
      {"Note", "{at int, by text, text text}"},
      {"Campaign",
       "{id int, name text, user text, type text, project text, priority int, state text, wanted text, "
       "state_reason text|null, finishing bool, submission_time time, completion_time time|null, total_jobs int, "
       "finished_jobs int, failed_jobs int, running_jobs int, waiting_jobs int, submitted_jobs int, "
       "launching_jobs int, remote_waiting_jobs int, not_run_jobs int, preempted int, user_requeues int, "
       "has_events bool, rate number|null, ends [number]|null, notes [Note|text], links Links, "
       "clusters? {* Placement}, clusters_state? [ClusterState], changes? [text]}"},
      {"Placement",
       "{cluster_name text, state text, reason text|null, slots int, done int, failed int, running int, submitted int, "
       "remote_waiting int, preempted int, active_jobs int, queued_jobs int, job_ratio number|null, "
       "mean_s number|null, throughput number|null, ends [number]|null, prologue_ok bool, epilogue_ok bool, walltime_s int, "
       "asked_walltime_s int|null, waits? any}"},
      {"ClusterState", "{name text, state text, matched bool, why text, slots int|null, expected_start number|null}"},
      {"Progress",
       "{token text, state text, wanted text, state_reason text|null, over bool, total int, done int, failed int, "
       "running int, waiting int, submitted int, launching int, remote_waiting int, not_run int, preempted int, "
       "throughput number|null, ends_in [number]|null, news [text], clusters [{name text, state text, "
       "reason text|null, done int, failed int, running int, waiting int, rate number|null, mean_s number|null}]}"},
      {"Event",
       "{id int, class text, code text, state text, message text|null, count int, sample any, campaign_id int|null, "
       "cluster_id int|null, cluster_name text|null, job_id int|null, index int|null, parent int|null, "
       "date_open text, date_update text, date_closed text|null, closed_by text|null, links? Links}"},
      {"Incident",
       "{id int, code text, state text, message text|null, count int, cluster_name text|null, date_open time, "
       "date_update time, date_closed time|null, closed_by text|null, acked_by text|null, acked_at time|null, "
       "acked_note text|null}"},
      {"Failure",
       "{code text, class text, message text|null, tasks int, count int, event int, events [int], cluster text|null, "
       "clusters [text], last text, sample {cluster text|null, exit int|null, job int|null, node text|null, "
       "params text|null, signal int|null, task int|null}}"},
      {"Why",
       "{message text, action text|null, code text|null, since time|null, expected time|null, campaign int, "
       "task? int, job? int, attempts? int, done int, failed int, waiting int, in_flight int, priority int, "
       "ends [number]|null, clusters [WhyCluster], reasons [any], rules [any], past [any], links Links, "
       "what_if? {message text, items [any], age_s? number|null, cut? any, jobs_now? any, tried? any}}"},
      {"WhyCluster",
       "{name text, message text|null, done int, running int, queued int, granted int|null, job_ratio number|null, "
       "rate number|null, polled_ago number|null, ends [number]|null, common_inputs bool|null, transfer_s number|null, "
       "walltime_s int, asked_walltime_s int|null, reasons [any]}"},
      {"Attempt",
       "{id int, index int, name text, parameters text, state text, cluster text|null, cigri_job_id int|null, "
       "remote_id text|null, started time|null, ended time|null, exit int|null, signal int|null, code text|null, "
       "exit_class text|null, counted bool, needs_attention bool, href text|null, "
       "cpu_s number|null, peak_mb number|null, read_mb number|null, written_mb number|null, transfer_s number|null}"},
      {"Task",
       "{id int, index int, name text, parameters text, state text, execution [Attempt], links Links}"},
      {"FinishedJob",
       "{id int, index int, param_id int, parameters text, campaign_id int, batch_id int, cluster_id int, "
       "cluster text, node_name text|null, remote_id text, state text, exit int|null, signal int|null, "
       "return_code int|null, exit_class text|null, code text|null, tag text|null, submission_time text|null, "
       "start_time text|null, stop_time text|null, "
       "cpu_s number|null, peak_mb number|null, read_mb number|null, written_mb number|null, transfer_s number|null}"},
      {"Job",
       "{id int, index int, param_id int, param text|null, kind text, campaign_id int, batch_id int, grid_user text, "
       "cluster_id int, cluster_name text, grid_tag text, remote_id text|null, node_name text|null, attempt int, "
       "state text, exit int|null, signal int|null, return_code int|null, exit_class text|null, code text|null, "
       "counted bool, message text|null, resources_used text|null, tag text|null, submission_time text|null, "
       "start_time text|null, stop_time text|null, links Links, "
       "cpu_s? number|null, peak_mb? number|null, read_mb? number|null, written_mb? number|null, transfer_s? number|null}"},
      {"Output", "{exists bool, output text, size int, where text}"},
      {"Outlook",
       "{ends time, utilisation number, wait_mean_s number, share_error number, lost_slot_s number}"},
      {"Usage",
       "{key text, started int, used_slot_s number, lost_slot_s number, mean_wait_s number|null, "
       "p90_wait_s number|null, jobs {* int}}"},
      {"SlotUse",
       "{cluster_id int, cluster_name text, max_resources int, used_resources int, unavailable_resources int, "
       "used_by_cigri int, jobs_running int, jobs_waiting int}"},
      {"ClusterName", "{id int, name text, links Links}"},
      {"Cluster",
       "{id int, name text, kind text, batch text, api_url text, api_auth_type text, api_auth_header text|null, "
       "api_group text|null, ssh_host text|null, home? text|null, properties text, resource_unit text, "
       "default_resources text|null, power int, enabled bool, mode text, mode_limit int|null, "
       "would_send int|null, hours text|null, drained bool, drained_at text|null, drained_by text|null, "
       "drained_until text|null, drain_reason text|null, blacklisted bool, error text|null, "
       "failing_for number|null, open_for number|null, half_open_limit int|null, retry_in number|null, stale bool, "
       "polled_ago number|null, under_stress bool, stress_factor text|number|null, stress_limit number|null, "
       "job_ratio text, queue_s number, pending_kept int|null, waiting_timeout_s int|null, min_cycle_s number|null, "
       "max_calls_per_min int|null, calls_by any, calls_per_min number|null, clock_skew_s number|null, "
       "max_running int|null, max_waiting int|null, max_array int|null, max_bytes int|null, "
       "learnt_from text|null, kill_all bool, served_by text|null, usage any, links Links}"},
      {"GridCluster",
       "{id int, name text, message text, action text|null, enabled bool, slots int, used int, free int, ours int, "
       "unavailable int, waiting_campaigns int, failing_for number|null, drained bool, drained_by text|null, "
       "drained_until text|null, drain_reason text|null}"},
      {"ClusterSettings",
       "{id int, name text, kind text, api text, api_url text, api_auth_type text, api_auth_header text|null, "
       "api_group text|null, api_username text|null, password_set bool, token_command text|null, "
       "ssh_host text|null, home text|null, properties text, resource_unit text, default_resources text|null, "
       "power int, enabled bool, mode text, mode_limit int|null, hours text|null, drained bool, "
       "drained_at text|null, drained_by text|null, drained_until text|null, drain_reason text|null, "
       "lost_at text|null, lost_by text|null, error text|null, failing_since text|null, answered_at text|null, "
       "created_at text, job_ratio text, queue_s number, pending_kept int|null, waiting_timeout_s int|null, "
       "min_cycle_s number|null, max_calls_per_min int|null, max_running int|null, max_waiting int|null, "
       "stress_limit number|null, time_resolution_s number|null, change_feed bool|null, exact_walltime bool|null, "
       "dedicated bool|null, groups bool|null, gives_files bool|null, kill_all bool, "
       "options object, checks? [Check]}"},
      {"Check", "{what text, verdict text, detail text}"},
      {"Subscription",
       "{id int, grid_user text, type text, identity text, severity text, campaign int|null, quiet_hours text, "
       "digest_minutes int|null}"},
      {"Change",
       "{id int, at text, actor text, source text, request text|null, action text, subject text, old any, new any}"},
      {"Affinity", "{user text, cluster text, priority int}"},
      {"Member", "{user text, kind text, name text, added_by? text|null, added_at? text|null}"},
      {"Mapping",
       "{user text, cluster text, login text|null, token_set? bool, token_expires_at? text|null}"},
      {"Token",
       "{id int, grid_user text, prefix text, token? text, created_by text|null, created_at text, "
       "days int|null, expires_at text|null, last_used_at text|null, revoked_at text|null}"},
      {"Rule",
       "{id int, name text, title text|null, code? text, mode text, priority int, version int, updated_by text|null, "
       "updated_at text|null}"},
      {"ErrorClass",
       "{name text, title text|null, mode text, priority int, source text|null, code text|null, pattern text|null, "
       "exit_class text|null, cluster_fault bool, action text, n int|null, factor number|null, matches int, "
       "last_match_at text|null, sample text|null, changed_by text|null, changed_at text|null}"},
  };
  return all;
}
// clang-format on

}  // namespace cigri::api
