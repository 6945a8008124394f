import assert from "node:assert/strict";
import { test } from "node:test";
import { documentOf } from "./helpers";
import { requestLabel, requestOf } from "../src/model/requests";
import { DocumentSource, Question } from "../src/model/source";
import { parseProfile } from "../src/data/profile";
import { START, readState, writeState } from "../src/model/state";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

test("what is typed is a trace, a span or a label", () => {
  assert.equal(requestOf(` ${TRACE.toUpperCase()} `), `trace_id=${TRACE}`);
  assert.equal(requestOf("4bf92f35-77b3-4da6-a3ce-929d0e0e4736"), `trace_id=${TRACE}`);
  assert.equal(requestOf(SPAN), `span_id=${SPAN}`);
  assert.equal(requestOf(`trace_id=${TRACE}`), `trace_id=${TRACE}`);
  assert.equal(requestOf("http.route=/a=b"), "http.route=/a=b");
  assert.equal(requestOf("route="), "route=");
  for (const wrong of ["", "abc", "=x", TRACE.slice(1), "0".repeat(32), "trace_id=1", `span_id=${TRACE}`,
                       `trace_id=${SPAN}`, "x".repeat(32)]) {
    assert.equal(requestOf(wrong), null, wrong);
  }
});

test("requests are shown shortly and stand in the address", () => {
  assert.equal(requestLabel(`trace_id=${TRACE}`), "trace 4bf92f35…");
  assert.equal(requestLabel("http.route=/a"), "http.route=/a");
  const state = { ...START, requests: new Set([`trace_id=${TRACE}`, "http.route=/a&b"]) };
  assert.deepEqual([...readState(writeState(state)).requests], [...state.requests]);
});

const ROWS = [
  { pid: 1, command: "web", count: 3, stack: ["main", "buy"] },
  { pid: 1, command: "web", tid: 2, count: 4, stack: ["main", "look"] },
  { pid: 2, command: "db", count: 5, stack: ["main"] }];

// Thread 0 worked on a trace and a route, thread 1 on another route, thread 2 on nothing.
function labelled(): any {
  const document = documentOf(ROWS);
  const text = (value: string) => document["strings"].push(value) - 1;
  const [trace, route] = [text("trace_id"), text("route")];
  document["labels"] = { key: [0, trace, route, route], text: [0, text(TRACE), text("/buy"), text("/a=b")],
                         next: [0, 0, 1, 0] };
  document["threads"].labels = [2, 3, 0];
  return document;
}

async function ask(change: object) {
  const profile = parseProfile(labelled());
  const question: Question = { state: { ...START, ...change }, lanes: false, width: 0, order: "self", rows: 9 };
  return new DocumentSource(profile, { json: "" } as never).ask(question);
}

test("a document's requests are filtered and grouped by", async () => {
  const passing = async (...requests: string[]) => (await ask({ requests: new Set(requests) })).passing;
  assert.equal(await passing(`trace_id=${TRACE}`), 3);
  assert.equal(await passing("route=/a=b"), 4);
  assert.equal(await passing(`trace_id=${TRACE}`, "route=/buy"), 3);
  assert.equal(await passing(`trace_id=${TRACE}`, "route=/a=b"), 0);
  assert.equal(await passing("route="), 0);
  const { labels, groupings, tree } = await ask({ grouping: "label:route" });
  assert.deepEqual(labels, ["route", "trace_id"]);
  assert.deepEqual(groupings.slice(-2), ["label:route", "trace"]);
  const blocks = Array.from(tree.item, (_, node) => node)
    .filter((node) => tree.item[node]! < -1).map((node) => `${tree.label(node)} ${tree.total[node]}`);
  assert.deepEqual(blocks.sort(), ["[no route] 5", "route=/a=b 4", "route=/buy 3"]);
});

test("damaged labels are told", () => {
  const damage: ((document: any) => void)[] = [
    (document) => { document.labels.next[2] = 2; }, (document) => { document.labels.next[2] = 3; },
    (document) => { document.labels.key[1] = 1e6; }, (document) => { document.threads.labels[0] = 4; },
    (document) => { document.labels.key = []; }];
  for (const make of damage) {
    const document = labelled();
    make(document);
    assert.throws(() => parseProfile(document), /labels/);
  }
});
