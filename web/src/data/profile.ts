// The page's data (docs/page-data.md) as checked columns.
// Input:  JSON from a file or a server; nothing in it is trusted: every index is checked here once,
//         so that the model can read without checks.
// Errors: ProfileError with a sentence for the user.

export class ProfileError extends Error {}

export interface Summary {
  samples?: number;
  complete?: number;
  through_unknown?: number; // Whole, but not counted as complete.
  user_stacks?: number;
  named_frames?: number;
  frames?: number;
  lost?: number;
  unnamed?: string; // What the frames without a name are, in a sentence.
}

export interface Profile {
  title: string;
  host: string;
  frequencyHz: number; // 0: unknown
  startMs: number;
  endMs: number;
  bucketMs: number;
  bucketCount: number;
  strings: string[];
  frames: { name: Int32Array; type: Int32Array; file: Int32Array };
  nodes: { parent: Int32Array; frame: Int32Array }; // node 0 is the root
  processes: { pid: Int32Array; command: Int32Array; executable: Int32Array; container: Int32Array };
  threads: { process: Int32Array; tid: Int32Array; name: Int32Array };
  samples: { node: Int32Array; thread: Int32Array; bucket: Int32Array; count: Float64Array };
  sampleCount: number; // sum of samples.count
  summary: Summary;
  note: string;  // Why there are no samples; "": nothing is said.
}

const FORMAT = "stackray-page/1";
const MAX_BUCKETS = 100_000;

type Json = Record<string, unknown>;

function asObject(value: unknown, what: string): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ProfileError(`“${what}” is missing or not an object`);
  }
  return value as Json;
}

function asArray(table: Json, what: string, key: string, length?: number): unknown[] {
  const value = table[key];
  if (!Array.isArray(value)) throw new ProfileError(`“${what}.${key}” is missing or not a list`);
  if (length !== undefined && value.length !== length) {
    throw new ProfileError(`“${what}.${key}” has ${value.length} entries instead of ${length}`);
  }
  return value;
}

// A column of whole numbers in [low, high).
function column(table: Json, what: string, key: string, low: number, high: number,
                length?: number): Int32Array {
  const values = asArray(table, what, key, length);
  const result = new Int32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (typeof value !== "number" || !Number.isInteger(value) || value < low || value >= high) {
      throw new ProfileError(`“${what}.${key}” entry ${i} is out of range`);
    }
    result[i] = value;
  }
  return result;
}

function number(document: Json, key: string, fallback: number): number {
  const value = document[key];
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : fallback;
}

function text(document: Json, key: string): string {
  const value = document[key];
  return typeof value === "string" ? value : "";
}

function parseNodes(document: Json, frameCount: number): Profile["nodes"] {
  const table = asObject(document["nodes"], "nodes");
  const frame = column(table, "nodes", "frame", -1, frameCount);
  const parent = column(table, "nodes", "parent", -1, Math.max(frame.length, 1), frame.length);
  if (frame.length === 0) throw new ProfileError("“nodes” has no root");
  for (let i = 0; i < frame.length; i++) {
    const isRoot = i === 0;
    if (isRoot !== (parent[i] === -1) || isRoot !== (frame[i] === -1) || parent[i]! >= i) {
      throw new ProfileError(`“nodes” entry ${i} is not below an earlier node`);
    }
  }
  return { parent, frame };
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

function parseSummary(document: Json): Summary {
  const result: Summary = {};
  const value = document["summary"];
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

const PID_LIMIT = 2 ** 31;

function parseTables(document: Json, strings: number) {
  const frameTable = asObject(document["frames"], "frames");
  const name = column(frameTable, "frames", "name", 0, strings);
  const frames = {
    name,
    type: column(frameTable, "frames", "type", 0, strings, name.length),
    file: column(frameTable, "frames", "file", 0, strings, name.length),
  };
  const processTable = asObject(document["processes"], "processes");
  const pid = column(processTable, "processes", "pid", 0, PID_LIMIT);
  const processes = {
    pid,
    command: column(processTable, "processes", "command", 0, strings, pid.length),
    executable: column(processTable, "processes", "executable", 0, strings, pid.length),
    container: column(processTable, "processes", "container", 0, strings, pid.length),
  };
  const threadTable = asObject(document["threads"], "threads");
  const process = column(threadTable, "threads", "process", 0, pid.length);
  const threads = {
    process,
    tid: column(threadTable, "threads", "tid", 0, PID_LIMIT, process.length),
    name: column(threadTable, "threads", "name", 0, strings, process.length),
  };
  return { frames, processes, threads };
}

function parseStrings(document: Json): string[] {
  const strings = asArray(document, "document", "strings");
  if (strings.length === 0) throw new ProfileError("“strings” is empty");
  return strings.map((value) => (typeof value === "string" ? value : ""));
}

function parseTime(document: Json) {
  const startMs = number(document, "start_ms", 0);
  const endMs = Math.max(number(document, "end_ms", startMs), startMs);
  const bucketMs = Math.max(number(document, "bucket_ms", 1000), 1);
  const bucketCount = Math.max(1, Math.ceil((endMs - startMs) / bucketMs));
  if (bucketCount > MAX_BUCKETS) throw new ProfileError(`more than ${MAX_BUCKETS} time buckets`);
  return { startMs, endMs, bucketMs, bucketCount };
}

export function parseProfile(json: unknown): Profile {
  const document = asObject(json, "document");
  if (document["format"] !== FORMAT) throw new ProfileError(`its format is not “${FORMAT}”`);
  const strings = parseStrings(document);
  const tables = parseTables(document, strings.length);
  const nodes = parseNodes(document, tables.frames.name.length);
  const time = parseTime(document);
  const sampleTable = asObject(document["samples"], "samples");
  const bucket = column(sampleTable, "samples", "bucket", 0, MAX_BUCKETS);
  // A sample taken at the very end may fall into one more bucket than the end time says.
  for (const value of bucket) if (value >= time.bucketCount) time.bucketCount = value + 1;
  const count = parseCounts(sampleTable, bucket.length);
  const threadCount = tables.threads.tid.length;
  return {
    title: text(document, "title"),
    host: text(document, "host"),
    frequencyHz: number(document, "frequency_hz", 0),
    ...time,
    strings,
    ...tables,
    nodes,
    samples: {
      node: column(sampleTable, "samples", "node", 0, nodes.parent.length, bucket.length),
      thread: column(sampleTable, "samples", "thread", 0, threadCount, bucket.length),
      bucket,
      count,
    },
    sampleCount: count.reduce((sum, value) => sum + value, 0),
    summary: parseSummary(document),
    note: typeof document["note"] === "string" ? document["note"] : "",
  };
}
