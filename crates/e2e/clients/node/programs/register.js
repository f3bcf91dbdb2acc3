// The table of programs: each is a function with a name, what it does, and what it needs that is not served.
//
// In:  functions by `program`, and a `Place` to run them at. Out: a line for each, of three columns with tabulators between.
// Invariant: a program that needs a command fails by that command and nothing else, or it is no longer said to need it.
"use strict";

const Redis = require("ioredis");
const redis = require("redis");

// For one program; the longest takes a few seconds.
const PATIENCE_MS = 60_000;

// A cluster: the node port of one of its nodes, and the bricks' ports of all. Clients that it opened it closes after each program.
class Place {
  constructor(node, seeds) {
    [this.node, this.seeds, this.closing] = [node, seeds, []];
  }

  // What is to be done when the program has ended, the last first.
  later(close) {
    this.closing.push(close);
  }

  async end() {
    for (const close of this.closing.splice(0).reverse()) await close();
  }

  url(table = 0) {
    return `redis://${this.node.host}:${this.node.port}/${table}`;
  }

  ioredis(options = {}) {
    const client = new Redis({ ...this.node, ...options });
    this.later(() => client.disconnect());
    return client;
  }

  ioredisCluster(options = {}) {
    const client = new Redis.Cluster(this.seeds, options);
    this.later(() => client.disconnect());
    return client;
  }

  async nodeRedis(options = {}) {
    return this.opened(redis.createClient({ url: this.url(), ...options }));
  }

  async nodeRedisCluster(options = {}) {
    const rootNodes = this.seeds.map(({ host, port }) => ({ url: `redis://${host}:${port}` }));
    return this.opened(redis.createCluster({ rootNodes, ...options }));
  }

  async opened(client) {
    client.on("error", () => {});
    await client.connect();
    this.later(() => client.close());
    return client;
  }

  async empty() {
    for (const address of [this.node, ...this.seeds]) {
      const client = new Redis(address);
      this.later(() => client.disconnect());
      await client.flushall();
    }
  }
}

const programs = [];

// Registers a function; `needs` is the command that it fails by.
function program(client, does, run, needs = null) {
  programs.push({ client, does, run, needs });
}

// Whether the error, or what it came from, is the server's word that it does not know the command.
function isUnknown(command, error) {
  if (!error) return false;
  const text = String(error.message);
  const named = /unknown command '(\w+)'/i.exec(text);
  if (named) return named[1].toUpperCase() === command;
  // A script's error does not name it.
  if (/unknown redis command called from script/i.test(text)) return true;
  return isUnknown(command, error.cause) || (error.errors ?? []).some((it) => isUnknown(command, it));
}

// Whether a partition changed hands meanwhile, which a busy machine does to a cluster. Applications go on by themselves then.
function isToBeRepeated(error) {
  if (!error) return false;
  return /try again|UNKNOWNRESULT/.test(error.message) || isToBeRepeated(error.cause) || (error.errors ?? []).some(isToBeRepeated);
}

// Runs it over an empty table, and gives what it failed by.
async function attempt({ run }, place) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${PATIENCE_MS} ms`)), PATIENCE_MS);
  });
  try {
    await place.empty();
    await Promise.race([run(place), late]);
    return null;
  } catch (error) {
    return error;
  } finally {
    clearTimeout(timer);
    await place.end();
  }
}

async function outcome(one, place) {
  const begin = Date.now();
  for (;;) {
    const error = await attempt(one, place);
    if (!error) return "works";
    if (one.needs && isUnknown(one.needs, error)) return `needs ${one.needs}`;
    console.error(error);
    if (!isToBeRepeated(error) || Date.now() - begin > PATIENCE_MS) return "fails";
    console.error(`again: ${one.client}: ${one.does}`);
  }
}

// Runs those whose client or effect has that in it; says whether none failed.
async function run(place, only) {
  let isFine = true;
  for (const one of programs.filter(({ client, does }) => (client + does).includes(only))) {
    const said = await outcome(one, place);
    isFine &&= said !== "fails";
    console.log(`${one.client}\t${one.does}\t${said}`);
  }
  return isFine;
}

module.exports = { Place, program, run };
