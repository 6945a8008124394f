// A button that opens a searchable list of choices with their samples. Nothing chosen means all.
import { formatCount, formatPercent } from "../model/format";
import { Choice, unlistedText } from "../model/choices";
import { parseQuery } from "../model/search";
import { button, element, icon, ICONS } from "./dom";

const MAX_SHOWN = 400;

export class MultiSelect {
  readonly root: HTMLElement;
  private readonly opener: HTMLButtonElement;
  private readonly caption = element("span", { class: "select-caption" });
  private readonly panel: HTMLElement;
  private readonly query: HTMLInputElement;
  private readonly list = element("div", { class: "select-list" });
  private choices: Choice[] = [];
  private chosen = new Set<string>();
  private sum = 0;
  private left = 0; // choices that the list does not have
  private write: (value: number) => string = formatCount;
  private focusedKey: string | null = null;

  constructor(private readonly noun: { one: string; many: string },
              private readonly onChange: (chosen: ReadonlySet<string>) => void) {
    this.opener = element("button", { class: "control select-opener", attributes: {
      type: "button", "aria-haspopup": "true", "aria-expanded": "false" } },
      this.caption, icon(ICONS.down));
    this.opener.addEventListener("click", () => this.toggle(this.panel.hidden));
    this.query = element("input", { class: "select-query", attributes: {
      type: "search", placeholder: `Find ${noun.many}`, "aria-label": `Find ${noun.many}`,
      spellcheck: "false" } });
    this.query.addEventListener("input", () => this.paint());
    const foot = element("div", { class: "select-foot" },
      button(`All ${noun.many}`, "link select-all", () => this.changeAll(new Set()),
             `Take every tick away: samples of all ${noun.many} are shown`),
      button("Done", "link", () => this.toggle(false)));
    this.panel = element("div", { class: "select-panel" }, this.query, this.list, foot);
    this.panel.hidden = true;
    this.root = element("div", { class: "select" }, this.opener, this.panel);
    this.root.dataset["select"] = noun.many;
    this.root.addEventListener("keydown", (event) => {
      if (this.panel.hidden) return;
      // A letter is meant for the box, wherever the last click went.
      const letter = event.key.length === 1 && event.key !== " ";
      if (letter && !event.ctrlKey && !event.metaKey && !event.altKey) this.query.focus();
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.toggle(false);
      this.opener.focus();
    });
    this.describe();
    document.addEventListener("pointerdown", (event) => {
      if (!this.root.contains(event.target as Node)) this.toggle(false);
    });
  }

  get isOpen(): boolean {
    return !this.panel.hidden;
  }

  set(choices: Choice[], left: number, chosen: ReadonlySet<string>,
      write: (value: number) => string): void {
    this.write = write;
    this.left = left;
    for (const choice of choices) choice.label ||= `[no ${this.noun.one}]`;
    this.choices = choices.sort((a, b) => b.count - a.count || a.label.localeCompare(b.label));
    this.chosen = new Set(chosen);
    this.sum = choices.reduce((sum, choice) => sum + choice.count, 0);
    this.describe();
    if (this.isOpen) this.paint();
    this.focusAgain();
  }

  private toggle(open: boolean): void {
    if (open === this.isOpen) return;
    this.panel.hidden = !open;
    this.opener.setAttribute("aria-expanded", String(open));
    this.focusedKey = null;
    if (!open) return;
    this.query.value = "";
    this.list.scrollTop = 0;
    this.paint();
    this.query.focus();
    // Keep the panel on the screen where the button is near the right edge.
    this.panel.classList.remove("to-left");
    const outside = this.panel.getBoundingClientRect().right > document.documentElement.clientWidth;
    this.panel.classList.toggle("to-left", outside);
  }

  // Painting replaces the rows; the box that had the focus is found again by its key.
  private focusAgain(): void {
    if (!this.isOpen || this.focusedKey === null) return;
    for (const box of this.list.querySelectorAll("input")) {
      if (box.dataset["key"] === this.focusedKey) box.focus();
    }
  }

  private describe(): void {
    const { one, many } = this.noun;
    const known = this.choices.filter((choice) => this.chosen.has(choice.key));
    const text = this.chosen.size === 0 ? `All ${many}`
      : this.chosen.size === 1 ? known[0]?.label ?? `1 ${one} without samples` : `${this.chosen.size} ${many}`;
    setKeepingEnd(this.caption, text);
    this.caption.title = this.chosen.size === 0 ? `${this.choices.length} ${many}` : text;
    this.opener.classList.toggle("active", this.chosen.size > 0);
  }

  private change(chosen: Set<string>): void {
    this.chosen = chosen;
    this.describe();
    this.onChange(new Set(chosen));
  }

  // By a button that takes no further letters: the box has the focus again.
  private changeAll(chosen: Set<string>): void {
    this.focusedKey = null;
    this.query.focus();
    this.change(chosen);
  }

  close(): void {
    this.toggle(false);
  }

  private paint(): void {
    const { matches } = parseQuery(this.query.value);
    const passing = this.choices.filter((choice) =>
      matches === null || matches(choice.label) || matches(choice.note));
    const scroll = this.list.scrollTop;
    this.list.replaceChildren(...passing.slice(0, MAX_SHOWN).map((choice) => this.row(choice)));
    for (const text of unlistedText({
      many: this.noun.many, listed: this.choices.length, left: this.left, searched: matches !== null,
      passing: passing.length, shown: Math.min(passing.length, MAX_SHOWN) })) {
      this.list.append(element("div", { class: "select-more", text }));
    }
    this.list.scrollTop = scroll;
  }

  private row(choice: Choice): HTMLElement {
    const box = element("input", { attributes: { type: "checkbox" } });
    box.checked = this.chosen.has(choice.key);
    box.dataset["key"] = choice.key;
    box.addEventListener("change", () => {
      this.focusedKey = choice.key;
      const chosen = new Set(this.chosen);
      if (box.checked) chosen.add(choice.key);
      else chosen.delete(choice.key);
      this.change(chosen);
    });
    const name = element("span", { class: "select-name" });
    setKeepingEnd(name, choice.label);
    const title = [choice.label, choice.note].filter((text) => text !== "").join("\n");
    const label = element("label", { class: "select-label", title }, box, name,
      element("span", { class: "select-count", text: this.write(choice.count) }),
      element("span", { class: "select-share", text: formatPercent(choice.count, this.sum) }));
    const only = button("only", "link select-only", () => this.changeAll(new Set([choice.key])),
                        `Show only ${choice.label}`);
    return element("div", { class: "select-row" }, label, only);
  }
}

// Of a path that is too long, the end says more than the beginning.
function setKeepingEnd(node: HTMLElement, text: string): void {
  node.replaceChildren(element("bdi", { text, attributes: { dir: "ltr" } }));
  node.classList.toggle("keeps-end", text.startsWith("/"));
}
