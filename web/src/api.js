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
  if (options.raw && response.ok) return response.blob();
  const answer = await response.text();
  let json = {};
  try { json = JSON.parse(answer); } catch { /* a proxy's own page */ }
  if (!response.ok) throw new Refused(response.status, json);
  return json;
}
export const get = (path, signal) => ask("GET", path, undefined, { signal });

// Who looks away needs no news: a hidden tab asks nothing, one without key or mouse for 30 minutes
// asks every 30 s.
let touched = Date.now();
for (const kind of ["keydown", "pointermove", "pointerdown"]) addEventListener(kind, () => { touched = Date.now(); }, { passive: true });
export const idle = () => Date.now() - touched > 30 * 60e3;

// The answer of GET `path`, asked again `every` seconds, and when `again` is called. What was known
// stays while the API does not answer.
export function useData(path, every = 0) {
  const [state, set] = useState({ path });
  const again = useRef(() => {});
  useEffect(() => {
    if (!path) return undefined;
    const control = new AbortController();
    let timer, busy = false;
    const run = async () => {
      clearTimeout(timer);
      if (busy) return;
      busy = true;
      try {
        const data = await get(path, control.signal);
        if (!control.signal.aborted) set({ path, data });
      } catch (error) {
        if (!control.signal.aborted) set((now) => ({ path, data: now.path === path ? now.data : undefined, error }));
      }
      busy = false;
      if (every && !control.signal.aborted && !document.hidden) timer = setTimeout(run, (idle() ? 30 : every) * 1000);
    };
    const shown = () => document.hidden || run();
    again.current = run;
    run();
    document.addEventListener("visibilitychange", shown);
    return () => { control.abort(); clearTimeout(timer); document.removeEventListener("visibilitychange", shown); };
  }, [path, every]);
  return { ...(state.path === path ? state : {}), again: () => again.current() };
}

// Calls `changed` when the numbers of campaign `path` have moved, at most once a second: one request
// waits at the API until they do.
export function useNews(path, changed) {
  const call = useRef(changed);
  call.current = changed;
  useEffect(() => {
    let control = new AbortController(), seen = "", timer, ended = false;
    const run = async () => {
      clearTimeout(timer);
      if (ended || document.hidden) return;
      control = new AbortController();
      const { signal } = control;
      let pause = 1;
      try {
        const news = await get(`${path}/progress?wait=${seen ? 25000 : 0}&seen=${encodeURIComponent(seen)}`, signal);
        if (seen && news.token !== seen) call.current();
        seen = news.token;
        if (news.over || idle()) pause = 30;
      } catch {
        if (signal.aborted) return;
        pause = 5;
      }
      if (!ended) timer = setTimeout(run, pause * 1000);
    };
    const shown = () => { control.abort(); run(); };
    run();
    document.addEventListener("visibilitychange", shown);
    return () => { ended = true; control.abort(); clearTimeout(timer); document.removeEventListener("visibilitychange", shown); };
  }, [path]);
}
