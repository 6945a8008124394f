// How the values of one sample type are written, and what their sum over time is a rate of.
import { SampleType } from "../data/sample_types";
import { formatCount, formatDuration, formatNanoseconds } from "./format";

export interface Measure {
  type: SampleType;
  short(value: number): string;  // "1,234" or "1.25 s"
  amount(value: number): string; // "1,234 samples" or "1.25 s"
  cost(value: number): string;   // what the value stands for besides: "≈ 12 s of CPU"; may be empty
  // A value of `ms` as a height of the timeline: "1.7 CPUs".
  rate: { of(value: number, ms: number): number; text(rate: number): string };
  overTime: string; // how its values are spread over time
  wider: string;    // what a wider frame has more of
}

function twoDigits(value: number): string {
  return value >= 100 ? formatCount(value) : String(Number(value.toPrecision(2)));
}

function cpuSamples(type: SampleType, frequencyHz: number): Measure {
  const cpus = frequencyHz > 0;
  return {
    type, short: formatCount,
    amount: (value) => `${formatCount(value)} ${value === 1 ? "sample" : "samples"}`,
    // Processor time that the samples stand for.
    cost: (value) => (cpus ? `≈ ${formatDuration((value * 1000) / frequencyHz)} of CPU` : ""),
    rate: {
      of: (value, ms) => (value * 1000) / ms / (cpus ? frequencyHz : 1),
      text: (rate) => (!cpus ? `${twoDigits(rate)} samples a second`
        : `${twoDigits(rate)} ${twoDigits(rate) === "1" ? "CPU" : "CPUs"}`),
    },
    overTime: "over time", wider: "CPU time",
  };
}

function spentTime(type: SampleType): Measure {
  return {
    type, short: formatNanoseconds, amount: formatNanoseconds, cost: () => "",
    // A wait may be longer than the bucket that it ended in: no number of threads follows from it.
    rate: { of: (value) => value, text: formatNanoseconds },
    overTime: "over time, each wait where it ended", wider: "waiting time",
  };
}

function events(type: SampleType): Measure {
  const noun = type.unit === "count" ? type.name.replaceAll("_", " ") : type.unit;
  const amount = (value: number) =>
    `${formatCount(value)} ${value === 1 ? noun.replace(/s$/, "") : noun}`;
  return {
    type, short: formatCount, amount, cost: () => "",
    rate: { of: (value, ms) => (value * 1000) / ms, text: (rate) => `${twoDigits(rate)} a second` },
    overTime: "over time", wider: noun,
  };
}

export function isOnCpu(type: SampleType): boolean {
  return type.name === "samples" && type.unit === "count";
}

export function measureOf(type: SampleType, frequencyHz: number): Measure {
  if (type.unit === "nanoseconds") return spentTime(type);
  return isOnCpu(type) ? cpuSamples(type, frequencyHz)
                                                          : events(type);
}
