// Elements, and figures as people read them.
//
// Invariant: what comes from the cluster becomes text nodes and attributes, never markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "vars") for (const [key, it] of Object.entries(value)) element.style.setProperty(key, it);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(9)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

export const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
export const byId = (id) => document.getElementById(id);
export const show = (place, ...children) => place.replaceChildren(...children.flat(9).filter((it) => it !== null && it !== undefined && it !== false));

// A node's colour: the same everywhere on the page.
export const colour = (node) => `var(--node-${node % 8})`;

export function number(value) {
  if (value === undefined || value === null || Number.isNaN(value)) return "–";
  if (value < 10 && !Number.isInteger(value)) return value.toFixed(1);
  return Math.round(value).toLocaleString("en-US").replaceAll(",", "\u202f");
}

export function short(value) {
  if (value === undefined || value === null || Number.isNaN(value)) return "–";
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
    if (value >= size) {
      const scale = unit === "k" ? 1e3 : size;
      const it = value / scale;
      return `${it >= 100 ? it.toFixed(0) : it.toFixed(1)}${unit}`;
    }
  }
  return number(value);
}

export function bytes(value) {
  if (value === undefined || value === null || Number.isNaN(value)) return "–";
  for (const [size, unit] of [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) {
    if (value >= size) return `${(value / size).toFixed(value / size >= 100 ? 0 : 1)}\u00a0${unit}`;
  }
  return `${Math.round(value)}\u00a0B`;
}

export function micros(value) {
  if (value === undefined || value === null || Number.isNaN(value)) return "–";
  if (value >= 1e6) return `${(value / 1e6).toFixed(value >= 1e7 ? 0 : 1)}\u00a0s`;
  if (value >= 1e3) return `${(value / 1e3).toFixed(value >= 1e4 || value % 1e3 === 0 ? 0 : 1)}\u00a0ms`;
  return `${value >= 10 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(1)}\u00a0µs`;
}

export function span(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 120) return `${s}\u00a0s`;
  if (s < 7200) return `${Math.round(s / 60)}\u00a0min`;
  if (s < 172800) return `${Math.round(s / 3600)}\u00a0h`;
  return `${Math.round(s / 86400)}\u00a0d`;
}

export const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

// A table of rows. A head is a name, or [name, "right"].
export function grid(heads, rows, empty) {
  if (rows.length === 0) return el("p", { class: "empty" }, empty);
  const sides = heads.map((it) => (Array.isArray(it) ? it[1] : undefined));
  return el("div", { class: "scroll", tabindex: "0" },
    el("table", {},
      el("thead", {}, el("tr", {}, heads.map((it, at) => el("th", { scope: "col", class: sides[at] }, Array.isArray(it) ? it[0] : it)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, at) => el("td", { class: sides[at] }, cell)))))));
}

export function meter(part, label) {
  const share = Math.max(0, Math.min(1, part || 0));
  return el("div", { class: "meter", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": Math.round(share * 100), "aria-label": label },
    el("span", { vars: { "--part": `${share * 100}%` } }));
}

// Puts names into a list of choices, and keeps the one that is chosen.
export function choices(select, names) {
  const now = [...select.options].map((it) => it.value);
  if (now.length === names.length && now.every((it, at) => it === names[at])) return;
  const chosen = select.value;
  show(select, names.map((name) => el("option", { value: name }, name)));
  if (names.includes(chosen)) select.value = chosen;
}
