// Asking the node: its status, commands, who has signed in.
//
// A command's words and replies are text, or `{base64}` where bytes are no text; both go back as they came.

const LIMIT = 8000;

export class Refusal extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function ask(path, options = {}) {
  const answer = await fetch(path, { ...options, credentials: "same-origin", cache: "no-store", signal: AbortSignal.timeout(LIMIT) });
  let said = null;
  try {
    said = await answer.json();
  } catch {
    throw new Refusal(answer.status, `the node answered ${answer.status}`);
  }
  if (!answer.ok) throw new Refusal(answer.status, said.error || `the node answered ${answer.status}`);
  return said;
}

const own = (isUse) => ({ "X-Brickyard-Console": isUse ? "1" : "watch", "Content-Type": "application/json" });

export const status = () => ask("/console/status");
export const map = (table) => ask(`/console/map/${encodeURIComponent(table)}`);
export const backups = () => ask("/console/backups");
export const backUp = (table) => ask("/console/backups", { method: "POST", headers: own(true), body: JSON.stringify({ table }) });
export const session = () => ask("/console/session");
export const signIn = (user, password) => ask("/console/session", { method: "POST", headers: own(true), body: JSON.stringify({ user, password }) });
export const signOut = () => ask("/console/session", { method: "DELETE", headers: own(true) });

// The reply to a command. `isUse`: somebody asked for it, so the session is in use.
export async function run(command, { table, brick, isUse = false } = {}) {
  const order = JSON.stringify({ command: command.map((it) => (typeof it === "number" ? String(it) : it)), table, brick });
  const { reply } = await ask("/console/run", { method: "POST", headers: own(isUse), body: order });
  if (reply && reply.error !== undefined) throw new Refusal(200, reply.error);
  return reply;
}

// A map of a reply: an array of names and values in turn.
export function pairs(reply) {
  const out = {};
  for (let at = 0; at + 1 < reply.length; at += 2) out[reply[at]] = reply[at + 1];
  return out;
}

// Bytes that clients chose, as text for people; what is no text as escapes.
export function shown(word) {
  if (word === null || word === undefined) return "";
  if (typeof word !== "object") return visible(String(word));
  return [...atob(word.base64)].map((it) => {
    const code = it.charCodeAt(0);
    return code >= 32 && code < 127 ? it : `\\x${code.toString(16).padStart(2, "0")}`;
  }).join("");
}

const visible = (text) => text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, "0")}`);
