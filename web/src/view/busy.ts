// Says that an answer is on its way once that takes noticeably long, and lets the user end it.
import { button, element } from "./dom";

const BAR_MS = 300;
const TEXT_MS = 1500;

export class Busy {
  readonly root: HTMLElement;
  private readonly text = element("span", { class: "busy-text" });
  private readonly line: HTMLElement;
  private began = 0;
  private timer = 0;

  constructor(onCancel: () => void) {
    this.line = element("span", { class: "busy-line" }, this.text,
                        button("Cancel", "link", onCancel, "Keep what is shown (Escape)"));
    this.root = element("div", { class: "busy", attributes: { role: "status" } },
                        element("span", { class: "busy-bar" }), this.line);
    this.root.hidden = true;
  }

  get running(): boolean {
    return this.timer !== 0;
  }

  begin(): void {
    if (this.running) return;
    this.began = performance.now();
    this.line.hidden = true;
    this.timer = window.setInterval(() => this.tick(), 100);
  }

  end(): void {
    clearInterval(this.timer);
    this.timer = 0;
    this.root.hidden = true;
  }

  private tick(): void {
    const passed = performance.now() - this.began;
    this.root.hidden = passed < BAR_MS;
    this.line.hidden = passed < TEXT_MS;
    const text = `Adding samples up… ${Math.floor(passed / 1000)} s`;
    if (this.text.textContent !== text) this.text.textContent = text;
  }
}
