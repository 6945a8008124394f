// The box beside the pointer that says everything about a frame.
import { formatCount, formatCpuTime, formatPercent } from "../model/format";
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

  show(tree: Tree, node: number, sum: number, frequencyHz: number, dark: boolean, x: number,
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
      element("span", { text: `${formatCount(count)} samples` }),
      element("span", { class: "tooltip-label", text: formatCpuTime(count, frequencyHz) })];
    parts.push(element("div", { class: "tooltip-grid" },
      ...line("Total", tree.total[node]!), ...line("Self", tree.self[node]!)));
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
