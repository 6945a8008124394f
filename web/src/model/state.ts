// What the user chose, and how an address says it. The address names things by what they are and
// never by an index, so it means the same in another browser, and in another document of the same
// program.
import { Chosen, CHOSEN, chosenOf, Filter, NOTHING_CHOSEN } from "./filter";
import { Grouping, GROUPINGS, readGrouping } from "./names";
import type { Head } from "./source";

export const VIEWS = ["flame", "both", "table", "time"] as const;
export type View = (typeof VIEWS)[number];

export interface Span { fromMs: number; toMs: number } // wall clock, Unix milliseconds

export interface State extends Chosen {
  type: string;  // name of a sample type; "": the first
  view: View | "";  // "": what suits the screen
  grouping: Grouping;
  inverted: boolean;
  upward: boolean;  // the root at the bottom
  fold: boolean;
  before: boolean;  // the table is compared with the time before
  lines: boolean;   // the table has source lines in the place of functions
  query: string;
  hidden: ReadonlySet<string>; // types of frames
  range: Span | null;
  zoom: string;     // key of a path, model/path.ts
  callers: string;  // key of a function whose callers and callees are open
  capture: string;  // of a live page: name of a capture; "": the continuous profile
  windowMs: number; // of a live page: how far back it reaches
  at: Span | null;  // of a live page: it shows this time and does not go on
}

export const DEFAULT_WINDOW_MS = 60_000;

export const START: State = {
  type: "", view: "", grouping: "command", inverted: false, upward: false, fold: false,
  lines: false, before: false, query: "",
  hidden: new Set(), ...NOTHING_CHOSEN, range: null,
  zoom: "", capture: "",
  callers: "", windowMs: DEFAULT_WINDOW_MS, at: null,
};

const TEXTS = ["type", "query", "zoom", "callers", "capture"] as const;
const SWITCHES = ["inverted", "upward", "fold", "lines", "before"] as const;
const SETS = ["hidden", ...CHOSEN] as const;
const SPANS = ["range", "at"] as const;
const MAX_CHOSEN = 1000;
const MAX_TEXT = 8192;

// The part of the address after "#"; empty for START.
export function writeState(state: State): string {
  const words = new URLSearchParams();
  if (state.view !== "") words.set("view", state.view);
  if (state.grouping !== START.grouping) words.set("by", state.grouping);
  if (state.windowMs !== START.windowMs) words.set("window", String(state.windowMs));
  for (const key of TEXTS) if (state[key] !== "") words.set(key, state[key]);
  for (const key of SWITCHES) if (state[key]) words.set(key, "1");
  for (const key of SETS) for (const value of state[key]) words.append(key, value);
  for (const key of SPANS) {
    const span = state[key];
    if (span !== null) words.set(key, `${span.fromMs}-${span.toMs}`);
  }
  return words.toString();
}

// What a file with the data in it opens with, in the words of an address. It has no live page's
// time. `partial`: it is saved from an agent, whose document knows no requests and no labels.
export function writeSaved(state: State, partial: boolean): string {
  const { windowMs, at, capture, requests, grouping } = START;
  const lacks = partial && !GROUPINGS.some((each) => each === state.grouping);
  return writeState({ ...state, windowMs, at, capture, ...(partial && { requests }),
                      ...(lacks && { grouping }) });
}

function readSpan(text: string | null): Span | null {
  const parts = /^(\d{1,15})-(\d{1,15})$/.exec(text ?? "");
  if (parts === null) return null;
  const [fromMs, toMs] = [Number(parts[1]), Number(parts[2])];
  return fromMs < toMs ? { fromMs, toMs } : null;
}

function readMember<T extends string>(known: readonly T[], text: string | null, otherwise: T | ""): T | "" {
  return known.find((value) => value === text) ?? otherwise;
}

// Of any text: what it does not say, or says wrongly, is as at the start.
export function readState(text: string): State {
  const words = new URLSearchParams(text);
  const state = { ...START };
  state.view = readMember(VIEWS, words.get("view"), "");
  state.grouping = readGrouping(words.get("by")) ?? START.grouping;
  if (/^\d{4,9}$/.test(words.get("window") ?? "")) state.windowMs = Number(words.get("window"));
  for (const key of TEXTS) state[key] = (words.get(key) ?? "").slice(0, MAX_TEXT);
  for (const key of SWITCHES) state[key] = words.get(key) === "1";
  for (const key of SETS) state[key] = new Set(words.getAll(key).slice(0, MAX_CHOSEN));
  for (const key of SPANS) state[key] = readSpan(words.get(key));
  return state;
}

// The filter that the state means in a profile. A type or time that it lacks is its first, and all
// of it.
export function filterOf(state: State, profile: Head): Filter {
  const type = Math.max(profile.types.findIndex((each) => each.name === state.type), 0);
  return { type, ...chosenOf((key) => state[key]), buckets: bucketsOf(state.range, profile) };
}

function bucketsOf(range: Span | null, profile: Head): Filter["buckets"] {
  if (range === null) return null;
  const first = Math.floor((range.fromMs - profile.startMs) / profile.bucketMs);
  const last = Math.ceil((range.toMs - profile.startMs) / profile.bucketMs) - 1;
  if (last < 0 || first >= profile.bucketCount) return null;
  return { first: Math.max(first, 0), last: Math.min(last, profile.bucketCount - 1) };
}

// The time that is chosen, in whole buckets, as all sums are.
export function chosenSpan(state: State, head: Head): Span {
  const buckets = bucketsOf(state.range, head);
  return buckets === null ? { fromMs: head.startMs, toMs: head.endMs } : spanOf(buckets, head);
}

export function spanOf(buckets: NonNullable<Filter["buckets"]>, profile: Head): Span {
  return { fromMs: profile.startMs + buckets.first * profile.bucketMs,
           toMs: profile.startMs + (buckets.last + 1) * profile.bucketMs };
}
