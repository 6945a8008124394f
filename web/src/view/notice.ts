// Says for some seconds what an action did. Covers nothing that can be clicked.
import { element } from "./dom";

const SHOWN_MS = 4000;

export class Notice {
  // A screen reader tells of what comes into it, so it is there before.
  readonly root = element("div", { class: "notice", attributes: { role: "status" } });
  private timer = 0;

  say(text: string): void {
    clearTimeout(this.timer);
    this.root.replaceChildren(element("span", { class: "notice-text", text }));
    this.timer = window.setTimeout(() => this.root.replaceChildren(), SHOWN_MS);
  }
}
