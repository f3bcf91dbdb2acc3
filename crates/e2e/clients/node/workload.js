// ioredis through a node kill; see ../README.md.
"use strict";

const fs = require("node:fs");
const { Cluster } = require("ioredis");

const PATIENCE_MS = 60_000;
const COUNTERS = 10;
const DELETED_AFTER = 20;

// Under TLS, if the test names certificates.
function tlsOptions() {
  const authority = process.env.WORKLOAD_CA;
  if (!authority) return {};
  const [ca, cert, key] = [authority, process.env.WORKLOAD_CERT, process.env.WORKLOAD_KEY].map((path) => fs.readFileSync(path));
  return { tls: { ca, cert, key } };
}

// Who it is, if the test names somebody.
function user() {
  const { WORKLOAD_USER: username, WORKLOAD_PASSWORD: password } = process.env;
  return username ? { username, password } : {};
}

class Session {
  constructor(seeds, options) {
    this.failures = 0;
    [this.seeds, this.options] = [seeds, options];
    this.open();
  }

  open() {
    this.client?.disconnect();
    this.client = new Cluster(this.seeds, { redisOptions: { ...tlsOptions(), ...user() }, ...this.options });
    // Without a listener it complains about every lost connection by itself.
    this.client.on("error", () => {});
    // Sent by its name, and by its text to a node that does not know it.
    this.client.defineCommand("incremented", { numberOfKeys: 1, lua: "return redis.call('incr', KEYS[1])" });
  }

  async call(request) {
    const begin = Date.now();
    for (;;) {
      try {
        return await request(this.client);
      } catch (error) {
        this.failures += 1;
        if (Date.now() - begin > PATIENCE_MS) throw error;
        console.log(`again: ${error.message}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }
}

function check(what, seen, wanted) {
  if (JSON.stringify(seen) !== JSON.stringify(wanted)) {
    throw new Error(`${what}: got ${JSON.stringify(seen)}, acknowledged was ${JSON.stringify(wanted)}`);
  }
}

// Listens to a channel from the beginning on; the client finds its way back by itself when the node is gone.
class Listener {
  constructor(session) {
    this.session = session;
    this.heard = new Set();
  }

  async begin() {
    const { client } = this.session;
    client.on("message", (channel, message) => this.heard.add(message));
    await this.session.call((it) => it.subscribe("news"));
  }

  // Publishes until it has heard that.
  async hears(message) {
    const begin = Date.now();
    while (!this.heard.has(message)) {
      if (Date.now() - begin > PATIENCE_MS) throw new Error(`nothing is heard of ${message}`);
      await this.session.call((it) => it.publish("news", message));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

// As text, since fields have no order.
function fieldsOf(hash) {
  return JSON.stringify(Object.entries(hash).sort());
}

async function run(session, stop) {
  const values = new Map();
  const counters = new Map();
  const hashes = new Map();
  for (let number = 0; !fs.existsSync(stop); number += 1) {
    const key = `s:${number}`;
    const value = String(number);
    check(`SET ${key}`, await session.call((it) => it.set(key, value)), "OK");
    values.set(key, value);
    check(`GET ${key}`, await session.call((it) => it.get(key)), value);
    const counter = `c:${number % COUNTERS}`;
    const counted = await session.call((it) => (number % 2 === 1 ? it.incremented(counter) : it.incr(counter)));
    const before = counters.get(counter) ?? 0;
    if (counted <= before) throw new Error(`INCR ${counter}: got ${counted} after ${before}`);
    counters.set(counter, counted);
    const hashed = `h:${number % COUNTERS}`;
    const field = `f${number % 7}`;
    await session.call((it) => it.hset(hashed, field, value));
    hashes.set(hashed, { ...hashes.get(hashed), [field]: value });
    check(`HGETALL ${hashed}`, fieldsOf(await session.call((it) => it.hgetall(hashed))), fieldsOf(hashes.get(hashed)));
    // This client refuses an MGET over several slots by itself, so there is none.
    const old = `s:${number - DELETED_AFTER}`;
    if (number % 5 === 0 && values.has(old)) {
      await session.call((it) => it.del(old));
      values.set(old, null);
      check(`GET ${old}`, await session.call((it) => it.get(old)), null);
    }
    console.log(`round ${number}`);
  }
  return { values, counters, hashes };
}

function addresses(list) {
  return list.split(",").map((it) => {
    const [host, port] = it.split(":");
    return { host, port: Number(port) };
  });
}

async function main() {
  const [list, stop] = process.argv.slice(2);
  const seeds = addresses(list);
  const session = new Session(seeds);
  const listener = new Listener(session);
  await listener.begin();
  await listener.hears("first");
  const { values, counters, hashes } = await run(session, stop);
  await listener.hears("last");
  const fresh = new Session(seeds);
  for (const [key, value] of values) {
    check(`in the end, ${key}`, await fresh.call((it) => it.get(key)), value);
  }
  for (const [key, fields] of hashes) {
    check(`in the end, ${key}`, fieldsOf(await fresh.call((it) => it.hgetall(key))), fieldsOf(fields));
  }
  for (const [key, least] of counters) {
    const seen = Number(await fresh.call((it) => it.get(key)));
    if (seen < least) throw new Error(`in the end, ${key}: got ${seen}, acknowledged was ${least}`);
  }
  console.log(`done: ${values.size} values, ${session.failures} calls repeated`);
  session.client.disconnect();
  fresh.client.disconnect();
}

module.exports = { PATIENCE_MS, Session, addresses };

if (require.main === module) {
  main().catch((error) => {
    console.error(error.message);
    process.exit(1);
  });
}
