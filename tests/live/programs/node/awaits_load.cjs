// Chains of async functions under load, each of which has but one caller: f_CHAIN_LEVEL is awaited
// by f_CHAIN_(LEVEL - 1), and f_CHAIN_0 by run. Objects are made and dropped, so that the collector
// moves what is left.
//
//   awaits_load.cjs SECONDS
'use strict';
const chains = 12, levels = (chain) => 2 + chain % 9;
const end = Date.now() + Number(process.argv[2]) * 1000;
let sink = 0, kept = [];

function work(n) {
  kept.push(Array.from({length: 30}, (_, k) => ({name: `n${n}-${k}`})));
  if (kept.length > 300) kept = kept.slice(150);
  for (let i = 0; i < 3000; i++) sink = (sink * 31 + i + n) & 0xffff;
  return sink;
}
const pause = (n) => (n % 3 === 0 ? new Promise((resolve) => setImmediate(resolve)) : n);

function make(chain) {
  const texts = [];
  for (let level = levels(chain); level >= 0; level--) {
    const name = (at) => `f_${chain}_${at}`;
    const inner = level === levels(chain) ? 'work(n)' : `await ${name(level + 1)}(n + ${level})`;
    texts.push(`async function ${name(level)}(n) {
      let sum = work(n);
      await pause(n);
      sum += ${inner};
      return sum + work(n);
    }`);
  }
  return new Function('work', 'pause', `'use strict'; ${texts.join('\n')}; return f_${chain}_0;`)(
      work, pause);
}

async function run(first) {
  for (let n = 0; Date.now() < end; n++) sink += await first(n) & 1;
}
for (let chain = 0; chain < chains; chain++) run(make(chain));
