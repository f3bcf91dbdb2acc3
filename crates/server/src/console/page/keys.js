// The key browser.
//
// In:  a table, a pattern. Out: keys, what one holds; changes of it, by who has signed in and has said so twice.

import * as ask from "./ask.js";
import { byId, bytes, el, number, show, span } from "./elements.js";

// Keys that one "Find" looks for, and calls of SCAN that it makes for them at most: of a rare pattern there are many empty ones.
const WANTED = 100;
const CALLS = 20;
const SHOWN_MAX = 2000;

// Bytes of a value that are shown.
const VALUE_MAX = 64 * 1024;

// Fields of a hash that are shown; and of one that takes more memory than this only their names.
const FIELDS_MAX = 512;
const HASH_MAX = 1024 * 1024;

let cursor = "0";
let found = [];
let chosen = null;
let session = null;
let confirmed = null;

export function start(confirm) {
  confirmed = confirm;
  byId("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    find(true);
  });
  byId("key-table").addEventListener("change", () => find(true));
  byId("key-more").addEventListener("click", () => find(false));
  byId("key-new").addEventListener("click", () => edit(null));
}

export function onSession(user) {
  session = user;
  byId("key-new").hidden = !user;
  if (chosen) look(chosen);
}

const table = () => byId("key-table").value || undefined;
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

