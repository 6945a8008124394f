import assert from "node:assert/strict";
import { test } from "node:test";
import { filterOf, readState, spanOf, START, State, writeSaved, writeState } from "../src/model/state";
import { profileOf } from "./helpers";

// ten buckets of a second from 1,000,000 ms
const profile = profileOf([{ pid: 1, command: "a", stack: ["main"], bucket: 3, type: 1 }]);

test("a state comes back from the address as it was", () => {
  const state: State = {
    type: "off_cpu", view: "table", grouping: "container", inverted: true, upward: true, fold: true,
    lines: true, before: true,
    query: "/a&b=c#d|ä/", hidden: new Set(["kernel", "native+inline"]), processes: new Set(["7 <script>", "8 a b"]),
    threads: new Set(["7 <script> 9"]), commands: new Set(["<script>", ""]), containers: new Set(["0123456789abcdef"]),
    services: new Set(["shop", ""]), waits: new Set(["blocked"]),
    cgroups: new Set(["/system.slice/a b.service"]), users: new Set(["www-data"]), requests: new Set(["route=/a"]), capture: "slow-1",
    range: { fromMs: 1_002_000, toMs: 1_005_000 },
    zoom: "1abc", callers: "2def", windowMs: 300_000, at: { fromMs: 5, toMs: 9 } };
  assert.deepEqual(readState(writeState(state)), state);
  assert.equal(writeState(START), "");
  assert.deepEqual(readState(""), START);
});

test("a saved file has the choices that its document can answer, and no live page's time", () => {
  const state: State = { ...START, grouping: "label:route", requests: new Set(["route=/a"]), fold: true,
    query: `"><b>`, capture: "slow", windowMs: 300_000, at: { fromMs: 5, toMs: 9 } };
  assert.equal(writeSaved(state, true), "query=%22%3E%3Cb%3E&fold=1");
  assert.deepEqual(readState(writeSaved(state, false)), { ...START, grouping: "label:route",
    requests: new Set(["route=/a"]), fold: true, query: `"><b>` });
  assert.equal(writeSaved(START, true), "");
});

test("an address that says nothing sensible is as none", () => {
  const text = "view=x&by=y&window=-1&range=5-4&at=1e9-2e9&inverted=yes&zoom=&token=secret&unknown=1&range=a-b";
  assert.deepEqual(readState(text), START);
  const long = readState(`query=${"x".repeat(20_000)}&${"hidden=a&".repeat(3)}${Array.from({ length: 3000 }, (_, i) => `threads=${i}`).join("&")}`);
  assert.equal(long.query.length, 8192);
  assert.equal(long.hidden.size, 1);
  assert.equal(long.threads.size, 1000);
});

test("types and times mean what the profile has", () => {
  const filter = (change: Partial<State>) => filterOf({ ...START, ...change }, profile);
  assert.equal(filter({}).type, 0);
  assert.equal(filter({ type: "off_cpu" }).type, 1);
  assert.equal(filter({ type: "page_faults" }).type, 0);
  assert.deepEqual(filter({ range: { fromMs: 1_002_000, toMs: 1_005_000 } }).buckets, { first: 2, last: 4 });
  assert.deepEqual(filter({ range: { fromMs: 1_002_500, toMs: 1_099_000 } }).buckets, { first: 2, last: 9 });
  assert.equal(filter({ range: { fromMs: 5, toMs: 999_000 } }).buckets, null);
  assert.deepEqual(spanOf({ first: 2, last: 4 }, profile), { fromMs: 1_002_000, toMs: 1_005_000 });
});
