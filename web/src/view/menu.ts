// A button that opens a small panel; a click outside or Escape closes it.
import { button, element, icon, ICONS } from "./dom";

export class Menu {
  readonly root: HTMLElement;
  readonly panel: HTMLElement;
  readonly opener: HTMLButtonElement;

  constructor(name: string, text: string, title: string, ...content: HTMLElement[]) {
    this.opener = element("button", { class: "control menu-opener", title, attributes: {
      type: "button", "aria-haspopup": "true", "aria-expanded": "false" } }, text, icon(ICONS.down));
    this.opener.addEventListener("click", () => this.toggle(this.panel.hidden));
    this.panel = element("div", { class: "menu-panel", attributes: { role: "group", "aria-label": title } },
                         ...content);
    this.panel.hidden = true;
    this.root = element("div", { class: "menu" }, this.opener, this.panel);
    this.root.dataset["menu"] = name;
    this.root.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || this.panel.hidden) return;
      event.stopPropagation();
      this.close();
      this.opener.focus();
    });
    document.addEventListener("pointerdown", (event) => {
      if (!this.root.contains(event.target as Node)) this.close();
    });
  }

  get isOpen(): boolean {
    return !this.panel.hidden;
  }

  close(): void {
    this.toggle(false);
  }

  private toggle(open: boolean): void {
    if (open === this.isOpen) return;
    this.panel.hidden = !open;
    this.opener.setAttribute("aria-expanded", String(open));
    if (!open) return;
    this.panel.classList.remove("to-left");
    const outside = this.panel.getBoundingClientRect().right > document.documentElement.clientWidth;
    this.panel.classList.toggle("to-left", outside);
    this.panel.querySelector<HTMLElement>("input, button")?.focus();
  }
}

// A line of a menu with a box to check.
export class Check {
  readonly root: HTMLElement;
  private readonly box = element("input", { attributes: { type: "checkbox" } });

  constructor(text: string, title: string, onChange: (on: boolean) => void) {
    this.box.addEventListener("change", () => onChange(this.box.checked));
    this.root = element("label", { class: "menu-item", title }, this.box, text);
  }

  set(on: boolean): void {
    this.box.checked = on;
  }
}

export function menuItem(text: string, title: string, run: () => void): HTMLButtonElement {
  return button(text, "menu-item", run, title);
}
