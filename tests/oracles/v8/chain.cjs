// Calls itself through functions of every shape, and stops in the innermost one (stop.cjs).
'use strict';
const vm = require('vm');
const {stop} = require('./stop.cjs');

const WAIT = Number(process.env.WAIT || 3000), ROUNDS = Number(process.env.ROUNDS || 20000);
// Many targets, so that no code is made for one of them alone.
const ends = [(k) => k + 1, (k) => k + 2, (k) => k + 3, (k) => k + 4, (k) => k + 5, (k) => k + 6,
              () => stop(WAIT)];
let end = 0;
let chain = [];
function go(k) { return chain[k](k); }

function inner4(k) { return ends[end](k) + 1; }
function inner3(k) { const a = inner4(k); return a + 1; }
function inner2(k) {
  let sum = k;
  sum += inner3(k); return sum;
}
function inner1(k) { return 1 + inner2(k); }
class Shape {
  constructor(k) { this.value = k < 0 ? 0 : go(k + 1); }
  method(k) { return this.value + go(k + 1); }
  static still(k) { return go(k + 1); }
  get got() { return go(Shape.next); }
  ['computed' + 1](k) { return go(k + 1); }
  field = () => 1;
}
Shape.next = 0;
function naïve(k) { return go(k + 1); }
function 名前(k) { const text = '日本'; return text.length + go(k + 1); }
const arrow = (k) => go(k + 1);
const object = {
  plain(k) { return go(k + 1); },
  assigned: function (k) { return go(k + 1); },
};
function Old() {}
Old.prototype.work = function (k) { return this.self + go(k + 1); };
const named = function again(k) { if (k < 0) return again(1); return this.self + go(k + 1); };
function* made(k) { yield go(k + 1); }
async function later(k) { return go(k + 1); }
function tried(k) { try { return go(k + 1); } finally { end = end + 0; } }
const many = (() => {
  let body = '';
  for (let i = 0; i < 90; ++i) body += `let v${i} = ${i};\n`;
  body += 'function holder(k) { ';
  for (let i = 0; i < 90; ++i) body += `v${i};`;
  body += 'return function inHolder(n) { ';
  for (let i = 0; i < 90; ++i) body += `v${i} += 0;`;
  body += ' return go(n + 1); }(k); }\nreturn holder;\n//# sourceURL=many-locals.js';
  return new Function('go', body)(go);
})();
const evaluated = eval('(function fromEval(k) { return go(k + 1); })\n//# sourceURL=evaluated.js');
globalThis.goOn = go;
const lines = vm.runInThisContext(
    '\r\n\r\n(function crlf(k) {\r\n  return goOn(k + 1);\u2028\n})',
    {filename: 'crlf.js', lineOffset: 7});
const wide = vm.runInThisContext(
    '/* ✓\u2028 */ (function wideSource(k) {\n\n return   goOn(k + 1); })',
    {filename: 'wide ✓.js', columnOffset: 5});

const shapes = [
  (k) => new Shape(k).value,
  (k) => new Shape(-1).method(k),
  (k) => Shape.still(k),
  (k) => { Shape.next = k + 1; return new Shape(-1).got; },
  (k) => new Shape(-1).computed1(k),
  naïve, 名前, arrow,
  (k) => object.plain(k),
  (k) => object.assigned(k),
  (k) => new Old().work(k),
  (k) => named.call({self: 1}, k),
  (k) => made(k).next().value,
  (k) => { later(k); return 1; },
  tried,
  (k) => [k].map((x) => go(x + 1))[0],
  (k) => many(k),
  evaluated, lines, wide,
  (k) => Reflect.apply(arrow, null, [k]),
  (k) => arrow.bind(null)(k),
  (k) => Number('a'.replace(/a/, () => go(k + 1))),
  (k) => JSON.parse('[1]', (key, value) => (key === '0' ? go(k + 1) : value))[0],
];
chain = shapes.concat([(k) => inner1(k)]);

function main() {
  let sum = 0;
  for (let i = 0; i <= ROUNDS; ++i) {
    end = i === ROUNDS ? 6 : i % 6;
    sum += go(0);
  }
  return sum;
}
main();
