// Through functions of WebAssembly: outer_sum() calls middle_sum(), that inner_sum(), that stop().
'use strict';
const {stop} = require('./stop.cjs');

// A module "sums" of three functions (i32) -> i32 that call each other, import 0 is env.stop.
const bytes = Buffer.from(
    '0061736d0100000001060160017f017f020c0103656e760473746f700000030403000000070901056f757465' +
    '7200030a1f0309002000100041016a0b09002000100141026a0b09002000100241036a0b0037046e616d6500' +
    '050473756d73012904000473746f700109696e6e65725f73756d020a6d6964646c655f73756d03096f757465' +
    '725f73756d', 'hex');
const WAIT = Number(process.env.WAIT || 3000), ROUNDS = Number(process.env.ROUNDS || 20000);

let isLast = false;
function imported(n) { return isLast ? stop(WAIT) : n; }
const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), {env: {stop: imported}});

function main() {
  let sum = 0;
  for (let i = 0; i <= ROUNDS; ++i) {
    isLast = i === ROUNDS;
    sum += instance.exports.outer(i);
  }
  return sum;
}
main();
