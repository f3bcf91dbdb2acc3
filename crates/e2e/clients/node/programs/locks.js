// Locks: redlock.
"use strict";

const assert = require("node:assert/strict");
const { default: Redlock } = require("redlock");
const { program } = require("./register.js");

program("redlock", "over ioredis: acquire of two resources, extend, release, using() around work", async (place) => {
  const locks = new Redlock([place.ioredis()], { retryCount: 0 });
  const held = await locks.acquire(["{job}:a", "{job}:b"], 10_000);
  await assert.rejects(locks.acquire(["{job}:b"], 10_000));
  await (await held.extend(20_000)).release();
  const patient = new Redlock([place.ioredis()], { retryCount: 200, retryDelay: 10 });
  let [inside, most] = [0, 0];
  const work = async () => {
    inside += 1;
    most = Math.max(most, inside);
    await new Promise((resolve) => setTimeout(resolve, 5));
    inside -= 1;
  };
  await Promise.all([1, 2, 3, 4].map(() => patient.using(["{job}:a"], 10_000, work)));
  assert.equal(most, 1);
});
