// Caches: keyv, cache-manager.
"use strict";

const assert = require("node:assert/strict");
const { createKeyv } = require("@keyv/redis");
const { createCache } = require("cache-manager");
const { program } = require("./register.js");

// A store of its own, closed at the end.
function open(place, options) {
  const store = createKeyv(place.url(), options);
  place.later(() => store.disconnect());
  return store;
}

program("keyv", "set with a time, get of many, has, delete of many, iterator, clear of a namespace", async (place) => {
  const [users, others] = [open(place, { namespace: "users" }), open(place, { namespace: "others" })];
  await others.set("a", "kept");
  assert.equal(await users.set("a", { name: "ann" }, 100_000), true);
  assert.deepEqual(await users.get("a"), { name: "ann" });
  await users.setMany([{ key: "b", value: 1 }, { key: "c", value: [2], ttl: 100_000 }]);
  assert.deepEqual(await users.get(["b", "c", "nothing"]), [1, [2], undefined]);
  assert.equal(await users.has("b"), true);
  const seen = [];
  for await (const [key] of users.iterator()) seen.push(key);
  assert.deepEqual(seen.sort(), ["a", "b", "c"]);
  assert.equal(await users.delete("b"), true);
  await users.clear();
  assert.equal(await users.get("a"), undefined);
  assert.equal(await others.get("a"), "kept");
  await users.set("short", 1, 20);
  while ((await users.get("short")) !== undefined) await new Promise((resolve) => setTimeout(resolve, 5));
});

program("cache-manager", "wrap() makes a value once, mset, mget, mdel, ttl, clear", async (place) => {
  const cache = createCache({ stores: [open(place)], ttl: 100_000 });
  let made = 0;
  const make = async () => (made += 1);
  assert.deepEqual(await Promise.all([1, 2, 3].map(() => cache.wrap("a", make))), [1, 1, 1]);
  assert.equal(await cache.wrap("a", make), 1);
  await cache.mset([{ key: "b", value: 1 }, { key: "c", value: { d: 2 } }]);
  assert.deepEqual(await cache.mget(["b", "c", "nothing"]), [1, { d: 2 }, undefined]);
  assert.ok((await cache.ttl("b")) > Date.now());
  await cache.mdel(["b", "c"]);
  await cache.clear();
  assert.equal(await cache.get("a"), undefined);
});
