// Clients by themselves, as their makers' first pages have them: ioredis, node-redis, iovalkey.
"use strict";

const assert = require("node:assert/strict");
const { once } = require("node:events");
const iovalkey = require("iovalkey");
const { WatchError } = require("redis");
const { program } = require("./register.js");

const numbers = (count) => Array.from({ length: count }, (_, at) => at);

program("ioredis", "strings and hashes: SET with its options, MGET, HSET, HINCRBY, GETEX, SCAN by stream", async (place) => {
  const client = place.ioredis();
  assert.equal(await client.set("a", 1, "EX", 100, "NX"), "OK");
  assert.equal(await client.set("a", 2, "NX"), null);
  assert.equal(await client.incrby("a", 4), 5);
  assert.deepEqual(await client.mget("a", "nothing"), ["5", null]);
  assert.equal(await client.getex("a", "PERSIST"), "5");
  assert.equal(await client.hset("h", { name: "ann", age: 41 }), 2);
  assert.equal(await client.hincrby("h", "age", 1), 42);
  assert.deepEqual(await client.hgetall("h"), { name: "ann", age: "42" });
  assert.deepEqual(await client.getBuffer("a"), Buffer.from("5"));
  await client.mset(Object.fromEntries(numbers(300).map((at) => [`s:${at}`, at])));
  const seen = new Set();
  for await (const some of client.scanStream({ match: "s:*", count: 20 })) some.forEach((key) => seen.add(key));
  assert.equal(seen.size, 300);
});

program("ioredis", "pipeline() of 2,000 commands; automatic pipelines", async (place) => {
  const client = place.ioredis({ enableAutoPipelining: true });
  const pipeline = client.pipeline();
  for (const at of numbers(1000)) pipeline.set(`k${at}`, at).get(`k${at}`);
  const replies = await pipeline.exec();
  assert.deepEqual(replies[1999], [null, "999"]);
  assert.deepEqual(await Promise.all(numbers(100).map((at) => client.get(`k${at}`))), numbers(100).map(String));
});

program("ioredis", "multi(), keys anywhere; WATCH; multi({ pipeline: false })", async (place) => {
  const [client, other] = [place.ioredis(), place.ioredis()];
  assert.deepEqual(await client.multi().set("a", 1).incr("b").hset("c", "f", "v").exec(), [[null, "OK"], [null, 1], [null, 1]]);
  await client.watch("a");
  await other.set("a", 2);
  assert.equal(await client.multi().set("b", 9).exec(), null);
  await client.multi({ pipeline: false });
  assert.equal(await client.incr("b"), "QUEUED");
  assert.deepEqual(await client.exec(), [[null, 2]]);
});

program("ioredis", "defineCommand(): a script as a command, of keys of several slots, in a pipeline, too", async (place) => {
  const client = place.ioredis();
  client.defineCommand("move", {
    numberOfKeys: 2,
    lua: "redis.call('DECRBY', KEYS[1], ARGV[1]) return redis.call('INCRBY', KEYS[2], ARGV[1])",
  });
  assert.equal(await client.move("from", "to", 4), 4);
  await client.script("FLUSH");
  assert.equal(await client.move("from", "to", 2), 6);
  assert.deepEqual(await client.pipeline().move("from", "to", 4).get("from").exec(), [[null, 10], [null, "-10"]]);
});

program("ioredis", "pub/sub: a channel, a pattern, and going on after the connection was closed", async (place) => {
  const [client, listener] = [place.ioredis(), place.ioredis()];
  await listener.subscribe("news");
  await listener.psubscribe("n*");
  const [message, pattern] = [once(listener, "message"), once(listener, "pmessage")];
  assert.equal(await client.publish("news", "one"), 2);
  assert.deepEqual([await message, await pattern], [["news", "one"], ["n*", "news", "one"]]);
  const again = once(listener, "ready");
  await client.client("KILL", "TYPE", "pubsub");
  await again;
  const heard = once(listener, "message");
  const timer = setInterval(() => client.publish("news", "two"), 20);
  assert.deepEqual(await heard, ["news", "two"]);
  clearInterval(timer);
});

program("ioredis", "a key prefix, another table by SELECT, names of its own, offline queue", async (place) => {
  const client = place.ioredis({ keyPrefix: "app:", db: 4, connectionName: "mine", lazyConnect: true });
  assert.equal(await client.set("a", 1), "OK");
  assert.equal(await client.client("GETNAME"), "mine");
  assert.equal(await place.ioredis({ db: 4 }).get("app:a"), "1");
  assert.equal(await place.ioredis().get("app:a"), null);
});

program("ioredis, cluster", "single keys side by side, a pipeline of one slot, multi, scripts, SCAN of all masters", async (place) => {
  const client = place.ioredisCluster();
  await Promise.all(numbers(100).map((at) => client.set(`k${at}`, at)));
  assert.deepEqual(await Promise.all(numbers(100).map((at) => client.incr(`k${at}`))), numbers(100).map((at) => at + 1));
  assert.deepEqual(await client.pipeline().set("{t}a", 1).incr("{t}a").get("{t}a").exec(), [[null, "OK"], [null, 2], [null, "2"]]);
  assert.deepEqual(await client.multi().incr("{t}a").hset("{t}h", "f", "v").exec(), [[null, 3], [null, 1]]);
  client.defineCommand("double", { numberOfKeys: 1, lua: "return redis.call('GET', KEYS[1]) * 2" });
  assert.deepEqual(await Promise.all(numbers(20).map((at) => client.double(`k${at}`))), numbers(20).map((at) => 2 * (at + 1)));
  const seen = new Set();
  for (const master of client.nodes("master")) {
    for await (const some of master.scanStream({ match: "k*" })) some.forEach((key) => seen.add(key));
  }
  assert.equal(seen.size, 100);
});

