// Small controls: a row of exclusive choices, and the search box.
import { button, element, icon, ICONS } from "./dom";

export class Segments<T extends string> {
  readonly root: HTMLElement;
  private readonly buttons = new Map<T, HTMLButtonElement>();

  constructor(label: string, choices: readonly (readonly [T, string])[], chosen: T,
              onChoose: (value: T) => void) {
    this.root = element("div", { class: "segments", attributes: { role: "group", "aria-label": label } });
    for (const [value, text] of choices) {
      const node = button(text, "segment", () => {
        this.choose(value);
        onChoose(value);
      });
      this.buttons.set(value, node);
      this.root.append(node);
    }
    this.choose(chosen);
  }

  choose(value: T): void {
    for (const [key, node] of this.buttons) node.setAttribute("aria-pressed", String(key === value));
  }
}

// A button that stays pressed.
export class Switch {
  readonly root: HTMLButtonElement;
  private on = false;

  constructor(text: string, title: string, onSwitch: (on: boolean) => void) {
    this.root = button(text, "control", () => {
      this.set(!this.on);
      onSwitch(this.on);
    }, title);
    this.set(false);
  }

  private set(on: boolean): void {
    this.on = on;
    this.root.setAttribute("aria-pressed", String(on));
    this.root.classList.toggle("active", on);
  }
}

export class SearchBox {
  readonly root: HTMLElement;
  readonly input: HTMLInputElement;
  private readonly result = element("span", { class: "search-result", attributes: { "aria-live": "polite" } });

  constructor(onQuery: (query: string) => void) {
    this.input = element("input", { class: "search-input", attributes: {
      type: "text", placeholder: "Search functions", "aria-label": "Search functions", spellcheck: "false",
      autocomplete: "off" }, title: "Part of a name, or /a regular expression/  (press / to get here)" });
    this.input.addEventListener("input", () => onQuery(this.input.value));
    this.root = element("label", { class: "search" }, icon(ICONS.search), this.input, this.result,
                        element("kbd", { class: "search-key", text: "/" }));
  }

  set(query: string, result: string): void {
    if (this.input.value !== query) this.input.value = query;
    this.result.textContent = result;
    this.root.classList.toggle("has-query", query !== "");
  }
}
