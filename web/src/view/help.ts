// A box over the page: usual questions, what words mean, and what the keys and the mouse do.
import { markerMeaning } from "../model/markers";
import { button, element } from "./dom";

const QUESTIONS: readonly (readonly [string, string])[] = [
  ["Hottest line?", "“Table”, then “By line”; search a file or a function to keep its lines alone"],
  ["Who calls X?", "Search X, press Enter to zoom to it, then “Callers and callees”"],
  ["What changed?", "Drag over the time bars, then “Compare with before”: new, gone, more, less, in the table"],
  ["One language, process or group?", "“only” in the legend, or in a list such as “All processes” or “All cgroups”"],
  ["What waits?", "“Off-CPU” at the top; “All waits” tells blocked threads from those without a CPU"],
  ["Save or share?", "“Export”: a link for who may open this page, “This page with its data” for all others"],
];

const WORDS: readonly (readonly [string, string])[] = [
  ["[stale]", markerMeaning("[stale]")],
  ["[truncated: …]", `${markerMeaning("[truncated: …]")} The words after the colon say why.`],
  ["through unknown code", "Stacks that are whole, but one of their frames is machine code of no file ([unknown jit])."],
  ["lost", "Samples that were taken and have no stack, because they did not arrive. They count as [lost: …]."],
];

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
    const list = (title: string, rows: typeof KEYS, term: "kbd" | "span") => [
      element("h3", { text: title }), element("dl", { class: "help-list" },
        ...rows.flatMap(([key, text]) => [element("dt", {}, element(term, { text: key })),
                                          element("dd", { text })]))];
    this.root = element("dialog", { class: "help", attributes: { "aria-label": "Help" } },
      element("div", { class: "help-head" }, element("h2", { text: "Help" }),
              button("Close", "control small", () => this.root.close())),
      ...list("What to do", QUESTIONS, "span"), ...list("What words mean", WORDS, "span"),
      ...list("Keys", KEYS, "kbd"), ...list("Mouse", MOUSE, "kbd"));
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
