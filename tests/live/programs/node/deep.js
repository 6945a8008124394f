// Stacks of DEPTH functions, each another one, with work at the end of the chain.
//
//   deep.js DEPTH SECONDS
//
// --no-turbo-inlining (and --no-maglev-inlining from Node 24 on) keeps a machine frame for each.
'use strict';
const depth = Number(process.argv[2] || 64), end = Date.now() + 1000 * Number(process.argv[3] || 30);
let sink = 0;
function work() {
  for (let i = 0; i < 20000; i++) sink = (sum(sink, i)) & 0xfffff;
  return sink;
}
function sum(a, b) { return a * 31 + b; }
const levels = [];
for (let i = 0; i < depth; i++)
  levels.push(new Function('levels', 'work',
      `return function level${i}() { return 1 + ${i + 1 < depth ? `levels[${i + 1}]` : 'work'}(); }`)(
      levels, work));
while (Date.now() < end) sink += levels[0]();
