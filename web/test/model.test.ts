import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { buildHostTree, Shape } from "../src/model/aggregate";
import { commandChoices, processChoices, threadChoices, unlistedText, waitChoices } from "../src/model/choices";
import { Filter, NO_FILTER, timelineCounts } from "../src/model/filter";
import { inverted } from "../src/model/invert";
import { hideAllBut, typeShares } from "../src/model/kinds";
import { lanesOf, passesLane } from "../src/model/lanes";
import { markerMeaning } from "../src/model/markers";
import { measureOf } from "../src/model/measure";
import { functionKey, functionsOf, Grouping, groupingsOf } from "../src/model/names";
import { findFunction, findPath, pathKey, textKey } from "../src/model/path";
import { sandwich } from "../src/model/sandwich";
import { matchedSamples, matchingFunctions, outermostMatches, parseQuery, Search } from "../src/model/search";
import { topFunctions } from "../src/model/top";
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

const PLAIN: Shape = { grouping: "command", fold: false, hidden: new Set() };

function treeOf(rows: Row[], grouping: Grouping = "command", filter: Filter = NO_FILTER,
                shape: Partial<Shape> = {}): Tree {
  const profile = profileOf(rows);
  return buildHostTree(profile, functionsOf(profile), filter, { ...PLAIN, grouping, ...shape });
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
  const shares = (rows: Row[]) => {
    const profile = profileOf(rows);
    return typeShares(profile, functionsOf(profile), NO_FILTER);
  };
  assert.deepEqual(shares(ROWS), [{ type: "native", count: 14 }, { type: "kernel", count: 3 }]);
  // A marker counts each stack that has one, a caller's type is listed without samples of its own.
  assert.deepEqual(shares([
    { pid: 1, command: "a", stack: ["[truncated: x]|abort-marker", "f", "[lost]|abort-marker"], count: 2 },
    { pid: 1, command: "a", stack: ["[truncated: x]|abort-marker", "py|cpython", "f"], count: 3 }]),
    [{ type: "native", count: 3 }, { type: "cpython", count: 0 }, { type: "abort-marker", count: 5 }]);
});

test("search counts each sample once and knows regular expressions", () => {
  const tree = treeOf(ROWS);
  const matched = (query: string) => {
    const matching = matchingFunctions(tree.functions, parseQuery(query));
    return matching === null ? null : matchedSamples(tree, matching);
  };
  assert.equal(matched("  "), null);
  assert.equal(matched("MAIN"), 17);
  assert.equal(matched("write"), 3);
  assert.equal(matched("/^(parse|scan)$/"), 12);
  assert.equal(matched("^parse"), 0);
  assert.equal(matched("/(/"), 0);
  assert.match(parseQuery("/(/").error, /^no valid expression: Unterminated group/);
  assert.equal(parseQuery("(").error, "");
});

test("search looks into files too, and steps through the outermost matches in the graph's order", () => {
  const tree = treeOf([
    { pid: 1, command: "a", stack: ["main", "f|native|libz.so.1", "g|native|libz.so.1"], count: 4 },
    { pid: 1, command: "a", stack: ["main", "h", "f|native|libz.so.1"], count: 9 }]);
  const matching = matchingFunctions(tree.functions, parseQuery("libz"))!;
  assert.equal(matchedSamples(tree, matching), 13);
  assert.deepEqual(outermostMatches(tree, matching).map((node) => `${tree.label(tree.parent[node]!)};${tree.label(node)}`),
                   ["h;f", "main;f"]);
});