export async function find(isNew) {
  const pattern = byId("key-pattern").value || "*";
  const note = byId("key-note");
  if (isNew) {
    cursor = "0";
    found = [];
  }
  note.textContent = "Looking …";
  try {
    if (isNew && !/[*?[\\]/.test(pattern)) {
      if (await ask.run(["EXISTS", pattern], { table: table(), isUse: true })) found.push(pattern);
      cursor = "0";
    } else {
      const before = found.length;
      let calls = 0;
      do {
        const [next, keys] = await ask.run(["SCAN", cursor, "MATCH", pattern, "COUNT", 500], { table: table(), isUse: true });
        cursor = String(next);
        found.push(...keys);
        calls += 1;
      } while (cursor !== "0" && found.length - before < WANTED && calls < CALLS && found.length < SHOWN_MAX);
    }
    const isEnd = cursor === "0";
    note.textContent = `${number(found.length)} ${found.length === 1 ? "key" : "keys"}${isEnd ? "" : " so far"}`;
    byId("key-more").hidden = isEnd || found.length >= SHOWN_MAX;
    list();
  } catch (error) {
    note.textContent = error.message;
    show(byId("key-list"));
    byId("key-more").hidden = true;
  }
}

function list() {
  show(byId("key-list"), found.map((key) => el("li", {}, el("button", { type: "button", "aria-pressed": String(same(key, chosen)), onclick: () => look(key) }, ask.shown(key) || "(empty key)"))));
}

async function look(key) {
  chosen = key;
  list();
  const view = byId("key-view");
  const on = { table: table(), isUse: true };
  try {
    const [type, left, encoding, memory] = [
      await ask.run(["TYPE", key], on), await ask.run(["PTTL", key], on),
      await ask.run(["OBJECT", "ENCODING", key], on).catch(() => "–"), await ask.run(["MEMORY", "USAGE", key], on).catch(() => null),
    ];
    if (type === "none") {
      show(view, el("h2", {}, el("code", {}, ask.shown(key))), el("p", { class: "empty" }, "This key is gone."));
      return;
    }
    const { length, content, text } = type === "hash" ? await fieldsOf(key, memory, on) : await stringOf(key, on);
    const facts = [["Type", type], ["Expires", left < 0 ? "never" : `in ${span(left / 1000)}`], length, ["Memory", bytes(memory)], ["Encoding", encoding]];
    show(view,
      el("div", { class: "head" }, el("h2", { class: "key-name" }, el("code", {}, ask.shown(key)))),
      el("dl", { class: "facts" }, facts.map(([name, it]) => el("div", {}, el("dt", {}, name), el("dd", {}, String(it))))),
      content,
      session
        ? el("div", { class: "row" },
          text !== null && el("button", { type: "button", class: "quiet", onclick: () => edit(key, text, left) }, "Edit"),
          el("button", { type: "button", class: "quiet", onclick: () => expire(key, left) }, left < 0 ? "Let it expire" : "Change its expiry"),
          el("button", { type: "button", class: "danger", onclick: () => remove(key) }, "Delete"))
        : el("p", { class: "note" }, "Sign in to change it."));
  } catch (error) {
    show(view, el("h2", {}, el("code", {}, ask.shown(key))), el("p", { class: "fault" }, error.message));
  }
}

// What a string holds: its length, how it is shown, and its text if that can be edited.
async function stringOf(key, on) {
  const length = await ask.run(["STRLEN", key], on);
  const value = await ask.run(["GETRANGE", key, 0, VALUE_MAX - 1], on);
  const isText = typeof value === "string";
  return {
    length: ["Length", bytes(length)],
    content: [
      length > VALUE_MAX && el("p", { class: "note" }, `The first ${bytes(VALUE_MAX)} of ${bytes(length)}.`),
      el("pre", { class: "value", tabindex: "0", "aria-label": "Value" }, isText ? pretty(value) : hex(value.base64)),
    ],
    text: isText && length <= VALUE_MAX ? value : null,
  };
}

// The same of a hash: a line a field.
async function fieldsOf(key, memory, on) {
  const count = await ask.run(["HLEN", key], on);
  const isLarge = memory > HASH_MAX;
  const [, words] = await ask.run(["HSCAN", key, 0, "COUNT", FIELDS_MAX, ...(isLarge ? ["NOVALUES"] : [])], on);
  const step = isLarge ? 1 : 2;
  const lines = [];
  for (let at = 0; at < words.length && lines.length < FIELDS_MAX; at += step) {
    lines.push(isLarge ? ask.shown(words[at]) : `${ask.shown(words[at])}: ${ask.shown(words[at + 1])}`);
  }
  return {
    length: ["Fields", number(count)],
    content: [
      count > lines.length && el("p", { class: "note" }, `${number(lines.length)} of ${number(count)} fields.`),
      isLarge && el("p", { class: "note" }, "Names alone: the hash is large."),
      el("pre", { class: "value", tabindex: "0", "aria-label": "Fields" }, lines.join("\n")),
    ],
    text: null,
  };
}

// What looks like JSON, with its lines.
function pretty(text) {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function hex(base64) {
  const text = atob(base64).slice(0, 4096);
  const lines = [];
  for (let at = 0; at < text.length; at += 16) {
    const line = [...text.slice(at, at + 16)].map((it) => it.charCodeAt(0));
    const left = line.map((it) => it.toString(16).padStart(2, "0")).join(" ");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${left.padEnd(47)}  ${line.map((it) => (it >= 32 && it < 127 ? String.fromCharCode(it) : ".")).join("")}`);
  }
  return lines.join("\n");
}

async function change(command, key, title, text, verb) {
  if (!(await confirmed(title, text, verb))) return false;
  const view = byId("key-view");
  try {
    await ask.run(command, { table: table(), isUse: true });
    return true;
  } catch (error) {
    view.append(el("p", { class: "fault", role: "alert" }, error.message));
    return false;
  }
}

async function remove(key) {
  const where = table() ? ` in table ${table()}` : "";
  if (await change(["DEL", key], key, "Delete this key?", `${ask.shown(key)}${where} is gone for ever.`, "Delete")) {
    found = found.filter((it) => !same(it, key));
    list();
    look(key);
  }
}

function expire(key, left) {
  const seconds = el("input", { type: "number", min: "0", step: "1", value: left < 0 ? "3600" : String(Math.ceil(left / 1000)), required: true });
  const form = el("form", { class: "stack" }, el("label", {}, "Seconds until it is gone; 0: never ", seconds),
    el("div", { class: "row end" }, el("button", { type: "button", class: "quiet", onclick: () => look(key) }, "Cancel"), el("button", { type: "submit" }, "Set")));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const wanted = Number(seconds.value);
    const command = wanted > 0 ? ["PEXPIRE", key, wanted * 1000] : ["PERSIST", key];
    const text = wanted > 0 ? `${ask.shown(key)} is gone ${span(wanted)} from now.` : `${ask.shown(key)} stays.`;
    if (await change(command, key, "Change its expiry?", text, "Set")) look(key);
  });
  byId("key-view").append(form);
  seconds.focus();
}

function edit(key, value = "", left = -1) {
  const name = el("input", { value: key === null ? "" : ask.shown(key), disabled: key !== null, required: true, spellcheck: "false", autocapitalize: "off" });
  const area = el("textarea", { rows: "10", spellcheck: "false" });
  area.value = value;
  const form = el("form", { class: "stack" },
    el("h2", {}, key === null ? "A new key" : "Edit the value"),
    el("label", {}, "Key ", name), el("label", {}, "Value ", area),
    el("div", { class: "row end" }, el("button", { type: "button", class: "quiet", onclick: () => (key === null ? show(byId("key-view"), el("p", { class: "empty" }, "Choose a key to see what it holds.")) : look(key)) }, "Cancel"), el("button", { type: "submit" }, "Write")));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const target = key === null ? name.value : key;
    // A new key replaces none that somebody else made meanwhile.
    const command = key === null ? ["SET", target, area.value, "NX"] : ["SET", target, area.value, "XX", "KEEPTTL"];
    if (!(await confirmed(key === null ? "Write this key?" : "Replace the value?", `${ask.shown(target)}: ${bytes(new Blob([area.value]).size)}${left >= 0 ? "; its expiry stays" : ""}.`, "Write"))) return;
    try {
      const reply = await ask.run(command, { table: table(), isUse: true });
      if (reply === null) throw new Error(key === null ? "There is such a key already." : "This key is gone meanwhile.");
      if (!found.some((it) => same(it, target))) found.unshift(target);
      look(target);
    } catch (error) {
      form.append(el("p", { class: "fault", role: "alert" }, error.message));
    }
  });
  show(byId("key-view"), form);
  (key === null ? name : area).focus();
}
