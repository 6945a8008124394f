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
  assert.equal(profile.sampleCount, 6);
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
  assert.deepEqual(profile.summary, { lost: 3 });
  assert.equal(profile.title, "");
  assert.equal(profile.note, "");
  assert.equal(parseProfile({ ...document(), note: "no process is named x" }).note, "no process is named x");
  assert.equal(parseProfile({ ...document(), note: 5 }).note, "");
  assert.equal(parseProfile({ ...document(), end_ms: 0, samples: { node: [], thread: [], bucket: [],
    count: [] } }).bucketCount, 1);
});

test("a sample just after the end has a bucket of its own", () => {
  const late = document();
  late["samples"].bucket[0] = 10;
  assert.equal(parseProfile(late).bucketCount, 11);
});
