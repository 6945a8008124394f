// Functions by their own and their total samples. Only the rows on the screen exist as elements.
import { formatPercent } from "../model/format";
import { Measure } from "../model/measure";
import { TableOrder } from "../model/source";
import { placeText, TopRow } from "../model/top";
import { Functions } from "../model/names";
import { swatchOf, typeLabel } from "./colors";
import { button, copyText, element, icon, ICONS } from "./dom";

type SortKey = TableOrder | "change";

const ROW_HEIGHT = 30;

export interface TableEvents {
  onPick(item: number): void;      // its callers and callees
  onFind(item: number): void;      // where it is in the graph
  // The rows are not all that there are: more are wanted, or others first.
  onMore(order: TableOrder, all: boolean): void;
  onLines(lines: boolean): void; // source lines in the place of functions are wanted, or no more
}

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
  private compared = false; // rows have changes
  private lines = false; // the rows are source lines
  private count = 0; // rows that there are, of which `all` may be the first
  private widest = { self: 1, total: 1 }; // the count that fills a bar
  private dark = false;
  private readonly byLine = button("By line", "link table-lines", () => this.events.onLines(!this.lines));
  private measure: Measure | null = null;

  constructor(private readonly events: TableEvents) {
    const head = element("div", { class: "table-row table-head", attributes: { role: "row", "aria-rowindex": "1" } });
    for (const [key, label, title] of [
      ["name", "Function", "Sort by name"],
      ["self", "Self", "Samples in the function itself"],
      ["total", "Total", "Samples in the function and in what it called"],
      ["change", "Change", "By how much the total's share is larger or smaller than before"],
    ] as const) {
      const cell = button(label, "table-sort", () => this.sortBy(key), title);
      this.heads.set(key, cell);
      head.append(element("div", { class: `cell-${key}`, attributes: { role: "columnheader" } }, cell,
                          ...(key === "name" ? [this.byLine] : [])));
    }
    this.body = element("div", { class: "table-body", attributes: { role: "rowgroup" } });
    this.scroller = element("div", { class: "table-scroller" }, this.body);
    this.root = element("div", { class: "table", attributes: {
      role: "table", "aria-label": "Functions by their own and their total values" } },
      element("div", { attributes: { role: "rowgroup" } }, head), this.scroller);
    this.body.addEventListener("keydown", (event) => this.keyPressed(event));
    this.scroller.addEventListener("scroll", () => this.paint(), { passive: true });
    new ResizeObserver(() => this.paint()).observe(this.scroller);
    this.scroller.addEventListener("scroll", () => this.askForMore(), { passive: true });
  }

  set(rows: TopRow[], lines: boolean, count: number, sum: number, functions: Functions, matching: Uint8Array | null,
      dark: boolean, measure: Measure): void {
    if (lines !== this.lines) this.scroller.scrollTop = 0;
    this.compare(rows.some((row) => row.change !== undefined));
    Object.assign(this, { all: rows, lines, count, sum, functions, matching, dark, measure });
    const highest = (key: "self" | "total") => rows.reduce((high, row) => Math.max(high, row[key]), 1);
    this.widest = { self: highest("self"), total: highest("total") };
    this.heads.get("name")!.firstChild!.textContent = lines ? "Line" : "Function";
    this.byLine.textContent = lines ? "By function" : "By line";
    this.byLine.title = lines ? "Functions in the place of their lines"
      : "Source lines in the place of functions. What other code spent for a line is the line's own " +
        "when that code's type is left out in the legend";
    this.arrange();
  }

  // What changed most comes first; without a comparison it is as it was.
  private compare(compared: boolean): void {
    if (compared === this.compared) return;
    this.compared = compared;
    this.root.classList.toggle("compared", compared);
    this.sort = { key: compared ? "change" : "self", descending: true };
    this.scroller.scrollTop = 0;
  }

  private sortBy(key: SortKey): void {
    const descending = this.sort.key === key ? !this.sort.descending : key !== "name";
    this.sort = { key, descending };
    this.scroller.scrollTop = 0;
    this.arrange();
    // The other end of the order is known only once all rows are.
    if (key !== "change" && this.all.length < this.count) this.events.onMore(key, descending === (key === "name"));
  }

  private askForMore(): void {
    const { scrollTop, clientHeight, scrollHeight } = this.scroller;
    const near = scrollTop + 2 * clientHeight >= scrollHeight;
    const { key } = this.sort;
    if (key !== "change" && near && this.all.length < this.count) this.events.onMore(key, false);
  }

  private arrange(): void {
    const { functions, matching } = this;
    if (functions === null) return;
    const { key, descending } = this.sort;
    const sign = descending ? -1 : 1;
    this.rows = this.all.filter((row) => matching === null || matching[row.item] === 1);
    this.rows.sort((a, b) => {
      const byName = this.textOf(a).localeCompare(this.textOf(b));
      if (key === "name") return sign * byName;
      if (key === "change") return sign * (differenceOf(a) - differenceOf(b)) || b.total - a.total || byName;
      return sign * (a[key] - b[key]) || b.total - a.total || byName;
    });
    for (const [name, head] of this.heads) {
      head.dataset["sorted"] = name === key ? (descending ? "down" : "up") : "";
      head.parentElement!.setAttribute("aria-sort",
        name !== key ? "none" : descending ? "descending" : "ascending");
    }
    this.root.setAttribute("aria-rowcount", String(Math.max(this.rows.length, this.count) + 1));
    this.body.style.height = `${Math.max(this.rows.length, 1) * ROW_HEIGHT}px`;
    this.paint();
  }

  private paint(): void {
    const first = Math.max(Math.floor(this.scroller.scrollTop / ROW_HEIGHT) - 4, 0);
    const shown = Math.ceil(this.scroller.clientHeight / ROW_HEIGHT) + 8;
    const rows = this.rows.slice(first, first + shown);
    this.body.replaceChildren(...rows.map((row, i) => this.row(row, first + i)));
    if (this.rows.length === 0) {
      const text = this.lines ? "No line of these is known"
        : this.matching === null ? "No functions in this selection" : "No function matches";
      this.body.append(element("div", { class: "table-empty", text }));
    }
  }

  private row(row: TopRow, index: number): HTMLElement {
    const functions = this.functions!;
    const type = functions.type[row.item]!;
    const swatch = element("span", { class: "swatch", title: typeLabel(type), attributes: { "aria-hidden": "true" } });
    swatch.style.background = swatchOf(type, this.dark);
    const text = this.textOf(row);
    const name = button(text, "table-name", () => this.events.onPick(row.item),
                        `${text.slice(0, 1200)}\nShow callers and callees`);
    name.dataset["item"] = String(row.item);
    name.dataset["row"] = String(index);
    const kind = element("span", { class: "for-readers", text: `, ${typeLabel(type)}` });
    // Beside a function stands its file, whose end counts; beside a line its function.
    const [kindOfBeside, beside] = row.place === undefined ? ["table-file", functions.file[row.item]!]
      : ["table-file whole-begin", functions.name[row.item]!];
    const file = element("span", { class: kindOfBeside, title: beside }, element("bdi", { text: beside }));
    const node = element("div", { class: "table-row", attributes: { role: "row", "aria-rowindex": String(index + 2) } },
      element("div", { class: "cell-name", attributes: { role: "cell" } }, swatch, name, kind, file,
              this.actions(row.item, text)),
      this.value("self", row.self), this.value("total", row.total), changeCell(row));
    node.style.top = `${index * ROW_HEIGHT}px`;
    return node;
  }

  // Of a line: its place.
  private textOf({ item, place }: TopRow): string {
    const name = this.functions!.name[item]!;
    return place === undefined ? name : placeText(place) || `${name} (no line known)`;
  }

  private actions(item: number, name: string): HTMLElement {
    const action = (path: string, title: string, run: (node: HTMLButtonElement) => void) => {
      const node = element("button", { class: "link row-action", title, attributes: {
        type: "button", "aria-label": `${title}: ${name.slice(0, 200)}` } }, icon(path));
      node.addEventListener("click", () => run(node));
      return node;
    };
    return element("span", { class: "row-actions" },
      action(ICONS.graph, "Show in the graph", () => this.events.onFind(item)),
      action(ICONS.copy, "Copy the name", (node) => void copyText(name).then((done) => {
        node.replaceChildren(icon(done ? ICONS.done : ICONS.close));
      })));
  }

  // Up and down go from row to row; the row is brought on the screen first, as only those there
  // exist.
  private keyPressed(event: KeyboardEvent): void {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const from = Number((event.target as HTMLElement).dataset["row"] ?? -1);
    if (step === 0 || from < 0) return;
    event.preventDefault();
    const to = Math.min(Math.max(from + step, 0), this.rows.length - 1);
    const { scrollTop, clientHeight } = this.scroller;
    this.scroller.scrollTop = Math.min(Math.max(scrollTop, (to + 1) * ROW_HEIGHT - clientHeight), to * ROW_HEIGHT);
    this.paint();
    this.body.querySelector<HTMLElement>(`[data-row="${to}"]`)?.focus();
  }

  private value(key: "self" | "total", count: number): HTMLElement {
    const bar = element("span", { class: "table-bar" });
    bar.style.width = `${(100 * count) / this.widest[key]}%`;
    return element("div", { class: `cell-${key}`, attributes: { role: "cell" } }, bar,
      element("span", { class: "table-count", text: this.measure!.short(count) }),
      element("span", { class: "table-percent", text: formatPercent(count, this.sum) }));
  }
}

function differenceOf({ change }: TopRow): number {
  return change === undefined ? 0 : Math.abs(change.now - change.was);
}

function changeCell({ change }: TopRow): HTMLElement {
  if (change === undefined) return element("div", { class: "cell-change", attributes: { role: "cell" } });
  const { now, was } = change;
  const word = was === 0 ? "new " : now === 0 ? "gone " : "";
  const sign = now > was ? "+" : now < was ? "−" : "";
  return element("div", { class: "cell-change", attributes: { role: "cell" },
    title: `${formatPercent(now, 1)} of the samples, ${formatPercent(was, 1)} before` },
    element("span", { class: "change-word", text: word }),
    element("span", { text: `${sign}${formatPercent(Math.abs(now - was), 1)}` }));
}
