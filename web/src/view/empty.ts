// What stands in place of the graph when there is nothing to draw, and why.
import { button, element } from "./dom";

export class EmptyState {
  readonly root = element("div", { class: "empty", attributes: { role: "status" } });

  hide(): void {
    this.root.hidden = true;
  }

  show(title: string, text: string, action?: { label: string; run: () => void }): void {
    const nodes: Node[] = [element("h2", { text: title }), element("p", { text })];
    if (action !== undefined) nodes.push(button(action.label, "control primary", action.run));
    const same = this.root.dataset["shown"] === title + text;
    this.root.dataset["shown"] = title + text;
    if (!same) this.root.replaceChildren(...nodes);
    this.root.hidden = false;
  }
}
