// What the keys and the mouse do, in a box over the page.
import { button, element } from "./dom";

const KEYS: readonly (readonly [string, string])[] = [
  ["/", "Search functions and files; /…/ is a regular expression"],
  ["Enter  Shift+Enter", "In the search box: zoom to the next or previous match"],
  ["n  p", "Zoom to the next or previous match"],
  ["f  b  t  w", "Flame graph, graph and table, table, time of each process"],
  ["i", "Innermost functions first, their callers below (inverted)"],
  ["u", "Root at the bottom, or at the top"],
  ["r", "Fold recursion"],
  ["c", "Callers and callees of the chosen frame"],
  ["y", "Copy the chosen frame's name"],
  ["Arrow keys", "Move in the graph, the table or the time view; in the timeline: move the chosen time"],
  ["Enter", "Zoom to the chosen frame, or open the chosen row"],
  ["Escape", "One step back: close, zoom out, end the search, show the whole time"],
  ["Alt+Left", "Undo: every choice is in the address, so Back returns to the one before"],
  ["?", "This help"],
];

const MOUSE: readonly (readonly [string, string])[] = [
  ["Click a frame", "Zoom to it; a click on a caller zooms out"],
  ["Drag over the timeline", "Choose a time range; drag its edges; click outside to drop it"],
  ["Click a type in the legend", "Leave its frames out; “only” leaves all others out"],
  ["Click a lane of the time view", "Show only that process or thread"],
];

export class Help {
  readonly root: HTMLDialogElement;

  constructor() {
    const list = (rows: typeof KEYS) => element("dl", { class: "help-list" },
      ...rows.flatMap(([key, text]) => [element("dt", {}, element("kbd", { text: key })),
                                        element("dd", { text })]));
    this.root = element("dialog", { class: "help", attributes: { "aria-label": "Keys" } },
      element("div", { class: "help-head" }, element("h2", { text: "Keys and mouse" }),
              button("Close", "control small", () => this.root.close())),
      list(KEYS), list(MOUSE));
    this.root.addEventListener("click", (event) => {
      if (event.target === this.root) this.root.close(); // beside the box
    });
  }

  get isOpen(): boolean {
    return this.root.open;
  }

  open(): void {
    if (!this.root.open) this.root.showModal();
  }
}