test("matches are gone through in both directions and around, until the query or the tree is another", () => {
  const tree = treeOf(ROWS);
  const measure = measureOf({ name: "samples", unit: "count", label: "" }, 10);
  const search = new Search();
  search.look("main", tree);
  assert.equal(search.result(measure), "100.0 % matched (17)");
  const gone = [1, 1, 1, -1, -1].map((by) => {
    const node = search.step(by as 1 | -1);
    return `${tree.label(tree.parent[node]!)} ${search.result(measure)}`;
  });
  assert.deepEqual(gone, ["web 1 of 2", "db 2 of 2", "web 1 of 2", "db 2 of 2", "web 1 of 2"]);
  search.look("main", tree);
  assert.equal(search.result(measure), "1 of 2");
  search.look("main", treeOf(ROWS));
  assert.equal(search.result(measure), "100.0 % matched (17)");
  search.look("nowhere", tree);
  assert.deepEqual([search.result(measure), search.step(1)], ["no match", 0]);
  search.look("/[/", tree);
  assert.match(search.error, /character class/);
  search.look("", tree);
  assert.deepEqual([search.result(measure), search.error, search.matching], ["", "", null]);
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
  const plain = buildHostTree(profile, functions, NO_FILTER, PLAIN);
  const folded = buildHostTree(profile, functions, NO_FILTER, { ...PLAIN, fold: true });
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
  const found = findPath(other, pathKey(tree, node));
  assert.equal(lines(other)[found], "h;web;main;write 3"); // not that of the command "new"
  assert.equal(pathKey(other, found), pathKey(tree, node));
  assert.equal(findPath(treeOf([ROWS[3]!]), pathKey(tree, node)), 0);
  assert.equal(pathKey(tree, 0), "");
  assert.equal(findPath(tree, ""), 0);
  const keys = new Set(tree.item.map((_, i) => i).slice(1).reduce<string[]>((all, i) => [...all, pathKey(tree, i)], []));
  assert.equal(keys.size, tree.item.length - 1);
  const key = textKey(functionKey(tree.functions, tree.functions.name.indexOf("write")));
  assert.equal(other.functions.name[findFunction(other.functions, key)!], "write");
  assert.equal(findFunction(other.functions, "none"), null);
});

const TYPED: Row[] = [
  { pid: 1, command: "web", tid: 11, bucket: 0, count: 5, type: 0, stack: ["main", "parse"] },
  { pid: 1, command: "web", tid: 11, bucket: 0, count: 2_000_000, type: 1, wait: "blocked", stack: ["main", "read"] },
  { pid: 1, command: "web", tid: 12, bucket: 1, count: 500_000, type: 1, wait: "preempted", stack: ["main", "parse"] },
  { pid: 2, command: "db", bucket: 1, count: 3, type: 2, stack: ["main", "grow"] }];

test("values of two types are never added up", () => {
  const profile = profileOf(TYPED);
  const functions = functionsOf(profile);
  const all = (type: number, waits: string[] = []) =>
    lines(buildHostTree(profile, functions, { ...NO_FILTER, type, waits: new Set(waits) }, PLAIN));
  assert.deepEqual(all(0), ["h 5", "h;web 5", "h;web;main 5", "h;web;main;parse 5 (5)"]);
  assert.deepEqual(all(1), ["h 2500000", "h;web 2500000", "h;web;main 2500000", "h;web;main;read 2000000 (2000000)",
                            "h;web;main;parse 500000 (500000)"]);
  assert.deepEqual(all(1, ["preempted"]), ["h 500000", "h;web 500000", "h;web;main 500000", "h;web;main;parse 500000 (500000)"]);
  assert.deepEqual(all(2), ["h 3", "h;db 3", "h;db;main 3", "h;db;main;grow 3 (3)"]);
  assert.deepEqual([...timelineCounts(profile, { ...NO_FILTER, type: 1 })].slice(0, 3), [2_000_000, 500_000, 0]);
  const counts = (type: number) => processChoices(profile, { ...NO_FILTER, type }).map(({ count }) => count);
  assert.deepEqual([counts(0), counts(1), counts(2)], [[5, 0], [2_500_000, 0], [0, 3]]);
  const waits = (type: number) => waitChoices(profile, { ...NO_FILTER, type }).map(({ label, count }) => `${label} ${count}`);
  assert.deepEqual(waits(0), []);
  assert.deepEqual(waits(1), ["Blocked 2000000", "Preempted 500000"]);
});

