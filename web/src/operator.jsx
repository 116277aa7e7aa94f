// The operators' views: the grid, shares, incidents, admission rules, audit.
import { useEffect, useState } from "preact/hooks";
import { ask, useData } from "./api.js";
import { Act, Heat, Problem, Shown, Table } from "./parts.jsx";
import { change as alter, go, link, useRoute } from "./route.js";
import { duration, many, n, percent, when } from "./words.js";

// ---- #/grid - is everything used, and if not, why?
const locals = (k) => Math.max(0, (k.used ?? 0) - (k.ours ?? 0));
function Slots({ k }) {
  if (!k.slots) return "-";
  const parts = [["run", k.ours], ["locals", locals(k)], ["wait", k.free], ["down", k.unavailable]];
  const text = `${n(k.ours)} ours, ${n(locals(k))} of its own users, ${n(k.free)} idle, ${n(k.unavailable)} down, of ${n(k.slots)}`;
  return <div class="bar" role="img" aria-label={text} title={text}>{parts.filter(([, v]) => v > 0).map(([c, v]) => <i key={c} class={c} style={{ flexGrow: v }} />)}</div>;
}

function Drain({ k, running, done }) {
  if (k.drained) return <Act label="Resume" title={`Resume ${k.name}`} done={done} says={<p>{k.name} was drained by {k.drained_by}: {k.drain_reason}. Jobs may be sent there again.</p>}
    act={async () => { await ask("POST", "/admin/resume", { cluster: k.name }); return `${k.name} is resumed.`; }} />;
  return <Act label="Drain..." title={`Drain ${k.name}`} danger done={done} says={<p>Nothing new is sent to {k.name}. {many(running, "job")} in flight there go on, unless you kill them.</p>}
    act={async (form) => {
      const data = new FormData(form), body = { cluster: k.name, reason: data.get("reason"), kill: data.get("kill") === "on" };
      if (data.get("until")) body.until = data.get("until");
      await ask("POST", "/admin/drain", body);
      return `${k.name} is drained: no submission can start any more.`;
    }}><label class="block">Reason, for everybody to read <input name="reason" required /></label>
    <label class="block">Until (empty: until resumed) <input name="until" placeholder="2026-12-24 18:00" /></label>
    <label><input type="checkbox" name="kill" /> kill {many(running, "job")}, which are sent again elsewhere</label></Act>;
}

export function Grid() {
  const grid = useData("/grid", { live: 1 }), g = grid.data, on = (k) => (g?.campaigns ?? []).reduce((sum, c) => sum + (c.on[k.id] ?? 0), 0);
  return <Shown of={grid} what="the grid" empty={g?.clusters.length === 0 && <p>This grid has no cluster. <code>gridadmin cluster add</code></p>}>{g && <>
    <h2>Slots</h2><Table name="clusters" caption="Slots of each cluster" rowKey="name" rows={g.clusters} columns={[
      { key: "name", label: "cluster" }, { label: "use", value: () => "", cell: (k) => <Slots k={k} /> }, { key: "ours", label: "ours", num: true }, { label: "its own", num: true, value: locals, from: "middle" },
      { key: "free", label: "idle", num: true }, { key: "unavailable", label: "down", num: true, from: "middle" }, { key: "slots", label: "of", num: true },
      { label: "why", text: true, value: (k) => k.message, cell: (k) => <span class={k.failing_for || k.drained || !k.enabled ? "bad" : ""}>{k.message}{k.action && <>. <b>{k.action}</b></>}</span> },
      { label: "do", value: () => "", cell: (k) => <Drain k={k} running={on(k)} done={grid.again} /> }]} />
    <p class="quiet"><i class="run swatch" /> ours <i class="locals swatch" /> its own users <i class="swatch wait" /> idle <i class="down swatch" /> down</p>
    <h2>Jobs in flight</h2>
    {g.campaigns.length === 0 ? <p class="quiet">Nothing is in flight.</p> : <><Heat caption="Jobs in flight, campaigns by clusters" columns={g.clusters} rows={g.campaigns.map((c) => ({ ...c, name: `${c.id} ${c.name}, ${c.user}` }))}
      of={(c, k) => c.on[k.id]} link={(c) => link(["c", c.id])} />
      <details><summary>as a list</summary><Table name="in-flight" caption="Jobs in flight" rows={g.campaigns} link={(c) => link(["c", c.id])} columns={[{ key: "id", label: "id", num: true }, { key: "name", label: "name" }, { key: "user", label: "user" },
        ...g.clusters.slice(0, 20).map((k) => ({ label: k.name, num: true, value: (c) => c.on[k.id] ?? 0 }))]} /></details></>}
  </>}</Shown>;
}

