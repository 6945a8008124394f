// Keys of the whole page. What is typed into a box stays there.
export type Command = "search" | "next" | "previous" | "flame" | "both" | "table" | "time" | "invert" |
  "upward" | "fold" | "callers" | "copy" | "help" | "escape";

const COMMANDS: Record<string, Command> = {
  "/": "search", n: "next", p: "previous", f: "flame", b: "both", t: "table", w: "time", i: "invert",
  u: "upward", r: "fold", c: "callers", y: "copy", "?": "help", Escape: "escape",
};

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLSelectElement ||
    (target instanceof HTMLInputElement && target.type !== "checkbox");
}

export function listenToKeys(run: (command: Command) => boolean): void {
  document.addEventListener("keydown", (event) => {
    const command = COMMANDS[event.key];
    if (command === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    if (command !== "escape" && isTyping(event.target)) return;
    if (run(command)) event.preventDefault();
  });
}