test("hidden frames leave their samples to the caller, and stacks of hidden frames alone are gone", () => {
  const rows: Row[] = [...ROWS, { pid: 0, command: "kthread", stack: ["worker|kernel"], count: 4 }];
  const noKernel = treeOf(rows, "command", NO_FILTER, { hidden: new Set(["kernel"]) });
  assert.deepEqual(lines(noKernel), [
    "h 17", "h;web 10", "h;web;main 10 (2)", "h;web;main;parse 5 (5)", "h;web;main;write 3 (3)", "h;db 7",
    "h;db;main 7", "h;db;main;scan 7 (7)"]);
  const onlyKernel = treeOf(rows, "command", NO_FILTER, { hidden: new Set(["native"]) });
  assert.deepEqual(lines(onlyKernel), ["h 7", "h;kthread 4", "h;kthread;worker 4 (4)", "h;web 3", "h;web;sys_write 3 (3)"]);
  const shares = [{ type: "native", count: 1 }, { type: "kernel", count: 1 }, { type: "abort-marker", count: 1 }];
  assert.deepEqual([...hideAllBut(shares, "kernel")], ["native"]);
});

test("the inverted tree begins with the innermost functions, and its sums are the table's", () => {
  const tree = inverted(treeOf(ROWS));
  assert.deepEqual(lines(tree), [
    "h 17", "h;scan 7", "h;scan;main 7", "h;scan;main;db 7 (7)", "h;parse 5", "h;parse;main 5", "h;parse;main;web 5 (5)",
    "h;sys_write 3", "h;sys_write;write 3", "h;sys_write;write;main 3", "h;sys_write;write;main;web 3 (3)",
    "h;main 2", "h;main;web 2 (2)"]);
  for (const row of topFunctions(treeOf(ROWS))) {
    const first = tree.item.findIndex((item, node) => item === row.item && tree.parent[node] === 0);
    assert.equal(first < 0 ? 0 : tree.total[first], row.self);
  }
});

test("groups can be threads, containers, services, cgroups, users or none, where there are any", () => {
  const rows: Row[] = [
    { pid: 1, command: "web", tid: 11, stack: ["main"], count: 3, container: "0123456789abcdef", service: "shop",
      cgroup: "/a.slice", user: "root" },
    { pid: 2, command: "web", stack: ["main"], count: 2, container: "", service: "shop" }];
  const groups = (grouping: Grouping) => lines(treeOf(rows, grouping)).filter((line) => line.split(";").length === 2);
  assert.deepEqual(groups("thread"), ["h;thread-11 (11) of web (1) 3", "h;thread-2 (2) of web (2) 2"]);
  assert.deepEqual(groups("container"), ["h;0123456789ab 3", "h;[no container] 2"]);
  assert.deepEqual(groups("service"), ["h;shop 5"]);
  assert.deepEqual(groups("cgroup"), ["h;/a.slice 3", "h;[no cgroup] 2"]);
  assert.deepEqual(groups("user"), ["h;root 3", "h;[no user] 2"]);
  assert.deepEqual(lines(treeOf(rows, "none")), ["h 5", "h;main 5 (5)"]);
  assert.deepEqual(groupingsOf(profileOf(rows)), ["command", "process", "thread", "container", "service",
                                                  "cgroup", "user", "none"]);
  assert.deepEqual(groupingsOf(profileOf(ROWS)), ["command", "process", "thread", "none"]);
});

test("commands are there to choose where one has several processes, and stand for all of them", () => {
  const profile = profileOf(ROWS);
  const choices = (of: ReturnType<typeof profileOf>) => commandChoices(of, NO_FILTER, processChoices(of, NO_FILTER));
  assert.deepEqual(choices(profile).map(({ key, count }) => [key, count]), [["web", 10], ["db", 7]]);
  const shown = lines(treeOf(ROWS, "command", { ...NO_FILTER, commands: new Set(["web"]) }));
  assert.equal(shown[0], "h 10");
  const alone = profileOf(ROWS.filter(({ pid }) => pid !== 2));
  assert.deepEqual(choices(alone), []);
});

