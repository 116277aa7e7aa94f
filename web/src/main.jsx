// The head, the log-in, the keys, and which view an address has.
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get, heard, idle, token, useData } from "./api.js";
import { Campaign } from "./campaign.jsx";
import { Mine } from "./mine.jsx";
import { Routes } from "./routes.jsx";
import { Audit, Grid, Incidents, Rules, Shares, WhatIf } from "./operator.jsx";
import { Problem, notice, say } from "./parts.jsx";
import { go, link, parse, useRoute } from "./route.js";
import { Submit } from "./submit.jsx";
import { Task } from "./task.jsx";
import { clock, day } from "./words.js";

// parts of the address -> a view. `operator`: absent for everybody else.
const views = [
  { at: [], name: "Campaigns", key: "m", show: Mine },
  { at: ["new"], name: "Submit", key: "n", show: Submit },
  { at: ["grid"], name: "Grid", key: "g", show: Grid, operator: true },
  { at: ["shares"], name: "Shares", key: "s", show: Shares, operator: true },
  { at: ["whatif"], name: "What if", key: "w", show: WhatIf, operator: true },
  { at: ["incidents"], name: "Incidents", key: "e", show: Incidents, operator: true },
  { at: ["rules"], name: "Rules", key: "r", show: Rules, operator: true },
  { at: ["api"], name: "API", key: "p", show: Routes },
  { at: ["audit"], name: "Audit", key: "a", show: Audit, operator: true },
];

function viewOf(parts, me) {
  if (parts[0] === "c" && parts[2] === "t") return <Task campaign={parts[1]} index={parts[3]} />;
  if (parts[0] === "c" && parts.length >= 2) return <Campaign id={parts[1]} me={me} />;
  const view = views.find((v) => (v.at[0] ?? "") === (parts[0] ?? "") && (!v.operator || me.operator));
  return view ? <view.show me={me} parts={parts} /> : <p>Nothing is at this address. <a href="#/">Campaigns</a></p>;
}

// Fresh or not: never stale numbers that look fresh.
function Live() {
  const [, tick] = useState(0);
  useEffect(() => { const t = setInterval(() => tick((x) => x + 1), 1000); return () => clearInterval(t); }, []);
  const age = heard.at ? Math.round((Date.now() - heard.at) / 1000) : 0, old = heard.failed !== "" || age > (idle() ? 45 : 20);
  return <span class="live"><span role="status" class={old ? "bad" : "good"}>{old ? "no news" : "live"}</span>{old && <span class="bad"> for {age} s</span>}</span>;
}

// Stays until something else happens, or the reader goes elsewhere.
function Notice() {
  const [text, set] = useState(notice.text);
  useEffect(() => { notice.show = set; return () => { notice.show = () => {}; }; }, []);
  return <p role="status" class="notice">{text}</p>;
}

function LogIn({ done }) {
  const [error, set] = useState(null), [text, setText] = useState("");
  const enter = async (event) => {
    event.preventDefault();
    token.set(text.trim());
    try {
      const me = await get("/me");
      if (me.user) return done();
      set({ message: "The API does not know this token", status: 403, hint: "tokens expire and are revoked; gridadmin token add makes one" });
    } catch (problem) { set(problem); }
    token.set("");
    return undefined;
  };
  return <main><h2>You are nobody here</h2>
    <p>The page shows what the API lets you see, and it does not know who you are. Any of these tells it:</p>
    <form onSubmit={enter} class="row"><label>Token <input type="password" autocomplete="off" value={text} onInput={(e) => setText(e.currentTarget.value)} /></label><button class="main">Log in</button></form>
    {error && <Problem error={error} />}
    <p class="quiet">An operator makes a token: <code>gridadmin token add USER</code>. This tab forgets it when it is closed.</p>
    <p class="quiet">With an account on the grid's host: <code>ssh -L 8080:/path/of/api.sock HOST</code>, then open <code>http://localhost:8080/</code>. No token is needed.</p>
    <p class="quiet">Your site may have an address of this page with its own log-in.</p></main>;
}