program("ioredis, cluster", "scaleReads: reads of copies; pub/sub, also sharded", async (place) => {
  const client = place.ioredisCluster({ scaleReads: "all" });
  for (const at of numbers(50)) {
    await client.set(`k${at}`, at);
    assert.equal(await client.get(`k${at}`), String(at));
  }
  const listener = place.ioredisCluster();
  await listener.subscribe("news");
  const heard = once(listener, "message");
  const timer = setInterval(() => client.publish("news", "x"), 20);
  assert.deepEqual(await heard, ["news", "x"]);
  clearInterval(timer);
  const sharded = place.ioredisCluster({ shardedSubscribers: true });
  await sharded.ssubscribe("orders");
  const heardSharded = once(sharded, "smessage");
  const second = setInterval(() => client.spublish("orders", "y"), 20);
  assert.deepEqual((await heardSharded).slice(0, 2), ["orders", "y"]);
  clearInterval(second);
});

program("node-redis", "strings and hashes: SET with its options, mGet, hSet, hExpire, scanIterator", async (place) => {
  const client = await place.nodeRedis();
  assert.equal(await client.set("a", "1", { expiration: { type: "EX", value: 100 }, condition: "NX" }), "OK");
  assert.equal(await client.set("a", "2", { condition: "NX" }), null);
  assert.equal(await client.incrBy("a", 4), 5);
  assert.deepEqual(await client.mGet(["a", "nothing"]), ["5", null]);
  assert.equal(await client.hSet("h", { name: "ann", age: "41" }), 2);
  assert.deepEqual({ ...(await client.hGetAll("h")) }, { name: "ann", age: "41" });
  assert.deepEqual(await client.hExpire("h", "age", 100), [1]);
  await client.mSet(numbers(300).map((at) => [`s:${at}`, String(at)]));
  const seen = new Set();
  for await (const some of client.scanIterator({ MATCH: "s:*", COUNT: 20 })) some.forEach((key) => seen.add(key));
  assert.equal(seen.size, 300);
});

program("node-redis", "commands side by side in one turn; multi(), keys anywhere; WATCH", async (place) => {
  const client = await place.nodeRedis();
  const counted = await Promise.all(numbers(1000).map((at) => client.incr(`c${at % 10}`)));
  assert.equal(Math.max(...counted), 100);
  assert.deepEqual(await client.multi().set("a", "1").incr("b").hSet("c", "f", "v").exec(), ["OK", 1, 1]);
  await client.watch("a");
  await (await place.nodeRedis()).set("a", "2");
  await assert.rejects(client.multi().set("b", "9").exec(), WatchError);
});

program("node-redis", "pub/sub, scripts as commands, another table, RESP 3", async (place) => {
  const { defineScript } = require("redis");
  const add = defineScript({
    NUMBER_OF_KEYS: 1,
    SCRIPT: "return redis.call('INCRBY', KEYS[1], ARGV[1])",
    parseCommand: (parser, key, by) => (parser.pushKey(key), parser.push(String(by))),
    transformReply: (reply) => reply,
  });
  const client = await place.nodeRedis({ scripts: { add }, RESP: 3, database: 5 });
  assert.equal(await client.add("n", 4), 4);
  const listener = await place.nodeRedis();
  const heard = [];
  await listener.subscribe("news", (message, channel) => heard.push([channel, message]));
  await listener.pSubscribe("n*", (message, channel) => heard.push([channel, message]));
  while (heard.length < 2) await client.publish("news", "x");
  assert.deepEqual(heard[0], ["news", "x"]);
});

program("node-redis, cluster", "single keys side by side, multi of one slot, scripts, SCAN of all masters", async (place) => {
  const client = await place.nodeRedisCluster();
  await Promise.all(numbers(100).map((at) => client.set(`k${at}`, String(at))));
  assert.deepEqual(await Promise.all(numbers(100).map((at) => client.incr(`k${at}`))), numbers(100).map((at) => at + 1));
  assert.deepEqual(await client.multi().set("{t}a", "1").incr("{t}a").exec(), ["OK", 2]);
  assert.equal(await client.eval("return redis.call('GET', KEYS[1])", { keys: ["k7"], arguments: [] }), "8");
  const seen = new Set();
  for (const master of client.masters) {
    for await (const some of (await client.nodeClient(master)).scanIterator({ MATCH: "k*" })) some.forEach((key) => seen.add(key));
  }
  assert.equal(seen.size, 100);
});

program("iovalkey", "strings, a pipeline, multi, a script, pub/sub", async (place) => {
  const [client, listener] = [new iovalkey(place.node), new iovalkey(place.node)];
  place.later(() => [client, listener].forEach((it) => it.disconnect()));
  assert.deepEqual(await client.pipeline().set("a", 1).incr("a").exec(), [[null, "OK"], [null, 2]]);
  assert.deepEqual(await client.multi().incr("a").incr("b").exec(), [[null, 3], [null, 1]]);
  assert.equal(await client.eval("return redis.call('GET', KEYS[1])", 1, "a"), "3");
  await listener.subscribe("news");
  const heard = once(listener, "message");
  await client.publish("news", "x");
  assert.deepEqual(await heard, ["news", "x"]);
});

program("iovalkey, cluster", "single keys side by side", async (place) => {
  const client = new iovalkey.Cluster(place.seeds);
  place.later(() => client.disconnect());
  await Promise.all(numbers(50).map((at) => client.set(`k${at}`, at)));
  assert.deepEqual(await Promise.all(numbers(50).map((at) => client.get(`k${at}`))), numbers(50).map(String));
});