test("lanes show processes and their threads over all the time, heaviest in the chosen one first", () => {
  const profile = profileOf(ROWS);
  const shown = (filter: Partial<Filter>) => lanesOf(profile, { ...NO_FILTER, ...filter })
    .map(({ label, sum, counts }) => `${label} ${sum} ${[...counts].map(([at, count]) => `${at}:${count}`).join(" ")}`);
  assert.deepEqual(shown({}), ["web (1) 7 0:5 1:2", "thread-11 (11) 5 0:5", "thread-12 (12) 2 1:2", "db (3) 7 2:7", "web (2) 3 1:3"]);
  assert.deepEqual(shown({ buckets: { first: 1, last: 1 } }), ["web (2) 3 1:3", "web (1) 2 0:5 1:2", "thread-12 (12) 2 1:2",
                                                             "thread-11 (11) 0 0:5", "db (3) 0 2:7"]);
});

test("a lane passes with its process, and a process with any of its threads", () => {
  const lanes = lanesOf(profileOf(ROWS), NO_FILTER);
  const passing = (change: Partial<Filter>) => lanes.filter((lane) => passesLane({ ...NO_FILTER, ...change }, lane))
    .map((lane) => lane.label);
  assert.equal(passing({}).length, 5);
  assert.deepEqual(passing({ processes: new Set(["1 web"]) }), ["web (1)", "thread-11 (11)", "thread-12 (12)"]);
  assert.deepEqual(passing({ commands: new Set(["web"]) }), ["web (1)", "thread-11 (11)", "thread-12 (12)", "web (2)"]);
  assert.deepEqual(passing({ threads: new Set(["1 web 12"]) }), ["web (1)", "thread-12 (12)"]);
});

test("markers explain themselves by the longest beginning that is known", () => {
  assert.match(markerMeaning("[truncated: too deep]"), /more frames than the sampler keeps/);
  assert.match(markerMeaning("[truncated: something new]"), /could not be followed further/);
  assert.match(markerMeaning("[lost: queue full]"), /did not arrive/);
  assert.equal(markerMeaning("[gzip+0x4330]"), "");
  assert.equal(markerMeaning("main"), "");
});

test("each reason that the program writes has a meaning of its own", () => {
  const source = readFileSync("../agent/sampling/markers.cc", "utf8");
  const texts = (type: string, cases: string) => [...source.matchAll(new RegExp(`case ${cases}\\w+: return "([^"]+)"`, "g"))]
    .map((found) => (type === "" ? found[1]! : `[${type}: ${found[1]}]`));
  const truncated = [...source.matchAll(/case END_\w+: return "([^"_]+ [^"_]+|damaged table)"/g)].map((found) => `[truncated: ${found[1]}]`);
  const lost = texts("lost", "SamplingLoss::k");
  const shown = texts("", "MarkerKind::k").filter((text) => text.startsWith("["));
  assert.ok(truncated.length >= 15 && lost.length >= 4 && shown.length >= 7, `${truncated.length} ${lost.length} ${shown.length}`);
  const general = new Set(["[lost: x]", "[truncated: x]", "[x]"].map(markerMeaning));
  assert.deepEqual([...truncated, ...lost, ...shown].filter((text) => general.has(markerMeaning(text))), []);
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

test("what a list lacks does not read as found", () => {
  const list = { many: "cgroups", listed: 200, left: 1234, searched: false, passing: 200, shown: 200 };
  assert.deepEqual(unlistedText(list), ["1,234 more cgroups with fewer samples"]);
  assert.deepEqual(unlistedText({ ...list, left: 0 }), []);
  const rest = "Searched the 200 cgroups with the most samples; 1,234 others are not in this list";
  const searched = { ...list, searched: true };
  assert.deepEqual(unlistedText({ ...searched, passing: 3, shown: 3 }), [rest]);
  assert.deepEqual(unlistedText({ ...searched, passing: 0, shown: 0 }), ["Nothing found", rest]);
  assert.deepEqual(unlistedText({ ...searched, left: 0, passing: 3, shown: 3 }), []);
  assert.deepEqual(unlistedText({ ...searched, left: 0, passing: 450, shown: 400 }),
                   ["50 more match: type more to narrow the list"]);
});
