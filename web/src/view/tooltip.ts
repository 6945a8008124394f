// The box beside the pointer that says everything about a frame.
import { formatPercent } from "../model/format";
import { markerMeaning } from "../model/markers";
import { Measure } from "../model/measure";
import { Tree } from "../model/tree";
import { swatchOf, typeLabel } from "./colors";
import { element } from "./dom";

const MAX_NAME = 1200;

export class Tooltip {
  readonly root = element("div", { class: "tooltip", attributes: { role: "tooltip" } });

  constructor() {
    this.root.hidden = true;
  }

  hide(): void {
    this.root.hidden = true;
  }

  show(tree: Tree, node: number, sum: number, measure: Measure, dark: boolean, x: number,
       y: number): void {
    const item = tree.item[node]!;
    const name = tree.label(node);
    const shortName = name.length > MAX_NAME ? name.slice(0, MAX_NAME) + "…" : name;
    const parts: Node[] = [element("div", { class: "tooltip-name", text: shortName })];
    if (item >= 0) {
      const swatch = element("span", { class: "swatch" });
      swatch.style.background = swatchOf(tree.functions.type[item]!, dark);
      parts.push(element("div", { class: "tooltip-kind" }, swatch,
        typeLabel(tree.functions.type[item]!),
        element("span", { class: "tooltip-file", text: tree.functions.file[item]! })));
    }
    const line = (label: string, count: number) => [
      element("span", { class: "tooltip-label", text: label }),
      element("strong", { text: formatPercent(count, sum) }),
      element("span", { text: measure.amount(count) }),
      element("span", { class: "tooltip-label", text: measure.cost(count) })];
    parts.push(element("div", { class: "tooltip-grid" }, ...line("Total", tree.total[node]!),
      ...(tree.leafFirst ? [] : line("Self", tree.self[node]!))));
    const meaning = item >= 0 && tree.functions.type[item] !== "kernel" ? markerMeaning(name) : "";
    if (meaning !== "") parts.push(element("div", { class: "tooltip-meaning", text: meaning }));
    this.reveal(parts, x, y);
  }

  // The first line is a name.
  showLines(lines: readonly string[], x: number, y: number): void {
    this.reveal(lines.map((text, i) =>
      element("div", { class: i === 0 ? "tooltip-name" : "tooltip-line", text: text.slice(0, MAX_NAME) })), x, y);
  }

  private reveal(parts: Node[], x: number, y: number): void {
    this.root.replaceChildren(...parts);
    this.root.hidden = false;
    this.place(x, y);
  }

  private place(x: number, y: number): void {
    const box = this.root.getBoundingClientRect();
    const right = document.documentElement.clientWidth - 8;
    const bottom = document.documentElement.clientHeight - 8;
    const left = x + 14 + box.width > right ? Math.max(right - box.width, 8) : x + 14;
    const top = y + 18 + box.height > bottom ? Math.max(y - box.height - 12, 8) : y + 18;
    this.root.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }
}
