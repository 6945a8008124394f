// Regular expressions that backtrack, each called by a function of its own.
//
//   regexps.cjs SECONDS
//
// Says of each, as RegExp's own properties have it, with what is too long cut and with control
// characters as escapes:
//   regexp FUNCTION <tab> /SOURCE/FLAGS
// Meanwhile objects are made and dropped, so that the collector moves what is left.
'use strict';
const fs = require('fs');

const mostCharacters = 60;
const end = Date.now() + Number(process.argv[2]) * 1000;
let sink = 0, kept = [];

const long = /(?:(?:alpha|al)+(?:bravo|br)*(?:charlie|ch)*(?:delta|de)*)+(?:echo|ec)!$/;
const made = [
  /^(a+)+$/,
  /^(b|bb)+c$/i,
  /^(?:x+x+)+y$/gm,
  /^(é+)+ü$/,
  new RegExp('^(中+)+/国[/]$', 'u'),
  long,
  new RegExp('^(\t+)+\n\u0001$', 's'),
];
const subjects = [
  'a'.repeat(17) + '!', 'B'.repeat(19), 'x'.repeat(16), 'é'.repeat(16) + '!', '中'.repeat(16) + '!',
  'alal'.repeat(5), '\t'.repeat(16) + '!',
];

function first() { return made[0].test(subjects[0]); }
function second() { return made[1].exec(subjects[1]) !== null; }
function third() { return subjects[2].replace(made[2], '').length; }
function fourth() { return subjects[3].search(made[3]); }
function fifth() { return made[4].test(subjects[4]); }
function sixth() { return subjects[5].match(made[5]) !== null; }
function seventh() { return made[6].test(subjects[6]); }
// One that is new each time, and so has moved but rarely.
function eighth() { return /^(?:(?:p|pp)+)+q$/y.test('p'.repeat(14)); }

const all = [first, second, third, fourth, fifth, sixth, seventh, eighth];
const expressions = [...made, /^(?:(?:p|pp)+)+q$/y];

function shown(expression) {
  const source = expression.source;
  const cut = source.length > mostCharacters ? source.slice(0, mostCharacters) + '…' : source;
  const escaped = cut.replace(/[\x00-\x1f\x7f-\x9f]/g, (control) =>
    '\\x' + control.charCodeAt(0).toString(16).padStart(2, '0'));
  return `/${escaped}/${expression.flags}`;
}

fs.writeSync(1, all.map((f, i) => `regexp ${f.name}\t${shown(expressions[i])}\n`).join(''));
fs.writeSync(1, 'ready\n');
for (let i = 0; Date.now() < end; i++) {
  for (const next = Date.now() + 3; Date.now() < next;) sink += Number(all[i % all.length]());
  kept.push(Array.from({length: 50}, (_, k) => ({name: `n${i}-${k}`})));
  if (kept.length > 200) kept = kept.slice(100);
}
