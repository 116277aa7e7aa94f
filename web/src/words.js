// Numbers, times and addresses as readers see them.
export const n = (x) => (x == null ? "-" : Math.round(x).toLocaleString("en").replaceAll(",", "\u202f"));
export const few = (x, digits = 1) => (x == null ? "-" : x >= 100 ? n(x) : x.toFixed(digits));
export const percent = (x) => (x == null ? "-" : `${(100 * x).toFixed(1)} %`);
export const many = (x, one, more = `${one}s`) => `${n(x)} ${x === 1 ? one : more}`;

export function duration(s) {
  if (s == null) return "-";
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60]]) if (s >= 2 * size) return `${few(s / size, s < 10 * size ? 1 : 0)} ${unit}`;
  return `${s >= 10 ? Math.round(s) : few(s)} s`;
}

const two = (x) => String(x).padStart(2, "0");
export const day = (d) => `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
export const clock = (d) => `${two(d.getHours())}:${two(d.getMinutes())}`;
// PostgreSQL writes "2026-11-22 16:00:28.5+00".
export const toDate = (t) => (typeof t === "number" ? new Date(t * 1000) : new Date(String(t).replace(" ", "T").replace(/([+-]\d\d)$/, "$1:00")));
export function when(t) {
  if (t == null) return "-";
  const d = toDate(t);
  return day(d) === day(new Date()) ? clock(d) : `${day(d)} ${clock(d)}`;
}
export function between([low, high]) {
  const a = when(low), b = when(high);
  return a === b ? `about ${a}` : a.slice(0, 10) === b.slice(0, 10) && a.length > 5 ? `${a} - ${b.slice(11)}` : `${a} - ${b}`;
}
