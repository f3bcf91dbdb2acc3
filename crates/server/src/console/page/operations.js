// Rebalance, repair, backups, nodes: how far they are, and what to do about them.

import * as ask from "./ask.js";
import { byId, bytes, colour, el, grid, meter, number, plural, show, span } from "./elements.js";

const PLANNED = 50;

// The most that had to be done since this page looks, for a bar.
let most = 0;

export async function operations(cluster, isSignedIn, act) {
  repair(cluster);
  nodes(cluster);
  await rebalance(isSignedIn, act);
  await backup(cluster, isSignedIn, act);
}

async function rebalance(isSignedIn, act) {
  const it = ask.pairs(await ask.run(["REBALANCE", "STATUS"]));
  const left = it.copies + it.primaries;
  most = left + it.learning === 0 ? 0 : Math.max(most, left);
  const isPaused = it.moves === "paused";
  const pill = byId("rebalance-state");
  pill.textContent = isPaused ? "paused" : left + it.learning ? "moving" : "even";
  pill.className = `pill ${isPaused ? "warn" : left + it.learning ? "busy" : "good"}`;
  const verb = isPaused ? "RESUME" : "PAUSE";
  show(byId("rebalance"),
    el("p", {}, left + it.learning === 0 ? "Every brick holds its share." : `${plural(it.copies, "copy has", "copies have")} to move (${bytes(it.bytes)}), ${plural(it.primaries, "primary", "primaries")} to go over; ${plural(it.learning, "copy is", "copies are")} being made now.`),
    most > 0 && meter(1 - left / most, "How far the rebalance is"),
    isSignedIn
      ? el("div", { class: "row" }, el("button", { type: "button", class: isPaused ? "" : "quiet", onclick: () => act(["REBALANCE", verb], isPaused ? "Let moves begin again?" : "Begin no more moves?", isPaused ? "Partitions move a few at a time, while clients go on." : "Copies that are missing are made all the same.", isPaused ? "Resume" : "Pause") }, isPaused ? "Resume moves" : "Pause moves"))
      : el("p", { class: "note" }, "Sign in to pause or resume."));
  const planned = await ask.run(["REBALANCE", "PLAN"]);
  const rows = planned.slice(0, PLANNED).map(ask.pairs).map((move) => [move.table, number(move.partition), move.kind, move.from || "–", move.to || "–", bytes(move.bytes)]);
  show(byId("plan"), grid(["Table", ["Partition", "right"], "What", "From", "To", ["Size", "right"]], rows, "Nothing."),
    planned.length > PLANNED && el("p", { class: "note" }, `The first ${PLANNED} of ${number(planned.length)}.`));
}

function repair(cluster) {
  const { missing, most: worst, for_ms: since, left_ms: left } = cluster.copies;
  show(byId("repair"), missing
    ? [el("p", {}, `${plural(missing, "copy is", "copies are")} missing, ${number(worst)} at most, since ${span((since || 0) / 1000)}. ${left ? `${span(left / 1000)} more at this pace.` : "None has come back in the last while."}`), meter(1 - missing / Math.max(worst, 1), "How far the repair is")]
    : el("p", {}, "No copy is missing."));
}

async function backup(cluster, isSignedIn, act) {
  const saved = await ask.run(["LASTSAVE"]);
  const parts = [
    el("p", {}, `Everything up to ${new Date(saved * 1000).toLocaleString()} is known to be synced on this node (${span(Date.now() / 1000 - saved)} ago).`),
  ];
  const how = el("p", { class: "note" }, "A backup is made by ", el("code", {}, "brickyard backup create PLACE --table NAME"), ", while the table is used.");
  if (!isSignedIn) {
    show(byId("backup"), parts, el("p", { class: "note" }, "Sign in to see which backups run."), how);
    return;
  }
  parts.push(el("div", { class: "row" }, el("button", { type: "button", class: "quiet", onclick: () => act(["SAVE"], "Make a checkpoint?", "Of every brick of this node the log's active segment is sealed, and everything is synced.", "Checkpoint") }, "Checkpoint this node")));
  const running = (await ask.run(["CLIENT", "LIST"])).split("\n").map(fields).filter((it) => it.cmd === "table|export");
  parts.push(el("h3", {}, "Backups that read from this node"));
  const rows = running.map((it) => {
    const table = cluster.tables.find((table) => table.name === it.table);
    const sent = Number(it["tot-net-out"]);
    const share = table?.memory_bytes ? sent / table.memory_bytes : 0;
    return [it.addr, it.table, span(it.age), [meter(share, "How much of the table was read"), bytes(sent)]];
  });
  parts.push(grid(["By", "Table", "Since", "Read"], rows, "None runs."));
  const { is_configured: canBegin, last } = await ask.backups();
  show(byId("backup"), parts, canBegin ? [begin(cluster, last, act), outcome(last)] : how);
}

