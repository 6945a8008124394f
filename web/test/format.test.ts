import assert from "node:assert/strict";
import { test } from "node:test";
import { formatCount, formatCpuTime, formatDuration, formatPercent } from "../src/model/format";

test("shares are never rounded up to all or down to none", () => {
  assert.equal(formatPercent(1, 3), "33.3 %");
  assert.equal(formatPercent(99_999, 100_000), "99.99 %");
  assert.equal(formatPercent(999_999_999, 1_000_000_000), "99.99 %");
  assert.equal(formatPercent(5, 5), "100.0 %");
  assert.equal(formatPercent(1, 1_000_000), "<0.01 %");
  assert.equal(formatPercent(0, 10), "0 %");
  assert.equal(formatPercent(1, 0), "–");
});

test("counts, durations and processor time", () => {
  assert.equal(formatCount(1_234_567), "1,234,567");
  assert.equal(formatDuration(250), "250 ms");
  assert.equal(formatDuration(1500), "1.5 s");
  assert.equal(formatDuration(61_000), "1 min 1 s");
  assert.equal(formatDuration(119_900), "2 min");
  assert.equal(formatDuration(3_600_000), "1 h");
  assert.equal(formatCpuTime(198, 99), "≈ 2 s of CPU");
  assert.equal(formatCpuTime(198, 0), "");
});
