// The address is the state: #/c/17/tasks?state=failed. Nothing else is remembered.
import { useEffect, useState } from "preact/hooks";

export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#/, "").split("?");
  return { parts: path.split("/").filter(Boolean).map(decodeURIComponent), query: Object.fromEntries(new URLSearchParams(query)) };
}
export function link(parts, query = {}) {
  const kept = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "" && value != null));
  const text = kept.toString();
  return `#/${[].concat(parts).map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}
export const go = (parts, query) => { location.hash = link(parts, query); };
// Changes some of the query, in place: going back leads to the view before, not to each key.
export function change(some) {
  const { parts, query } = parse(location.hash);
  history.replaceState(null, "", link(parts, { ...query, ...some }));
  dispatchEvent(new HashChangeEvent("hashchange"));
}
export function useRoute() {
  const [, again] = useState(0);
  useEffect(() => {
    const on = () => again((x) => x + 1);
    addEventListener("hashchange", on);
    return () => removeEventListener("hashchange", on);
  }, []);
  return parse(location.hash);
}
