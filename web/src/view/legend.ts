// Which colour is which type of frame, with each type's share of the samples.
import { formatPercent } from "../model/format";
import { kindOf } from "../model/names";
import { samplesWithType, sharesByType } from "../model/top";
import { Tree } from "../model/tree";
import { swatchOf, typeLabel } from "./colors";
import { element } from "./dom";

const MARKER = "abort-marker";

export class Legend {
  readonly root = element("div", { class: "legend", attributes: { "aria-label": "Colours by type of frame" } });

  set(tree: Tree, dark: boolean): void {
    const shares = new Map(sharesByType(tree).map((share) => [share.type, share.count]));
    // Types that only call others have no samples of their own, and are on the screen all the same.
    for (const item of tree.item) {
      if (item >= 0 && !shares.has(tree.functions.type[item]!)) shares.set(tree.functions.type[item]!, 0);
    }
    // A marker says that something is missing, wherever in the stack it stands.
    if (shares.delete(MARKER)) shares.set(MARKER, samplesWithType(tree, MARKER));
    this.root.replaceChildren(...[...shares].map(([type, count]) =>
      this.entry(type, count, tree.total[0]!, dark)));
  }

  private entry(type: string, count: number, sum: number, dark: boolean): HTMLElement {
    const swatch = element("span", { class: `swatch${kindOf(type) === "marker" ? " striped" : ""}` });
    swatch.style.background = swatchOf(type, dark);
    const title = type === MARKER ? "Samples with a part that is missing or was lost"
      : type === "cut" ? "Rare stacks that this long a range has no room for: choose a shorter one to see them whole"
      : "Share of the samples whose innermost frame is of this type";
    return element("span", { class: "legend-item", title }, swatch, typeLabel(type),
      element("span", { class: "legend-share", text: count > 0 ? formatPercent(count, sum) : "" }));
  }
}
