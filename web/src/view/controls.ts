// Small controls: a row of exclusive choices, a list of them, and the search box.
import { button, element, icon, ICONS } from "./dom";

export class Segments<T extends string> {
  readonly root: HTMLElement;
  private readonly buttons = new Map<T, HTMLButtonElement>();

  constructor(label: string, choices: readonly (readonly [T, string])[],
              private readonly onChoose: (value: T) => void) {
    this.root = element("div", { class: "segments", attributes: { role: "group", "aria-label": label } });
    this.offer(choices);
  }

  offer(choices: readonly (readonly [T, string])[]): void {
    const same = choices.length === this.buttons.size &&
      choices.every(([value, text]) => this.buttons.get(value)?.textContent === text);
    if (same) return; // what has the focus keeps it
    this.buttons.clear();
    for (const [value, text] of choices) {
      this.buttons.set(value, button(text, "segment", () => {
        this.choose(value);
        this.onChoose(value);
      }));
    }
    this.root.replaceChildren(...this.buttons.values());
  }

  choose(value: T): void {
    for (const [key, node] of this.buttons) node.setAttribute("aria-pressed", String(key === value));
  }
}

// Exclusive choices of which one is shown.
export class Picker<T extends string> {
  readonly root: HTMLElement;
  private readonly list: HTMLSelectElement;
  private offered = "";

  constructor(label: string, private readonly textOf: (value: T) => string, onChoose: (value: T) => void) {
    this.list = element("select", { attributes: { "aria-label": label }, title: label });
    this.list.addEventListener("change", () => onChoose(this.list.value as T));
    this.root = element("span", { class: "control picker" }, this.list, icon(ICONS.down));
  }

  set(values: readonly T[], chosen: T): void {
    const all = values.includes(chosen) ? values : [...values, chosen];
    const offered = all.map((value) => `${value}\n${this.textOf(value)}`).join("\n");
    if (this.offered !== offered) {
      this.offered = offered;
      this.list.replaceChildren(...all.map((value) =>
        element("option", { text: this.textOf(value), attributes: { value } })));
    }
    this.list.value = chosen;
  }
}

export interface SearchEvents {
  onQuery(query: string): void;
  onStep(step: 1 | -1): void;
}

export class SearchBox {
  readonly root: HTMLElement;
  readonly input: HTMLInputElement;
  private readonly result = element("span", { class: "search-result", attributes: { "aria-live": "polite" } });
  private readonly steps: HTMLElement;

  constructor(events: SearchEvents) {
    this.input = element("input", { class: "search-input", attributes: {
      type: "text", placeholder: "Search functions and files", "aria-label": "Search functions and files",
      spellcheck: "false", autocomplete: "off" },
      title: "Part of a name or of its file, or /a regular expression/  (press / to get here)" });
    this.input.addEventListener("input", () => events.onQuery(this.input.value));
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") events.onStep(event.shiftKey ? -1 : 1);
    });
    const step = (text: string, by: 1 | -1, title: string) => {
      const node = button(text, "link search-step", () => events.onStep(by), title);
      node.setAttribute("aria-label", title);
      return node;
    };
    this.steps = element("span", { class: "search-steps" },
      step("‹", -1, "Zoom to the previous match (Shift+Enter)"),
      step("›", 1, "Zoom to the next match (Enter)"));
    this.root = element("label", { class: "search" }, icon(ICONS.search), this.input, this.result,
                        this.steps, element("kbd", { class: "search-key", text: "/" }));
  }

  set(query: string, result: string, wrong: boolean): void {
    if (this.input.value !== query) this.input.value = query;
    this.result.textContent = result;
    this.result.title = result;
    this.input.setAttribute("aria-invalid", String(wrong));
    this.root.classList.toggle("has-query", query !== "");
    this.root.classList.toggle("wrong", wrong);
  }
}
