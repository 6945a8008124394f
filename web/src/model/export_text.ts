// What is shown, as text that other programs read.
import { Measure } from "./measure";
import { forEachStack } from "./stacks";
import { Tree } from "./tree";

// Names as the folded format can hold them: no line breaks, and ";" stands between frames only.
function foldedName(tree: Tree, node: number): string {
  const name = tree.label(node).replace(/[\n\r\t\u0085\u2028\u2029]/g, " ").replaceAll(";", ":")
    .replace(/[\u0000-\u001f\u007f-\u009f]/g, "\ufffd");
  const item = tree.item[node]!;
  if (item < 0) return name;
  const kind = tree.functions.kind[item]!;
  return kind === "kernel" ? `${name}_[k]` : kind === "inlined" ? `${name}_[i]` : name;
}

// One line a stack, outermost first (or innermost, where the tree is turned around). Waiting time
// is in microseconds, as `stackray convert` writes it.
export function foldedText(tree: Tree, zoom: number, measure: Measure): string {
  const part = measure.type.unit === "nanoseconds" ? 1000 : 1;
  const names = Array.from(tree.item, (_, node) => foldedName(tree, node));
  const lines: string[] = [];
  forEachStack(tree, zoom, (path, value) => {
    const count = Math.round(value / part);
    if (count > 0) lines.push(`${path.map((node) => names[node]).join(";")} ${count}`);
  });
  return lines.sort().map((line) => `${line}\n`).join("");
}

export function speedscopeText(tree: Tree, zoom: number, title: string, measure: Measure): string {
  const indexOf = new Map<number, number>(); // item -> frame
  const frames: { name: string; file?: string }[] = [];
  const samples: number[][] = [];
  const weights: number[] = [];
  forEachStack(tree, zoom, (path, value) => {
    samples.push(path.map((node) => {
      const item = tree.item[node]!;
      let frame = indexOf.get(item);
      if (frame === undefined) {
        const file = item < 0 ? "" : tree.functions.file[item]!;
        frame = frames.push({ name: tree.label(node), ...(file === "" ? {} : { file }) }) - 1;
        indexOf.set(item, frame);
      }
      return frame;
    }));
    weights.push(value);
  });
  const endValue = weights.reduce((sum, value) => sum + value, 0);
  const unit = measure.type.unit === "nanoseconds" ? "nanoseconds" : "none";
  return JSON.stringify({
    $schema: "https://www.speedscope.app/file-format-schema.json", name: title, exporter: "stackray",
    activeProfileIndex: 0, shared: { frames },
    profiles: [{ type: "sampled", name: measure.type.label, unit, startValue: 0, endValue, samples, weights }],
  });
}
