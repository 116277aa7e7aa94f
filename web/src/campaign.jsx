// #/c/17 - how far, when, where, what is wrong, what can I do?
import { ask, useData } from "./api.js";
import { endOf, stateOf } from "./mine.jsx";
import { Act, Bar, Chart, Shown, Table, partsOf } from "./parts.jsx";
import { change, link, useRoute } from "./route.js";
import { duration, few, many, n, when } from "./words.js";

const typedFrom = 10000;
const alive = (c) => c.state === "in_treatment" || c.state === "paused";

function Actions({ c, path, done }) {
  const left = c.total_jobs - c.finished_jobs, flying = c.running_jobs + c.launching_jobs + c.submitted_jobs + c.remote_waiting_jobs;
  return <p class="row">
    {c.failed_jobs > 0 && c.state !== "cancelled" && <Act label={`Run ${many(c.failed_jobs, "failed task")} again`} done={done}
      says={<p>Every failed task is tried again, with all its tries. Tasks that are done stay so.</p>}
      act={async () => `${many((await ask("POST", `${path}/retry`, { failed: true })).tasks, "task")} will run again.`} />}
    {alive(c) && c.wanted === "in_treatment" && c.state_reason === null && <Act label="Hold" title="Hold this campaign" done={done}
      says={<p>Nothing new is sent. {many(flying, "job")} in flight go on.</p>} act={async () => { await ask("DELETE", `${path}?hold=1`); return "Held."; }} />}
    {alive(c) && c.wanted === "paused" && <Act label="Resume" title="Resume this campaign" done={done}
      says={<p>{many(c.waiting_jobs, "task")} may be sent again.</p>} act={async () => { await ask("DELETE", `${path}?resume=1`); return "Resumed."; }} />}
    {alive(c) && c.wanted !== "cancelled" && <Act label="Cancel..." title="Cancel this campaign" danger typed={left > typedFrom ? c.id : null} done={done}
      says={<p>{many(flying, "job")} are killed and {many(left, "task")} will never be done. What is done stays.</p>} act={async () => { await ask("DELETE", path); return "Cancelled."; }} />}
    <button onClick={() => print()}>Print</button></p>;
}

const whereColumns = [
  { key: "cluster_name", label: "cluster" },
  { key: "finished", label: "done", num: true, value: (k) => k.done },
  { key: "running", label: "running", num: true },
  { label: "queued", num: true, value: (k) => k.queued_jobs + k.submitted + k.remote_waiting },
  { key: "failed", label: "ended badly", num: true, from: "middle" },
  { key: "preempted", label: "preempted", num: true, from: "middle" },
  { label: "jobs/s", num: true, value: (k) => k.throughput, cell: (k) => few(k.throughput, 2), from: "wide" },
  { label: "mean", num: true, value: (k) => k.mean_s, cell: (k) => duration(k.mean_s), from: "wide" },
  { label: "state", text: true, value: (k) => (k.reason ? `${k.state}: ${k.reason}` : k.state), cell: (k) => <span class={k.state === "ok" ? "" : "bad"}>{k.state === "ok" ? "ok" : `${k.state.replace("_", " ")}: ${k.reason}`}</span> },
];

function Why({ path, c }) {
  const why = useData(`${path}/why`, { live: 10 }), w = why.data;
  if (!w) return null;
  return <><p class="why">{w.message}{w.action && <>. <b>{w.action}</b></>}</p>
    <details><summary>more of why</summary><Table name={`why-${c.id}`} caption="Reasons on each cluster" rowKey="name" rows={w.clusters} columns={[
      { key: "name", label: "cluster" }, { key: "granted", label: "granted", num: true }, { key: "queued", label: "queued", num: true },
      { label: "reason", text: true, value: (k) => [k.message, ...k.reasons.map((r) => r.message)].filter(Boolean).join("; ") || "nothing keeps it back" }]} /></details></>;
}

