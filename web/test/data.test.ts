import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { decodeEmbedded, parseText } from "../src/data/decode";
import { parseProfile, ProfileError } from "../src/data/profile";
import { documentOf } from "./helpers";

const document = () => documentOf([
  { pid: 1, command: "a", stack: ["main", "work"], bucket: 3, count: 4 },
  { pid: 2, command: "b", stack: ["main"], count: 2 },
]);

const packed = (text: string) => gzipSync(text).toString("base64");

test("embedded data come back as they were written", async () => {
  const profile = await decodeEmbedded(`\n${packed(JSON.stringify(document()))}\n`);
  assert.deepEqual(profile.sums, [6]);
  assert.equal(profile.bucketCount, 10);
  assert.equal(profile.frequencyHz, 10);
  assert.deepEqual([...profile.nodes.parent], [-1, 0, 1]);
  assert.equal(profile.strings[profile.frames.name[1]!], "work");
});

test("names keep every character of UTF-8, also across chunks", async () => {
  const name = "ä→😀".repeat(60_000);
  const profile = await decodeEmbedded(packed(JSON.stringify(
    documentOf([{ pid: 1, command: "a", stack: [name] }]))));
  assert.ok(profile.strings.includes(name));
});

test("a cut or changed file is refused with a reason", async () => {
  const whole = packed(JSON.stringify(document()));
  await assert.rejects(decodeEmbedded("§not base64"), /not base64/);
  await assert.rejects(decodeEmbedded(whole.slice(0, Math.floor(whole.length / 8) * 4)), /damaged/);
  await assert.rejects(decodeEmbedded(""), /damaged/);
  await assert.rejects(decodeEmbedded(packed("{")), /not valid JSON/);
  await assert.rejects(decodeEmbedded(packed("[]")), ProfileError);
});

// Each entry breaks one rule of docs/page-data.md.
const damages: [string, (d: Record<string, any>) => void][] = [
  ["another format", (d) => { d["format"] = "stackray-page/2"; }],
  ["no strings", (d) => { d["strings"] = []; }],
  ["strings not a list", (d) => { d["strings"] = { length: 9 }; }],
  ["frame name out of range", (d) => { d["frames"].name[0] = 99; }],
  ["frame name negative", (d) => { d["frames"].name[0] = -1; }],
  ["frame columns of different lengths", (d) => { d["frames"].file.pop(); }],
  ["node below itself", (d) => { d["nodes"].parent[1] = 1; }],
  ["node below a later one", (d) => { d["nodes"].parent[1] = 2; }],
  ["two roots", (d) => { d["nodes"].parent[1] = -1; }],
  ["root with a frame", (d) => { d["nodes"].frame[0] = 0; }],
  ["node without a frame", (d) => { d["nodes"].frame[1] = -1; }],
  ["no nodes", (d) => { d["nodes"] = { parent: [], frame: [] }; }],
  ["fraction as an index", (d) => { d["samples"].node[0] = 0.5; }],
  ["text as an index", (d) => { d["samples"].thread[0] = "0"; }],
  ["sample of no thread", (d) => { d["samples"].thread[0] = 2; }],
  ["sample of no node", (d) => { d["samples"].node[0] = 3; }],
  ["negative bucket", (d) => { d["samples"].bucket[0] = -1; }],
  ["endless buckets", (d) => { d["samples"].bucket[0] = 4e9; }],
  ["time without end", (d) => { d["end_ms"] = 1e15; }],
  ["negative count", (d) => { d["samples"].count[0] = -1; }],
  ["count not a number", (d) => { d["samples"].count[0] = null; }],
  ["thread of no process", (d) => { d["threads"].process[0] = 7; }],
  ["other types not a list", (d) => { d["other_types"] = {}; }],
  ["another type without a name", (d) => { d["other_types"] = [{ unit: "count", samples: d["samples"] }]; }],
  ["another type that is text", (d) => { d["other_types"] = ["samples"]; }],
  ["another type without samples", (d) => { d["other_types"] = [{ type: "x" }]; }],
  ["sample of no node in another type", (d) => {
    d["other_types"] = [{ type: "x", samples: { ...d["samples"], node: [0, 99] } }];
  }],
  ["too many types", (d) => { d["other_types"] = Array(64).fill({ type: "x", samples: d["samples"] }); }],
  ["wait out of range", (d) => { d["samples"].wait = [0, 99]; }],
  ["wait negative", (d) => { d["samples"].wait = [0, -1]; }],
  ["service out of range", (d) => { d["processes"].service = [0, 99]; }],
  ["samples missing", (d) => { delete d["samples"]; }],
  ["processes null", (d) => { d["processes"] = null; }],
];

for (const [what, damage] of damages) {
  test(`refused: ${what}`, () => {
    const broken = document();
    parseProfile(broken);
    damage(broken);
    assert.throws(() => parseProfile(broken), ProfileError);
  });
}

test("what is optional may be absent or odd", () => {
  const profile = parseText(JSON.stringify({ ...document(), title: 5, summary: { lost: 3, frames: "x" } }));
  assert.deepEqual(profile.summaries, [{ lost: 3 }]);
  assert.equal(profile.title, "");
  assert.equal(profile.note, "");
  assert.equal(parseProfile({ ...document(), note: "no process is named x" }).note, "no process is named x");
  assert.equal(parseProfile({ ...document(), note: 5 }).note, "");
  assert.equal(parseProfile({ ...document(), end_ms: 0, samples: { node: [], thread: [], bucket: [],
    count: [] } }).bucketCount, 1);
});

test("types and waits are read; a document without them has on-CPU samples", () => {
  const plain = parseProfile(document());
  assert.deepEqual(plain.types, [{ name: "samples", unit: "count", label: "On-CPU" }]);
  assert.deepEqual([...plain.samples.type, ...plain.samples.wait, ...plain.processes.service], [0, 0, 0, 0, 0, 0]);
  const typed = document();
  const wait = typed["strings"].push("blocked") - 1;
  typed["other_types"] = [
    { type: "lock_time", unit: "nanoseconds", summary: { samples: 1, lost: 2 },
      samples: { node: [2], thread: [1], bucket: [9], count: [7_000], wait: [wait] } },
    { type: "off_cpu", samples: { node: [], thread: [], bucket: [], count: [] } }];
  const profile = parseProfile(typed);
  assert.deepEqual(profile.types.slice(1), [{ name: "lock_time", unit: "nanoseconds", label: "lock time" },
                                            { name: "off_cpu", unit: "count", label: "Off-CPU" }]);
  assert.deepEqual(profile.sums, [6, 7000, 0]);
  assert.deepEqual(profile.summaries, [{}, { samples: 1, lost: 2 }, {}]);
  assert.deepEqual([...profile.samples.type], [0, 0, 1]);
  assert.deepEqual([...profile.samples.count], [4, 2, 7000]);
  assert.equal(profile.strings[profile.samples.wait[2]!], "blocked");
  const other = parseProfile({ ...document(), type: "alloc_space", unit: "bytes" });
  assert.deepEqual(other.types, [{ name: "alloc_space", unit: "bytes", label: "alloc space" }]);
});

test("a sample just after the end has a bucket of its own", () => {
  const late = document();
  late["samples"].bucket[0] = 10;
  assert.equal(parseProfile(late).bucketCount, 11);
});
