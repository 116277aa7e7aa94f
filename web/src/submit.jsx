// #/new - will it be taken, and what will happen? The text is the truth; the form writes it.
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, useData } from "./api.js";
import { Act, Problem, Table } from "./parts.jsx";
import { link } from "./route.js";
import { many, n } from "./words.js";

const block = 1000;
// A file of any size goes up in blocks of 1,000 lines: it is never in memory as a whole.
async function upload(file, progress) {
  const { id } = await ask("POST", "/uploads");
  const reader = file.stream().pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", lines = [], sent = 0, k = 0;
  const put = async () => {
    const text = lines.map((l) => `${l.replaceAll("\\", "\\\\")}\n`).join("");
    await ask("PUT", `/uploads/${id}/blocks/${k++}`, text, { headers: { "Content-Type": "text/plain", "X-Cigri-Lines": String(lines.length) } });
    sent += lines.length;
    lines = [];
    progress(sent);
  };
  const take = async (line) => { if (line.trim() !== "") lines.push(line.trim()); if (lines.length === block) await put(); };
  for (;;) {
    const { value, done } = await reader.read();
    const parts = (rest + (value ?? "")).split("\n");
    rest = done ? "" : parts.pop();
    for (const line of parts) await take(line);
    if (done) break;
  }
  if (lines.length) await put();
  return { id, lines: sent };
}

// "line 3, column 5" of the text, as an error of the API says.
const place = (f) => (f.line ? `line ${f.line}, column ${f.column}: ` : "");

const randomKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
const parse = (text) => { try { return JSON.parse(text); } catch { return null; } };
const empty = JSON.stringify({ name: "", exec_file: "", clusters: {}, walltime: "1:00:00", nb_jobs: 10 }, null, 2);
const fields = [["name", "Name"], ["exec_file", "Command"], ["exec_directory", "Folder on the cluster"], ["walltime", "Walltime of one job"], ["nb_jobs", "Number of tasks"]];

export function Submit() {
  const clusters = useData("/clusters?full=1").data?.items ?? [], [text, setText] = useState(empty);
  const [dry, setDry] = useState({}), [up, setUp] = useState(null), turn = useRef(0), jdl = parse(text);
  const set = (some) => { const next = { ...jdl, ...some }; for (const [k, v] of Object.entries(next)) if (v === "" && k !== "name" && k !== "exec_file") delete next[k]; setText(JSON.stringify(next, null, 2)); };
  const query = up?.id ? `&upload=${up.id}` : "";
  useEffect(() => {
    const mine = ++turn.current;
    if (text === empty) return undefined;
    const timer = setTimeout(async () => {
      try { const data = await ask("POST", `/campaigns?dry_run=1${query}`, text); if (mine === turn.current) setDry({ data }); }
      catch (error) { if (mine === turn.current) setDry({ error }); }
    }, 300);
    return () => clearTimeout(timer);
  }, [text, query]);
  const sent = useRef({});
  const send = async (type = "") => {
    const path = `/campaigns?${type}${query}`, what = path + text;
    if (sent.current.what !== what) sent.current = { what, key: randomKey() };
    const made = await ask("POST", path, text, { headers: { "Idempotency-Key": sent.current.key } });
    location.hash = link(["c", made.id]);
    return `Campaign ${made.id} was submitted.`;
  };
  const file = async (event) => {
    const chosen = event.currentTarget.files[0];
    if (!chosen) return setUp(null);
    try {
      setUp({ busy: 0 });
      const next = { ...jdl };
      delete next.nb_jobs;
      delete next.params;
      setText(JSON.stringify(next, null, 2));
      setUp(await upload(chosen, (lines) => setUp({ busy: lines })));
    } catch (error) { setUp({ error }); }
    return undefined;
  };
  const { data, error } = dry;
  return <><h2>Submit</h2><div class="two">
    <section><h3>as a form</h3>
      {fields.map(([key, label]) => <label class="block" key={key}>{label}<input value={jdl?.[key] ?? ""} disabled={!jdl} type={key === "nb_jobs" ? "number" : "text"} min="1"
        onInput={(e) => set({ [key]: key === "nb_jobs" && e.currentTarget.value ? Number(e.currentTarget.value) : e.currentTarget.value })} /></label>)}
      <fieldset><legend>Clusters</legend>{clusters.map((k) => <label key={k.name}><input type="checkbox" disabled={!jdl} checked={!!jdl?.clusters?.[k.name]}
        onChange={(e) => { const some = { ...jdl.clusters }; if (e.currentTarget.checked) some[k.name] = {}; else delete some[k.name]; set({ clusters: some }); }} /> {k.name} <span class="quiet">{n(k.usage?.free_resources)} of {n(k.usage?.max_resources)} free</span></label>)}</fieldset>
      <label class="block">Parameters, one on a line <textarea rows={3} disabled={!jdl || up?.id} value={jdl?.params?.join("\n") ?? ""} onInput={(e) => { const lines = e.currentTarget.value.split("\n"); set(e.currentTarget.value === "" ? { params: "" } : { params: lines, nb_jobs: "" }); }} /></label>
      <label class="block">or a file of them <input type="file" disabled={!jdl} onChange={file} /></label>
      {up?.busy != null && <p role="status">{many(up.busy, "line")} sent</p>}{up?.lines && <p role="status">{many(up.lines, "parameter")} are on the server.</p>}{up?.error && <Problem error={up.error} />}
      <h3>as text</h3><label class="block">JDL<textarea rows={14} spellcheck={false} value={text} onInput={(e) => setText(e.currentTarget.value)} /></label></section>
    <section aria-live="polite"><h3>what would happen</h3>
      {text === empty && <p class="quiet">Fill in a name, a command and at least one cluster. The server then says here what it would do; nothing is submitted before you press the button.</p>}
      {error && <><Problem error={error} />{error.faults?.length > 0 && <ul>{error.faults.map((f, i) => <li key={i} class="bad">{place(f)}{f.key && <code>{f.key}</code>} {f.message} <span class="quiet">{f.hint}</span></li>)}</ul>}</>}
      {data && <><p class="good">It would be taken: {many(data.total_jobs, "task")}.</p>
        {[...data.changes, ...data.notes].length > 0 && <ul>{[...data.changes, ...data.notes].map((note, i) => <li key={i} class="queued">{note.text ?? String(note)}</li>)}</ul>}
        <Table name="clusters" caption="Clusters that match" files={false} rowKey="name" rows={data.clusters} columns={[{ key: "name", label: "cluster" }, { key: "slots", label: "slots a job", num: true },
          { label: "takes it", value: (k) => (k.matched ? (k.expected_start === 0 ? "yes, at once" : "yes, no slot is free now") : `no: ${k.why}`) }]} />
        <h3>first commands</h3><pre tabIndex={0}>{data.commands.join("\n")}</pre>
        <p class="row"><Act label={`Submit ${many(data.total_jobs, "task")}`} once act={() => send()} says={<p>They run on {data.clusters.map((k) => k.name).join(", ")}.</p>} />
          <Act label="Test" title={`Test: one job on ${many(data.clusters.length, "cluster")}`} once act={() => send("type=test")} says={<p>One job runs on each cluster; the other parameters are left alone.</p>} /></p></>}</section></div></>;
}
