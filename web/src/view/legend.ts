// Which colour is which type of frame, with each type's share; a click hides the type's frames.
import { formatPercent } from "../model/format";
import { hideAllBut, TypeShare } from "../model/kinds";
import { kindOf } from "../model/names";
import { swatchOf, typeLabel } from "./colors";
import { button, element } from "./dom";

const MARKER = "abort-marker";

export class Legend {
  readonly root = element("div", { class: "legend", attributes: {
    role: "group", "aria-label": "Types of frames: colours, shares, and which are shown" } });

  constructor(private readonly onHide: (hidden: ReadonlySet<string>) => void) {}

  set(shares: readonly TypeShare[], hidden: ReadonlySet<string>, sum: number, dark: boolean): void {
    const focused = (document.activeElement as HTMLElement | null)?.dataset["type"];
    const entries = shares.map((share) => this.entry(share, shares, hidden, sum, dark));
    const all = button("Show all types", "link", () => this.onHide(new Set()));
    this.root.replaceChildren(...entries, ...(hidden.size > 0 ? [all] : []));
    // The entries are new; what had the focus has it again.
    for (const node of this.root.querySelectorAll<HTMLElement>(".legend-item")) {
      if (focused !== undefined && node.dataset["type"] === focused) node.focus();
    }
  }

  private entry({ type, count }: TypeShare, shares: readonly TypeShare[], hidden: ReadonlySet<string>,
                sum: number, dark: boolean): HTMLElement {
    const swatch = element("span", { class: `swatch${kindOf(type) === "marker" ? " striped" : ""}` });
    swatch.style.background = swatchOf(type, dark);
    const shown = !hidden.has(type);
    const item = element("button", { class: "legend-item", title: titleOf(type, shown), attributes: {
      type: "button", "aria-pressed": String(shown) } }, swatch, typeLabel(type),
      element("span", { class: "legend-share", text: count > 0 ? formatPercent(count, sum) : "" }));
    item.dataset["type"] = type;
    item.addEventListener("click", () => {
      const next = new Set(hidden);
      if (shown) next.add(type);
      else next.delete(type);
      this.onHide(next);
    });
    const only = button("only", "link legend-only", () => this.onHide(hideAllBut(shares, type)),
                        `Show ${typeLabel(type)} frames only`);
    return element("span", { class: "legend-entry" }, item, ...(kindOf(type) === "marker" ? [] : [only]));
  }
}

function titleOf(type: string, shown: boolean): string {
  const share = type === MARKER ? "Samples with a part that is missing or was lost"
    : type === "cut" ? "Rare stacks that this long a range has no room for: choose a shorter one to see them whole"
    : "Share of the samples whose innermost frame is of this type";
  const press = shown ? "Click to leave these frames out: their samples count for the caller"
                      : "Click to show these frames again";
  return `${press}\n${share}`;
}
