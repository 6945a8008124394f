// Chains of async functions that await each other, another one at each "next"; the innermost one is
// resumed, and spins.
//
//   awaits.cjs WARM_UPS SPIN_MS
//
// Says for each chain what the engine says of it, innermost first (the CallSites of an Error):
//   frame NAME <tab> FILE <tab> LINE <tab> COLUMN
// where NAME of a function that awaits begins with "async "; then "ready", and spins. Each chain has
// run WARM_UPS times before, without spinning. Other chains of the same functions wait meanwhile.
'use strict';
const fs = require('fs');

const warmUps = Number(process.argv[2]);
const spinMs = Number(process.argv[3]);
let seed = 4711;
const random = (n) => {
  seed = (seed * 1103515245 + 12345) & 0x7fffffff;
  return (seed >> 8) % n;
};

Error.stackTraceLimit = Infinity;
Error.prepareStackTrace = (_, sites) => sites.map((site) => [
  (site.isAsync() ? 'async ' : '') + (site.getFunctionName() || '(anonymous)'),
  site.getScriptNameOrSourceURL() || '', site.getLineNumber() || 0,
  site.getColumnNumber() || 0].join('\t'));

let sink = 0;
function work(rounds) {
  let sum = 0;
  for (let i = 0; i < rounds; i++) sum = (sum * 31 + i) & 0xfffff;
  return sum;
}

function spin(isReal) {
  if (!isReal) return (sink += work(3));
  const trace = new Error().stack;
  fs.writeSync(1, trace.map((line) => `frame ${line}\n`).join('') + 'ready\n');
  const end = Date.now() + spinMs;
  while (Date.now() < end) sink += work(20000);
  fs.writeSync(1, 'spun\n');
  return sink;
}

// What the innermost function waits for; the last one for ever.
const WAITS = [
  () => new Promise((resolve) => setImmediate(resolve)),
  () => new Promise((_, reject) => setImmediate(() => reject(new RangeError('broken')))),
  () => Promise.resolve(1),
  () => 2,
  () => new Promise((resolve) => setTimeout(resolve, 1)),
  () => new Promise((resolve) => process.nextTick(resolve)),
  () => ({then: (resolve) => resolve(3)}),
];
const NEVER = -1;

function inner(isReal) { return 1 + spin(isReal); }
async function last(how, isReal) {
  if (how === NEVER) return await new Promise(() => {});
  try {
    await WAITS[how]();
  } catch (error) {
    return inner(isReal);
  }
  return spin(isReal);
}

class Base {
  async method(path, at, how, isReal) { return 1 + await step(path, at, how, isReal); }
  static async of(path, at, how, isReal) { return await step(path, at, how, isReal); }
}
class Derived extends Base {
  async method(path, at, how, isReal) { return 2 + await super.method(path, at, how, isReal); }
}
const object = new Derived();

async function shared(path, at, how, isReal) { return 1 + await step(path, at, how, isReal); }
async function one(path, at, how, isReal) { return await shared(path, at, how, isReal); }
async function two(path, at, how, isReal) { return await shared(path, at, how, isReal) * 2; }
async function looping(path, at, how, isReal) {
  let sum = 0;
  for (let i = 0; i < 3; i++) sum += await (i === 1 ? step(path, at, how, isReal) : i);
  return sum;
}
async function trying(path, at, how, isReal) {
  try {
    return await step(path, at, how, isReal);
  } catch (error) {
    return 0;
  } finally {
    sink++;
  }
}
async function catching(path, at, how, isReal) {
  try {
    await Promise.reject(new RangeError('thrown'));
  } catch (error) {
    return await step(path, at, how, isReal);
  }
}
async function handingOn(path, at, how, isReal) { return step(path, at, how, isReal); }
async function manyArguments(path, at, how, isReal, a, b, c, d) {
  return a + b + c + d + await step(path, at, how, isReal);
}
async function many(path, at, how, isReal) {
  const [a, b, c, d, e, f, g, h] = [1, 2, 3, 4, 5, 6, 7, 8];
  const sum = await step(path, at, how, isReal);
  return (() => a + b + c + d + e + f + g + h + sum)();
}

const KINDS = [
  one, two, shared, looping, trying, catching, handingOn, manyArguments, many,
  async (path, at, how, isReal) => await step(path, at, how, isReal),
  async (path, at, how, isReal) => 1 + await object.method(path, at, how, isReal),
  async (path, at, how, isReal) => await Base.of(path, at, how, isReal),
  async (path, at, how, isReal) => await one.call(null, path, at, how, isReal),
  async (path, at, how, isReal) => await two.bind(null, path)(at, how, isReal),
];

function step(path, at, how, isReal) {
  return at >= path.length ? last(how, isReal) : KINDS[path[at]](path, at + 1, how, isReal);
}

async function warmUp(path, how) {
  for (let i = 0; i < warmUps; i++) await step(path, 0, how % 5 === 4 ? 2 : how, false);
}

const randomPath = () => Array.from({length: 1 + random(8)}, () => random(KINDS.length));

async function chain() {
  const path = randomPath(), how = random(WAITS.length);
  for (let i = 0; i < 3; i++) step(randomPath(), 0, NEVER, false);
  await warmUp(path, how);
  await step(path, 0, how, true);
}

const byte = Buffer.alloc(64);
async function main() {
  for (;;) {
    if (fs.readSync(0, byte, 0, 64, null) <= 0) return;
    await chain();
  }
}
main();
