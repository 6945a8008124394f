// The agent's answer to a question (docs/page-data.md) as what the views show.
// Input:  JSON from the agent; every index is checked here once. Errors: ProfileError.
import { Choice, waitChoice } from "../model/choices";
import { Lane } from "../model/lanes";
import { Functions, Grouping, GROUPINGS, kindOf, requestGroupings } from "../model/names";
import { Answer, Head, LineRow } from "../model/source";
import { LinePlace } from "../model/top";
import { Tree, treeOf } from "../model/tree";
import { asArray, asObject, column, Json, number, ProfileError, text } from "./columns";
import { parseSummary, parseType } from "./sample_types";

const FORMAT = "stackray-view/1";
const MAX_BUCKETS = 100_000;
const LIMIT = 2 ** 31 - 1;

function texts(table: Json, what: string, key: string, length?: number): string[] {
  return asArray(table, what, key, length).map((value) => (typeof value === "string" ? value : ""));
}

function values(table: Json, what: string, key: string, length?: number): Float64Array {
  const list = asArray(table, what, key, length);
  return Float64Array.from(list, (value) => {
    if (typeof value !== "number" || !(value >= 0)) {
      throw new ProfileError(`“${what}.${key}” is out of range`);
    }
    return value;
  });
}

function parseFunctions(document: Json): Functions {
  const table = asObject(document["functions"], "functions");
  const name = texts(table, "functions", "name");
  const type = texts(table, "functions", "type", name.length);
  const file = texts(table, "functions", "file", name.length);
  return { ofFrame: new Int32Array(0), name, type, file, kind: type.map(kindOf) };
}

function parseTree(value: unknown, what: string, functions: Functions, groups: string[],
                   root: string): Tree {
  const table = asObject(value, what);
  const item = column(table, what, "item", -LIMIT, functions.name.length);
  const { length } = item;
  if (length === 0) throw new ProfileError(`“${what}” has no root`);
  const parent = column(table, what, "parent", -1, length, length);
  for (let node = 0; node < length; node++) {
    if (-2 - item[node]! >= groups.length) throw new ProfileError(`“${what}” names no group`);
    if ((node === 0) !== (parent[node] === -1) || parent[node]! >= node) {
      throw new ProfileError(`“${what}” entry ${node} is not below an earlier one`);
    }
  }
  return treeOf({ item, parent, self: values(table, what, "self", length),
                  total: values(table, what, "total", length) }, functions, groups, root);
}

function parseChoices(document: Json, key: string): { list: Choice[]; more: number } {
  const table = asObject(document[key], key);
  const keys = texts(table, key, "key");
  const label = texts(table, key, "label", keys.length);
  const note = texts(table, key, "note", keys.length);
  const count = values(table, key, "count", keys.length);
  return { more: number(table, "more", 0),
           list: keys.map((each, i) => ({ key: each, label: label[i]!, note: note[i]!,
                                          count: count[i]! })) };
}

function parseLanes(document: Json, bucketCount: number): Lane[] {
  return asArray(document, "document", "lanes").map((value) => {
    const table = asObject(value, "lanes");
    const bucket = column(table, "lanes", "bucket", 0, bucketCount);
    const count = values(table, "lanes", "count", bucket.length);
    const counts = new Map<number, number>();
    bucket.forEach((at, i) => counts.set(at, count[i]!));
    return { label: text(table, "label"), process: text(table, "process"),
             thread: text(table, "thread"), sum: number(table, "sum", 0), counts };
  });
}

function parseHead(document: Json): Head {
  const startMs = number(document, "start_ms", 0);
  const endMs = Math.max(number(document, "end_ms", startMs), startMs);
  const bucketMs = Math.max(number(document, "bucket_ms", 1000), 1);
  const bucketCount = Math.max(1, Math.ceil((endMs - startMs) / bucketMs));
  if (bucketCount > MAX_BUCKETS) throw new ProfileError(`more than ${MAX_BUCKETS} time buckets`);
  const tables = asArray(document, "document", "types").map((value) => asObject(value, "types"));
  if (tables.length === 0) tables.push({});
  return {
    title: text(document, "title"), host: text(document, "host"), note: text(document, "note"),
    dropped: "",
    frequencyHz: number(document, "frequency_hz", 0), cpus: number(document, "cpus", 0),
    startMs, endMs, bucketMs, bucketCount,
    types: tables.map(parseType), sums: tables.map((table) => number(table, "sum", 0)),
    summaries: tables.map(parseSummary),
  };
}

