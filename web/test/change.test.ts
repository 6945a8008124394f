// The table beside the time before.
import assert from "node:assert/strict";
import { test } from "node:test";
import { compared, spanBefore } from "../src/model/change";
import { Answer, DocumentSource } from "../src/model/source";
import { START, State } from "../src/model/state";
import { profileOf } from "./helpers";

// Two seconds of a ranking that then looks for duplicates, and no longer reads.
const profile = profileOf([
  { pid: 1, command: "rank", bucket: 0, count: 6, stack: ["main", "score"] },
  { pid: 1, command: "rank", bucket: 1, count: 2, stack: ["main", "read"] },
  { pid: 1, command: "rank", bucket: 2, count: 1, stack: ["main", "score"] },
  { pid: 1, command: "rank", bucket: 3, count: 3, stack: ["main", "find_duplicates"] },
]);
const source = new DocumentSource(profile, { json: "" });

function answerTo(first: number, last: number): Promise<Answer> {
  const { startMs, bucketMs } = profile;
  const range = { fromMs: startMs + first * bucketMs, toMs: startMs + last * bucketMs };
  const state: State = { ...START, range };
  return source.ask({ state, lanes: false, width: 0, order: "self", rows: 100 });
}

test("the time before is as long and ends where the chosen one begins", () => {
  assert.deepEqual(spanBefore({ fromMs: 5000, toMs: 7000 }), { fromMs: 3000, toMs: 5000 });
  assert.deepEqual(spanBefore({ fromMs: 1000, toMs: 7000 }), { fromMs: 0, toMs: 1000 });
});

test("shares are compared, and what is new or gone is told", async () => {
  const now = await answerTo(2, 4);
  const answer = compared(now, await answerTo(0, 2));
  const changes = Object.fromEntries(answer.top.map(({ item, total, change }) =>
    [answer.functions.name[item]!, [total, change!.was, change!.now]]));
  assert.deepEqual(changes, { main: [4, 1, 1], score: [1, 0.75, 0.25],
                              find_duplicates: [3, 0, 0.75], read: [0, 0.25, 0] });
  assert.equal(answer.topCount, 4);
  assert.equal(now.top.length, 3); // and what it was made of is as before
});

test("a time before without samples makes everything new", async () => {
  const now = await answerTo(0, 2);
  const nothing = { ...now, top: [], tree: { ...now.tree, total: Float64Array.of(0) } };
  assert.ok(compared(now, nothing).top.every(({ change }) => change!.was === 0));
});

test("functions that the new answer does not name get a number in it", async () => {
  const now = await answerTo(3, 4);
  const old = await answerTo(1, 2);
  const own = { ...now, functions: { ...now.functions, name: ["main", "find_duplicates"],
                                     type: ["native", "native"], file: ["", ""],
                                     kind: ["native", "native"] as any },
                top: [{ item: 0, self: 0, total: 3 }, { item: 1, self: 3, total: 3 }] };
  const { functions, top, tree } = compared(own, old);
  assert.equal(functions.name[top.at(-1)!.item], "read");
  assert.equal(tree.functions, functions);
  assert.equal(own.functions.name.length, 2);
});
