import assert from "node:assert/strict";
import { test } from "node:test";
import { requestLabel, requestOf } from "../src/model/requests";
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
