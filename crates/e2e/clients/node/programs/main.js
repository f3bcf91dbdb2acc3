// Clients of Node, and real programs on top of them, each at one thing that it is used for; see ../../README.md.
//
// Usage: main.js NODE_PORT SEEDS [ONLY].
"use strict";

const { Place, run } = require("./register.js");

// Each registers its programs, in this order.
require("./clients.js");
require("./web.js");
require("./caches.js");
require("./locks.js");
require("./queues.js");

function address(text) {
  const [host, port] = text.split(":");
  return { host, port: Number(port) };
}

const [node, seeds, only = ""] = process.argv.slice(2);
// What a library left open must not keep the process.
run(new Place(address(node), seeds.split(",").map(address)), only).then((isFine) => process.exit(isFine ? 0 : 1));