function parseLineColumns(lines: Json): { place: LinePlace; self: number; total: number }[] {
  const source = texts(lines, "lines", "source");
  const line = column(lines, "lines", "line", 0, LIMIT, source.length);
  const self = values(lines, "lines", "self", source.length);
  const total = values(lines, "lines", "total", source.length);
  return source.map((file, i) => ({ place: { file, line: line[i]! }, self: self[i]!, total: total[i]! }));
}

function parseSandwich(document: Json, functions: Functions, groups: string[]): Answer["sandwich"] {
  if (document["sandwich"] === undefined) return null;
  const table = asObject(document["sandwich"], "sandwich");
  const item = number(table, "function", -1);
  if (item < 0 || item >= functions.name.length) {
    throw new ProfileError("“sandwich” names no function");
  }
  const lines = asObject(table["lines"], "lines");
  const rows = parseLineColumns(lines);
  const shown = lines["text"] === undefined ? [] : texts(lines, "lines", "text", rows.length);
  return {
    item,
    trees: { callers: parseTree(table["callers"], "callers", functions, groups, ""),
             callees: parseTree(table["callees"], "callees", functions, groups, "") },
    lines: rows.map(({ place, self, total }, i): LineRow => (
      { ...place, self, total, text: shown[i] ?? "" })),
  };
}

function parseTableLines(table: Json, functions: Functions): Answer["lines"] {
  if (table["lines"] === undefined) return null;
  const lines = asObject(table["lines"], "lines");
  const columns = parseLineColumns(lines);
  const item = column(lines, "lines", "function", 0, functions.name.length, columns.length);
  const rows = columns.map((row, i) => ({ item: item[i]!, ...row }));
  return { rows, count: number(lines, "count", rows.length) };
}

export function parseAnswer(json: unknown, inverted: boolean): Answer {
  const document = asObject(json, "document");
  if (document["format"] !== FORMAT) throw new ProfileError(`its format is not “${FORMAT}”`);
  const head = parseHead(document);
  const functions = parseFunctions(document);
  const groups = texts(document, "document", "groups");
  const table = asObject(document["table"], "table");
  const rows = column(table, "table", "function", 0, functions.name.length);
  const self = values(table, "table", "self", rows.length);
  const total = values(table, "table", "total", rows.length);
  const shares = asObject(document["shares"], "shares");
  const shareTypes = texts(shares, "shares", "type");
  const shareCounts = values(shares, "shares", "count", shareTypes.length);
  const [processes, threads, waits, commands, containers, services, cgroups, users] = (
    ["processes", "threads", "waits", "commands", "containers", "services", "cgroups",
     "users"] as const
  ).map((key) => parseChoices(document, key));
  const offered = { container: containers!, service: services!, cgroup: cgroups!, user: users! };
  const labels = document["labels"] === undefined ? [] : texts(document, "document", "labels");
  const groupings: Grouping[] = [...GROUPINGS.filter((grouping) =>
    !(grouping in offered) || offered[grouping as keyof typeof offered].list.length > 0),
    ...requestGroupings(labels)];
  return {
    head, functions, groupings, labels,
    tree: { ...parseTree(document["tree"], "tree", functions, groups, head.host || "host"),
            leafFirst: inverted },
    top: Array.from(rows, (item, i) => ({ item, self: self[i]!, total: total[i]! })),
    topCount: number(table, "count", rows.length),
    lines: parseTableLines(table, functions),
    shares: shareTypes.map((type, i) => ({ type, count: shareCounts[i]! })),
    passing: number(document, "passing", 0),
    timeline: values(document, "document", "timeline", head.bucketCount),
    processes: processes!.list, threads: threads!.list,
    waits: waits!.list.map((wait) => ({ ...waitChoice(wait.key), count: wait.count })),
    commands: commands!.list, containers: containers!.list, services: services!.list, cgroups: cgroups!.list,
    users: users!.list,
    more: { processes: processes!.more, threads: threads!.more, waits: 0,
            commands: commands!.more, containers: containers!.more,
            services: services!.more, cgroups: cgroups!.more, users: users!.more },
    lanes: parseLanes(document, head.bucketCount),
    matched: document["matched"] === undefined ? null : number(document, "matched", 0),
    sandwich: parseSandwich(document, functions, groups),
  };
}
