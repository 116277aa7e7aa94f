// What several views are made of.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { clock, day, n } from "./words.js";

// The five states of a view, but for the data itself: first load, not yours, no answer, empty.
export function Shown({ of, what, empty, children }) {
  const [slow, setSlow] = useState(false);
  useEffect(() => { const t = setTimeout(() => setSlow(true), 300); return () => clearTimeout(t); }, []);
  const problem = of.error && <Problem error={of.error} again stale={of.data !== undefined} />;
  if (of.data === undefined) return problem ?? <p class="quiet">{slow ? `asking for ${what}` : ""}</p>;
  return <>{problem}{empty || children}</>;
}

// again: the page asks until there is an answer; acted: what was asked may have been done all the same;
// once: it is not done twice then, however often it is asked for.
export function Problem({ error, stale, again, acted, once }) {
  const lost = once ? "No answer came: it may be done, or not. Press again: it is done once." : acted ? "No answer came: it may be done, or not. Nothing is sent again; look before you do it once more."
    : `The API does not answer${again ? "; this page asks again" : ""}.`;
  const words = error.status === undefined ? lost : `${error.message}.`;
  return <p role="alert" class="bad">{words} {error.hint && <span class="quiet">{error.hint}</span>}{stale && " What follows was known before."}</p>;
}

const kinds = [["done", "done"], ["run", "running"], ["queue", "queued on clusters"], ["fail", "failed"], ["wait", "waiting"]];
export function Bar({ of, total, label = true }) {
  const said = kinds.filter(([k]) => of[k]).map(([k, word]) => `${n(of[k])} ${word}`).join(", ") || "nothing yet";
  const text = `${said}, of ${n(total)}`;
  return <div class="bar" role="img" aria-label={text} title={label ? text : undefined}>
    {kinds.filter(([k]) => k !== "wait" && of[k] > 0).map(([k]) => <i key={k} class={k} style={{ flexGrow: of[k] / total, minWidth: "2px" }} />)}
    {of.wait > 0 && <i key="wait" style={{ flexGrow: of.wait / total }} />}
  </div>;
}
export const partsOf = (c) => ({ done: c.finished_jobs, run: c.running_jobs, queue: c.launching_jobs + c.submitted_jobs + c.remote_waiting_jobs, fail: c.failed_jobs, wait: c.waiting_jobs });

