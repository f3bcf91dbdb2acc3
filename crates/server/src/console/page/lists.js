// Tables, hot and big keys, the slow log.
//
// In:  replies of commands. Out: lists. A list that the user may not have says why.

import * as ask from "./ask.js";
import { byId, bytes, choices, el, grid, micros, number, plural, show, span } from "./elements.js";

const EACH = 50;
const DESCRIBED_MAX = 100;

// Asks for the names of tables, and offers them wherever one is chosen.
export async function tableNames() {
  const names = (await ask.run(["TABLE", "LIST"])).map(ask.shown).sort();
  offer(names);
  return names;
}

export function offer(names) {
  for (const id of ["key-table", "hot-table"]) choices(byId(id), names);
}

export async function tables(cluster) {
  const place = byId("table-list");
  const names = await tableNames();
  const own = new Map(cluster.tables.map((it) => [it.name, it]));
  const rows = [];
  for (const name of names.slice(0, DESCRIBED_MAX)) {
    const it = ask.pairs(await ask.run(["TABLE", "DESCRIBE", name]));
    const states = own.get(name)?.partition_states || {};
    const missing = (states.short || 0) + (states.under_replicated || 0);
    const moving = (states.learning || 0) + (states.changing || 0);
    const how = it.state !== "online" ? it.state : missing ? `${plural(missing, "partition")} under-replicated` : moving ? `${plural(moving, "partition")} on the move` : "in sync";
    rows.push([
      el("a", { href: `#keys/${encodeURIComponent(name)}` }, name),
      el("span", { class: `pill ${missing || it.state !== "online" ? "warn" : moving ? "busy" : "good"}` }, how),
      number(it.keys), bytes(it.memory), number(it.partitions), `${it.replicas}${it.copies === "auto" ? " (auto)" : ""}`, it.durability, it.medium, it.maxmemory ? bytes(it.maxmemory) : "–", it.from ? `${it.hash}, ${it.from} to ${it.to}` : it.hash, it.placement,
    ]);
  }
  show(place, grid(["Table", "State", ["Keys", "right"], ["Memory", "right"], ["Partitions", "right"], ["Replicas", "right"], "Durability", "Medium", ["Bound", "right"], "Hash", "Placement"], rows, "There are no tables that this user may see."),
    names.length > DESCRIBED_MAX && el("p", { class: "note" }, `The first ${DESCRIBED_MAX} of ${names.length}.`));
}

export async function hotAndBig() {
  await tableNames();
  const table = byId("hot-table").value;
  if (!table) return;
  const list = async (verb, id, unit, format, empty) => {
    const place = byId(id);
    try {
      const found = await ask.run(["TABLE", verb, table, "COUNT", EACH]);
      const most = Math.max(1, ...found.map((it) => it[1]));
      const rows = found.map(([key, figure]) => [el("code", {}, ask.shown(key)), el("div", { class: "meter thin" }, el("span", { vars: { "--part": `${(figure / most) * 100}%` } })), format(figure)]);
      show(place, grid(["Key", "", [unit, "right"]], rows, empty));
    } catch (error) {
      show(place, el("p", { class: "fault" }, error.message));
    }
  };
  await list("HOTKEYS", "hot-list", "Commands/s", number, "No key stands out.");
  await list("BIGKEYS", "big-list", "Size", bytes, "No key has been passed yet.");
}

export async function slow(cluster) {
  const bricks = cluster.me ? cluster.me.bricks.length : 1;
  const entries = [];
  let missing = 0;
  let first = null;
  for (let brick = 0; brick < bricks; brick += 1) {
    try {
      for (const [id, at, took, words, from] of await ask.run(["SLOWLOG", "GET", EACH], { brick })) entries.push({ brick, id, at, took, words, from });
    } catch (error) {
      missing += 1;
      first = first || error;
    }
  }
  if (missing === bricks && first) throw first;
  entries.sort((a, b) => b.at - a.at || b.took - a.took);
  const now = Date.now() / 1000;
  const rows = entries.slice(0, 4 * EACH).map((it) => [`${span(now - it.at)} ago`, micros(it.took), String(it.brick), el("code", {}, it.words.map(ask.shown).join(" ")), ask.shown(it.from)]);
  byId("slow-note").textContent = `of this node's ${plural(bricks, "brick")}${missing ? `, without ${missing} that did not tell` : ""}`;
  show(byId("slow-list"), grid(["When", ["Took", "right"], ["Brick", "right"], "Command", "From"], rows, "No command was slow. slowlog-log-slower-than says from when one is."));
}
