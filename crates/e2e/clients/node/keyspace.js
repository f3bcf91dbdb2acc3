// ioredis and the whole keyspace, through a node kill; see ../README.md.
"use strict";

const fs = require("node:fs");
const { PATIENCE_MS, Session, addresses } = require("./workload.js");

const KEYS = 300;

// Asks again until the answer is the wanted one: while partitions change hands a scan may miss some, as with Redis.
async function until(what, session, request, wanted) {
  const begin = Date.now();
  for (;;) {
    const seen = JSON.stringify(await session.call(request));
    if (seen === JSON.stringify(wanted)) return;
    if (Date.now() - begin > PATIENCE_MS) throw new Error(`${what}: got ${seen}, wanted ${JSON.stringify(wanted)}`);
    console.log(`again: ${what}: ${seen.slice(0, 60)}`);
    // A client that nobody redirects goes on with the masters that it knew, until it is opened anew.
    session.open();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function size(client) {
  // Before it has asked for the map it takes its seeds for masters.
  await client.get("nothing");
  const sizes = await Promise.all(client.nodes("master").map((it) => it.dbsize()));
  return sizes.reduce((sum, it) => sum + it, 0);
}

async function emptied(session) {
  await session.client.get("nothing");
  await Promise.all(session.client.nodes("master").map((it) => it.flushall()));
  // It is counted by a client that knows today's masters.
  session.open();
  return size(session.client);
}

async function scanned(client) {
  await client.get("nothing");
  const keys = new Set();
  for (const master of client.nodes("master")) {
    for await (const some of master.scanStream({ count: 20 })) some.forEach((key) => keys.add(key));
  }
  return [...keys].sort();
}

async function makeRound(session, reader, number) {
  const names = Array.from({ length: KEYS }, (_, at) => `k:${number}:${at}`).sort();
  await until("DBSIZE after FLUSHALL", session, () => emptied(session), 0);
  for (const name of names) await session.call((it) => it.set(name, name));
  await until("DBSIZE", session, size, KEYS);
  await until("SCAN", session, scanned, names);
  for (const name of names) await until(`GET ${name} of a replica`, reader, (it) => it.get(name), name);
}

async function main() {
  const [list, stop] = process.argv.slice(2);
  const session = new Session(addresses(list));
  const reader = new Session(addresses(list), { scaleReads: "slave" });
  let number = 0;
  for (; !fs.existsSync(stop); number += 1) {
    await makeRound(session, reader, number);
    console.log(`round ${number}`);
  }
  console.log(`done: ${number} rounds, ${session.failures + reader.failures} calls repeated`);
  session.client.disconnect();
  reader.client.disconnect();
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