// ---- what is shown, as a file. A cell that a spreadsheet would take for a formula gets a quote.
const quoted = (value) => {
  const text = value == null ? "" : Array.isArray(value) || typeof value === "object" ? JSON.stringify(value) : String(value);
  return `"${(typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
};
export const toCsv = (columns, rows) => [columns.map((c) => c.label), ...rows.map((row) => columns.map((c) => (c.value ? c.value(row) : row[c.key])))]
  .map((line) => line.map(quoted).join(",")).join("\r\n") + "\r\n";
export function save(name, type, text) {
  const at = URL.createObjectURL(new Blob([text], { type }));
  const a = document.createElement("a");
  a.href = at;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(at), 10e3);
}

// columns: {key, label, num, text: may wrap, value(row), cell(row), from: the width it needs ("wide", "middle")}.
export function Table({ name, caption, columns, rows, link, rowKey = "id", files = true }) {
  return <>
    <div class="scroll" role="region" aria-label={caption} tabIndex={0}><table><caption class="sr">{caption}</caption>
      <thead><tr>{columns.map((c) => <th key={c.label} scope="col" class={`${c.num ? "num " : ""}${c.from ?? ""}`}>{c.label}</th>)}</tr></thead>
      <tbody>{rows.map((row, i) => <tr key={row[rowKey] ?? i} data-row data-href={link?.(row)}>{columns.map((c, k) => {
        const text = c.cell ? c.cell(row) : (c.value ? c.value(row) : row[c.key]) ?? "-";
        return <td key={c.label} class={`${c.num ? "num " : ""}${c.text ? "text " : ""}${c.from ?? ""}`}>{link && k === 0 ? <a href={link(row)}>{text}</a> : c.num && typeof text === "number" ? n(text) : text}</td>;
      })}</tr>)}</tbody></table></div>
    {files && <Files name={name} columns={columns} rows={rows} />}</>;
}
export function Files({ name, columns, rows }) {
  return <p class="files quiet">{n(rows.length)} shown, as{" "}
    <button class="plain" onClick={() => save(`${name}.csv`, "text/csv", toCsv(columns, rows))}>CSV</button>{" "}
    <button class="plain" onClick={() => save(`${name}.json`, "application/json", JSON.stringify(rows, null, 1))}>JSON</button></p>;
}

// What has just happened, said at the top of the page: the button that did it may be gone by then.
export const notice = { text: "", show: () => {} };
export const say = (text) => { notice.text = text; notice.show(text); };

// A button that says in its dialogue what will happen. `act` returns what has happened, in words.
export function Act({ label, title, says, typed, act, done, danger, once, children }) {
  const dialog = useRef(), [state, set] = useState({}), [text, setText] = useState("");
  const open = () => { set({}); setText(""); dialog.current.showModal(); };
  const run = async (event) => {
    event.preventDefault();
    set({ busy: true });
    try {
      say(await act(event.target) ?? "Done.");
      dialog.current?.close();
      done?.();
    } catch (error) { set({ error }); }
  };
  return <><button class={danger ? "danger" : ""} onClick={open} data-act={label}>{label}</button>
    <dialog ref={dialog} aria-label={title ?? label}><form method="dialog" onSubmit={run}>
      <h2>{title ?? label}</h2><div>{says}</div>{children}
      {typed && <label>Type {typed} to go on <input value={text} onInput={(e) => setText(e.currentTarget.value)} /></label>}
      {state.error && <Problem error={state.error} acted once={once} />}
      <p class="row"><button type="submit" class={danger ? "danger" : "main"} disabled={state.busy || (typed && text !== String(typed))}>{title ?? label}</button>
        <button type="button" onClick={() => dialog.current.close()}>Leave it</button></p>
    </form></dialog></>;
}

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const dark = matchMedia("(prefers-color-scheme: dark)");

// points: [[x], [y], ...]; series: [{label, color}]. The canvas is for eyes; the caption and the
// files say the same.
export function Chart({ points, series, caption, name }) {
  const at = useRef(), plot = useRef();
  useEffect(() => {
    const times = (_, splits, __, ___, step) => splits.map((x) => { const d = new Date(x * 1000); return step >= 86400 ? day(d).slice(5) : clock(d); });
    const axis = { stroke: () => css("--quiet"), grid: { stroke: () => css("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    const frame = at.current.parentNode, width = () => Math.min(720, frame.clientWidth);
    plot.current = new uPlot({ width: width(), height: 140, legend: { show: false }, cursor: { show: false }, axes: [{ ...axis, values: times }, { ...axis, size: 44 }],
      series: [{}, ...series.map((s) => ({ stroke: () => css(s.color), width: 1.5, dash: s.dash, points: { show: points[0].length < 3 } }))] }, points, at.current);
    const again = () => plot.current.redraw(false);
    const size = new ResizeObserver(() => plot.current.setSize({ width: width(), height: 140 }));
    size.observe(frame);
    dark.addEventListener("change", again);
    return () => { size.disconnect(); dark.removeEventListener("change", again); plot.current.destroy(); };
  }, [series.length]);
  useEffect(() => plot.current.setData(points), [points]);
  const columns = [{ label: "time", value: (i) => new Date(points[0][i] * 1000).toISOString() }, ...series.map((s, k) => ({ label: s.label, value: (i) => points[k + 1][i] }))];
  return <figure class="chart"><div ref={at} aria-hidden="true" />
    <figcaption class="quiet">{series.map((s) => <span key={s.label}><i style={{ borderTop: `2px ${s.dash ? "dashed" : "solid"} var(${s.color})` }} class="key" /> {s.label} </span>)}{caption}</figcaption>
    <Files name={name} columns={columns} rows={points[0].map((_, i) => i)} /></figure>;
}

// rows x columns of numbers; as a table while it is small, on a canvas beyond, with its numbers.
export function Heat({ caption, rows, columns, of, link }) {
  let top = 1;
  for (const r of rows) for (const c of columns) top = Math.max(top, of(r, c) ?? 0);
  const shade = (v) => (0.08 + (0.37 * v) / top).toFixed(2);
  if (rows.length * columns.length > 1500) return <HeatCanvas {...{ caption, rows, columns, of, top }} />;
  return <div class="scroll" role="region" aria-label={caption} tabIndex={0}><table class="heat"><caption class="sr">{caption}</caption>
    <thead><tr><td />{columns.map((c) => <th key={c.id} scope="col" title={c.name}>{c.name}</th>)}</tr></thead>
    <tbody>{rows.map((r) => <tr key={r.id}><th scope="row"><a href={link(r)}>{r.name}</a></th>{columns.map((c) => {
      const v = of(r, c);
      return <td key={c.id} class="num" style={v ? { background: `rgba(var(--heat), ${shade(v)})` } : undefined}>{v ? n(v) : v === 0 ? "·" : ""}</td>;
    })}</tr>)}</tbody></table></div>;
}
function HeatCanvas({ caption, rows, columns, of, top }) {
  const at = useRef(), w = 44, h = 18, left = 180;
  useEffect(() => {
    const canvas = at.current, draw = canvas.getContext("2d"), scale = devicePixelRatio || 1;
    const paint = () => {
      canvas.width = (left + w * columns.length) * scale;
      canvas.height = (h * (rows.length + 1)) * scale;
      draw.scale(scale, scale);
      draw.font = "11px system-ui";
      draw.textBaseline = "middle";
      draw.fillStyle = css("--ink");
      columns.forEach((c, k) => draw.fillText(c.name.slice(0, 7), left + w * k, h / 2, w - 2));
      rows.forEach((r, i) => {
        draw.fillStyle = css("--ink");
        draw.fillText(r.name, 0, h * (i + 1.5), left - 4);
        columns.forEach((c, k) => {
          const v = of(r, c);
          if (!v) return;
          draw.fillStyle = `rgba(${css("--heat")}, ${0.08 + (0.37 * v) / top})`;
          draw.fillRect(left + w * k, h * (i + 1), w - 1, h - 1);
          draw.fillStyle = css("--ink");
          draw.fillText(n(v), left + w * k + 3, h * (i + 1.5), w - 4);
        });
      });
    };
    paint();
    dark.addEventListener("change", paint);
    return () => dark.removeEventListener("change", paint);
  });
  return <div class="scroll" role="region" aria-label={caption} tabIndex={0}><canvas ref={at} role="img" aria-label={`${caption}: ${rows.length} by ${columns.length}; the list below has the numbers`} style={{ width: `${left + w * columns.length}px` }} /></div>;
}