function Retry({ group, done }) {
  return <Act label={`Run ${n(group.tasks)} again`} title={`Run ${many(group.tasks, "failed task")} again`} done={done}
    says={<p>The tasks that failed of this cause are tried again, with all their tries: {group.message}</p>}
    act={async () => {
      let tasks = 0;
      for (const event of group.events) tasks += (await ask("DELETE", `/events/${event}?resubmit`)).tasks;
      return `${many(tasks, "task")} will run again.`;
    }} />;
}

function Failures({ path, c, on, done }) {
  const list = useData(`${path}/failures?limit=20`, { on });
  if (list.error?.status === 403) return null;
  const items = list.data?.items ?? [];
  if (!items.length) return null;
  return <><h2>Failures <span class="quiet">{many(list.data.total, "cause")}</span></h2>
    <Table name={`failures-${c.id}`} caption="Failures by cause" rowKey="event" rows={items} columns={[
      { key: "count", label: "times", num: true },
      { label: "where", value: (f) => f.clusters.join(", ") },
      { key: "code", label: "code", from: "wide" },
      { label: "what it said", text: true, value: (f) => f.message, cell: (f) => <><span class="bad">{f.message}</span>{f.sample?.stderr && <pre>{f.sample.stderr}</pre>}</> },
      { label: "sample", value: (f) => f.sample?.task, cell: (f) => (f.sample?.task == null ? "-" : <a href={link(["c", c.id, "t", f.sample.task])}>task {f.sample.task}{f.sample.node ? `, ${f.sample.node}` : ""}</a>) },
      { key: "tasks", label: "wait for you", num: true, from: "middle" },
      { label: "do", value: () => "", cell: (f) => (f.tasks > 0 ? <Retry group={f} done={() => { list.again(); done(); }} /> : "") }]} /></>;
}

function Over({ path, c, on }) {
  const series = useData(`${path}/series`, { on, every: 60 }).data;
  if (!series || series.at.length < 2) return null;
  const rate = (list) => list.map((x, i) => x / series.width[i]);
  return <><h2>Jobs ended a second</h2><Chart name={`series-${c.id}`} points={[series.at, rate(series.ok), rate(series.not_ok)]}
    series={[{ label: "succeeded", color: "--done" }, { label: "not", color: "--fail", dash: [4, 3] }]} caption={`${n(series.slot_s.reduce((a, b) => a + b, 0) / 3600)} slot hours in all`} /></>;
}

const states = [["", "all"], ["failed", "failed"], ["running", "running"], ["waiting", "waiting"], ["done", "done"]];
function Tasks({ path, c, on }) {
  const { query } = useRoute(), state = query.tasks ?? (c.failed_jobs ? "failed" : "running"), after = query.after ?? "";
  const all = state === "all", at = all ? `offset=${Number(after || 0)}` : `state=${state}&after=${after === "" ? -1 : after}`;
  const list = useData(`${path}/jobs?limit=25&${at}`, { on, every: 5 }), items = list.data?.items ?? [];
  const last = items.at(-1)?.index, next = list.data?.links.some((l) => l.rel === "next");
  return <><div class="row"><h2>Tasks</h2><label>state <select value={state} onChange={(e) => change({ tasks: e.currentTarget.value, after: "" })}>{states.map(([s, word]) => <option key={s} value={s || "all"}>{word}</option>)}</select></label></div>
    <Shown of={list} what="tasks" empty={items.length === 0 && <p class="quiet">{after === "" ? "None." : "None behind this one."}</p>}>
      <Table name={`tasks-${c.id}`} caption={`Tasks, ${state}`} rows={items} rowKey="cigri_job_id" link={(t) => link(["c", c.id, "t", t.index])} columns={[
        { key: "index", label: "task", num: true }, { key: "parameters", label: "parameters" }, { key: "state", label: "state", value: (t) => (t.needs_attention ? "needs attention" : t.state) },
        { key: "cluster", label: "cluster" }, { label: "exit", num: true, value: (t) => t.exit ?? (t.signal ? `signal ${t.signal}` : null), from: "middle" },
        { label: "started", value: (t) => t.started, cell: (t) => when(t.started), from: "middle" }, { key: "cigri_job_id", label: "job", num: true, from: "wide" }]} /></Shown>
    <p class="row">{after !== "" && <button onClick={() => change({ after: "" })}>First</button>}{next && <button onClick={() => change({ after: all ? Number(after || 0) + 25 : last })}>Next</button>}</p></>;
}

