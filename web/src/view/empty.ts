// What stands in place of the graph when there is nothing to draw, and why.
import { isOnCpu } from "../model/measure";
import { Head } from "../model/source";
import { button, element } from "./dom";

export class EmptyState {
  readonly root = element("div", { class: "empty", attributes: { role: "status" } });

  hide(): void {
    this.root.hidden = true;
  }

  // Why a view of the profile has nothing to draw: `passing` is what its filter lets through.
  showFor(profile: Head, type: number, passing: number,
          all: { types: () => void; everything: () => void }): void {
    const { types, title, note } = profile;
    if (passing > 0) {
      this.show("All frames here are hidden", "No stack in this selection has a frame of a shown type.",
                { label: "Show all types", run: all.types });
    } else if (profile.sums[type]! > 0) {
      this.show("No samples in this selection",
                "Nothing passes the chosen processes, threads and time range together.",
                { label: "Show everything", run: all.everything });
    } else {
      const what = types.length > 1 ? `No ${types[type]!.label} samples` : "No samples";
      this.show(title === "" ? what : `${what} of ${title}`, note !== "" ? `In this recording ${note}`
        : !isOnCpu(types[type]!) ? "Nothing of this type was recorded in this time."
        : "Nothing used a CPU in this time, or what was profiled ended before the first sample.");
    }
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
