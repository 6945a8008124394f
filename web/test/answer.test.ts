import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAnswer } from "../src/data/answer";
import { ServerSource, viewUrl } from "../src/live/server_source";
import { DocumentSource, Question } from "../src/model/source";
import { START } from "../src/model/state";
import { profileOf } from "./helpers";

const none = { key: [], label: [], note: [], count: [], more: 0 };

function document(): any {
  return {
    format: "stackray-view/1", title: "t", host: "h", frequency_hz: 20, cpus: 2, start_ms: 1000,
    end_ms: 5000, bucket_ms: 1000, type: 0,
    types: [{ type: "samples", unit: "count", sum: 12, summary: { samples: 12 } }],
    functions: { name: ["main", "work"], type: ["native", "cpython"], file: ["app", "app.py"] },
    groups: ["app"],
    tree: { item: [-1, -2, 0, 1], parent: [-1, 0, 1, 2], self: [0, 0, 4, 6],
            total: [12, 12, 11, 6] },
    table: { function: [1, 0], self: [6, 5], total: [6, 12], count: 7,
             lines: { function: [1, 0], source: ["app.py", ""], line: [7, 0], self: [6, 5],
                      total: [6, 12], count: 9 } },
    shares: { type: ["cpython", "native"], count: [6, 6] }, passing: 12, timeline: [1, 2, 3, 6],
    processes: { key: ["1 app"], label: ["app (1)"], note: [""], count: [12], more: 3 },
    threads: none, waits: { ...none, key: ["blocked"], label: ["blocked"], note: [""],
                            count: [12] },
    commands: { key: ["app"], label: ["app"], note: [""], count: [12], more: 5 },
    containers: none, services: { key: ["", "shop"], label: ["", "shop"], note: ["", ""],
                                  count: [4, 8], more: 0 },
    cgroups: none, users: { key: ["", "root"], label: ["", "root"], note: ["", ""],
                            count: [2, 10], more: 0 },
    lanes: [{ label: "app (1)", process: "1 app", thread: "", sum: 12, bucket: [0, 3],
              count: [1, 6] }],
    matched: 6, query_error: "", labels: ["http.route", "trace_id"],
    sandwich: { function: 1,
      callers: { item: [1, 0], parent: [-1, 0], self: [6, 6], total: [6, 6] },
      callees: { item: [1], parent: [-1], self: [6], total: [6] },
      lines: { source: ["app.py"], line: [7], self: [6], total: [6] } },
  };
}

test("an answer is what the views show", () => {
  const answer = parseAnswer(document(), false);
  assert.equal(answer.head.bucketCount, 4);
  assert.equal(answer.head.types[0]!.label, "On-CPU");
  assert.equal(answer.tree.label(0), "h");
  assert.equal(answer.tree.label(1), "app");
  assert.equal(answer.tree.label(3), "work");
  assert.deepEqual([...answer.tree.start], [0, 0, 0, 0]);
  assert.deepEqual([...answer.tree.end], [4, 4, 4, 4]);
  assert.equal(answer.tree.maxDepth, 3);
  assert.equal(answer.topCount, 7);
  assert.deepEqual(answer.lines, { count: 9, rows: [
    { item: 1, self: 6, total: 6, place: { file: "app.py", line: 7 } },
    { item: 0, self: 5, total: 12, place: { file: "", line: 0 } }] });
  assert.deepEqual(answer.groupings, ["command", "process", "thread", "service", "user", "none",
                                      "label:http.route", "trace"]);
  assert.equal(answer.waits[0]!.label, "Blocked");
  assert.equal(answer.more.processes, 3);
  assert.deepEqual([answer.commands[0]!.key, answer.more.commands], ["app", 5]);
  assert.deepEqual([...answer.lanes[0]!.counts], [[0, 1], [3, 6]]);
  assert.deepEqual(answer.sandwich!.lines,
                   [{ file: "app.py", line: 7, self: 6, total: 6, text: "" }]);
  assert.equal(answer.sandwich!.trees.callers.label(1), "main");
});

