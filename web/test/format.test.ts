import assert from "node:assert/strict";
import { test } from "node:test";
import { formatCount, formatDuration, formatNanoseconds, formatPercent } from "../src/model/format";
import { measureOf } from "../src/model/measure";

const SAMPLES = { name: "samples", unit: "count", label: "On-CPU" };
const OFF_CPU = { name: "off_cpu", unit: "nanoseconds", label: "Off-CPU" };
const FAULTS = { name: "page_faults", unit: "count", label: "Page faults" };

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
});

test("nanoseconds are written in the unit that suits them", () => {
  const texts = [0, 7, 999, 1000, 1234, 45_678, 999_499, 999_500, 1_500_000, 123_456_789, 999_499_999, 1e9,
                 1.234e9, 59e9, 61e9, 7200e9].map(formatNanoseconds);
  assert.deepEqual(texts, ["0 ns", "7 ns", "999 ns", "1 µs", "1.23 µs", "45.7 µs", "999 µs", "1 ms", "1.5 ms",
                           "123 ms", "999 ms", "1 s", "1.23 s", "59 s", "1 min 1 s", "2 h"]);
});

test("each type's values have their unit, their cost and their rate", () => {
  const cpu = measureOf(SAMPLES, 99);
  assert.deepEqual([cpu.short(1234), cpu.amount(1234), cpu.amount(1), cpu.cost(198)],
                   ["1,234", "1,234 samples", "1 sample", "≈ 2 s of CPU"]);
  assert.equal(cpu.rate.text(cpu.rate.of(198, 1000)), "2 CPUs");
  assert.equal(cpu.rate.text(cpu.rate.of(99, 1000)), "1 CPU");
  const unknown = measureOf(SAMPLES, 0);
  assert.deepEqual([unknown.cost(198), unknown.rate.text(unknown.rate.of(10, 2000))], ["", "5 samples a second"]);
  const waits = measureOf(OFF_CPU, 99);
  assert.deepEqual([waits.short(1.5e9), waits.amount(2.5e6), waits.cost(1e9)], ["1.5 s", "2.5 ms", ""]);
  assert.equal(waits.rate.text(waits.rate.of(3e9, 2000)), "3 s");
  const faults = measureOf(FAULTS, 99);
  assert.deepEqual([faults.amount(1200), faults.amount(1), faults.cost(5), faults.rate.text(faults.rate.of(30, 2000))],
                   ["1,200 page faults", "1 page fault", "", "15 a second"]);
  assert.equal(measureOf({ name: "alloc", unit: "bytes", label: "" }, 0).amount(2048), "2,048 bytes");
});
