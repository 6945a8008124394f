import assert from "node:assert/strict";
import { test } from "node:test";
import { buildHostTree } from "../src/model/aggregate";
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
