// Requests that take turns on one thread, each in a span of dd-trace: node_writer.js SECONDS LOG
// (judge.py). The log has a line for each part of a request that ran without a pause.
'use strict';

const fs = require('fs');
const tracer = require('dd-trace').init();

const PART_MS = 4, GAP_MS = 2;
const end = Date.now() + Number(process.argv[2]) * 1000;
const lines = [];

const now = () => BigInt(Math.round((performance.timeOrigin + performance.now()) * 1e6));
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function burn(ms) {
  let number = 1;
  for (const until = performance.now() + ms; performance.now() < until;)
    for (let i = 0; i < 2000; i++) number = (number * 31) % 1000003;
  return number;
}

function part(trace, span) {
  const begin = now();
  burn(PART_MS);
  lines.push(`${process.pid} ${begin} ${now()} ${trace} ${span}\n`);
}

function serve() {
  return tracer.trace('request', async (span) => {
    const context = span.context();
    const [trace, own] = [context.toTraceId(true).padStart(32, '0'), context.toSpanId(true).padStart(16, '0')];
    part(trace, own);
    await pause(1);
    part(trace, own);
  });
}

async function client() {
  while (Date.now() < end) {
    await serve();
    await pause(1);
    const begin = now();
    burn(GAP_MS);
    lines.push(`${process.pid} ${begin} ${now()} - -\n`);
  }
}

Promise.all([client(), client(), client()]).then(() => {
  fs.writeFileSync(process.argv[3], lines.join(''));
  process.exit(0);
});