// ---- #/shares - does everybody get what is due?
export function Shares() {
  const { query } = useRoute(), days = query.days ?? "14", shares = useData(`/admin/policy/shares?days=${encodeURIComponent(days)}`, { live: 10 }), s = shares.data, on = shares.version;
  const lint = useData("/admin/policy/lint", { on, every: 60 }).data, log = useData("/admin/policy/history", { on, every: 60 }).data;
  return <><div class="row"><h2>Shares</h2><label>of the last <select value={days} onChange={(e) => alter({ days: e.currentTarget.value })}>{["1", "7", "14", "30"].map((d) => <option key={d} value={d}>{d} d</option>)}</select></label></div>
    <Shown of={shares} what="shares" empty={s?.items.length === 0 && <p class="quiet">Nobody used anything in this time.</p>}>{s && <>
      <p>Policy <b>{s.policy}</b>. Our jobs had {percent(s.utilisation)} of the slots that were up and left by local users.{s.share_error != null && <> Share error <b>{percent(s.share_error)}</b>: what some had above what they were due.</>}</p>
      <Table name="shares" caption="Shares due and received" rows={s.items} columns={[
        { key: "user", label: "user" }, { key: "project", label: "project", from: "middle" },
        { key: "due", label: "due", num: true, cell: (u) => percent(u.due) }, { key: "had", label: "had", num: true, cell: (u) => percent(u.had) },
        { label: "due and had", value: () => "", cell: (u) => <div class="pair" role="img" aria-label={`due ${percent(u.due)}, had ${percent(u.had)}`}><i class="locals" style={{ width: `${100 * Math.min(1, u.due ?? 0)}%` }} /><i class="run" style={{ width: `${100 * Math.min(1, u.had ?? 0)}%` }} /></div> },
        { label: "slot hours", num: true, value: (u) => u.slot_s / 3600, cell: (u) => n(u.slot_s / 3600) }, { key: "running", label: "running", num: true }, { key: "waiting", label: "waiting", num: true, from: "middle" }]} />
      <p class="quiet"><i class="locals swatch" /> due <i class="run swatch" /> had</p></>}</Shown>
    {lint && (!lint.ok || lint.warnings.length > 0) && <><h2>What looks odd in the policy</h2><pre tabIndex={0}>{lint.text}</pre></>}
    {log?.items?.length > 0 && <><h2>Who changed it</h2><Table name="policy-log" caption="Changes of the policy" rows={log.items.slice(0, 50)} columns={Object.keys(log.items[0]).map((key) => ({ key, label: key.replaceAll("_", " "), text: key === "new" || key === "old", value: (r) => (r[key] !== null && typeof r[key] === "object" ? JSON.stringify(r[key]) : key === "at" ? when(r[key]) : r[key]) }))} /></>}</>;
}

