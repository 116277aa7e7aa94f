// Requests to the API, and data that stays fresh while somebody looks at it.
import { useEffect, useRef, useState } from "preact/hooks";

export const base = document.querySelector('meta[name="cigri-base"]').content;

// A token lives as long as the tab. A proxy or the unix socket names the user without one.
export const token = {
  get: () => sessionStorage.getItem("cigri-token"),
  set: (text) => (text ? sessionStorage.setItem("cigri-token", text) : sessionStorage.removeItem("cigri-token")),
};

export class Refused extends Error {
  constructor(status, body) {
    super(body.message ?? `the server answered ${status}`);
    Object.assign(this, { status, hint: body.hint ?? "", faults: body.faults ?? [] });
  }
}

// When the API answered last: the head of the page shows its age.
export const heard = { at: 0, failed: "" };

export async function ask(method, path, body, options = {}) {
  const headers = { Accept: "application/json", ...options.headers };
  if (options.seen?.tag) headers["If-None-Match"] = options.seen.tag;
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  if (text !== undefined) headers["Content-Type"] ??= "application/json";
  let response;
  try {
    response = await fetch(base + path, { method, headers, body: text, cache: "no-store", signal: options.signal });
  } catch (error) {
    if (error.name !== "AbortError") heard.failed = "the API does not answer";
    throw error;
  }
  heard.failed = "";
  heard.at = Date.now();
  if (response.status === 304) return undefined; // as it was
  if (options.raw && response.ok) return response.blob();
  const answer = await response.text();
  let json = {};
  try { json = JSON.parse(answer); } catch { /* a proxy's own page */ }
  if (!response.ok) throw new Refused(response.status, json);
  if (options.seen) options.seen.tag = response.headers.get("ETag");
  return json;
}
export const get = (path, signal) => ask("GET", path, undefined, { signal });

// Who looks away needs no news: a hidden tab asks nothing, one without key or mouse for 30 minutes
// asks every 30 s.
let touched = Date.now();
for (const kind of ["keydown", "pointermove", "pointerdown"]) addEventListener(kind, () => { touched = Date.now(); }, { passive: true });
export const idle = () => Date.now() - touched > 30 * 60e3;

const wait = 8000; // ms that a request may wait at the API: short enough to see that it is alive
const stuck = 40; // s after which an answer is not to be expected any more
const waiting = (path) => `${path}${path.includes("?") ? "&" : "?"}wait=${wait}`;

// The answer of GET `path`, and the number of its version. What was known stays while the API does
// not answer.
//   live: S     one request waits at the API until the answer changes, the next one S seconds later
//   on: X       asked again when X changes, `every` seconds after the last time at the earliest
//   poll: S     asked every S seconds: only for what the API itself cannot be told
export function useData(path, { live = 0, on, every = 10, poll = 0 } = {}) {
  const [state, set] = useState({ path, version: 0 }), loop = useRef({ again: () => {}, later: () => {} });
  useEffect(() => {
    if (!path) return undefined;
    const seen = {};
    let control = new AbortController(), timer, began = 0, busy = false, ended = false, dirty = false;
    const later = (seconds, mayWait) => { clearTimeout(timer); if (!ended && !document.hidden) timer = setTimeout(() => run(mayWait), seconds * 1000); };
    const run = async (mayWait) => {
      clearTimeout(timer);
      control.abort();
      const { signal } = control = new AbortController();
      began = Date.now();
      busy = true;
      dirty = false;
      later(stuck, false);
      let pause = live || poll;
      try {
        const data = await ask("GET", mayWait ? waiting(path) : path, undefined, { signal, seen });
        if (data !== undefined) set((now) => ({ path, data, version: now.version + 1 }));
        else set((now) => (now.error ? { path, data: now.data, version: now.version } : now));
      } catch (error) {
        if (signal.aborted) return;
        set((now) => ({ path, data: now.path === path ? now.data : undefined, error, version: now.version }));
        seen.tag = undefined;
        pause &&= Math.max(pause, 5);
      }
      if (signal.aborted) return;
      busy = false;
      clearTimeout(timer);
      if (pause) later(idle() ? 30 : pause, live > 0);
      else if (dirty) later(every, false);
    };
    const shown = () => { if (document.hidden) { control.abort(); clearTimeout(timer); } else run(false); };
    loop.current.again = () => run(false);
    loop.current.later = () => { if (busy) dirty = true; else later(Math.max(0, began / 1000 + every - Date.now() / 1000), false); };
    run(false);
    document.addEventListener("visibilitychange", shown);
    return () => { ended = true; control.abort(); clearTimeout(timer); document.removeEventListener("visibilitychange", shown); };
  }, [path, live, poll]);
  const first = useRef(true);
  useEffect(() => { if (first.current) first.current = false; else loop.current.later(); }, [on]);
  return { version: state.version, ...(state.path === path ? state : {}), again: () => loop.current.again() };
}
