// #/ - is anything of mine in need of me, and when is the rest done?
import { useData } from "./api.js";
import { Bar, Shown, Table, partsOf } from "./parts.jsx";
import { change, link, useRoute } from "./route.js";
import { between, few, many, n, when } from "./words.js";

const page = 50;
export const stateOf = (c) => (c.state === "in_treatment" && c.wanted !== "in_treatment" ? `to be ${c.wanted}` : c.state === "in_treatment" ? (c.finishing ? "ending" : "at work") : c.state);
export function endOf(c) {
  if (c.state === "terminated") return `ended ${when(c.completion_time)}`;
  if (c.state !== "in_treatment") return stateOf(c);
  return c.ends ? between(c.ends) : "not known yet";
}

const columns = [
  { key: "id", label: "id", num: true },
  { key: "name", label: "name" },
  { key: "user", label: "user", from: "middle" },
  { label: "state", value: stateOf },
  { label: "progress", value: (c) => (c.total_jobs ? c.finished_jobs / c.total_jobs : 0), cell: (c) => <Bar of={partsOf(c)} total={c.total_jobs} /> },
  { key: "finished_jobs", label: "done", num: true },
  { key: "total_jobs", label: "of", num: true },
  { key: "failed_jobs", label: "failed", num: true, cell: (c) => (c.failed_jobs ? <span class="bad">{n(c.failed_jobs)}</span> : "0") },
  { key: "running_jobs", label: "running", num: true, from: "wide" },
  { key: "rate", label: "jobs/s", num: true, from: "wide", cell: (c) => few(c.rate, 2) },
  { label: "ends", value: endOf, from: "middle" },
];

function NeedYou({ items, total }) {
  const rows = items.filter((c) => (c.failed_jobs > 0 || c.state_reason) && c.state !== "cancelled");
  if (!rows.length) return null;
  return <><h2>{rows.length === 1 ? "1 needs you" : `${rows.length} need you`}{total > items.length && <span class="quiet"> of the newest {items.length}</span>}</h2>
    <Table name="need-you" caption="Campaigns that need their user" files={false} rows={rows.slice(0, 10)} link={(c) => link(["c", c.id])} columns={[
      { key: "id", label: "id", num: true }, { key: "name", label: "name" },
      { label: "why", cell: (c) => <span class="bad">{c.state_reason ?? `${many(c.failed_jobs, "task")} failed`}</span> }]} /></>;
}

export function Mine({ me }) {
  const { query } = useRoute(), everybody = query.user === "all", from = Number(query.from ?? 0);
  const asked = new URLSearchParams({ newest: 1, limit: page, offset: from });
  if (!everybody) asked.set("user", query.user ?? me.user);
  if (query.q) asked.set("name", query.q);
  if (query.state) asked.set("state", query.state); else asked.set("all", 1);
  const list = useData(`/campaigns?${asked}`, { live: 1 }), { items = [], total = 0 } = list.data ?? {};
  const filtered = query.q || query.state || everybody;
  return <>
    {from === 0 && <NeedYou items={items} total={total} />}
    <div class="row"><h2>{everybody ? "All campaigns" : query.user && query.user !== me.user ? `Campaigns of ${query.user}` : "My campaigns"}</h2>
      <label>of <select value={everybody ? "all" : ""} onChange={(e) => change({ user: e.currentTarget.value, from: "" })}><option value="">me</option><option value="all">everybody</option></select></label>
      <label>state <select value={query.state ?? ""} onChange={(e) => change({ state: e.currentTarget.value, from: "" })}><option value="">any</option>
        {["in_treatment", "paused", "terminated", "cancelled"].map((s) => <option key={s} value={s}>{s === "in_treatment" ? "at work" : s}</option>)}</select></label>
      {query.q && <span>name has <b>{query.q}</b> <a href={link([], { ...query, q: "" })}>show all</a></span>}</div>
    <Shown of={list} what="your campaigns" empty={total === 0 && (filtered ? <p>None matches. <a href="#/">Show mine</a></p>
      : <p>You have no campaigns. <a href="#/new">Submit one</a>, or in a terminal: <code>gridsub -- ./my-program {"{}"} ::: *.dat</code></p>)}>
      <Table name="campaigns" caption="Campaigns" columns={columns} rows={items} link={(c) => link(["c", c.id])} />
      <Pages from={from} size={page} total={total} />
    </Shown></>;
}

export function Pages({ from, size, total }) {
  if (total <= size) return null;
  return <p class="row">{n(from + 1)} to {n(Math.min(total, from + size))} of {n(total)}
    <button disabled={from === 0} onClick={() => change({ from: Math.max(0, from - size) || "" })}>Newer</button>
    <button disabled={from + size >= total} onClick={() => change({ from: from + size })}>Older</button></p>;
}
