// The cluster: how it is, as a picture, and who leads which partition.
//
// In:  what /console/status says. Out: a model of it, and its drawings.

import { bytes, colour, el, number, plural, show, short, span, svg } from "./elements.js";

const CARD_LEAST = 250;
const CARD_MOST = 400;
const GAP = 22;
const HEAD = 62;
const ROW = 38;
const FOOT = 34;

// Below the nodes, for the arrows of what moves; beside them, where they stand below one another.
const LANE = 54;
const MARGIN = 34;

// Nodes, with what each brick has of all tables; what moves; what is missing.
export function model({ status, nodes: answers }) {
  const said = new Map(answers.map((it) => [it.node, it]));
  const member = status.membership || {};
  const views = answers.map((it) => it.figures).filter(Boolean);
  const leading = answers.find((it) => it.figures && it.figures.leader === it.node);
  const leader = leading ? leading.node : member.leader;
  const down = new Set(leading?.figures.down ?? member.down ?? []);
  const tables = status.tables || [];
  const nodes = (status.nodes || []).map((node) => {
    const answer = said.get(node.node) || {};
    const isConnected = node.node === member.node || (member.connected || []).includes(node.node);
    let state = "up";
    if (answer.figures && answer.figures.phase !== "ready") state = answer.figures.phase;
    else if (!answer.figures && (down.has(node.node) || !isConnected)) state = "down";
    else if (!answer.figures) state = "silent";
    const bricks = node.brick_ports.map((port, brick) => ({ brick, port, primaries: 0, copies: 0, learning: 0, figures: answer.figures?.bricks?.[brick] }));
    return { ...node, state, bricks, figures: answer.figures, why: answer.why, isLeader: node.node === leader, isMe: node.node === member.node };
  });
  const byNumber = new Map(nodes.map((it) => [it.node, it]));
  for (const table of tables) {
    for (const share of table.placement) {
      const brick = byNumber.get(share.node)?.bricks[share.brick];
      if (!brick) continue;
      brick.primaries += share.primaries;
      brick.copies += share.copies;
      brick.learning += share.learning;
    }
  }
  const moves = new Map();
  let unserved = 0;
  for (const partition of status.unsettled || []) {
    const from = place(partition.primary);
    if (byNumber.get(from.node)?.state === "down") unserved += 1;
    for (const learner of partition.learners) {
      const to = place(learner);
      const name = `${from.node}/${from.brick} ${to.node}/${to.brick}`;
      const move = moves.get(name) || { from, to, count: 0 };
      move.count += 1;
      moves.set(name, move);
    }
  }
  const counts = (state) => tables.reduce((sum, table) => sum + (table.partition_states?.[state] || 0), 0);
  return {
    me: byNumber.get(member.node), nodes, byNumber, leader, tables, views,
    moves: [...moves.values()], unserved,
    short: counts("short"), under: counts("under_replicated"), learning: counts("learning"), changing: counts("changing"),
    partitions: tables.reduce((sum, table) => sum + table.partitions, 0),
    missing: status.copies?.missing || 0, copies: status.copies || {}, damages: status.damages || [], status,
  };
}

function place(text) {
  const [node, brick] = text.split("@")[0].split("/").map(Number);
  return { node, brick };
}

// How it is, in a few words: [kind, words].
export function health(cluster) {
  const down = cluster.nodes.filter((it) => it.state === "down");
  const names = down.map((it) => it.node).join(", ");
  if (cluster.unserved) return ["bad", `${plural(cluster.unserved, "partition")} unserved`];
  if (cluster.leader === null || cluster.leader === undefined) return ["bad", "no node leads"];
  if (cluster.short) return ["bad", `${plural(cluster.short, "partition")} short of copies for writes`];
  if (down.length) return ["bad", `${down.length === 1 ? "node" : "nodes"} ${names} down`];
  if (cluster.damages.length) return ["bad", `${plural(cluster.damages.length, "damaged range")} in a log`];
  if (cluster.missing) return ["warn", `${plural(cluster.missing, "copy", "copies")} missing`];
  const odd = cluster.nodes.filter((it) => it.state !== "up");
  if (odd.length) return ["warn", `node ${odd[0].node}: ${odd[0].state === "silent" ? "no answer by HTTP" : odd[0].state}`];
  if (cluster.learning || cluster.changing) return ["busy", `${plural(cluster.learning + cluster.changing, "partition")} on the move`];
  return ["good", "all copies in sync"];
}

