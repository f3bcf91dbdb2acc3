// Lines over the last ten minutes.
//
// In:  points and what to draw of them. Out: an SVG that says its figures under the pointer, and its last ones to who cannot see it.

import { el, svg, show } from "./elements.js";

// What is drawn grows with what is known.
const WINDOWS = [1, 2, 5, 10];
const HEIGHT = 168;
const LEFT = 52;
const RIGHT = 10;
const TOP = 10;
const BOTTOM = 22;

export class Chart {
  // lines: points -> [{name, colour, of}]; isStacked: lines add up; isLog: steps of ten.
  constructor(title, unit, format, lines, { isStacked = false, isLog = false, least = 1 } = {}) {
    Object.assign(this, { title, unit, format, lines, isStacked, isLog, least, points: [] });
    this.legend = el("div", { class: "legend" });
    this.plot = el("div", { class: "plot" });
    this.tip = el("div", { class: "tip", hidden: true });
    this.card = el("section", { class: "card", "aria-label": title },
      el("div", { class: "head" }, el("h2", {}, title), el("span", { class: "note" }, unit)), this.legend, el("div", { class: "stage" }, this.plot, this.tip));
    this.plot.addEventListener("pointermove", (event) => this.point(event.offsetX));
    this.plot.addEventListener("pointerleave", () => this.point(null));
    this.x = null;
  }

  draw(points) {
    this.points = points;
    const width = this.plot.clientWidth;
    if (!width) return;
    const lines = this.lines(points);
    const end = points.at(-1)?.at ?? Date.now();
    const known = points.length ? end - points[0].at : 0;
    const minutes = WINDOWS.find((it) => it * 60000 >= known) ?? WINDOWS.at(-1);
    const begin = end - minutes * 60000;
    const stacked = points.map((point) => {
      let base = 0;
      return lines.map((line) => {
        const value = line.of(point);
        if (value === null || value === undefined) return null;
        if (!this.isStacked) return [0, value];
        base += value;
        return [base - value, base];
      });
    });
    const { height, steps } = this.isLog ? logScale(stacked, this.least) : evenScale(stacked, this.least);
    const x = (at) => LEFT + ((at - begin) / (minutes * 60000)) * (width - LEFT - RIGHT);
    const y = (value) => TOP + (1 - height(value)) * (HEIGHT - TOP - BOTTOM);
    const parts = [];
    for (const step of steps) {
      parts.push(svg("line", { class: "rule", x1: LEFT, x2: width - RIGHT, y1: y(step), y2: y(step) }));
      parts.push(svg("text", { class: "tick", x: LEFT - 8, y: y(step) + 4, "text-anchor": "end" }, this.format(step)));
    }
    for (const share of [1, 0.5, 0]) {
      const anchor = share === 1 ? "start" : share === 0 ? "end" : "middle";
      const words = share === 0 ? "now" : minutes * share >= 1 ? `−${minutes * share} min` : "−30 s";
      parts.push(svg("text", { class: "tick", x: x(end - share * minutes * 60000), y: HEIGHT - 5, "text-anchor": anchor }, words));
    }
    lines.forEach((line, index) => {
      for (const run of runs(points, (at) => stacked[at][index])) {
        const upper = run.map((at) => `${x(points[at].at).toFixed(1)},${y(stacked[at][index][1]).toFixed(1)}`);
        if (this.isStacked || lines.length === 1) {
          const lower = [...run].reverse().map((at) => `${x(points[at].at).toFixed(1)},${y(stacked[at][index][0]).toFixed(1)}`);
          parts.push(svg("polygon", { points: [...upper, ...lower].join(" "), fill: line.colour, class: "area" }));
        }
        parts.push(svg("polyline", { points: upper.join(" "), stroke: line.colour, class: "line" }));
        if (run.length === 1) parts.push(svg("circle", { cx: x(points[run[0]].at), cy: y(stacked[run[0]][index][1]), r: 2, fill: line.colour }));
      }
    });
    const last = points.at(-1);
    const words = lines.map((line) => `${line.name} ${last ? this.format(line.of(last)) : "–"}`);
    this.cursor = svg("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
    show(this.plot, svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": `${this.title}, now: ${words.join(", ")}` }, parts, this.cursor));
    show(this.legend, lines.map((line) => el("span", { class: "key" }, el("i", { vars: { "--c": line.colour } }), line.name, el("b", {}, last ? this.format(line.of(last)) : "–"))));
    this.scale = { x, lines };
    if (this.x !== null) this.point(this.x);
  }

  point(offset) {
    this.x = offset;
    if (offset === null || !this.points.length || !this.scale) {
      this.tip.hidden = true;
      this.cursor?.setAttribute("visibility", "hidden");
      return;
    }
    const { x, lines } = this.scale;
    const near = this.points.reduce((best, it) => (Math.abs(x(it.at) - offset) < Math.abs(x(best.at) - offset) ? it : best));
    const at = x(near.at);
    this.cursor.setAttribute("x1", at);
    this.cursor.setAttribute("x2", at);
    this.cursor.setAttribute("visibility", "visible");
    show(this.tip, el("b", {}, new Date(near.at).toLocaleTimeString()),
      lines.map((line) => el("span", { class: "key" }, el("i", { vars: { "--c": line.colour } }), line.name, el("b", {}, this.format(line.of(near))))));
    this.tip.hidden = false;
    const room = this.plot.clientWidth - this.tip.offsetWidth - 4;
    this.tip.style.setProperty("--x", `${Math.max(4, Math.min(at + 12, room))}px`);
  }
}

// Stretches of points that have a value, broken where looks are missing.
function runs(points, value) {
  const out = [];
  let run = [];
  points.forEach((point, at) => {
    const isGap = at > 0 && point.at - points[at - 1].at > 12000;
    if (run.length && (isGap || value(at) === null)) {
      out.push(run);
      run = [];
    }
    if (value(at) !== null) run.push(at);
  });
  if (run.length) out.push(run);
  return out;
}

function evenScale(stacked, least) {
  const top = nice(Math.max(least, ...stacked.flat().filter(Boolean).map((it) => it[1])));
  return { height: (value) => value / top, steps: [0, top / 2, top] };
}

function logScale(stacked, least) {
  const values = stacked.flat().filter((it) => it && it[1] > 0).map((it) => it[1]);
  const low = Math.floor(Math.log10(Math.min(least, ...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(least, ...values))));
  const steps = [];
  for (let step = low; step <= high; step += 1) steps.push(10 ** step);
  return { height: (value) => (Math.log10(Math.max(value, 10 ** low)) - low) / (high - low), steps };
}

function nice(value) {
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 8, 10].map((it) => it * size).find((it) => it >= value * 1.02) ?? 10 * size;
}
