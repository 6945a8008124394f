// Writes page data (docs/page-data.md) for tests: stacks go in, columns come out.
import { gzipSync } from "node:zlib";

export class PageData {
  constructor(head) {
    this.head = head;
    this.strings = [""];
    this.stringIndex = new Map([["", 0]]);
    this.frames = { name: [], type: [], file: [], source: [], line: [] };
    this.frameIndex = new Map();
    this.nodes = { parent: [-1], frame: [-1] };
    this.nodeIndex = new Map();
    this.processes = { pid: [], command: [], executable: [], container: [], cgroup: [],
                       user: [] };
    this.threads = { process: [], tid: [], name: [], labels: [] };
    this.labels = { key: [0], text: [0], next: [0] };
    this.tables = []; // of samples, by type
  }

  string(text) {
    return this.intern(this.stringIndex, text, () => this.strings.push(text) - 1);
  }

  intern(index, key, make) {
    let value = index.get(key);
    if (value === undefined) index.set(key, value = make());
    return value;
  }

  // [name, type, file, source file, line]
  frame([name, type = "native", file = "", source = "", line = 0]) {
    return this.intern(this.frameIndex, JSON.stringify([name, type, file, source, line]), () => {
      this.frames.source.push(this.string(source));
      this.frames.line.push(line);
      this.frames.type.push(this.string(type));
      this.frames.file.push(this.string(file));
      return this.frames.name.push(this.string(name)) - 1;
    });
  }

  process(pid, command, executable = "", container = "", more = {}) {
    this.processes.command.push(this.string(command));
    this.processes.executable.push(this.string(executable));
    this.processes.container.push(this.string(container));
    this.processes.cgroup.push(this.string(more.cgroup ?? ""));
    this.processes.user.push(this.string(more.user ?? ""));
    return this.processes.pid.push(pid) - 1;
  }

  // `labels`: what its samples belong to, by name.
  thread(process, tid, name, labels = {}) {
    let first = 0;
    for (const [key, text] of Object.entries(labels)) {
      this.labels.key.push(this.string(key));
      this.labels.text.push(this.string(text));
      first = this.labels.next.push(first) - 1;
    }
    this.threads.labels.push(first);
    this.threads.tid.push(tid);
    this.threads.name.push(this.string(name));
    return this.threads.process.push(process) - 1;
  }

  // `stack`: frames, outermost first. `type`: 0, or 1 more than an index into the head's
  // `other_types`.
  sample(thread, bucket, stack, count = 1, type = 0, wait = "") {
    let node = 0;
    for (const entry of stack) {
      const frame = this.frame(entry);
      const parent = node;
      node = this.intern(this.nodeIndex, `${parent} ${frame}`, () => {
        this.nodes.parent.push(parent);
        return this.nodes.frame.push(frame) - 1;
      });
    }
    const table = (this.tables[type] ??= { node: [], thread: [], bucket: [], count: [] });
    table.node.push(node);
    table.thread.push(thread);
    table.bucket.push(bucket);
    table.count.push(count);
    if (wait) (table.wait ??= []).push(this.string(wait));
  }

  document() {
    const { strings, frames, nodes, processes, labels, tables } = this;
    const { labels: ofThreads, ...threads } = this.threads;
    const labelled = labels.key.length > 1;
    if (labelled) threads.labels = ofThreads;
    const { other_types: others, ...head } = this.head;
    return { format: "stackray-page/1", ...head, strings, frames, nodes, processes, threads,
             samples: tables[0], ...(labelled && { labels }),
             ...(others && { other_types: others.map((type, i) => ({ ...type, samples: tables[i + 1] })) }) };
  }
}

// What `record -o FILE.html` does with the page: the data goes where the marker stands.
export function embed(page, document) {
  const data = gzipSync(JSON.stringify(document)).toString("base64");
  const script = `<script type="application/octet-stream" id="stackray-data">${data}</script>`;
  return page.replace("<!--stackray-data-->", () => script);
}
