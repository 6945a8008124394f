// What is shown as a pprof profile: https://github.com/google/pprof, proto/profile.proto, of which
// the field numbers below are.
import { Measure } from "./measure";
import { forEachStack } from "./stacks";
import { Tree } from "./tree";

// A message of Protocol Buffers, field by field. Numbers are whole and ≥ 0.
class Message {
  private readonly bytes: number[] = [];

  private varint(value: number): void {
    for (; value >= 128; value = Math.floor(value / 128)) this.bytes.push((value % 128) + 128);
    this.bytes.push(value);
  }
  number(field: number, value: number): this {
    if (value === 0) return this;
    this.varint(field * 8);
    this.varint(value);
    return this;
  }
  numbers(field: number, values: readonly number[]): this {
    const packed = new Message();
    for (const value of values) packed.varint(value);
    return this.message(field, packed);
  }
  message(field: number, message: Message): this {
    return this.raw(field, message.bytes);
  }
  text(field: number, text: string): this {
    return this.raw(field, new TextEncoder().encode(text));
  }
  private raw(field: number, bytes: ArrayLike<number>): this {
    this.varint(field * 8 + 2);
    this.varint(bytes.length);
    for (let i = 0; i < bytes.length; i++) this.bytes.push(bytes[i]!);
    return this;
  }
  finish(): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(this.bytes);
  }
}

class Strings {
  readonly list = [""];
  private readonly known = new Map([["", 0]]);

  of(text: string): number {
    let number = this.known.get(text);
    if (number === undefined) this.known.set(text, number = this.list.push(text) - 1);
    return number;
  }
}

export interface PprofTimes {
  startMs: number;
  endMs: number;
  frequencyHz: number; // of on-CPU samples; 0: unknown
}

// Not compressed, which readers of pprof take too. A group, such as a command, is a stack's
// outermost function.
export function pprofBytes(tree: Tree, zoom: number, measure: Measure,
                           times: PprofTimes): Uint8Array<ArrayBuffer> {
  const strings = new Strings();
  const profile = new Message();
  const type = (name: string, unit: string) =>
    new Message().number(1, strings.of(name)).number(2, strings.of(unit));
  const timed = measure.type.unit === "count" && measure.type.name === "samples" && times.frequencyHz > 0;
  const period = timed ? Math.round(1e9 / times.frequencyHz) : 0;
  profile.message(1, type(measure.type.name, measure.type.unit));
  if (timed) profile.message(1, type("cpu", "nanoseconds"));

  const locations = new Map<number, number>(); // item -> location and function
  const tables: [number, Message][] = [];
  const locationOf = (node: number): number => {
    const item = tree.item[node]!;
    let id = locations.get(item);
    if (id !== undefined) return id;
    locations.set(item, id = locations.size + 1);
    const file = item < 0 ? "" : tree.functions.file[item]!;
    const name = strings.of(tree.label(node));
    tables.push([4, new Message().number(1, id).message(4, new Message().number(1, id))]);
    tables.push([5, new Message().number(1, id).number(2, name).number(3, name)
      .number(4, strings.of(file))]);
    return id;
  };
  forEachStack(tree, zoom, (path, value) => {
    const inner = tree.leafFirst ? path : path.reverse();
    profile.message(2, new Message().numbers(1, inner.map(locationOf))
      .numbers(2, timed ? [value, value * period] : [value]));
  });
  for (const [field, message] of tables) profile.message(field, message);
  if (timed) profile.message(11, type("cpu", "nanoseconds"));
  for (const text of strings.list) profile.text(6, text);
  return profile.number(9, times.startMs * 1e6)
    .number(10, Math.max(times.endMs - times.startMs, 0) * 1e6).number(12, period).finish();
}
