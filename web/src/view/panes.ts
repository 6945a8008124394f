// The main area: flame graph, table, time of each process, or one function's callers and callees;
// with the line above them that tells about the chosen frame, and the legend below.
import { TypeShare } from "../model/kinds";
import { Lane } from "../model/lanes";
import { Measure } from "../model/measure";
import { Answer, TableOrder } from "../model/source";
import { View } from "../model/state";
import { TopRow } from "../model/top";
import { Tree } from "../model/tree";
import { Aim } from "./aim";
import { Details } from "./details";
import { element } from "./dom";
import { EmptyState } from "./empty";
import { FlameView } from "./flame";
import { LaneScene, LanesView } from "./lanes";
import { Legend } from "./legend";
import { LinesList } from "./lines";
import { TopTable } from "./table";
import { Tooltip } from "./tooltip";

export interface PaneEvents {
  onZoom(node: number): void;
  onSandwich(item: number): void;
  onCloseSandwich(): void;
  onFind(item: number): void;
  onHide(types: ReadonlySet<string>): void;
  onLane(lane: Lane): void;
  onMore(order: TableOrder, all: boolean): void;
  onLines(lines: boolean): void;
}

export interface Shown {
  tree: Tree;
  top: TopRow[];
  zoom: number;
  lines: boolean;   // `top` are source lines
  topCount: number; // rows that there are, of which `top` may be the first
  sandwich: Answer["sandwich"];
  matching: Uint8Array | null;
  view: View;
  upward: boolean;
  dark: boolean;
  measure: Measure;
  shares: readonly TypeShare[];
  passing: number; // what the shares are of
  hidden: ReadonlySet<string>;
  lanes: LaneScene;
}

export class Panes {
  readonly root: HTMLElement;
  readonly empty = new EmptyState();
  readonly flame: FlameView;
  private readonly callers: FlameView;
  private readonly callees: FlameView;
  private readonly table: TopTable;
  private readonly lanes: LanesView;
  private readonly lines = new LinesList();
  private readonly legend: Legend;
  private readonly tooltip = new Tooltip();
  private readonly details: Details;
  private readonly body: HTMLElement;
  readonly aim: Aim;
  private shown: Shown | null = null;

  constructor(events: PaneEvents) {
    this.details = new Details(events);
    this.legend = new Legend(events.onHide);
    this.flame = this.flameView(false, "Flame graph", () => this.shown?.tree, events.onZoom);
    this.callers = this.flameView(true, "Callers", () => this.shown?.sandwich?.trees.callers);
    this.callees = this.flameView(false, "Callees", () => this.shown?.sandwich?.trees.callees);
    this.table = new TopTable({ onPick: events.onSandwich, onFind: events.onFind,
                                onMore: events.onMore, onLines: events.onLines });
    this.lanes = new LanesView({ onPick: events.onLane, onHover: (lines, x, y) => {
      if (lines === null) this.tooltip.hide();
      else this.tooltip.showLines(lines, x, y);
    } });
    const half = (name: string, view: FlameView) => element("div", { class: `half ${name.toLowerCase()}` },
      element("div", { class: "half-title", text: name }), view.root);
    this.body = element("div", { class: "body" }, this.table.root, this.lanes.root, this.flame.root,
      element("div", { class: "sandwich" }, half("Callers", this.callers),
              half("Callees", this.callees), this.lines.root));
    this.root = element("main", { class: "card main" }, this.details.root, this.body, this.empty.root,
                        this.legend.root, this.tooltip.root);
    this.body.dataset["view"] = "none";
    this.aim = new Aim(this.body);
  }

  private flameView(upward: boolean, name: string, tree: () => Tree | undefined,
                    onSelect?: (node: number) => void): FlameView {
    return new FlameView({
      onHover: (node, x, y) => this.hover(tree(), node, x, y),
      onSelect: (node) => {
        this.tooltip.hide();
        if (onSelect !== undefined) onSelect(node);
        else this.details.describe(this.shown!, tree()!, node);
      },
    }, upward, name);
  }

  private hover(tree: Tree | undefined, node: number, x: number, y: number): void {
    if (tree === undefined || this.shown === null || node < 0) this.tooltip.hide();
    else this.tooltip.show(tree, node, this.shown.tree.total[0]!, this.shown.measure, this.shown.dark, x, y);
  }

  // Of the flame graph, in CSS pixels.
  get width(): number {
    return this.body.clientWidth;
  }

  // The frame that keys such as "copy" are about; null: none.
  get selected(): { tree: Tree; node: number } | null {
    const { shown } = this;
    if (shown === null) return null;
    if (shown.sandwich !== null) return { tree: shown.sandwich.trees.callees, node: 0 };
    const node = shown.view === "table" ? -1 : this.flame.selected;
    return node > 0 ? { tree: shown.tree, node } : null;
  }

  showNothing(): void {
    this.shown = null;
    this.root.dataset["empty"] = "";
    this.body.dataset["view"] = "none";
    this.details.clear();
    this.legend.root.replaceChildren();
    this.tooltip.hide();
  }

  // Nothing to draw because all frames are hidden: the legend stays, to show them again.
  showLegend(shares: readonly TypeShare[], hidden: ReadonlySet<string>, sum: number, dark: boolean): void {
    delete this.root.dataset["empty"];
    this.legend.set(shares, hidden, sum, dark);
  }

  show(shown: Shown): void {
    this.shown = shown;
    delete this.root.dataset["empty"];
    const { tree, zoom, matching, dark, sandwich, view } = shown;
    this.tooltip.hide();
    this.body.dataset["view"] = sandwich !== null ? "sandwich" : view;
    if (sandwich !== null) {
      this.callers.setTree(sandwich.trees.callers, 0, matching, dark);
      this.callees.setTree(sandwich.trees.callees, 0, matching, dark);
      this.lines.set(sandwich.lines, tree.total[0]!, shown.measure);
    } else {
      this.flame.turn(shown.upward);
      if (view !== "table") this.flame.setTree(tree, zoom, matching, dark);
      if (view === "table" || view === "both") {
        this.table.set(shown.top, shown.lines, shown.topCount, tree.total[0]!, tree.functions, matching, dark,
                       shown.measure);
      }
      if (view === "time") this.lanes.set(shown.lanes);
    }
    this.legend.set(shown.shares, shown.hidden, shown.passing, dark);
    this.describe();
  }

  // After a click in the flame graph, which has zoomed by itself.
  setZoom(zoom: number): void {
    if (this.shown !== null) this.shown.zoom = zoom;
    this.describe();
  }

  private describe(): void {
    const shown = this.shown!;
    if (shown.sandwich !== null) this.details.describe(shown, shown.sandwich.trees.callees, 0);
    else if (shown.zoom > 0 && shown.view !== "table") this.details.describe(shown, shown.tree, shown.zoom);
    else this.details.hint(shown);
  }
}
