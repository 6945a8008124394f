// A document's sample types, each with rows and a summary of its own.
// Input and errors: as in profile.ts.
import { asArray, asObject, column, Json, ProfileError, text } from "./columns";

export interface SampleType {
  name: string;  // "samples", "off_cpu", …: what the address and the data call it
  unit: string;  // "count", "nanoseconds", or what another writer says
  label: string; // what the user reads
}

export interface Summary {
  samples?: number; // events, whatever the unit is
  complete?: number;
  through_unknown?: number; // Whole, but not counted as complete.
  user_stacks?: number;
  named_frames?: number;
  frames?: number;
  lost?: number;
  unnamed?: string; // What the frames without a name are, in a sentence.
}

// Rows of all types, one type's after the other's.
export interface Samples {
  node: Int32Array;
  thread: Int32Array;
  bucket: Int32Array;
  type: Int32Array;    // index into the types; rows of two types are never added up
  wait: Int32Array;    // index into strings; 0: none
  count: Float64Array; // in the unit of the row's type
}

// What indices in rows are below.
export interface Limits { node: number; thread: number; bucket: number; strings: number }

const LABELS: Record<string, string> = { samples: "On-CPU", off_cpu: "Off-CPU", page_faults: "Page faults" };
const MAX_TYPES = 64;

export function parseType(table: Json): SampleType {
  const name = text(table, "type") || "samples";
  return { name, unit: text(table, "unit") || "count", label: LABELS[name] ?? name.replaceAll("_", " ") };
}

// The document itself names the first type, and stands for it.
function tablesOf(document: Json): Json[] {
  if (document["other_types"] === undefined) return [document];
  const others = asArray(document, "document", "other_types");
  if (others.length >= MAX_TYPES) throw new ProfileError(`“other_types” has ${others.length} entries`);
  return [document, ...others.map((value, index) => {
    const table = asObject(value, `other_types ${index}`);
    if (text(table, "type") === "") throw new ProfileError(`“other_types” entry ${index} has no type`);
    return table;
  })];
}

function parseCounts(table: Json, length: number): Float64Array {
  const values = asArray(table, "samples", "count", length);
  const result = new Float64Array(length);
  for (let i = 0; i < length; i++) {
    const value = values[i];
    if (typeof value !== "number" || !(value >= 0) || value > Number.MAX_SAFE_INTEGER) {
      throw new ProfileError(`“samples.count” entry ${i} is out of range`);
    }
    result[i] = value;
  }
  return result;
}

// A column that may be absent, as zeros then.
export function optionalColumn(table: Json, what: string, key: string, high: number,
                               length: number): Int32Array {
  return table[key] === undefined ? new Int32Array(length) : column(table, what, key, 0, high, length);
}

function parseRows(holder: Json, type: number, limits: Limits): Samples {
  const table = asObject(holder["samples"], "samples");
  const bucket = column(table, "samples", "bucket", 0, limits.bucket);
  const { length } = bucket;
  return {
    bucket,
    node: column(table, "samples", "node", 0, limits.node, length),
    thread: column(table, "samples", "thread", 0, limits.thread, length),
    type: new Int32Array(length).fill(type),
    wait: optionalColumn(table, "samples", "wait", limits.strings, length),
    count: parseCounts(table, length),
  };
}

function joined<T extends Int32Array | Float64Array>(make: (length: number) => T, parts: readonly T[]): T {
  if (parts.length === 1) return parts[0]!;
  const result = make(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}

export function parseSummary(table: Json): Summary {
  const result: Summary = {};
  const value = table["summary"];
  if (typeof value !== "object" || value === null) return result;
  const keys = ["samples", "complete", "through_unknown", "user_stacks", "named_frames", "frames", "lost"] as const;
  for (const key of keys) {
    const entry = (value as Json)[key];
    if (typeof entry === "number" && Number.isFinite(entry) && entry >= 0) result[key] = entry;
  }
  const unnamed = text(value as Json, "unnamed");
  if (unnamed !== "") result.unnamed = unnamed;
  return result;
}

export function parseSamples(document: Json, limits: Limits) {
  const tables = tablesOf(document);
  const parts = tables.map((table, type) => parseRows(table, type, limits));
  const whole = (key: "node" | "thread" | "bucket" | "type" | "wait") =>
    joined((length) => new Int32Array(length), parts.map((part) => part[key]));
  const samples: Samples = {
    node: whole("node"), thread: whole("thread"), bucket: whole("bucket"), type: whole("type"),
    wait: whole("wait"), count: joined((length) => new Float64Array(length), parts.map((part) => part.count)),
  };
  return {
    types: tables.map(parseType), samples, summaries: tables.map(parseSummary),
    sums: parts.map((part) => part.count.reduce((sum, value) => sum + value, 0)),
  };
}
