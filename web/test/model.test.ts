import assert from "node:assert/strict";
import { test } from "node:test";
import { buildHostTree } from "../src/model/aggregate";
import { processChoices, threadChoices } from "../src/model/choices";
import { Filter, NO_FILTER, timelineCounts } from "../src/model/filter";
import { functionsOf, Grouping } from "../src/model/names";
import { findPath, pathTo } from "../src/model/path";
import { sandwich } from "../src/model/sandwich";
import { matchedSamples, matchingFunctions } from "../src/model/search";
import { sharesByType, topFunctions } from "../src/model/top";
import { Tree } from "../src/model/tree";
import { profileOf, Row } from "./helpers";

// `h;web;main 10 (3)`: path, total, and self where there is any.
function lines(tree: Tree): string[] {
  return [...tree.item.keys()].map((node) => {
    const names: string[] = [];
    for (let at = node; at >= 0; at = tree.parent[at]!) names.unshift(tree.label(at));
    const self = tree.self[node]! > 0 ? ` (${tree.self[node]})` : "";
    return `${names.join(";")} ${tree.total[node]}${self}`;
  });
}

function treeOf(rows: Row[], grouping: Grouping = "command", filter: Filter = NO_FILTER): Tree {
  const profile = profileOf(rows);
  return buildHostTree(profile, functionsOf(profile), filter, grouping);
}

const ROWS: Row[] = [
  { pid: 1, command: "web", tid: 11, bucket: 0, count: 5, stack: ["main", "parse"] },
  { pid: 1, command: "web", tid: 12, bucket: 1, count: 2, stack: ["main"] },
  { pid: 2, command: "web", bucket: 1, count: 3, stack: ["main", "write", "sys_write|kernel"] },
  { pid: 3, command: "db", bucket: 2, count: 7, stack: ["main", "scan"] },
];

test("processes of one command add up, heaviest first", () => {
  assert.deepEqual(lines(treeOf(ROWS)), [
    "h 17", "h;web 10", "h;web;main 10 (2)", "h;web;main;parse 5 (5)", "h;web;main;write 3",
    "h;web;main;write;sys_write 3 (3)", "h;db 7", "h;db;main 7", "h;db;main;scan 7 (7)"]);
});

test("each process can stand for itself", () => {
  const names = lines(treeOf(ROWS, "process")).filter((line) => line.split(";").length === 2);
  assert.deepEqual(names, ["h;web (1) 7", "h;db (3) 7", "h;web (2) 3"]);
});

test("every child lies inside its parent, and siblings do not overlap", () => {
  const tree = treeOf(ROWS);
  for (let node = 1; node < tree.item.length; node++) {
    const parent = tree.parent[node]!;
    assert.ok(tree.start[node]! >= tree.start[parent]!);
    assert.ok(tree.start[node]! + tree.total[node]! <= tree.start[parent]! + tree.total[parent]!);
    assert.ok(tree.end[node]! <= tree.end[parent]! && node < tree.end[node]!);
    assert.equal(tree.depth[node], tree.depth[parent]! + 1);
    const next = tree.end[node]!;
    if (next < tree.end[parent]!) {
      assert.equal(tree.start[next], tree.start[node]! + tree.total[node]!);
    }
  }
});

test("filters by process, thread and time, alone and together", () => {
  const total = (filter: Partial<Filter>) => treeOf(ROWS, "command", { ...NO_FILTER, ...filter }).total[0];
  assert.equal(total({ processes: new Set(["1 web"]) }), 7);
  assert.equal(total({ processes: new Set(["1 web", "3 db"]) }), 14);
  assert.equal(total({ threads: new Set(["1 web 12"]) }), 2);
  assert.equal(total({ buckets: { first: 1, last: 1 } }), 5);
  assert.equal(total({ buckets: { first: 1, last: 2 }, processes: new Set(["2 web", "3 db"]) }), 10);
  assert.equal(total({ processes: new Set(["9 none"]) }), 0);
});

test("the timeline counts what passes, whatever range is chosen", () => {
  const profile = profileOf(ROWS);
  const all = timelineCounts(profile, { ...NO_FILTER, buckets: { first: 0, last: 0 } });
  assert.deepEqual([...all].slice(0, 4), [5, 5, 7, 0]);
  assert.equal(all.length, 10);
  const one = timelineCounts(profile, { ...NO_FILTER, processes: new Set(["2 web"]) });
  assert.deepEqual([...one].slice(0, 4), [0, 3, 0, 0]);
});

test("the lists of choices count within the chosen time", () => {
  const profile = profileOf(ROWS);
  const filter: Filter = { ...NO_FILTER, processes: new Set(["1 web"]), buckets: { first: 1, last: 9 } };
  const processes = processChoices(profile, filter).map(({ label, count }) => `${label} ${count}`);
  assert.deepEqual(processes, ["web (1) 2", "web (2) 3", "db (3) 7"]);
  const threads = threadChoices(profile, filter).map(({ label, count }) => `${label} ${count}`);
  assert.deepEqual(threads, ["thread-11 (11) 0", "thread-12 (12) 2"]);
});

