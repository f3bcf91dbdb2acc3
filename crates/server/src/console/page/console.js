// The console: what is shown when, and who has signed in.
//
// In:  the node, asked every two seconds. Out: the page.
// Invariant: a node that does not answer is said to be so at once, and what is shown then is said to be old.

import * as ask from "./ask.js";
import { Chart } from "./charts.js";
import { drawMap, drawPicture, health, model, motion, pictureLegend } from "./cluster.js";
import { byId, bytes, choices, colour, el, micros, number, short, show, span } from "./elements.js";
import { History } from "./history.js";
import * as keys from "./keys.js";
import { hotAndBig, offer, slow, tableNames, tables } from "./lists.js";
import { operations } from "./operations.js";

const EVERY = 2000;
// What is asked by commands, and by looks at large maps, is asked less often.
const SLOWER = 4000;

const VIEWS = ["overview", "tables", "keys", "hot", "slow", "operations"];
const history = new History();
let cluster = null;
let partitions = null;
let user = null;
let heard = null;
let isFirst = true;
let slowerAt = 0;
let isAsking = false;

// Charts

const byNode = (of) => (points) => {
  const nodes = new Set(points.flatMap((it) => Object.keys(it.nodes).map(Number)));
  return [...nodes].sort((a, b) => a - b).map((node) => ({ name: `node ${node}`, colour: colour(node), of: (point) => of(point.nodes[node]) }));
};
const fixed = (...lines) => () => lines.map(([name, tone, of]) => ({ name, colour: tone, of }));
const percent = (value) => (value === null || value === undefined ? "–" : `${Math.round(value * 100)} %`);
const charts = [
  new Chart("Throughput", "commands a second, all nodes that answer", short, byNode((it) => it?.commands ?? null), { isStacked: true, least: 10 }),
  new Chart("Latency", "time in the brick, of commands on keys", micros, fixed(["p50", "var(--line-1)", (it) => it.latency?.[0] ?? null], ["p99", "var(--line-2)", (it) => it.latency?.[1] ?? null], ["p99.9", "var(--line-3)", (it) => it.latency?.[2] ?? null]), { isLog: true, least: 10 }),
  new Chart("Errors", "replies a second", short, fixed(["errors", "var(--line-2)", (it) => it.errors], ["refused: full or too busy", "var(--bad)", (it) => it.refused]), { least: 1 }),
  new Chart("Busiest brick", "part of a core that its loop takes", percent, byNode((it) => it?.busy ?? null), { least: 0.1 }),
];

// Views

function view() {
  const name = location.hash.slice(1).split("/")[0];
  return VIEWS.includes(name) ? name : "overview";
}