test("a damaged answer is told and never shown", () => {
  const damage: [string, (answer: any) => void][] = [
    ["its format", (a) => { a.format = "stackray-view/2"; }],
    ["no root", (a) => { a.tree = { item: [], parent: [], self: [], total: [] }; }],
    ["a function that is not there", (a) => { a.tree.item[3] = 2; }],
    ["a group that is not there", (a) => { a.tree.item[1] = -3; }],
    ["a child before its parent", (a) => { a.tree.parent[1] = 2; }],
    ["two roots", (a) => { a.tree.parent[2] = -1; }],
    ["a column that is too short", (a) => { a.tree.self.pop(); }],
    ["a negative total", (a) => { a.tree.total[0] = -1; }],
    ["a row of no function", (a) => { a.table.function[0] = 9; }],
    ["a line of no function", (a) => { a.table.lines.function[0] = 2; }],
    ["lines that are too few", (a) => { a.table.lines.line.pop(); }],
    ["a lane outside the time", (a) => { a.lanes[0].bucket[0] = 4; }],
    ["a timeline of another length", (a) => { a.timeline.push(1); }],
    ["callers of nothing", (a) => { a.sandwich.function = 2; }],
    ["too many buckets", (a) => { a.end_ms = 1e12; a.bucket_ms = 1; }],
  ];
  for (const [name, spoil] of damage) {
    const answer = document();
    spoil(answer);
    assert.throws(() => parseAnswer(answer, false), name);
  }
  for (const value of [null, [], 1, "x", {}]) assert.throws(() => parseAnswer(value, false));
});

const question: Question = { state: START, lanes: false, width: 800.4, order: "self", rows: 200 };

test("a question says all that the user has chosen", () => {
  const state = { ...START, type: "off_cpu", query: "/a&b/", zoom: "2s", inverted: true,
                  grouping: "none" as const, processes: new Set(["1 a&b", "2 c"]), 
                  services: new Set([""]), commands: new Set(["g++"]),
                  cgroups: new Set(["/a b"]), users: new Set(["root"]),
                  capture: "slow", range: { fromMs: 5, toMs: 9 } };
  const url = new URL(viewUrl({ ...question, state, lanes: true }, { fromMs: 1, toMs: 10 }),
                      "http://h");
  assert.equal(url.pathname, "/api/view");
  const others = [...url.searchParams].filter(([key]) => key !== "processes");
  assert.deepEqual(Object.fromEntries(others), {
    from_ms: "1", to_ms: "10", chosen_from_ms: "5", chosen_to_ms: "9", by: "none", type: "off_cpu",
    zoom: "2s", query: "/a&b/", inverted: "1", lanes: "1", services: "", commands: "g++", cgroups: "/a b", users: "root",
    capture: "slow", width: "800",
    order: "self", rows: "200" });
  assert.deepEqual(url.searchParams.getAll("processes"), ["1 a&b", "2 c"]);
});

test("the server's answer and its cost reach who asked; what is no answer is an error",
     async () => {
  const texts = [JSON.stringify(document()), "{", "{}"];
  const source = new ServerSource(() => Promise.resolve({ text: texts.shift()!, costMs: 7 }));
  const { signal } = new AbortController();
  assert.equal((await source.ask(question, signal)).tree.total[0], 12);
  assert.equal(source.costMs, 7);
  await assert.rejects(source.ask(question, signal), /not valid JSON/);
  await assert.rejects(source.ask(question, signal), /its format is not/);
});

test("the table of another time costs as much again", async () => {
  const urls: string[] = [];
  const source = new ServerSource((url) => {
    urls.push(url);
    return Promise.resolve({ text: JSON.stringify(document()), costMs: 7 });
  });
  const { signal } = new AbortController();
  await source.ask(question, signal);
  await source.askOf(question, { fromMs: 3, toMs: 9 }, signal);
  assert.equal(source.costMs, 14);
  assert.match(urls[1]!, /from_ms=3&to_ms=9&/);
});

test("a document answers with a function's lines: each sample once, its own at the innermost call",
     async () => {
  const profile = profileOf([
    { pid: 1, command: "app", stack: ["main|native|app", "f|cpython|app.py"], count: 3 },
    { pid: 1, command: "app", stack: ["main|native|app", "f|cpython|app.py", "g|native|libc"],
      count: 4 },
    { pid: 2, command: "web", stack: ["f|cpython|app.py", "f|cpython|app.py"], count: 5,
      container: "c1" },
  ]);
  profile.frames.line[1] = 12;
  profile.frames.source[1] = profile.strings.indexOf("app.py");
  const source = new DocumentSource(profile, { json: "" });
  const functions = (await source.ask(question)).functions;
  const { textKey } = await import("../src/model/path");
  const { functionKey } = await import("../src/model/names");
  const key = textKey(functionKey(functions, functions.name.indexOf("f")));
  const answer = await source.ask({ ...question, state: { ...START, callers: key } });
  assert.deepEqual(answer.sandwich!.lines,
                   [{ file: "app.py", line: 12, self: 8, total: 12, text: "" }]);
  const { containers } = answer;
  assert.deepEqual(containers.map(({ key, count }) => [key, count]), [["", 7], ["c1", 5]]);
  const filtered = await source.ask({ ...question,
                                      state: { ...START, containers: new Set(["c1"]) } });
  assert.equal(filtered.passing, 5);
});