test("frames of one function at several lines are one function", () => {
  const tree = treeOf([
    { pid: 1, command: "a", stack: ["main", "loop|native|a.cc:10"], count: 2 },
    { pid: 1, command: "a", stack: ["main", "loop|native|a.cc:12"], count: 3 },
    { pid: 1, command: "a", stack: ["main", "loop|native|b.cc:12"], count: 4 }]);
  assert.deepEqual(lines(tree).slice(3), ["h;a;main;loop 5 (5)", "h;a;main;loop 4 (4)"]);
  assert.deepEqual([...tree.functions.file].sort(), ["", "a.cc", "b.cc:12"]);
});

test("a function that recurs counts each sample once", () => {
  const tree = treeOf([
    { pid: 1, command: "a", stack: ["f", "g", "f", "f"], count: 4 },
    { pid: 1, command: "a", stack: ["f", "g"], count: 1 },
    { pid: 2, command: "b", stack: ["g", "f"], count: 2 }]);
  const rows = new Map(topFunctions(tree).map((row) => [tree.functions.name[row.item], row]));
  assert.deepEqual([rows.get("f")!.total, rows.get("f")!.self], [7, 6]);
  assert.deepEqual([rows.get("g")!.total, rows.get("g")!.self], [7, 1]);
});

test("shares by type follow the innermost frame", () => {
  assert.deepEqual(sharesByType(treeOf(ROWS)), [{ type: "native", count: 14 }, { type: "kernel", count: 3 }]);
});

test("search counts each sample once and knows regular expressions", () => {
  const tree = treeOf(ROWS);
  const matched = (query: string) => {
    const matching = matchingFunctions(tree.functions, query);
    return matching === null ? null : matchedSamples(tree, matching);
  };
  assert.equal(matched("  "), null);
  assert.equal(matched("MAIN"), 17);
  assert.equal(matched("write"), 3);
  assert.equal(matched("/^(parse|scan)$/"), 12);
  assert.equal(matched("^parse"), 0);
  assert.equal(matched("/(/"), 0);
});

test("callers and callees of a function carry its total", () => {
  const tree = treeOf([
    { pid: 1, command: "a", stack: ["main", "x", "f", "g"], count: 4 },
    { pid: 1, command: "a", stack: ["main", "y", "f", "g", "f"], count: 2 },
    { pid: 1, command: "a", stack: ["main", "y", "f"], count: 1 },
    { pid: 1, command: "a", stack: ["main", "z"], count: 9 }]);
  const wanted = tree.functions.name.indexOf("f");
  const { callers, callees } = sandwich(tree, wanted);
  assert.deepEqual(lines(callees), ["f 7 (3)", "f;g 6 (4)", "f;g;f 2 (2)"]);
  assert.deepEqual(lines(callers), ["f 7 (3)", "f;x 4", "f;x;main 4", "f;x;main;a 4 (4)", "f;y 3",
                                    "f;y;main 3", "f;y;main;a 3 (3)"]);
});

test("the table, callers and callees have one number, with recursion folded or not", () => {
  const profile = profileOf([
    { pid: 1, command: "a", stack: ["main", "fib", "fib", "fib"], count: 14 },
    { pid: 1, command: "a", stack: ["main", "fib", "fib", "add"], count: 6 },
    { pid: 1, command: "a", stack: ["main", "fib", "log", "fib"], count: 3 }]);
  const functions = functionsOf(profile);
  const plain = buildHostTree(profile, functions, NO_FILTER, "command");
  const folded = buildHostTree(profile, functions, NO_FILTER, "command", true);
  const wanted = functions.name.indexOf("fib");
  for (const tree of [plain, folded]) {
    const row = topFunctions(tree).find(({ item }) => item === wanted)!;
    assert.deepEqual([row.total, row.self], [23, 17]);
    for (const side of Object.values(sandwich(tree, wanted))) {
      assert.deepEqual([side.total[0], side.self[0]], [row.total, row.self]);
    }
  }
  assert.deepEqual(topFunctions(folded), topFunctions(plain));
  assert.deepEqual(lines(folded), ["h 23", "h;a 23", "h;a;main 23", "h;a;main;fib 23 (14)", "h;a;main;fib;add 6 (6)",
                                   "h;a;main;fib;log 3", "h;a;main;fib;log;fib 3 (3)"]);
});

test("a zoomed frame is found again in another tree", () => {
  const tree = treeOf(ROWS);
  const node = tree.item.findIndex((_, i) => tree.label(i) === "write");
  const other = treeOf([...ROWS, { pid: 9, command: "new", count: 50, stack: ["main", "write"] }]);
  assert.equal(pathTo(other, findPath(other, pathTo(tree, node))).join(), pathTo(tree, node).join());
  assert.equal(findPath(treeOf([ROWS[3]!]), pathTo(tree, node)), 0);
});

test("a stack of 5,000 frames beside 45,000 rows is no problem", () => {
  const deep = Array.from({ length: 5000 }, (_, i) => `f${i % 7}`);
  const rows: Row[] = [{ pid: 1, command: "deep", stack: deep }];
  for (let i = 0; i < 45_000; i++) {
    rows.push({ pid: 1, command: "wide", stack: [`g${i % 300}`, `w${i % 150}`] });
  }
  const deepTree = treeOf(rows);
  assert.equal(deepTree.maxDepth, 5001);
  assert.equal(deepTree.total[0], 45_001);
});
