// Says that an answer is on its way once that takes noticeably long, and lets the user end it.
import { button, element } from "./dom";

const BAR_MS = 300;
const TEXT_MS = 1500;
const ASK_MS = 1000;

export class Busy {
  readonly root: HTMLElement;
  private readonly text = element("span", { class: "busy-text" });
  private readonly line: HTMLElement;
  private began = 0;
  private timer = 0;
  private asked = 0;
  private part = ""; // how much is done

  // `progress`: the part of the answer that is made, 0 to 1; null: not known.
  constructor(onCancel: () => void, private readonly progress: () => Promise<number | null>) {
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
    this.part = "";
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
    if (!this.line.hidden && performance.now() - this.asked > ASK_MS) void this.askProgress();
    const text = `Adding samples up… ${Math.floor(passed / 1000)} s${this.part}`;
    if (this.text.textContent !== text) this.text.textContent = text;
  }

  private async askProgress(): Promise<void> {
    this.asked = performance.now();
    const { began } = this;
    const part = await this.progress().catch(() => null);
    if (this.began === began) this.part = part === null ? "" : `, ${Math.floor(100 * part)} %`;
  }
}
