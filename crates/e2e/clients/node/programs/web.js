// Web applications: sessions by express-session, and limits of what one may ask for.
"use strict";

const assert = require("node:assert/strict");
const { once } = require("node:events");
const { RedisStore } = require("connect-redis");
const express = require("express");
const { rateLimit } = require("express-rate-limit");
const session = require("express-session");
const { RedisStore: LimitStore } = require("rate-limit-redis");
const { BurstyRateLimiter, RateLimiterRedis, RateLimiterRes } = require("rate-limiter-flexible");
const { program } = require("./register.js");

// Serves the application on a free port, and gives a browser that keeps its cookie.
async function browser(place, app) {
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  place.later(() => {
    server.closeAllConnections();
    server.close();
  });
  let cookie = "";
  return async (path) => {
    const reply = await fetch(`http://127.0.0.1:${server.address().port}${path}`, { headers: { cookie } });
    cookie = reply.headers.get("set-cookie")?.split(";")[0] ?? cookie;
    return reply;
  };
}

program("connect-redis", "express sessions over node-redis: visits, touch, regenerate, destroy, all of them", async (place) => {
  const client = await place.nodeRedis();
  const store = new RedisStore({ client });
  const app = express();
  app.use(session({ store, secret: "of a test", resave: false, saveUninitialized: false, cookie: { maxAge: 100_000 } }));
  app.get("/visit", (request, reply) => {
    request.session.visits = (request.session.visits ?? 0) + 1;
    reply.send(String(request.session.visits));
  });
  app.get("/look", (request, reply) => reply.send(String(request.session.visits)));
  app.get("/sign-in", (request, reply) => request.session.regenerate(() => request.session.save(() => reply.send("in"))));
  app.get("/sign-out", (request, reply) => request.session.destroy(() => reply.send("out")));
  const get = await browser(place, app);
  const text = async (path) => (await get(path)).text();
  assert.deepEqual([await text("/visit"), await text("/visit"), await text("/look")], ["1", "2", "2"]);
  assert.equal(await store.length(), 1);
  const [name] = await client.keys("sess:*");
  assert.ok((await client.ttl(name)) > 0);
  assert.equal((await store.all())[0].visits, 2);
  await get("/sign-in");
  assert.equal(await client.exists(name), 0);
  assert.equal(await text("/visit"), "1");
  await get("/sign-out");
  assert.deepEqual(await store.ids(), []);
});

program("express-rate-limit", "rate-limit-redis over node-redis: the fourth is answered 429, with its headers", async (place) => {
  const client = await place.nodeRedis();
  const store = new LimitStore({ sendCommand: (...words) => client.sendCommand(words) });
  const app = express();
  app.use(rateLimit({ windowMs: 60_000, limit: 3, standardHeaders: "draft-7", legacyHeaders: true, store }));
  app.get("/", (request, reply) => reply.send("fine"));
  const get = await browser(place, app);
  const replies = [];
  for (let at = 0; at < 4; at += 1) replies.push(await get("/"));
  assert.deepEqual(replies.map((it) => it.status), [200, 200, 200, 429]);
  assert.equal(replies[1].headers.get("x-ratelimit-remaining"), "1");
  await store.resetKey("127.0.0.1");
  assert.equal((await get("/")).status, 200);
});

program("rate-limiter-flexible", "over ioredis: consume, get, penalty, reward, block, delete; with a burst", async (place) => {
  const storeClient = place.ioredis();
  const limiter = new RateLimiterRedis({ storeClient, points: 3, duration: 60, keyPrefix: "rl" });
  assert.equal((await limiter.consume("ann")).remainingPoints, 2);
  await limiter.penalty("ann", 2);
  await assert.rejects(limiter.consume("ann"), (refused) => refused instanceof RateLimiterRes && refused.msBeforeNext > 0);
  await limiter.reward("ann", 2);
  assert.equal((await limiter.get("ann")).consumedPoints, 2);
  await limiter.block("ann", 100);
  await assert.rejects(limiter.consume("ann"), RateLimiterRes);
  assert.equal(await limiter.delete("ann"), true);
  const burst = new BurstyRateLimiter(limiter, new RateLimiterRedis({ storeClient, points: 2, duration: 60, keyPrefix: "burst" }));
  for (let at = 0; at < 5; at += 1) await burst.consume("bob");
  await assert.rejects(burst.consume("bob"), RateLimiterRes);
});

program("rate-limiter-flexible", "over node-redis", async (place) => {
  const storeClient = await place.nodeRedis();
  const limiter = new RateLimiterRedis({ storeClient, useRedisPackage: true, points: 3, duration: 60 });
  for (let at = 0; at < 3; at += 1) await limiter.consume("ann");
  await assert.rejects(limiter.consume("ann"), RateLimiterRes);
});
