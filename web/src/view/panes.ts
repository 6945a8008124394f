// The main area: flame graph, table, or one function's callers and callees; with the line above
// them that tells about the chosen frame, and the legend below.
import { formatCount, formatPercent } from "../model/format";
import { Sandwich } from "../model/sandwich";
import { TopRow } from "../model/top";
import { Tree } from "../model/tree";
import { swatchOf, typeLabel } from "./colors";
import { button, element } from "./dom";
import { EmptyState } from "./empty";
import { FlameView } from "./flame";
import { Legend } from "./legend";
import { TopTable } from "./table";
import { Tooltip } from "./tooltip";

export type View = "flame" | "both" | "table";

export interface PaneEvents {
  onZoom(node: number): void;
  onSandwich(item: number): void;
  onCloseSandwich(): void;
}

export interface Shown {
  tree: Tree;
  top: TopRow[];
  zoom: number;
  sandwich: { item: number; trees: Sandwich } | null;
  matching: Uint8Array | null;
  view: View;
  dark: boolean;
  frequencyHz: number;
}

export class Panes {
  readonly root: HTMLElement;
  readonly empty = new EmptyState();
  readonly flame: FlameView;
  private readonly callers: FlameView;
  private readonly callees: FlameView;
  private readonly table: TopTable;
  private readonly legend = new Legend();
  private readonly tooltip = new Tooltip();
  private readonly details = element("div", { class: "details" });
  private readonly body: HTMLElement;
  private shown: Shown | null = null;

  constructor(private readonly events: PaneEvents) {
    this.flame = this.flameView(false, "Flame graph", () => this.shown?.tree, events.onZoom);
    this.callers = this.flameView(true, "Callers", () => this.shown?.sandwich?.trees.callers);
    this.callees = this.flameView(false, "Callees", () => this.shown?.sandwich?.trees.callees);
    this.table = new TopTable(events.onSandwich);
    const half = (name: string, view: FlameView) => element("div", { class: `half ${name.toLowerCase()}` },
      element("div", { class: "half-title", text: name }), view.root);
    this.body = element("div", { class: "body" }, this.table.root, this.flame.root,
      element("div", { class: "sandwich" }, half("Callers", this.callers), half("Callees", this.callees)));
    this.root = element("main", { class: "card main" }, this.details, this.body, this.empty.root,
                        this.legend.root, this.tooltip.root);
    this.body.dataset["view"] = "none";
  }

  private flameView(upward: boolean, name: string, tree: () => Tree | undefined,
                    onSelect?: (node: number) => void): FlameView {
    const view: FlameView = new FlameView({
      onHover: (node, x, y) => this.hover(tree(), node, x, y),
      onSelect: (node) => {
        this.tooltip.hide();
        if (onSelect !== undefined) onSelect(node);
        else this.describeIn(tree()!, node);
      },
    }, upward, name);
    return view;
  }

  private hover(tree: Tree | undefined, node: number, x: number, y: number): void {
    if (tree === undefined || this.shown === null || node < 0) this.tooltip.hide();
    else {
      const { frequencyHz, dark } = this.shown;
      this.tooltip.show(tree, node, this.shown.tree.total[0]!, frequencyHz, dark, x, y);
    }
  }

  showNothing(): void {
    this.root.dataset["empty"] = "";
    this.body.dataset["view"] = "none";
    this.details.replaceChildren();
    this.legend.root.replaceChildren();
    this.tooltip.hide();
  }

  show(shown: Shown): void {
    this.shown = shown;
    delete this.root.dataset["empty"];
    const { tree, zoom, matching, dark, sandwich } = shown;
    this.tooltip.hide();
    this.body.dataset["view"] = sandwich !== null ? "sandwich" : shown.view;
    if (sandwich !== null) {
      this.callers.setTree(sandwich.trees.callers, 0, matching, dark);
      this.callees.setTree(sandwich.trees.callees, 0, matching, dark);
    } else {
      if (shown.view !== "table") this.flame.setTree(tree, zoom, matching, dark);
      if (shown.view !== "flame") this.table.set(shown.top, tree.total[0]!, tree.functions, matching, dark);
    }
    this.legend.set(tree, dark);
    this.describe();
  }

  // After a click in the flame graph, which has zoomed by itself.
  setZoom(zoom: number): void {
    if (this.shown !== null) this.shown.zoom = zoom;
    this.describe();
  }

  private describe(): void {
    const shown = this.shown!;
    if (shown.sandwich !== null) this.describeIn(shown.sandwich.trees.callees, 0);
    else if (shown.zoom > 0 && shown.view !== "table") this.describeIn(shown.tree, shown.zoom);
    else {
      const text = shown.view === "table" ? "Click a function to see its callers and callees."
        : "Click a frame to zoom in. Wider means more CPU time; callers are above their callees.";
      this.details.replaceChildren(element("span", { class: "details-hint", text }));
    }
  }

  private describeIn(tree: Tree, node: number): void {
    const { dark, sandwich } = this.shown!;
    const item = tree.item[node]!;
    const sum = this.shown!.tree.total[0]!;
    const name = tree.label(node);
    const parts: Node[] = [];
    if (item >= 0) {
      const swatch = element("span", { class: "swatch", title: typeLabel(tree.functions.type[item]!) });
      swatch.style.background = swatchOf(tree.functions.type[item]!, dark);
      parts.push(swatch);
    }
    parts.push(element("strong", { class: "details-name", text: name, title: name.slice(0, 1200) }));
    if (item >= 0) parts.push(element("span", { class: "details-file", text: tree.functions.file[item]! }));
    parts.push(element("span", { class: "details-share",
      text: `${formatPercent(tree.total[node]!, sum)} · ${formatCount(tree.total[node]!)} samples` +
        ` · ${formatPercent(tree.self[node]!, sum)} self` }));
    parts.push(this.actions(name, item, sandwich !== null));
    this.details.replaceChildren(...parts);
  }

  private actions(name: string, item: number, inSandwich: boolean): HTMLElement {
    const actions = element("span", { class: "details-actions" });
    if (item >= 0 && item !== this.shown!.sandwich?.item) {
      actions.append(button("Callers and callees", "control small", () => this.events.onSandwich(item)));
    }
    const copy = button("Copy name", "control small", () => {
      const say = (text: string) => { copy.textContent = text; };
      if (navigator.clipboard === undefined) say("Not allowed");
      else navigator.clipboard.writeText(name).then(() => say("Copied"), () => say("Not allowed"));
    });
    actions.append(copy);
    const [text, run] = inSandwich ? ["Back to the graph", this.events.onCloseSandwich]
                                   : ["Reset zoom", () => this.events.onZoom(0)];
    actions.append(button(text as string, "control small", run as () => void));
    return actions;
  }
}
