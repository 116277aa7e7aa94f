// #/api - what can programs ask here? The API's own description of itself, read by people.
import { base, useData } from "./api.js";
import { Shown, Table } from "./parts.jsx";
import { change, useRoute } from "./route.js";

// A schema in one line, as src/api/openapi has it.
function short(schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.anyOf) return schema.anyOf.map(short).join(" | ");
  if (schema.type === "array") return `[${short(schema.items)}]`;
  if (schema.additionalProperties) return `{* ${short(schema.additionalProperties)}}`;
  if (schema.properties) {
    const fields = Object.entries(schema.properties).map(([name, s]) => `${name}${schema.required?.includes(name) ? "" : "?"} ${short(s)}`);
    return `{${fields.join(", ")}}`;
  }
  return { integer: "int", string: "text", boolean: "bool" }[schema.type] ?? schema.type ?? "any";
}
const content = (holder) => Object.entries(holder?.content ?? {}).map(([kind, c]) => (kind === "application/json" ? short(c.schema) : kind)).join(", ");
const rowsOf = (document) => Object.entries(document.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, o]) => {
  const [status, answer] = Object.entries(o.responses).find(([code]) => code !== "default") ?? ["", {}];
  const query = (o.parameters ?? []).filter((p) => p.in === "query").map((p) => p.name);
  return { route: `${method.toUpperCase()} ${path}${query.length ? `?${query.join("&")}` : ""}`, summary: o.summary, who: o["x-access"], sent: content(o.requestBody), status, answer: content(answer) };
}));

export function Routes() {
  const { query } = useRoute(), list = useData("/openapi.json"), words = (query.q ?? "").toLowerCase();
  const rows = list.data ? rowsOf(list.data).filter((r) => `${r.route} ${r.summary}`.toLowerCase().includes(words)) : [];
  return <><div class="row"><h2>API</h2><label>with <input defaultValue={query.q} onInput={(e) => change({ q: e.currentTarget.value })} size={16} /></label>
    <a href={`${base}/openapi.json`}>OpenAPI {list.data?.openapi}</a></div>
    <Shown of={list} what="the routes" empty={rows.length === 0 && <p>No route has these words.</p>}><Table name="api" caption="Routes" rows={rows} columns={[
      { key: "route", label: "route" }, { key: "summary", label: "what" }, { key: "who", label: "who" },
      { key: "sent", label: "is sent", text: true, from: "wide" }, { key: "status", label: "status", num: true }, { key: "answer", label: "answers", text: true, from: "middle" }]} />
    <h2>Types</h2><Table name="types" caption="Types" rows={Object.entries(list.data?.components.schemas ?? {}).map(([name, s]) => ({ name, is: short(s) }))} columns={[{ key: "name", label: "type" }, { key: "is", label: "is", text: true }]} /></Shown></>;
}