// What happens now, as a sentence.
export function motion(cluster) {
  const parts = [];
  if (cluster.missing) {
    const left = cluster.copies.left_ms;
    const most = cluster.copies.most;
    parts.push(`${plural(cluster.missing, "copy is", "copies are")} missing${most > cluster.missing ? ` of ${number(most)} at most` : ""}${left ? `, for ${span(left / 1000)} more at this pace` : ""}.`);
  }
  const under = cluster.moves.reduce((sum, it) => sum + it.count, 0);
  if (under) parts.push(`${plural(under, "copy", "copies")} ${under === 1 ? "is" : "are"} being made: arrows lead from who leads the partition to who learns it.`);
  if (cluster.unserved) parts.push(`${plural(cluster.unserved, "partition waits", "partitions wait")} for another primary.`);
  return parts.join(" ");
}

export function drawPicture(place, cluster, last) {
  const width = place.clientWidth;
  if (!width) return;
  const count = cluster.nodes.length || 1;
  let columns = Math.max(1, Math.min(count, Math.floor((width + GAP) / (CARD_LEAST + GAP))));
  if (columns > 1 && count > columns) columns = Math.ceil(count / Math.ceil(count / columns));
  const rows = Math.ceil(count / columns);
  const moves = between(cluster.moves);
  const margin = moves.length && rows > 1 ? MARGIN : 0;
  const card = Math.min(CARD_MOST, (width - margin - GAP * (columns - 1)) / columns);
  const bricks = Math.max(1, ...cluster.nodes.map((it) => it.bricks.length));
  const tall = HEAD + bricks * ROW + FOOT;
  const most = Math.max(1, ...cluster.nodes.flatMap((it) => it.bricks.map((brick) => brick.copies + brick.learning)));
  const total = rows * tall + (rows - 1) * GAP + (moves.length && rows === 1 ? LANE : 0);
  const corner = new Map(cluster.nodes.map((node, at) => [node.node, { x: (at % columns) * (card + GAP), y: Math.floor(at / columns) * (tall + GAP) }]));
  const words = cluster.nodes.map((node) => `node ${node.node} ${node.state}${node.isLeader ? ", leads" : ""}, ${node.bricks.reduce((sum, it) => sum + it.primaries, 0)} partitions led`);
  show(place, svg("svg", { viewBox: `0 0 ${width} ${total}`, width, height: total, role: "img", "aria-label": words.join("; ") },
    svg("defs", {}, svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 10, markerHeight: 10, markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { d: "M0 0 L8 4 L0 8 z", class: "arrow" }))),
    cluster.nodes.map((node) => drawNode(node, corner.get(node.node), card, tall, most, last)),
    // What is written lies above all arrows.
    ["arrow", "count"].map((part) => moves.map((move) => drawMove(part, move, corner, card, tall, rows === 1)))));
}

// Moves from node to node, whatever the bricks.
function between(moves) {
  const all = new Map();
  for (const { from, to, count } of moves) {
    const name = `${from.node} ${to.node}`;
    const move = all.get(name) || { from: from.node, to: to.node, count: 0 };
    move.count += count;
    all.set(name, move);
  }
  return [...all.values()];
}

const cut = (text, room) => (text.length > room ? `${text.slice(0, Math.max(1, room - 1))}…` : text);

