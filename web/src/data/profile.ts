// The page's data (docs/page-data.md) as checked columns.
// Input:  JSON from a file or a server; nothing in it is trusted: every index is checked here once,
//         so that the model can read without checks.
// Errors: ProfileError with a sentence for the user.

import { asArray, asObject, column, Json, number, ProfileError, text } from "./columns";
import { optionalColumn, parseSamples, Samples, SampleType, Summary } from "./sample_types";

export { ProfileError } from "./columns";

export interface Profile {
  title: string;
  host: string;
  frequencyHz: number; // 0: unknown
  cpus: number;        // of the host; 0: unknown
  startMs: number;
  endMs: number;
  bucketMs: number;
  bucketCount: number;
  strings: string[];
  // `source` and `line`: where in its source file, as far as it is known (0: it is not)
  frames: {
    name: Int32Array; type: Int32Array; file: Int32Array; source: Int32Array; line: Int32Array };
  nodes: { parent: Int32Array; frame: Int32Array }; // node 0 is the root
  processes: { pid: Int32Array; command: Int32Array; executable: Int32Array; container: Int32Array;
               service: Int32Array; cgroup: Int32Array; user: Int32Array };
  // labels: the first of what its samples belong to, an index into the labels below
  threads: { process: Int32Array; tid: Int32Array; name: Int32Array; labels: Int32Array };
  labels: { key: Int32Array; text: Int32Array; next: Int32Array }; // element 0 is none
  types: SampleType[]; // at least one
  samples: Samples;
  sums: number[];       // of samples.count, by type
  summaries: Summary[]; // by type
  note: string;  // Why there are no samples; "": nothing is said.
  dropped: string; // What the document leaves out, in a sentence; "": nothing.
}

const FORMAT = "stackray-page/1";
const MAX_BUCKETS = 100_000;

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

const PID_LIMIT = 2 ** 31;

function parseTables(document: Json, strings: number) {
  const labels = parseLabels(document, strings);
  const frameTable = asObject(document["frames"], "frames");
  const name = column(frameTable, "frames", "name", 0, strings);
  const frames = {
    name,
    type: column(frameTable, "frames", "type", 0, strings, name.length),
    file: column(frameTable, "frames", "file", 0, strings, name.length),
    source: optionalColumn(frameTable, "frames", "source", strings, name.length),
    line: optionalColumn(frameTable, "frames", "line", 2 ** 31, name.length),
  };
  const processTable = asObject(document["processes"], "processes");
  const pid = column(processTable, "processes", "pid", 0, PID_LIMIT);
  const processes = {
    pid,
    command: column(processTable, "processes", "command", 0, strings, pid.length),
    executable: column(processTable, "processes", "executable", 0, strings, pid.length),
    container: column(processTable, "processes", "container", 0, strings, pid.length),
    service: optionalColumn(processTable, "processes", "service", strings, pid.length),
    cgroup: optionalColumn(processTable, "processes", "cgroup", strings, pid.length),
    user: optionalColumn(processTable, "processes", "user", strings, pid.length),
  };
  const threadTable = asObject(document["threads"], "threads");
  const process = column(threadTable, "threads", "process", 0, pid.length);
  const threads = {
    process,
    tid: column(threadTable, "threads", "tid", 0, PID_LIMIT, process.length),
    name: column(threadTable, "threads", "name", 0, strings, process.length),
    labels: optionalColumn(threadTable, "threads", "labels", labels.key.length, process.length),
  };
  return { frames, processes, threads, labels };
}

function parseLabels(document: Json, strings: number): Profile["labels"] {
  if (document["labels"] === undefined) {
    return { key: new Int32Array(1), text: new Int32Array(1), next: new Int32Array(1) };
  }
  const table = asObject(document["labels"], "labels");
  const key = column(table, "labels", "key", 0, strings);
  if (key.length === 0) throw new ProfileError("“labels” is empty");
  const next = column(table, "labels", "next", 0, key.length, key.length);
  next.forEach((each, i) => {
    if (each >= i && i > 0) throw new ProfileError(`“labels” entry ${i} is before its next one`);
  });
  return { key, text: column(table, "labels", "text", 0, strings, key.length), next };
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
  const limits = { node: nodes.parent.length, thread: tables.threads.tid.length, bucket: MAX_BUCKETS,
                   strings: strings.length };
  const sampled = parseSamples(document, limits);
  // A sample taken at the very end may fall into one more bucket than the end time says.
  for (const value of sampled.samples.bucket) if (value >= time.bucketCount) time.bucketCount = value + 1;
  return {
    title: text(document, "title"),
    host: text(document, "host"),
    frequencyHz: number(document, "frequency_hz", 0),
    cpus: number(document, "cpus", 0),
    ...time,
    strings,
    ...tables,
    nodes,
    ...sampled,
    note: text(document, "note"),
    dropped: text(document, "dropped"),
  };
}
