// #/c/17/t/3 - what has this task done, and what does it print?
import { useEffect, useRef } from "preact/hooks";
import { ask, useData } from "./api.js";
import { Act, Shown, Table, save } from "./parts.jsx";
import { change, link, useRoute } from "./route.js";
import { n, when } from "./words.js";

const shown = 65536;
function Stream({ job, name, follow }) {
  // The output grows on its cluster, which tells nobody.
  const out = useData(`/jobs/${job}/${name}?bytes=${shown}`, { poll: follow ? 2 : 0 }), at = useRef(), text = out.data?.output;
  useEffect(() => { if (follow && at.current) at.current.scrollTop = at.current.scrollHeight; }, [text, follow]);
  const whole = async () => save(`${job}.${name}`, "application/octet-stream", await ask("GET", `/jobs/${job}/${name}?raw=1`, undefined, { raw: true }));
  return <section><h3>{name} {out.data?.size > shown && <span class="quiet">the last 64 kB of {n(out.data.size)} bytes, </span>}<button class="plain" onClick={whole}>whole file</button></h3>
    <Shown of={out} what={name}>{text === "" ? <p class="quiet">{out.data.exists === false ? "no such file yet" : "nothing"}</p> : <pre ref={at} tabIndex={0} aria-label={name}>{text}</pre>}</Shown></section>;
}

export function Task({ campaign, index }) {
  const { query } = useRoute(), path = `/campaigns/${encodeURIComponent(campaign)}/tasks/${encodeURIComponent(index)}`;
  const task = useData(path, { live: 1 }), t = task.data, tries = t?.execution?.filter((j) => j.cigri_job_id) ?? [];
  const job = query.job ?? tries.at(-1)?.cigri_job_id, chosen = tries.find((j) => String(j.cigri_job_id) === String(job));
  const why = useData(t && t.state !== "done" ? `${path}/why` : null, { live: 10 }).data;
  const runs = chosen && ["running", "submitted", "remote_waiting", "launching"].includes(chosen.state), follow = query.follow ? query.follow === "1" : runs;
  return <Shown of={task} what={`task ${index}`}>{t && <>
    <h2>Task {t.index} of <a href={link(["c", campaign])}>campaign {campaign}</a> <span class="quiet">{t.state.replace("_", " ")}</span></h2>
    <p>parameters <code>{t.parameters ?? "are its owner's"}</code></p>{why?.message && <p class="why">{why.message}{why.action && <>. <b>{why.action}</b></>}</p>}
    {tries.length === 0 ? <p class="quiet">It was not sent yet.</p> : <Table name={`task-${campaign}-${index}`} caption="Attempts" rowKey="cigri_job_id" rows={tries} columns={[
      { key: "cigri_job_id", label: "job", num: true, cell: (j) => <a href={link(["c", campaign, "t", index], { job: j.cigri_job_id })} aria-current={String(j.cigri_job_id) === String(job) ? "true" : undefined}>{j.cigri_job_id}</a> },
      { key: "cluster", label: "cluster" }, { key: "remote_id", label: "id there", from: "wide" }, { key: "state", label: "state" }, { label: "exit", num: true, value: (j) => j.exit ?? (j.signal ? `signal ${j.signal}` : null) },
      { key: "code", label: "code" }, { label: "started", value: (j) => j.started, cell: (j) => when(j.started) }, { label: "ended", value: (j) => j.ended, cell: (j) => when(j.ended), from: "middle" }]} />}
    {job && <><p class="row"><label><input type="checkbox" checked={follow} onChange={(e) => change({ follow: e.currentTarget.checked ? 1 : 0 })} /> follow the output of job {job}</label>
      {runs && <Act label="Kill this job" danger done={task.again} says={<p>The job is killed without a charge to the task, which is retried.</p>} act={async () => { await ask("DELETE", `/jobs/${job}`); return "It is being killed."; }} />}</p>
      <div class="two"><Stream key={`o${job}`} job={job} name="stdout" follow={follow} /><Stream key={`e${job}`} job={job} name="stderr" follow={follow} /></div></>}
  </>}</Shown>;
}
