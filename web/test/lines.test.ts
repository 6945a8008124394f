// Lines of functions: what each has of its own and in all.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseProfile, Profile } from "../src/data/profile";
import { allLines, linesOf } from "../src/model/lines";
import { Filter } from "../src/model/filter";
import { functionsOf } from "../src/model/names";
import { filterOf, START } from "../src/model/state";
import { documentOf } from "./helpers";

// rank.py: line 3 calls line 7 (3 samples, of which 2 are in native code), and itself (1).
function profile(): Profile {
  const document = documentOf([
    { pid: 1, command: "python3", count: 2, stack: ["rank|cpython|a", "score|cpython|b", "hash|native|libc"] },
    { pid: 1, command: "python3", count: 1, stack: ["rank|cpython|a", "score|cpython|b"] },
    { pid: 1, command: "python3", count: 1, stack: ["rank|cpython|a", "rank|cpython|a"] },
  ]);
  const { frames, strings } = document as any;
  const file = strings.push("src/rank.py") - 1;
  frames.source = frames.name.map((_: number, i: number) => (i === 2 ? 0 : file));
  frames.line = frames.name.map((_: number, i: number) => [3, 7, 0][i]);
  return parseProfile(JSON.parse(JSON.stringify(document)));
}

function rows(hidden: string[]): Record<string, [number, number]> {
  const data = profile();
  const functions = functionsOf(data);
  const filter: Filter = filterOf(START, data);
  const out: Record<string, [number, number]> = {};
  for (const { item, self, total, place } of allLines(data, functions, filter, new Set(hidden))) {
    out[`${functions.name[item]} ${place!.file}:${place!.line}`] = [self, total];
    const own = linesOf(data, functions, filter, new Set(hidden), item)
      .find(({ line }) => line === place!.line)!;
    assert.deepEqual([own.self, own.total], [self, total]); // as its function's own list has it
  }
  return out;
}

test("a line counts each sample once, and its own where it is innermost", () => {
  assert.deepEqual(rows([]), { "rank src/rank.py:3": [1, 4], "score src/rank.py:7": [1, 3],
                               "hash :0": [2, 2] });
});

test("what hidden code spends is its caller's line's", () => {
  assert.deepEqual(rows(["native"]), { "rank src/rank.py:3": [1, 4], "score src/rank.py:7": [3, 3] });
});
