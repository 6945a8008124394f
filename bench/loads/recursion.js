// recursion.js SECONDS: 50 frames deep, where the time is spent.
'use strict';

function f(depth) {
  if (depth > 0) return f(depth - 1) + 1;
  let total = 0;
  for (let i = 0; i < 20000; i++) total += (i * i) % 7;
  return total;
}

const end = Date.now() + Number(process.argv[2]) * 1000;
let total = 0;
while (Date.now() < end) total += f(48);
console.log(total);