// The table that is chosen stays so while the page draws itself anew.
let chosen = null;

function begin(cluster, last, act) {
  const names = cluster.tables.map((it) => it.name).sort();
  if (!names.includes(chosen)) chosen = names[0];
  const choice = el("select", { id: "backup-table", onchange: () => { chosen = choice.value; } }, names.map((name) => el("option", { value: name, selected: name === chosen }, name)));
  const isRunning = Boolean(last) && !last.ended_ms;
  const go = () => act(() => ask.backUp(chosen), `Back up ${chosen}?`, "This node makes a backup where its console_backup says, while the table is used.", "Back up");
  return el("div", { class: "row" }, el("label", { class: "inline" }, "Table ", choice), el("button", { type: "button", id: "backup-begin", disabled: isRunning, onclick: go }, "Back up now"));
}

function outcome(it) {
  if (!it) return el("p", { class: "note" }, "None was begun here since this node started.");
  const [state, kind] = !it.ended_ms ? ["running", "busy"] : it.is_made ? ["made", "good"] : ["failed", "bad"];
  const far = !it.ended_ms && /^(\d+) of (\d+) partitions/.exec(it.said || "");
  return el("div", { id: "backup-last" },
    el("p", {}, el("span", { class: `pill ${kind}` }, state), ` ${it.table}, by ${it.user}, ${it.ended_ms ? `in ${span((it.ended_ms - it.begun_ms) / 1000)}` : `since ${span((Date.now() - it.begun_ms) / 1000)}`}`),
    far && meter(Number(far[1]) / Number(far[2]), "How far the backup is"),
    it.said && el("p", { class: it.is_made === false ? "fault" : "note" }, it.said));
}

const fields = (line) => Object.fromEntries(line.split(" ").map((it) => [it.slice(0, it.indexOf("=")), it.slice(it.indexOf("=") + 1)]));

function nodes(cluster) {
  const now = Date.now();
  const rows = cluster.nodes.map((node) => {
    const sum = (name) => node.bricks.reduce((all, it) => all + it[name], 0);
    const count = (name) => node.bricks.reduce((all, it) => all + (it.figures?.[name] || 0), 0);
    return [
      el("span", { class: "key" }, el("i", { vars: { "--c": colour(node.node) } }), String(node.node)),
      el("span", { class: `pill ${node.state === "up" ? "good" : node.state === "down" ? "bad" : "warn"}` }, node.state === "silent" ? "no answer" : node.state, node.isLeader ? ", leads" : ""),
      node.http_port && !node.isMe ? el("a", { href: `${location.protocol}//${node.host.includes(":") ? `[${node.host}]` : node.host}:${node.http_port}/console/`, rel: "noreferrer" }, `${node.host}:${node.port}`) : `${node.host}:${node.port}`,
      node.zone || "–", number(node.weight), node.roles?.join ? node.roles.join(", ") : String(node.roles ?? "–"),
      number(sum("primaries")), number(sum("copies")), number(sum("learning")),
      node.figures ? number(count("connections")) : "–", node.figures ? bytes(node.figures.resident) : "–", node.figures ? bytes(count("log_bytes")) : "–",
      node.figures?.started_ms ? span((now - node.figures.started_ms) / 1000) : node.why || "–", node.figures?.version || "–",
    ];
  });
  show(byId("node-list"), grid(["Node", "State", "Address", "Zone", ["Weight", "right"], "Roles", ["Led", "right"], ["Copies", "right"], ["Learning", "right"], ["Clients", "right"], ["Memory", "right"], ["Log", "right"], "Up for", "Version"], rows, "None."));
}
