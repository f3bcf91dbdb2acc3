// What nodes counted in the last ten minutes, as rates.
//
// In:  figures, look by look. Out: points: commands and errors a second, latency, how busy each node is.
// Invariant: a process that began anew counts from nothing, and makes no negative rate.

const KEPT = 10 * 60 * 1000;

export class History {
  constructor() {
    this.points = [];
    this.before = new Map();
  }

  // Takes note of a look: [{node, figures}] at a time of this browser's.
  add(at, answers) {
    const point = { at, nodes: {}, commands: 0, errors: 0, refused: 0, latency: null };
    const buckets = [];
    let known = 0;
    for (const { node, figures } of answers) {
      if (!figures || !figures.bricks) continue;
      const now = counted(figures);
      const before = this.before.get(node);
      this.before.set(node, now);
      if (!before || before.started !== now.started || now.at <= before.at) continue;
      const seconds = (now.at - before.at) / 1000;
      const rate = (name) => Math.max(0, now[name] - before[name]) / seconds;
      known += 1;
      const busy = figures.bricks.map((it) => it.busy_thousandths / 1000);
      point.nodes[node] = { commands: rate("commands"), cpu: rate("cpu") / 1e6, busy: Math.max(0, ...busy), received: rate("received"), sent: rate("sent") };
      point.commands += point.nodes[node].commands;
      point.errors += rate("errors");
      point.refused += rate("refused");
      now.latency.forEach((count, index) => { buckets[index] = (buckets[index] || 0) + Math.max(0, count - before.latency[index]); });
    }
    for (const node of [...this.before.keys()]) {
      if (!answers.some((it) => it.node === node && it.figures)) this.before.delete(node);
    }
    if (known === 0) return;
    point.latency = percentiles(buckets, [0.5, 0.99, 0.999]);
    this.points.push(point);
    while (this.points.length && this.points[0].at < at - KEPT) this.points.shift();
  }

  get last() {
    return this.points.at(-1);
  }
}

function counted(figures) {
  const sum = (name) => figures.bricks.reduce((all, it) => all + it[name], 0);
  const { errors } = figures;
  return {
    at: figures.now_ms,
    started: figures.started_ms,
    commands: sum("commands"),
    errors: errors.replied,
    refused: errors.busy + errors.memory + errors.disk + errors.damaged + errors.limit,
    cpu: figures.cpu_us,
    received: figures.received,
    sent: figures.sent,
    latency: figures.latency,
  };
}

// In microseconds. Bucket i has what took at most 2^i; within one, calls are taken to lie evenly.
export function percentiles(buckets, shares) {
  const all = buckets.reduce((sum, it) => sum + it, 0);
  if (!all) return null;
  return shares.map((share) => {
    let left = share * all;
    for (let index = 0; index < buckets.length; index += 1) {
      if (buckets[index] >= left && buckets[index] > 0) {
        const from = index === 0 ? 0 : 2 ** (index - 1);
        return from + (2 ** index - from) * (left / buckets[index]);
      }
      left -= buckets[index];
    }
    return 2 ** (buckets.length - 1);
  });
}