function drawNode(node, { x, y }, card, tall, most, last) {
  const tone = colour(node.node);
  const badge = node.state === "up" ? (node.isLeader ? "leader" : null) : node.state === "silent" ? "no answer" : node.state;
  const rates = last?.nodes[node.node];
  const room = Math.floor((card - 32) / 6.4);
  const foot = node.figures
    ? `${rates ? `${short(rates.commands)}/s · ${Math.round(rates.cpu * 100)} % cpu · ` : ""}${bytes(node.figures.resident)}${node.weight !== 1 ? ` · weight ${node.weight}` : ""}`
    : node.why || "not known";
  const address = `${node.host}:${node.port}${node.zone ? ` · ${node.zone}` : ""}${node.isMe ? " · this node" : ""}`;
  return svg("g", { class: `node ${node.state}`, transform: `translate(${x} ${y})` },
    svg("title", {}, `node ${node.node}: ${node.state}${node.why ? ` (${node.why})` : ""}`),
    svg("rect", { class: "box", x: 0.75, y: 0.75, width: card - 1.5, height: tall - 1.5, rx: 10 }),
    svg("rect", { x: 16, y: 17, width: 10, height: 10, rx: 2.5, fill: tone }),
    svg("text", { class: "name", x: 34, y: 27 }, `Node ${node.node}`),
    badge && svg("g", { class: `badge ${node.state === "up" ? "lead" : node.state}` },
      svg("rect", { x: card - 32 - badge.length * 7, y: 12, width: badge.length * 7 + 18, height: 20, rx: 10 }),
      svg("text", { x: card - 23 - badge.length * 3.5, y: 26, "text-anchor": "middle" }, badge)),
    svg("text", { class: "dim", x: 16, y: 47 }, cut(address, room)),
    node.bricks.map((brick, at) => drawBrick(brick, 16, HEAD + at * ROW, card - 32, most, tone, node.state === "down")),
    svg("text", { class: "dim", x: 16, y: tall - 13 }, cut(foot, room)));
}

function drawBrick(brick, x, y, room, most, tone, isDown) {
  const scale = room / most;
  const led = brick.primaries * scale;
  const followed = Math.max(0, brick.copies - brick.primaries) * scale;
  const learning = brick.learning * scale;
  const [name, counts] = labels(brick, isDown).find((it) => (it[0].length + it[1].length) * 6.3 < room - 8) ?? [`Brick ${brick.brick}`, ""];
  return svg("g", { class: "brick" },
    svg("text", { class: "small", x, y: y + 11 }, name),
    svg("text", { class: "small", x: x + room, y: y + 11, "text-anchor": "end" }, counts),
    svg("rect", { class: "trough", x, y: y + 17, width: room, height: 11, rx: 3 }),
    svg("rect", { x, y: y + 17, width: led, height: 11, rx: 3, fill: tone }),
    svg("rect", { x: x + led, y: y + 17, width: followed, height: 11, rx: 3, fill: tone, opacity: 0.38 }),
    learning > 0 && svg("rect", { class: "learning", x: x + led + followed, y: y + 17.75, width: Math.max(3, learning - 0.75), height: 9.5, rx: 3, stroke: tone }));
}

// What a brick is called and has, the longest words first.
function labels(brick, isDown) {
  const short = `Brick ${brick.brick}`;
  const name = brick.figures && !isDown ? `${short} · ${Math.round(brick.figures.busy_thousandths / 10)} % busy` : short;
  const [led, followed, learning] = [brick.primaries, brick.copies - brick.primaries, brick.learning].map(number);
  const counts = `${led} led · ${followed} followed`;
  const all = brick.learning ? `${counts} · ${learning} learning` : counts;
  const few = brick.learning ? `${led} · ${followed} · ${learning}` : `${led} · ${followed}`;
  return [[name, all], [short, all], [name, few], [short, few]];
}

