// Chains of calls of every kind, another one at each "next"; at the end of one the thread spins.
//
//   stops.cjs WARM_UPS SPIN_MS
//
// Says for each chain what the engine says of it, innermost first (the CallSites of an Error):
//   frame NAME <tab> FILE <tab> LINE <tab> COLUMN
// then "ready", and spins. Each chain has run WARM_UPS times before, without spinning.
'use strict';
const fs = require('fs');

const warmUps = Number(process.argv[2]);
const spinMs = Number(process.argv[3]);
let seed = 12345;
const random = (n) => {
  seed = (seed * 1103515245 + 12345) & 0x7fffffff;
  return (seed >> 8) % n;
};

Error.stackTraceLimit = Infinity;
Error.prepareStackTrace = (_, sites) => sites.map((site) => [
  site.getFunctionName() || '', site.getScriptNameOrSourceURL() || '', site.getLineNumber() || 0,
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

class Base {
  method(path, at, isReal) { return 1 + step(path, at, isReal); }
  get got() { return 1 + step(this.path, this.at, this.isReal); }
  static of(path, at, isReal) { return 1 + step(path, at, isReal); }
}
class Derived extends Base {
  constructor(path, at, isReal) {
    super();
    if (at >= 0) this.value = step(path, at, isReal);
  }
  method(path, at, isReal) { return 2 + super.method(path, at, isReal); }
}
const object = new Derived(null, -1);

function leafOne(path, at, isReal) { return 1 + step(path, at, isReal); }
function leafTwo(path, at, isReal) { return 2 + leafOne(path, at, isReal); }
function leafThree(path, at, isReal) { return 3 + leafTwo(path, at, isReal); }
function manyArguments(path, at, isReal, a, b, c, d, e, f) {
  return a + b + c + d + e + f + step(path, at, isReal);
}
function* generated(path, at, isReal) { yield 1 + step(path, at, isReal); }
function tag(strings, path, at, isReal) { return strings.length + step(path, at, isReal); }

const KINDS = [
  (path, at, isReal) => leafThree(path, at, isReal),
  (path, at, isReal) => object.method(path, at, isReal),
  (path, at, isReal) => new Derived(path, at, isReal).value,
  (path, at, isReal) => Base.of(path, at, isReal),
  (path, at, isReal) => [1].map(() => step(path, at, isReal))[0],
  (path, at, isReal) => [2, 1].sort((a, b) => step(path, at, isReal) * 0 + a - b).length,
  (path, at, isReal) => 'x'.replace(/x/, () => String(step(path, at, isReal))).length,
  (path, at, isReal) => JSON.stringify({toJSON: () => step(path, at, isReal)}).length,
  (path, at, isReal) => Reflect.apply(leafOne, null, [path, at, isReal]),
  (path, at, isReal) => leafTwo.call(null, path, at, isReal),
  (path, at, isReal) => leafOne.bind(null, path)(at, isReal),
  (path, at, isReal) => [...generated(path, at, isReal)][0],
  (path, at, isReal) => tag`a${path}b${at}c${isReal}`,
  (path, at, isReal) => manyArguments(path, at, isReal, 1, 2),
  (path, at, isReal) => manyArguments(path, at, isReal, 1, 2, 3, 4, 5, 6, 7, 8),
  (path, at, isReal) => {
    const holder = new Base();
    holder.path = path, holder.at = at, holder.isReal = isReal;
    return holder.got;
  },
  (path, at, isReal) => {
    try {
      return step(path, at, isReal);
    } finally {
      sink++;
    }
  },
  (path, at, isReal) => new Proxy({}, {get: () => step(path, at, isReal)}).any,
];

function step(path, at, isReal) {
  return at >= path.length ? spin(isReal) : KINDS[path[at]](path, at + 1, isReal);
}

// By the name of this function a sample shows that its chain is no real one.
function warmUp(path) {
  for (let i = 0; i < warmUps; i++) step(path, 0, false);
}

function chain() {
  const path = Array.from({length: 4 + random(12)}, () => random(KINDS.length));
  warmUp(path);
  step(path, 0, true);
}

const byte = Buffer.alloc(64);
for (;;) {
  const bytes = fs.readSync(0, byte, 0, 64, null);
  if (bytes <= 0) break;
  chain();
}
