// The agent's answer to /api/view (docs/page-data.md), made of a page document: as much of it as
// the tests of the live page ask for.

// Rows of the document's first type that the question keeps.
function rowsOf(document, words) {
  const { strings, processes, threads, samples } = document;
  const chosen = new Set(words.getAll("processes"));
  const key = (process) => `${processes.pid[process]} ${strings[processes.command[process]]}`;
  const from = Number(words.get("chosen_from_ms") ?? 0);
  const to = Number(words.get("chosen_to_ms") ?? Infinity);
  return samples.count.map((count, i) => {
    const thread = samples.thread[i];
    const process = threads.process[thread];
    const ms = document.start_ms + samples.bucket[i] * document.bucket_ms;
    const passes = chosen.size === 0 || chosen.has(key(process));
    return { count, thread, process, node: samples.node[i], bucket: samples.bucket[i], passes,
             chosen: ms >= from && ms < to, key: key(process) };
  });
}

class Tree {
  constructor() {
    this.nodes = [{ item: -1, parent: -1, self: 0, total: 0, children: new Map() }];
  }
  child(parent, item) {
    const known = this.nodes[parent].children.get(item);
    if (known !== undefined) return known;
    const node = this.nodes.push({ item, parent, self: 0, total: 0, children: new Map() }) - 1;
    this.nodes[parent].children.set(item, node);
    return node;
  }
  add(path, count) {
    let node = 0;
    this.nodes[0].total += count;
    for (const item of path) {
      node = this.child(node, item);
      this.nodes[node].total += count;
    }
    this.nodes[node].self += count;
  }
  columns() {
    const out = { item: [], parent: [], self: [], total: [] };
    const visit = (number, parent) => {
      const node = this.nodes[number];
      const own = out.item.push(node.item) - 1;
      out.parent.push(parent);
      out.self.push(node.self);
      out.total.push(node.total);
      const children = [...node.children.values()].sort(
        (a, b) => this.nodes[b].total - this.nodes[a].total);
      for (const child of children) visit(child, own);
    };
    visit(0, -1);
    return out;
  }
}

function choices(list) {
  const all = new Map();
  for (const { key, label, count } of list) {
    const known = all.get(key) ?? { key, label, count: 0 };
    all.set(key, { ...known, count: known.count + count });
  }
  const values = [...all.values()];
  return { key: values.map((v) => v.key), label: values.map((v) => v.label),
           note: values.map(() => ""), count: values.map((v) => v.count), more: 0 };
}

// Whatever function is asked for, it is serve: main calls it, and the rest is left out.
function sandwichOf({ strings, frames }, words, lines) {
  if (!words.has("callers") || lines.length === 0) return {};
  const [main, serve] = ["main", "serve"].map((name) => frames.name.findIndex((i) => strings[i] === name));
  const total = lines.reduce((sum, line) => sum + line[3], 0);
  const column = (at) => lines.map((line) => line[at]);
  return { sandwich: {
    function: serve,
    callers: { item: [serve, main], parent: [-1, 0], self: [0, total], total: [total, total] },
    callees: { item: [serve], parent: [-1], self: [total], total: [total] },
    lines: { source: column(0), line: column(1), self: column(2), total: column(3), text: column(4) } } };
}

export function viewOf(document, words, lines = []) {
  const { strings, frames, nodes, processes, threads } = document;
  const rows = rowsOf(document, words);
  const groups = [];
  const tree = new Tree();
  const buckets = Math.ceil((document.end_ms - document.start_ms) / document.bucket_ms);
  const timeline = new Array(Math.max(1, buckets)).fill(0);
  const table = frames.name.map(() => ({ self: 0, total: 0 }));
  for (const row of rows) {
    if (!row.passes) continue;
    timeline[row.bucket] += row.count;
    if (!row.chosen) continue;
    const command = strings[processes.command[row.process]];
    if (!groups.includes(command)) groups.push(command);
    const path = [];
    for (let node = row.node; node > 0; node = nodes.parent[node]) path.unshift(nodes.frame[node]);
    tree.add([-2 - groups.indexOf(command), ...path], row.count);
    for (const frame of new Set(path)) table[frame].total += row.count;
    if (path.length > 0) table[path.at(-1)].self += row.count;
  }
  const used = frames.name.map((_, i) => i).filter((i) => table[i].total > 0);
  const text = (column) => column.map((i) => strings[i]);
  const { command, pid } = processes;
  const label = ({ process }) => `${strings[command[process]]} (${pid[process]})`;
  const none = choices([]);
  const all = document.samples.count.reduce((sum, count) => sum + count, 0);
  return {
    format: "stackray-view/1", title: document.title, host: document.host,
    frequency_hz: document.frequency_hz,
    cpus: 2, start_ms: document.start_ms, end_ms: document.end_ms, bucket_ms: document.bucket_ms,
    types: [{ type: "samples", unit: "count", sum: all, summary: document.summary ?? {} }], type: 0,
    tree: tree.columns(),
    table: { function: used, self: used.map((i) => table[i].self),
             total: used.map((i) => table[i].total), count: used.length },
    shares: { type: ["native"], count: [all] }, passing: tree.nodes[0].total, timeline,
    processes: choices(rows.map((row) => ({ key: row.key, label: label(row), count: row.count }))),
    threads: choices(rows.map((row) => ({ key: `${row.key} ${threads.tid[row.thread]}`,
      label: strings[threads.name[row.thread]], count: row.count }))),
    labels: ["route", "trace_id"], waits: none, commands: none, containers: none, services: none, cgroups: none, users: none, lanes: [], query_error: "", groups,
    ...sandwichOf(document, words, lines),
    functions: { name: text(frames.name), type: text(frames.type), file: text(frames.file) },
  };
}