function More({ path, c, on }) {
  const { query } = useRoute(), jdl = useData(query.more ? `${path}/jdl` : null).data, events = useData(query.more ? `${path}/events?all=1&limit=100` : null, { on, every: 30 }).data;
  return <details open={!!query.more} onToggle={(e) => e.currentTarget.open !== !!query.more && change({ more: e.currentTarget.open ? 1 : "" })}><summary>events, settings, who changed what</summary>
    {events && <><h3>events</h3><Table name={`events-${c.id}`} caption="Events" rows={[...events.items].reverse()} columns={[
      { label: "when", value: (e) => when(e.date_update) }, { key: "code", label: "code" }, { key: "state", label: "state" }, { key: "count", label: "times", num: true },
      { key: "message", label: "message", text: true }, { key: "closed_by", label: "closed by", from: "wide" }]} /></>}
    {c.notes?.length > 0 && <><h3>changes</h3><ul>{c.notes.map((note, i) => <li key={i}>{note.text ?? JSON.stringify(note)} <span class="quiet">{note.by}</span></li>)}</ul></>}
    {jdl && <><h3>JDL</h3><pre tabIndex={0}>{JSON.stringify(jdl, null, 2)}</pre></>}</details>;
}

// An expected end without how often such ones held would be believed too much, or not at all.
function Expected({ path, c }) {
  const past = useData(`${path}/stats`, { every: 60 }).data;
  return <>ends <b>{endOf(c)}</b> <span class="quiet">at {few(c.rate, 2)} jobs/s{past && (past.forecasts_judged
    ? `; such intervals held for ${n(past.forecasts_held)} of the last ${many(past.forecasts_judged, "campaign")}`
    : "; no such interval has come true or failed yet")}</span></>;
}

export function Campaign({ id, me }) {
  const path = `/campaigns/${encodeURIComponent(id)}`, one = useData(path, { live: 1 }), c = one.data, on = one.version;
  if (!c) return <Shown of={one} what={`campaign ${id}`} />;
  const own = me.operator || me.user === c.user, p = partsOf(c);
  return <><Shown of={one} what={`campaign ${id}`}>
    <h2>{c.id} {c.name} <span class="quiet">of {c.user}, submitted {when(c.submission_time)}, {stateOf(c)}</span></h2>
    {own && <Actions c={c} path={path} done={one.again} />}
    <div class="big"><Bar of={p} total={c.total_jobs} label={false} /></div>
    <p>{n(p.done)} done, {n(p.run)} running, {n(p.queue)} queued, {n(p.fail)} failed, {n(p.wait)} wait, of {n(c.total_jobs)}{c.preempted > 0 && <span class="quiet">; {many(c.preempted, "job was", "jobs were")} killed by clusters for their own users, not your fault</span>}</p>
    <p>{c.state === "in_treatment" && c.ends ? <Expected path={path} c={c} /> : c.state === "in_treatment" ? "its end is not known yet" : endOf(c)}</p>
    {own && <Why path={path} c={c} />}
    <h2>Where it runs</h2><Table name={`where-${c.id}`} caption="Where it runs" rowKey="cluster_name" rows={Object.values(c.clusters)} columns={whereColumns} />
    {own && <Failures path={path} c={c} on={on} done={one.again} />}
    <Over path={path} c={c} on={on} /><Tasks path={path} c={c} on={on} />{own && <More path={path} c={c} on={on} />}</Shown></>;
}
