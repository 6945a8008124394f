// Functions that are made, get hot and are dropped all the time, while the collector moves what is
// left: strings, regular expressions, JSON, closures, sorts; and a worker that does the same.
'use strict';
const {Worker, isMainThread} = require('worker_threads');

if (isMainThread && process.argv[2] !== 'alone') new Worker(__filename);

const seconds = Number(process.env.CHURN_SECONDS || 60);
const end = Date.now() + seconds * 1000;
let kept = [], sink = 0;

function make(i) {
  return new Function('n', `let sum = ${i}; for (let k = 0; k < n; k++) sum = (sum * 7 + k) & 0xffff; return sum;`);
}

function objects(i) {
  const list = Array.from({length: 300}, (_, k) => ({id: (k * 7919) % 1000, name: `n${i}-${k}`}));
  list.sort((a, b) => a.id - b.id);
  const text = JSON.stringify(list);
  sink += JSON.parse(text).filter((item) => /n\d+-1/.test(item.name)).length;
  kept.push(list);
  if (kept.length > 200) kept = kept.slice(100);
}

async function turns(i) {
  for (let k = 0; k < 20; k++) sink += await Promise.resolve(k + i);
}

async function main() {
  for (let i = 0; Date.now() < end; i++) {
    const made = make(i);
    for (let k = 0; k < 30; k++) sink += made(500);
    objects(i);
    if (i % 10 === 0) await turns(i);
    if (i % 500 === 0 && global.gc) global.gc();
  }
  process.exit(0);
}
main();
