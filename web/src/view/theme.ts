// Light, dark, or as the system says. The choice is remembered where the browser lets us.
import { button, icon, ICONS } from "./dom";

type Mode = "auto" | "light" | "dark";

const KEY = "stackray-theme";
const LABEL: Record<Mode, string> = { auto: "as the system", light: "light", dark: "dark" };
const GLYPH: Record<Mode, string> = { auto: ICONS.auto, light: ICONS.sun, dark: ICONS.moon };

export class Theme {
  readonly toggle: HTMLButtonElement;
  private mode: Mode = remembered();
  private readonly system = matchMedia("(prefers-color-scheme: dark)");

  constructor(private readonly onChange: (dark: boolean) => void) {
    this.toggle = button("", "control icon-only", () => {
      this.mode = this.next();
      remember(this.mode);
      this.apply();
    });
    this.system.addEventListener("change", () => this.apply());
    this.apply(false);
  }

  get dark(): boolean {
    return this.mode === "dark" || (this.mode === "auto" && this.system.matches);
  }

  // From the system's colours to the others, to the system's by name, and back to the system.
  private next(): Mode {
    const system: Mode = this.system.matches ? "dark" : "light";
    if (this.mode === "auto") return system === "dark" ? "light" : "dark";
    return this.mode === system ? "auto" : system;
  }

  private apply(tell = true): void {
    document.documentElement.dataset["theme"] = this.dark ? "dark" : "light";
    const text = `Colours: ${LABEL[this.mode]}`;
    this.toggle.replaceChildren(icon(GLYPH[this.mode]));
    this.toggle.title = text;
    this.toggle.setAttribute("aria-label", text);
    if (tell) this.onChange(this.dark);
  }
}

function remembered(): Mode {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "auto";
  } catch {
    return "auto"; // storage is off, as it may be for file://
  }
}

function remember(mode: Mode): void {
  try {
    localStorage.setItem(KEY, mode);
  } catch {
    // The choice then lasts as long as the page.
  }
}