// ---- #/whatif - when would campaigns end if the grid were another one?
const sums = [["ends", "all is done", when], ["utilisation", "slots used", percent], ["wait_mean_s", "mean wait", duration], ["share_error", "share error", percent], ["lost_slot_s", "slot hours lost", (s) => n(s / 3600)]];
const moved = ({ ends_now: now, ends_then: then }) => (then == null ? "never" : now == null ? "" : Math.abs(then - now) < 1 ? "the same" : `${duration(Math.abs(then - now))} ${then < now ? "earlier" : "later"}`);
export function WhatIf() {
  const { query } = useRoute(), clusters = useData("/clusters").data?.items ?? [], presets = useData("/admin/policy/presets").data?.items ?? [], [state, set] = useState({});
  const change = { ...(query.without && { without: [query.without] }), ...(query.cluster && Number(query.more) && { slots: { [query.cluster]: Number(query.more) } }), ...(query.policy && { policy: query.policy }) };
  const asked = JSON.stringify(change), a = state.asked === asked ? state.answer : undefined;
  const simulate = async (event) => {
    event.preventDefault();
    set({ busy: true });
    try { set({ asked, answer: await ask("POST", "/admin/whatif", change) }); } catch (error) { set({ asked, error }); }
  };
  const choice = (key, label, none, names) => <label class="block">{label} <select value={query[key] ?? ""} onChange={(e) => alter({ [key]: e.currentTarget.value })}><option value="">{none}</option>{names.map((name) => <option key={name}>{name}</option>)}</select></label>;
  return <><h2>What if</h2><form class="row" onSubmit={simulate}>
    {choice("without", "without the cluster", "none", clusters.map((k) => k.name))}
    {choice("cluster", "other slots on", "none", clusters.map((k) => k.name))}
    {query.cluster && <label class="block">so many more <input type="number" name="more" value={query.more ?? ""} onInput={(e) => alter({ more: e.currentTarget.value })} /></label>}
    {choice("policy", "by the policy", "the present one", [...presets.map((p) => p.name), "fifo", "usage", "fairshare"])}
    <button class="main" disabled={asked === "{}" || state.busy}>Simulate</button></form>
    <section aria-live="polite">{state.busy && <p>simulating: at most 20 s</p>}{state.error && state.asked === asked && <Problem error={state.error} />}
      {!a && !state.busy && <p class="quiet">The simulator takes the grid as it is, changes what you choose, and runs both to the end with the grid's own scheduler. Nothing is changed.</p>}
      {a && <><Table name="outlook" caption="The grid, now and after the change" rowKey="0" rows={sums.map(([key, label, word]) => ({ key, label, now: word(a.now[key]), then: word(a.then[key]) }))} columns={[{ key: "label", label: "the grid" }, { key: "now", label: "as it is" }, { key: "then", label: "after the change" }]} />
        <h3>Campaigns</h3><Table name="whatif" caption="When campaigns end" rowKey="campaign" rows={a.campaigns} link={(c) => link(["c", c.campaign])} columns={[
          { key: "campaign", label: "id", num: true }, { key: "user", label: "user" }, { label: "ends", value: (c) => when(c.ends_now) }, { label: "would end", value: (c) => (c.ends_then == null ? "never" : when(c.ends_then)) },
          { label: "that is", value: moved, cell: (c) => <span class={c.ends_then == null || c.ends_then > c.ends_now ? "bad" : "good"}>{moved(c)}</span> }]} />
        <h3>What is assumed</h3><ul>{a.notes.map((note) => <li key={note}>{note}</li>)}<li>as of {when(a.at)}; whoever submits later is not in it</li></ul></>}</section></>;
}

// ---- #/incidents - what is broken now, who has it?
const incidentStates = ["open", "acknowledged", "closed"];
export function Incidents() {
  const { query } = useRoute(), state = query.state ?? "", list = useData(`/incidents?limit=100${state && `&state=${state}`}${query.before ? `&before=${query.before}` : ""}`, { live: 1 }), items = list.data?.items ?? [];
  const act = (e) => <span class="row">{e.state === "open" && <Act label="Take it" title={`Acknowledge event ${e.id}`} done={list.again} says={<p>{e.message}. Others see that you have it; it stays open.</p>}
    act={async (form) => { await ask("PATCH", `/events/${e.id}`, { ack: new FormData(form).get("note") }); return `Event ${e.id} is yours.`; }}><label class="block">What you say about it <input name="note" /></label></Act>}
    {e.state === "acknowledged" && <Act label="Give it back" done={list.again} says={<p>Event {e.id} is open again for everybody.</p>} act={async () => { await ask("PATCH", `/events/${e.id}`, { ack: null }); return `Event ${e.id} is open again.`; }} />}
    {e.state !== "closed" && <Act label="Close" title={`Close event ${e.id}`} done={list.again} says={<p>{e.message}. It opens again when its cause goes on.</p>} act={async () => { await ask("DELETE", `/events/${e.id}`); return `Event ${e.id} is closed.`; }} />}</span>;
  return <><div class="row"><h2>Incidents</h2><label>state <select value={state} onChange={(e) => alter({ state: e.currentTarget.value, before: "" })}><option value="">any</option>{incidentStates.map((s) => <option key={s}>{s}</option>)}</select></label></div>
    <Shown of={list} what="incidents" empty={items.length === 0 && <p class="good">{state ? "None." : "Nothing has happened."}</p>}>
      <Table name="incidents" caption="Incidents" rows={items} columns={[
        { key: "id", label: "id", num: true, from: "middle" }, { key: "state", label: "state", cell: (e) => <span class={{ open: "bad", acknowledged: "queued" }[e.state] ?? "quiet"}>{e.state}</span> },
        { label: "since", value: (e) => e.date_open, cell: (e) => when(e.date_open) }, { key: "code", label: "code", from: "middle" }, { key: "cluster_name", label: "cluster" }, { key: "count", label: "times", num: true, from: "wide" },
        { key: "message", label: "what", text: true }, { label: "who", text: true, value: (e) => (e.state === "closed" ? `closed by ${e.closed_by ?? "-"} ${when(e.date_closed)}` : e.acked_by ? `${e.acked_by} ${when(e.acked_at)}${e.acked_note ? `: ${e.acked_note}` : ""}` : "nobody") },
        { label: "do", value: () => "", cell: act }]} />
      <p class="row">{query.before && <button onClick={() => alter({ before: "" })}>Newest</button>}{items.length === 100 && <button onClick={() => alter({ before: items.at(-1).id })}>Older</button>}</p></Shown></>;
}

// ---- #/rules/NAME - what does a rule do, and what would its new text have done?
export function Rules({ parts }) {
  const name = parts[1], list = useData(name ? null : "/admin/rules", { live: 1 });
  if (name) return <Rule key={name} name={name} />;
  return <><h2>Admission rules</h2><Shown of={list} what="admission rules"><Table name="rules" caption="Admission rules" rowKey="name" rows={list.data?.items ?? []} link={(r) => link(["rules", r.name])} columns={[
    { key: "name", label: "rule" }, { key: "mode", label: "mode" }, { key: "priority", label: "priority", num: true }, { key: "title", label: "what it does", text: true }, { key: "version", label: "version", num: true, from: "middle" },
    { key: "updated_by", label: "changed by", from: "wide" }, { label: "when", value: (r) => when(r.updated_at), from: "wide" }]} /></Shown></>;
}

function Rule({ name }) {
  const path = `/admin/rules/${encodeURIComponent(name)}`, rule = useData(path), [code, setCode] = useState(null), [tried, setTried] = useState({}), r = rule.data, text = code ?? r?.code ?? "";
  const log = useData(`${path}/history`).data;
  useEffect(() => setCode(null), [r?.version]);
  const tryIt = async () => { setTried({ busy: true }); try { setTried({ data: await ask("POST", `${path}/trial`, { code: text, last: 50 }) }); } catch (error) { setTried({ error }); } };
  const save = async (mode) => { const now = await ask("PATCH", path, mode ? { mode, version: r.version } : { code: text, version: r.version }); rule.again(); return mode ? `${name} is ${mode} now.` : `Saved as version ${now.version}.`; };
  const t = tried.data;
  return <Shown of={rule} what={`rule ${name}`}>{r && <><h2><a href="#/rules">Admission rules</a>: {r.name} <span class="quiet">{r.mode}, version {r.version} by {r.updated_by}</span></h2>
    {r.fault && <p class="bad">It is broken: {r.fault}</p>}
    <div class="two"><section><label class="block">Text <textarea rows={Math.min(30, text.split("\n").length + 2)} spellcheck={false} value={text} onInput={(e) => setCode(e.currentTarget.value)} /></label>
      <p class="row"><button class="main" onClick={tryIt} disabled={tried.busy}>Try it on the last 50 campaigns</button>
        {text !== r.code && <Act label="Save" title={`Save ${name}`} act={() => save()} says={<p>A new version is stored; in mode {r.mode} it {r.mode === "off" ? "does nothing" : "decides from the next submission on"}.</p>} />}
        {["enforce", "warn", "off"].filter((m) => m !== r.mode).map((m) => <Act key={m} label={`Set ${m}`} act={() => save(m)} says={<p>{{ enforce: "It refuses and changes campaigns.", warn: "It only notes what it would have done.", off: "It does nothing." }[m]}</p>} />)}</p></section>
      <section aria-live="polite"><h3>what this text would have done</h3>{tried.busy && <p>trying</p>}{tried.error && <Problem error={tried.error} />}
        {!t && !tried.busy && !tried.error && <p class="quiet">Nothing is stored by a trial. Users are taken as they are today.</p>}
        {t && <><p><b>Of the last {many(t.tried, "campaign")} it would have refused {n(t.counts.refused)}</b>, changed or noted {n(t.counts.changed)}, and broken on {n(t.counts.broken)}.</p>
          {t.items.length > 0 && <Table name={`trial-${name}`} caption="Campaigns that this text would not have left as they are" rowKey="campaign" rows={t.items} link={(c) => link(["c", c.campaign])} columns={[
            { key: "campaign", label: "campaign", num: true }, { key: "name", label: "name", from: "middle" }, { key: "user", label: "user" }, { key: "verdict", label: "verdict" }, { label: "why", text: true, value: (c) => c.message || [...c.changes, ...c.notes].join("; ") }]} />}</>}
        {log?.items?.length > 0 && <><h3>versions</h3><Table name={`versions-${name}`} caption="Versions" rows={log.items} columns={[
          { key: "version", label: "version", num: true }, { label: "by", value: (v) => v.changed_by ?? v.updated_by ?? v.by }, { label: "when", value: (v) => when(v.changed_at ?? v.updated_at ?? v.at) }, { key: "mode", label: "mode" }]} /></>}</section></div></>}</Shown>;
}

// ---- #/audit - who changed what, when?
export function Audit() {
  const { query } = useRoute(), asked = new URLSearchParams({ limit: 100 });
  for (const key of ["user", "subject", "before"]) if (query[key]) asked.set(key, query[key]);
  const list = useData(`/admin/audit?${asked}`, { live: 1 }), items = list.data?.items ?? [];
  const find = (event) => { event.preventDefault(); const data = new FormData(event.target); go(["audit"], { user: data.get("user"), subject: data.get("subject") }); };
  return <><div class="row"><h2>Audit</h2><form class="row" onSubmit={find} key={`${query.user} ${query.subject}`}><label>who <input name="user" defaultValue={query.user} size={10} /></label><label>what <input name="subject" defaultValue={query.subject} placeholder="cluster alpha" size={16} /></label><button>Show</button></form></div>
    <Shown of={list} what="the audit" empty={items.length === 0 && <p>None matches. <a href="#/audit">Show all</a></p>}><Table name="audit" caption="Who changed what" rows={items} columns={[
      { label: "when", value: (a) => when(a.at) }, { key: "actor", label: "who" }, { key: "action", label: "did" }, { key: "subject", label: "to" }, { label: "from", text: true, value: (a) => (a.old == null ? "" : JSON.stringify(a.old)), from: "middle" },
      { label: "new", text: true, value: (a) => (a.new == null ? "" : JSON.stringify(a.new)) }, { key: "source", label: "by way of", from: "wide" }]} />
    <p class="row">{query.before && <button onClick={() => alter({ before: "" })}>Newest</button>}{items.length === 100 && <button onClick={() => alter({ before: items.at(-1).id })}>Older</button>}</p></Shown></>;
}
