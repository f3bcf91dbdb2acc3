// Queues of tasks: BullMQ.
"use strict";

const assert = require("node:assert/strict");
const { Queue } = require("bullmq");
const { program } = require("./register.js");

program(
  "BullMQ",
  "a job is sent",
  async (place) => {
    const queue = new Queue("mail", { connection: place.node });
    queue.on("error", () => {});
    place.later(() => queue.close());
    const job = await queue.add("welcome", { to: "ann" });
    assert.equal((await queue.getJob(job.id)).data.to, "ann");
  },
  "XADD",
);
