// The lines of the function whose callers and callees are open, with what each line has.
import { formatPercent } from "../model/format";
import { Measure } from "../model/measure";
import { LineRow } from "../model/source";
import { placeText } from "../model/top";
import { element } from "./dom";

const MAX_ROWS = 500;

export class LinesList {
  readonly root: HTMLElement;
  private readonly body = element("div", { class: "lines-body", attributes: { role: "rowgroup" } });

  constructor() {
    const head = element("div", { class: "lines-row lines-head", attributes: { role: "row" } },
      ...["Line", "Self", "Total"].map(
        (text) => element("span", { text, attributes: { role: "columnheader" } })));
    this.root = element("div", { class: "lines", attributes: {
      role: "table", "aria-label": "Lines of the function by their own and their total values",
      tabindex: "0" } },
      head, this.body);
  }

  // Absent where no line is known.
  set(lines: readonly LineRow[], sum: number, measure: Measure): void {
    this.root.hidden = lines.every((line) => line.line === 0);
    if (this.root.hidden) return;
    const widest = lines.reduce((high, line) => Math.max(high, line.total), 1);
    this.body.replaceChildren(
      ...lines.slice(0, MAX_ROWS).map((line) => this.row(line, sum, widest, measure)));
  }

  private row(line: LineRow, sum: number, widest: number, measure: Measure): HTMLElement {
    const name = placeText(line) || "no line known";
    const value = (count: number) => element("span", {
      class: "lines-value", title: measure.amount(count),
      text: formatPercent(count, sum), attributes: { role: "cell" } });
    const bar = element("span", { class: "table-bar" });
    bar.style.width = `${(100 * line.total) / widest}%`;
    return element("div", { class: "lines-row", attributes: { role: "row" } },
      element("span", { class: "lines-name",
                        title: `${line.file}${line.line > 0 ? `:${line.line}` : ""}`,
                        attributes: { role: "cell" } }, bar, element("bdi", { text: name }),
              ...(line.text === ""
                ? [] : [element("code", { class: "lines-text", text: line.text })])),
      value(line.self), value(line.total));
  }
}