// In the lane below, or where nodes stand below one another in the margin.
function drawMove(part, move, corner, card, tall, isRow) {
  const from = corner.get(move.from);
  const to = corner.get(move.to);
  if (!from || !to) return null;
  let way, x, y, anchor;
  if (isRow) {
    const side = to.x > from.x ? 1 : -1;
    const [x1, x2, edge] = [from.x + card / 2 + side * 26, to.x + card / 2 - side * 26, tall + 3];
    const deep = edge + LANE * Math.min(1.15, 0.55 + Math.abs(x2 - x1) / 2200);
    way = `M${x1} ${edge} C${x1 + side * 20} ${deep} ${x2 - side * 20} ${deep} ${x2} ${edge + 2}`;
    // Where the curve is half way.
    [x, y, anchor] = [(x1 + x2) / 2, 0.25 * edge + 0.75 * deep + 4, "middle"];
  } else {
    const [x1, x2] = [from.x + card + 2, to.x + card + 3];
    const [y1, y2] = [from.y + tall / 2 + 10, to.y + tall / 2 - 10];
    const wide = Math.max(x1, x2) + MARGIN;
    way = `M${x1} ${y1} C${wide} ${y1} ${wide} ${y2} ${x2} ${y2}`;
    [x, y, anchor] = [x1 + 6, y1 + 20, "start"];
  }
  if (part === "count") return svg("text", { class: "small moved", x, y, "text-anchor": anchor }, number(move.count));
  return svg("g", {},
    svg("title", {}, `${plural(move.count, "copy", "copies")}: node ${move.to} learns from node ${move.from}`),
    svg("path", { class: "move", d: way, "marker-end": "url(#tip)", "stroke-width": Math.min(3, 1.5 + Math.log2(move.count) / 4) }));
}

export function pictureLegend(place) {
  show(place, ["led", "followed", "learning"].map((it) => el("span", { class: "key" }, el("i", { class: `swatch ${it}` }), it)),
    el("span", { class: "key" }, el("i", { class: "swatch move" }), "is being copied"));
}

export function drawMap(place, legend, partitions, cluster) {
  const width = place.clientWidth;
  if (!width) return;
  const cell = partitions.length > 2048 ? 6 : partitions.length > 768 ? 9 : 13;
  const step = cell + 3;
  const columns = Math.max(8, Math.floor((width + 3) / step));
  const height = Math.ceil(partitions.length / columns) * step;
  const led = new Map();
  let odd = 0;
  const cells = partitions.map(([partition, state, primary, backups, learners], at) => {
    const isDown = cluster.byNumber.get(primary[0])?.state === "down";
    led.set(primary[0], (led.get(primary[0]) || 0) + 1);
    if (isDown || state !== "in_sync") odd += 1;
    const [x, y] = [(at % columns) * step, Math.floor(at / columns) * step];
    const of = (places) => places.map((it) => it.join("/")).join(", ") || "nobody";
    const kind = isDown ? "unserved" : state;
    return svg("g", { class: `partition ${kind}` },
      svg("title", {}, `partition ${partition}: ${kind.replaceAll("_", " ")}; led by ${primary.join("/")}, followed by ${of(backups)}${learners.length ? `, learned by ${of(learners)}` : ""}`),
      svg("rect", { x: x + 0.75, y: y + 0.75, width: cell, height: cell, rx: 2.5, fill: colour(primary[0]) }),
      kind !== "in_sync" && cell > 6 && svg("circle", { cx: x + 0.75 + cell / 2, cy: y + 0.75 + cell / 2, r: cell / 4.5 }));
  });
  show(place, svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${partitions.length} partitions, ${odd} not as they should be` }, cells));
  show(legend, [...led].sort((a, b) => a[0] - b[0]).map(([node, count]) => el("span", { class: "key" }, el("i", { vars: { "--c": colour(node) } }), `node ${node}`, el("b", {}, number(count)))),
    odd > 0 && el("span", { class: "key" }, el("i", { class: "swatch odd" }), "copies missing or moving", el("b", {}, number(odd))));
}
