// A small profile for the tests of the model, written as stacks.
import { parseProfile, Profile } from "../src/data/profile";

export interface Row {
  pid: number;
  command: string;
  tid?: number;
  bucket?: number;
  count?: number;
  type?: number;
  wait?: string;
  container?: string;
  service?: string;
  cgroup?: string;
  user?: string;
  stack: string[]; // outermost first, "name" or "name|type|file"
}

const OTHER_TYPES = [["off_cpu", "nanoseconds"], ["page_faults", "count"]] as const;

// The document that docs/page-data.md describes, made of rows.
export function documentOf(rows: Row[], head: Record<string, unknown> = {}): Record<string, any> {
  const strings = [""];
  const text = (value: string) => {
    const at = strings.indexOf(value);
    return at >= 0 ? at : strings.push(value) - 1;
  };
  const frames = { name: [] as number[], type: [] as number[], file: [] as number[] };
  const nodes = { parent: [-1], frame: [-1] };
  const processes = { pid: [] as number[], command: [] as number[], executable: [] as number[],
                      container: [] as number[], service: [] as number[], cgroup: [] as number[],
                      user: [] as number[] };
  const threads = { process: [] as number[], tid: [] as number[], name: [] as number[] };
  const tableOf = () => ({ node: [] as number[], thread: [] as number[], bucket: [] as number[],
                           count: [] as number[], wait: [] as number[] });
  const tables = [tableOf()];
  const known = new Map<string, number>();
  const once = (key: string, make: () => number) => {
    if (!known.has(key)) known.set(key, make());
    return known.get(key)!;
  };
  for (const row of rows) {
    const process = once(`p ${row.pid} ${row.command}`, () => {
      processes.command.push(text(row.command));
      processes.executable.push(text(`/usr/bin/${row.command}`));
      processes.container.push(text(row.container ?? ""));
      processes.service.push(text(row.service ?? ""));
      processes.cgroup.push(text(row.cgroup ?? ""));
      processes.user.push(text(row.user ?? ""));
      return processes.pid.push(row.pid) - 1;
    });
    const tid = row.tid ?? row.pid;
    const thread = once(`t ${process} ${tid}`, () => {
      threads.tid.push(tid);
      threads.name.push(text(`thread-${tid}`));
      return threads.process.push(process) - 1;
    });
    let node = 0;
    for (const entry of row.stack) {
      const frame = once(`f ${entry}`, () => {
        const [name = "", type = "native", file = ""] = entry.split("|");
        frames.type.push(text(type));
        frames.file.push(text(file));
        return frames.name.push(text(name)) - 1;
      });
      const parent = node;
      node = once(`n ${parent} ${frame}`, () => {
        nodes.parent.push(parent);
        return nodes.frame.push(frame) - 1;
      });
    }
    const samples = (tables[row.type ?? 0] ??= tableOf());
    samples.node.push(node);
    samples.thread.push(thread);
    samples.bucket.push(row.bucket ?? 0);
    samples.count.push(row.count ?? 1);
    samples.wait.push(text(row.wait ?? ""));
  }
  if (rows.every((row) => row.wait === undefined)) delete (tables[0] as { wait?: number[] }).wait;
  for (const key of ["service", "cgroup", "user"] as const) {
    if (rows.every((row) => row[key] === undefined)) delete (processes as Partial<typeof processes>)[key];
  }
  return { format: "stackray-page/1", title: "t", host: "h", frequency_hz: 10, start_ms: 1_000_000,
           end_ms: 1_010_000, bucket_ms: 1000, strings, frames, nodes, processes, threads,
           samples: tables[0], ...(tables.length < 2 ? {} : { other_types: tables.slice(1).map((samples, i) =>
             ({ type: OTHER_TYPES[i]![0], unit: OTHER_TYPES[i]![1], samples })) }), ...head };
}

export function profileOf(rows: Row[], head: Record<string, unknown> = {}): Profile {
  return parseProfile(documentOf(rows, head));
}
