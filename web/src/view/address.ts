// Keeps the state in the address, behind "#": no server sees it, and Back undoes a step.
import { readState, State, writeState } from "../model/state";

const WAIT_MS = 200;
const NO_CHOICE = "view="; // reads as the start

export class Address {
  private waiting = 0;
  private pending = ""; // replaces the current entry when the user stops for a moment

  // `saved`: what a file was saved with; an address that says something goes before it.
  constructor(private readonly saved: string, onBack: (state: State) => void) {
    if (saved !== "" && location.hash === "") {
      this.write(saved, (href) => history.replaceState(null, "", href));
    }
    window.addEventListener("popstate", () => {
      this.forget();
      onBack(this.read());
    });
  }

  read(): State {
    return readState(location.hash.slice(1) || this.saved);
  }

  // A step of its own: Back returns to what was before it.
  push(state: State): void {
    this.flush();
    const text = this.textOf(state);
    this.write(text, (href) => history.pushState(null, "", href));
  }

  // One of many small changes, as a letter typed: browsers refuse hundreds of entries.
  replace(state: State): void {
    this.pending = this.textOf(state);
    clearTimeout(this.waiting);
    this.waiting = window.setTimeout(() => this.flush(), WAIT_MS);
  }

  // In a file that was saved with choices, the address also says that there is none.
  private textOf(state: State): string {
    return writeState(state) || (this.saved === "" ? "" : NO_CHOICE);
  }

  private flush(): void {
    if (this.waiting === 0) return;
    const text = this.pending;
    this.forget();
    this.write(text, (href) => history.replaceState(null, "", href));
  }

  private forget(): void {
    clearTimeout(this.waiting);
    this.waiting = 0;
  }

  private write(text: string, to: (href: string) => void): void {
    if (text === location.hash.slice(1)) return;
    try {
      to(text === "" ? location.pathname + location.search : `#${text}`);
    } catch {
      // A page in a sandbox has no history; the choice then lasts as long as the page.
    }
  }
}