function open() {
  const now = view();
  for (const name of VIEWS) byId(name).hidden = name !== now;
  for (const link of document.querySelectorAll("nav.tabs a")) {
    if (link.getAttribute("href") === `#${now}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const table = location.hash.split("/")[1];
  if (now === "keys") {
    const find = () => {
      if (table) byId("key-table").value = decodeURIComponent(table);
      keys.find(true);
    };
    tableNames().then(find, find);
  }
  slowerAt = 0;
  draw();
  tick();
}

function draw() {
  if (!cluster) return;
  const [kind, words] = health(cluster);
  const pill = byId("health");
  pill.textContent = words;
  pill.className = `pill ${kind}`;
  byId("where").textContent = cluster.me ? `asked: node ${cluster.me.node}` : "";
  document.title = kind === "good" ? "Brickyard" : `${words} · Brickyard`;
  if (view() !== "overview") return;
  tiles();
  byId("motion").textContent = motion(cluster);
  drawPicture(byId("picture"), cluster, history.last);
  choices(byId("map-table"), cluster.tables.map((it) => it.name).sort());
  if (partitions) drawMap(byId("map"), byId("map-legend"), partitions, cluster);
  for (const chart of charts) chart.draw(history.points);
}

function tiles() {
  const last = history.last;
  const up = cluster.nodes.filter((it) => it.state === "up").length;
  const memory = cluster.nodes.reduce((sum, it) => sum + (it.figures?.resident || 0), 0);
  const clients = cluster.nodes.reduce((sum, it) => sum + it.bricks.reduce((all, brick) => all + (brick.figures?.connections || 0), 0), 0);
  const settled = cluster.partitions - cluster.short - cluster.under;
  const tile = (name, value, note, kind = "") => el("div", { class: `tile ${kind}` }, el("span", { class: "label" }, name), el("strong", {}, value), el("span", { class: "note" }, note));
  show(byId("tiles"),
    tile("Commands", last ? short(last.commands) : "–", "a second"),
    tile("p99", micros(last?.latency?.[1]), `p50 ${micros(last?.latency?.[0])}`),
    tile("Errors", last ? short(last.errors) : "–", "a second", last && last.refused > 0 ? "warn" : ""),
    tile("Nodes", `${up} / ${cluster.nodes.length}`, cluster.leader === null || cluster.leader === undefined ? "nobody leads" : `node ${cluster.leader} leads`, up < cluster.nodes.length ? "bad" : ""),
    tile("Partitions", number(cluster.partitions), settled < cluster.partitions ? `${number(cluster.partitions - settled)} lack copies` : "all with their copies", settled < cluster.partitions ? "warn" : ""),
    tile("Memory", bytes(memory), `${number(clients)} clients`));
}

// Asking

async function tick() {
  if (isAsking || document.hidden) return;
  isAsking = true;
  try {
    const answer = await ask.status();
    heard = Date.now();
    if (answer.status.nodes) {
      cluster = model(answer);
      history.add(heard, answer.nodes);
      offer(cluster.tables.map((it) => it.name).sort());
    } else {
      byId("health").textContent = `starting${answer.status.membership?.waits_for ? `: waits for ${answer.status.membership.waits_for}` : ""}`;
    }
    alarm(null);
    if (cluster && heard - slowerAt >= SLOWER) {
      slowerAt = heard;
      await further();
    }
    draw();
  } catch (error) {
    if (error.status === 401) {
      alarm(null);
      byId("health").textContent = "sign in to see the cluster";
      byId("health").className = "pill warn";
      cluster = null;
      if (isFirst) signIn();
    } else {
      alarm(error);
    }
  } finally {
    isFirst = false;
    isAsking = false;
  }
}

async function further() {
  const now = view();
  if (now === "overview") {
    const names = cluster.tables.map((it) => it.name).sort();
    choices(byId("map-table"), names);
    const chosen = byId("map-table").value || names[0];
    if (chosen) partitions = (await ask.map(chosen).catch(() => ({ partitions: null }))).partitions;
    return;
  }
  const works = { tables: () => tables(cluster), hot: hotAndBig, slow: () => slow(cluster), operations: () => operations(cluster, Boolean(user), act) }[now];
  const places = { tables: "table-list", hot: "hot-list", slow: "slow-list", operations: "rebalance" };
  if (!works) return;
  try {
    await works();
  } catch (error) {
    if (!(error instanceof ask.Refusal)) throw error;
    if (error.status === 401 && user) await who();
    show(byId(places[now]), el("p", { class: "fault" }, error.message));
  }
}

// Says that the node does not answer, since when, and who may.
function alarm(error) {
  const place = byId("alarm");
  document.body.classList.toggle("stale", Boolean(error));
  if (!error) {
    place.hidden = true;
    return;
  }
  const since = heard ? ` for ${span((Date.now() - heard) / 1000)}; what is below is of ${new Date(heard).toLocaleTimeString()}` : "";
  const others = cluster ? cluster.nodes.filter((it) => !it.isMe && it.http_port && it.state !== "down") : [];
  show(place, el("b", {}, "This node does not answer"), `${since}.`,
    others.length > 0 && [" Ask another one: ", others.map((it, at) => [at ? ", " : "", el("a", { href: `${location.protocol}//${it.host.includes(":") ? `[${it.host}]` : it.host}:${it.http_port}/console/` }, `node ${it.node}`)])]);
  place.hidden = false;
  byId("health").textContent = "no answer";
  byId("health").className = "pill bad";
  document.title = "No answer · Brickyard";
}

// Signing in

async function who() {
  try {
    const session = await ask.session();
    user = session.user;
  } catch {
    user = null;
  }
  byId("who").textContent = user ? user : "";
  byId("sign").textContent = user ? "Sign out" : "Sign in";
  keys.onSession(user);
}

function signIn() {
  byId("sign-in-fault").textContent = "";
  byId("sign-in-password").value = "";
  if (!byId("sign-in").open) byId("sign-in").showModal();
  byId("sign-in-password").focus();
}

byId("sign").addEventListener("click", async () => {
  if (!user) {
    signIn();
    return;
  }
  await ask.signOut().catch(() => null);
  await who();
  slowerAt = 0;
  tick();
});
byId("sign-in-cancel").addEventListener("click", () => byId("sign-in").close());
byId("sign-in-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const go = byId("sign-in-go");
  go.disabled = true;
  try {
    await ask.signIn(byId("sign-in-user").value, byId("sign-in-password").value);
    byId("sign-in-password").value = "";
    byId("sign-in").close();
    await who();
    slowerAt = 0;
    if (view() === "keys") open();
    tick();
  } catch (error) {
    byId("sign-in-fault").textContent = error.message;
  } finally {
    go.disabled = false;
  }
});

// Asks twice; whether the answer was yes.
function confirmed(title, text, verb) {
  byId("confirm-title").textContent = title;
  byId("confirm-text").textContent = text;
  byId("confirm-yes").textContent = verb;
  byId("confirm-yes").className = verb === "Delete" ? "danger" : "";
  const dialog = byId("confirm");
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }));
}

// Asks, and does it then: a command, or what a function does.
async function act(what, title, text, verb) {
  if (!(await confirmed(title, text, verb))) return;
  try {
    await (typeof what === "function" ? what() : ask.run(what, { isUse: true }));
    slowerAt = 0;
    tick();
  } catch (error) {
    await confirmed("That was refused", error.message, "Well");
  }
}

// Start

show(byId("charts"), charts.map((it) => it.card));
pictureLegend(byId("picture-legend"));
keys.start(confirmed);
byId("map-table").addEventListener("change", () => { slowerAt = 0; partitions = null; tick(); });
byId("hot-table").addEventListener("change", () => { slowerAt = 0; tick(); });
addEventListener("hashchange", open);
document.addEventListener("visibilitychange", tick);
new ResizeObserver(() => draw()).observe(byId("main"));
who().then(open);
setInterval(tick, EVERY);
