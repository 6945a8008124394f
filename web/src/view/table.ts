// Functions by their own and their total samples. Only the rows on the screen exist as elements.
import { formatCount, formatPercent } from "../model/format";
import { TopRow } from "../model/top";
import { Functions } from "../model/names";
import { swatchOf, typeLabel } from "./colors";
import { button, element } from "./dom";

type SortKey = "name" | "self" | "total";

const ROW_HEIGHT = 30;

export class TopTable {
  readonly root: HTMLElement;
  private readonly scroller: HTMLElement;
  private readonly body: HTMLElement;
  private readonly heads = new Map<SortKey, HTMLButtonElement>();
  private sort: { key: SortKey; descending: boolean } = { key: "self", descending: true };
  private all: TopRow[] = [];
  private rows: TopRow[] = [];
  private functions: Functions | null = null;
  private matching: Uint8Array | null = null;
  private sum = 0;
  private widest = { self: 1, total: 1 }; // the count that fills a bar
  private dark = false;

  constructor(private readonly onPick: (item: number) => void) {
    const head = element("div", { class: "table-row table-head", attributes: { role: "row" } });
    for (const [key, label, title] of [
      ["name", "Function", "Sort by name"],
      ["self", "Self", "Samples in the function itself"],
      ["total", "Total", "Samples in the function and in what it called"],
    ] as const) {
      const cell = button(label, "table-sort", () => this.sortBy(key), title);
      this.heads.set(key, cell);
      head.append(element("div", { class: `cell-${key}`, attributes: { role: "columnheader" } }, cell));
    }
    this.body = element("div", { class: "table-body" });
    this.scroller = element("div", { class: "table-scroller" }, this.body);
    this.root = element("div", { class: "table", attributes: { role: "table" } }, head, this.scroller);
    this.scroller.addEventListener("scroll", () => this.paint(), { passive: true });
    new ResizeObserver(() => this.paint()).observe(this.scroller);
  }

  set(rows: TopRow[], sum: number, functions: Functions, matching: Uint8Array | null,
      dark: boolean): void {
    Object.assign(this, { all: rows, sum, functions, matching, dark });
    const highest = (key: "self" | "total") => rows.reduce((high, row) => Math.max(high, row[key]), 1);
    this.widest = { self: highest("self"), total: highest("total") };
    this.arrange();
  }

  private sortBy(key: SortKey): void {
    const descending = this.sort.key === key ? !this.sort.descending : key !== "name";
    this.sort = { key, descending };
    this.scroller.scrollTop = 0;
    this.arrange();
  }

  private arrange(): void {
    const { functions, matching } = this;
    if (functions === null) return;
    const { key, descending } = this.sort;
    const sign = descending ? -1 : 1;
    this.rows = this.all.filter((row) => matching === null || matching[row.item] === 1);
    this.rows.sort((a, b) => {
      const byName = functions.name[a.item]!.localeCompare(functions.name[b.item]!);
      if (key === "name") return sign * byName;
      return sign * (a[key] - b[key]) || b.total - a.total || byName;
    });
    for (const [name, head] of this.heads) {
      head.dataset["sorted"] = name === key ? (descending ? "down" : "up") : "";
      head.parentElement!.setAttribute("aria-sort",
        name !== key ? "none" : descending ? "descending" : "ascending");
    }
    this.body.style.height = `${Math.max(this.rows.length, 1) * ROW_HEIGHT}px`;
    this.paint();
  }

  private paint(): void {
    const first = Math.max(Math.floor(this.scroller.scrollTop / ROW_HEIGHT) - 4, 0);
    const shown = Math.ceil(this.scroller.clientHeight / ROW_HEIGHT) + 8;
    const rows = this.rows.slice(first, first + shown);
    this.body.replaceChildren(...rows.map((row, i) => this.row(row, first + i)));
    if (this.rows.length === 0) {
      const text = this.matching === null ? "No functions in this selection" : "No function matches";
      this.body.append(element("div", { class: "table-empty", text }));
    }
  }

  private row(row: TopRow, index: number): HTMLElement {
    const functions = this.functions!;
    const type = functions.type[row.item]!;
    const swatch = element("span", { class: "swatch", title: typeLabel(type) });
    swatch.style.background = swatchOf(type, this.dark);
    const name = button(functions.name[row.item]!, "table-name", () => this.onPick(row.item),
                        `${functions.name[row.item]}\nShow callers and callees`);
    const file = element("span", { class: "table-file", text: functions.file[row.item]! });
    const node = element("div", { class: "table-row", attributes: { role: "row" } },
      element("div", { class: "cell-name", attributes: { role: "cell" } }, swatch, name, file),
      this.value("self", row.self), this.value("total", row.total));
    node.style.top = `${index * ROW_HEIGHT}px`;
    return node;
  }

  private value(key: "self" | "total", count: number): HTMLElement {
    const bar = element("span", { class: "table-bar" });
    bar.style.width = `${(100 * count) / this.widest[key]}%`;
    return element("div", { class: `cell-${key}`, attributes: { role: "cell" } }, bar,
      element("span", { class: "table-count", text: formatCount(count) }),
      element("span", { class: "table-percent", text: formatPercent(count, this.sum) }));
  }
}
