// The line above the graph: what the chosen frame is, and what can be done with it.
import { formatPercent } from "../model/format";
import { markerMeaning } from "../model/markers";
import { Tree } from "../model/tree";
import { swatchOf, typeLabel } from "./colors";
import { button, copyText, element } from "./dom";
import type { PaneEvents, Shown } from "./panes";

export class Details {
  readonly root = element("div", { class: "details" });

  constructor(private readonly events: PaneEvents) {}

  clear(): void {
    this.root.replaceChildren();
  }

  hint({ view, measure, tree, upward }: Shown): void {
    const order = tree.leafFirst === upward ? "callers are above their callees" : "callers are below their callees";
    const text = view === "table" ? "Click a function to see its callers and callees."
      : view === "time" ? "Click a lane to show only that process or thread; a gap is time without any."
      : `Click a frame to zoom in. Wider means more ${measure.wider}; ${order}.`;
    this.root.replaceChildren(element("span", { class: "details-hint", text }));
  }

  describe(shown: Shown, tree: Tree, node: number): void {
    const item = tree.item[node]!;
    const sum = shown.tree.total[0]!;
    const name = tree.label(node);
    const parts: Node[] = [];
    if (item >= 0) {
      const swatch = element("span", { class: "swatch", title: typeLabel(tree.functions.type[item]!) });
      swatch.style.background = swatchOf(tree.functions.type[item]!, shown.dark);
      parts.push(swatch);
    }
    const meaning = markerMeaning(name);
    parts.push(element("strong", { class: "details-name", text: name, title: meaning || name.slice(0, 1200) }));
    if (item >= 0) {
      const file = tree.functions.file[item]!;
      parts.push(element("span", { class: "details-file", title: file }, element("bdi", { text: file })));
    }
    const share = `${formatPercent(tree.total[node]!, sum)} · ${shown.measure.amount(tree.total[node]!)}`;
    parts.push(element("span", { class: "details-share", text: tree.leafFirst ? share
      : `${share} · ${formatPercent(tree.self[node]!, sum)} self` }));
    parts.push(this.actions(shown, name, item));
    this.root.replaceChildren(...parts);
  }

  private actions(shown: Shown, name: string, item: number): HTMLElement {
    const actions = element("span", { class: "details-actions" });
    if (item >= 0 && item !== shown.sandwich?.item) {
      actions.append(button("Callers and callees", "control small", () => this.events.onSandwich(item)));
    }
    const copy = button("Copy name", "control small", () => {
      void copyText(name).then((done) => { copy.textContent = done ? "Copied" : "Not allowed"; });
    });
    actions.append(copy, shown.sandwich !== null
      ? button("Back to the graph", "control small", () => this.events.onCloseSandwich())
      : button("Reset zoom", "control small", () => this.events.onZoom(0)));
    return actions;
  }
}
