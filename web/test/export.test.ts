import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { buildHostTree } from "../src/model/aggregate";
import { pprofBytes } from "../src/model/export_pprof";
import { foldedText, speedscopeText } from "../src/model/export_text";
import { NO_FILTER } from "../src/model/filter";
import { inverted } from "../src/model/invert";
import { measureOf } from "../src/model/measure";
import { functionsOf } from "../src/model/names";
import { profileOf } from "./helpers";

const profile = profileOf([
  { pid: 1, command: "web;x", stack: ["main", "op;1\n|native", "sys_write|kernel"], count: 3 },
  { pid: 1, command: "web;x", stack: ["main", "in|native+inline|a.cc:5"], count: 4 },
  { pid: 2, command: "db", stack: ["main"], count: 2 }]);
const tree = buildHostTree(profile, functionsOf(profile), NO_FILTER, { grouping: "command", fold: false, hidden: new Set() });
const samples = measureOf({ name: "samples", unit: "count", label: "On-CPU" }, 99);
const waits = measureOf({ name: "off_cpu", unit: "nanoseconds", label: "Off-CPU" }, 99);

test("folded stacks have a line each, of what is zoomed to, as the program writes them", () => {
  assert.equal(foldedText(tree, 0, samples),
               "db;main 2\nweb:x;main;in_[i] 4\nweb:x;main;op:1 ;sys_write_[k] 3\n");
  const web = tree.item.findIndex((_, node) => tree.label(node) === "in");
  assert.equal(foldedText(tree, web, samples), "web:x;main;in_[i] 4\n");
  assert.equal(foldedText(inverted(tree), 0, samples).split("\n")[0], "in_[i];main;web:x 4");
});

test("folded waiting time is in microseconds", () => {
  const timed = profileOf([{ pid: 1, command: "a", stack: ["f"], count: 1_499_600 }, { pid: 1, command: "a", stack: ["g"], count: 300 }]);
  const waiting = buildHostTree(timed, functionsOf(timed), NO_FILTER, { grouping: "command", fold: false, hidden: new Set() });
  assert.equal(foldedText(waiting, 0, waits), "a;f 1500\n");
});

test("speedscope's stacks, weights and unit are those of the tree", () => {
  const document = JSON.parse(speedscopeText(tree, 0, "t", waits));
  const [one] = document.profiles;
  assert.equal(document.profiles.length, 1);
  assert.deepEqual([one.type, one.unit, one.name, one.startValue, one.endValue], ["sampled", "nanoseconds", "Off-CPU", 0, 9]);
  const stacks = one.samples.map((stack: number[], i: number) =>
    `${stack.map((frame) => document.shared.frames[frame].name).join(">")} ${one.weights[i]}`);
  assert.deepEqual(stacks.sort(), ["db>main 2", "web;x>main>in 4", "web;x>main>op;1\n>sys_write 3"]);
  assert.equal(document.shared.frames.find((frame: { name: string }) => frame.name === "in").file, "a.cc:5");
});

const hasGo = spawnSync("go", ["version"]).status === 0;

// Stacks as `go tool pprof` reads them: innermost function first, with the first value.
function readByGo(bytes: Uint8Array): string[] {
  const folder = mkdtempSync(join(tmpdir(), "stackray-pprof-"));
  try {
    writeFileSync(join(folder, "a.pb"), bytes);
    const text = execFileSync("go", ["tool", "pprof", "-traces", "-sample_index=0", join(folder, "a.pb")],
                              { encoding: "utf8", env: { ...process.env, PPROF_TMPDIR: folder } });
    return text.split(/^-+\+-+$/m).slice(1).map((part) => part.trim().split("\n").map((line) => line.trim())
      .filter((line) => line !== "")).filter((lines) => lines.length > 0)
      .map((lines) => `${lines.map((line, i) => (i === 0 ? line.replace(/^\S+\s+/, "") : line)).join("<")} ${lines[0]!.split(/\s/)[0]}`).sort();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("go tool pprof reads what is shown, with its names and values", { skip: hasGo ? false : "there is no Go" }, () => {
  const times = { startMs: 1_790_000_000_000, endMs: 1_790_000_010_000, frequencyHz: 100 };
  const shown = buildHostTree(profile, functionsOf(profile), NO_FILTER,
                              { grouping: "command", fold: false, hidden: new Set(["kernel"]) });
  const expected = ["in<main<web;x 4", "main<db 2", "op;1<main<web;x 3"];
  assert.deepEqual(readByGo(pprofBytes(shown, 0, samples, times)), expected);
  assert.deepEqual(readByGo(pprofBytes(inverted(shown), 0, samples, times)), expected);
  const web = shown.item.findIndex((_, node) => shown.label(node) === "in");
  assert.deepEqual(readByGo(pprofBytes(shown, web, samples, times)), expected.slice(0, 1));
});