const keys = [["/", "find"], ["j k", "next and previous row"], ["Enter", "open the row"], ["u", "up"], ["g m", "campaigns"], ["n", "submit"], ["r", "run failed tasks again"], ["h", "hold or resume"], ["?", "this list"], ["Esc", "close"]];
function useKeys(me, help) {
  useEffect(() => {
    let before = "";
    const on = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("input, textarea, select") || document.querySelector("dialog[open]")) return;
      const pressed = before + event.key, rows = [...document.querySelectorAll("tr[data-row]")], at = rows.findIndex((r) => r.classList.contains("at"));
      before = event.key === "g" ? "g " : "";
      const view = views.find((v) => (pressed === `g ${v.key}` || (v.key === "n" && pressed === "n")) && (!v.operator || me?.operator));
      const act = (label) => [...document.querySelectorAll("button[data-act]")].find((b) => label.test(b.dataset.act))?.click();
      const doing = view ? () => go(view.at) : {
        "/": () => document.querySelector("input[type=search]")?.focus(),
        "?": () => help.current?.showModal(),
        u: () => go(parse(location.hash).parts.slice(0, parse(location.hash).parts[2] === "t" ? 2 : 0)),
        j: () => move(rows, at, 1), k: () => move(rows, at, -1),
        Enter: () => at >= 0 && !event.target.matches("a, button, summary") && rows[at].dataset.href && (location.hash = rows[at].dataset.href),
        r: () => act(/^Run .*again/), h: () => act(/^(Hold|Resume)/),
      }[pressed];
      if (!doing) return;
      if (event.key !== "Enter") event.preventDefault();
      doing();
    };
    addEventListener("keydown", on);
    return () => removeEventListener("keydown", on);
  }, [me]);
}
function move(rows, at, step) {
  if (!rows.length) return;
  rows[at]?.classList.remove("at");
  const row = rows[Math.max(0, Math.min(rows.length - 1, at + step))];
  row.classList.add("at");
  row.scrollIntoView({ block: "nearest" });
}

function Page() {
  const { parts, query } = useRoute(), help = useRef(), who = useData("/me", { live: 10 }), me = who.data;
  useKeys(me, help);
  useEffect(() => () => say(""), [parts.join("/")]);
  useEffect(() => { document.title = `CiGri ${parts.join(" ")}`.trim(); }, [parts.join("/")]);
  const find = (event) => { event.preventDefault(); go([], { ...query, q: new FormData(event.target).get("q"), from: "" }); };
  const leave = () => { token.set(""); who.again(); };
  return <>
    <header><h1>CiGri <span class="quiet">{location.hostname}</span></h1>
      {me?.user && <><nav aria-label="Views">{views.filter((v) => !v.operator || me.operator).map((v) => <a key={v.name} href={link(v.at)} aria-current={(parts[0] ?? "") === (v.at[0] ?? "") ? "page" : undefined}>{v.name}</a>)}</nav>
        <form onSubmit={find} role="search"><label>find <input type="search" name="q" key={query.q} defaultValue={query.q} placeholder="/" size={12} /></label></form></>}
      <span class="who">{me?.user ? <>{me.user}{me.operator && <span class="quiet"> operator</span>}{token.get() && <> <button class="plain" onClick={leave}>log out</button></>}</> : ""} <Live /> <button class="plain" onClick={() => help.current.showModal()} aria-label="Keys">?</button></span></header>
    <Notice />
    {!me ? <main>{who.error ? <Problem error={who.error} again /> : ""}</main> : me.user ? <main key={parts.slice(0, 4).join("/")}>{viewOf(parts, me)}</main> : <LogIn done={who.again} />}
    <footer>{location.href} at {day(new Date())} {clock(new Date())}</footer>
    <dialog ref={help} aria-label="Keys"><h2>Keys</h2><dl class="keys">{keys.map(([k, what]) => <><dt><kbd>{k}</kbd></dt><dd>{what}</dd></>)}
      {views.filter((v) => v.operator && me?.operator).map((v) => <><dt><kbd>g {v.key}</kbd></dt><dd>{v.name.toLowerCase()}</dd></>)}</dl>
      <form method="dialog"><button>Close</button></form></dialog></>;
}
render(<Page />, document.getElementById("page"));
