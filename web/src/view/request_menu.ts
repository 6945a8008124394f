// Chooses samples by what their threads worked on: a trace, a span, labels.
import { requestLabel, requestOf } from "../model/requests";
import { button, element } from "./dom";
import { Menu } from "./menu";

const MAX_NAMES = 20;

export class RequestMenu {
  readonly menu: Menu;
  private readonly input = element("input", { class: "request-input", attributes: {
    type: "text", "aria-label": "Trace id, span id or NAME=VALUE", spellcheck: "false",
    autocomplete: "off", placeholder: "Trace id, span id or NAME=VALUE" } });
  private readonly names = element("p", { class: "menu-note quiet" });
  private readonly chosen = element("div", { class: "request-list" });
  private readonly failure = element("p", { class: "menu-note", attributes: { role: "alert" } });
  private requests: ReadonlySet<string> = new Set();

  constructor(private readonly onChange: (requests: ReadonlySet<string>) => void) {
    this.failure.hidden = true;
    const add = button("Show", "menu-item", () => this.add(), "Show samples of this alone (Enter)");
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.add();
    });
    this.menu = new Menu("request", "All requests", "Everything that one request did", this.input,
                         add, this.failure, this.names, this.chosen);
    this.menu.root.hidden = true;
  }

  // `labels`: names of what samples say; of none there is nothing to choose.
  set(requests: ReadonlySet<string>, labels: readonly string[]): void {
    this.requests = requests;
    this.menu.root.hidden = labels.length === 0 && requests.size === 0;
    this.names.hidden = labels.length === 0;
    this.names.textContent = `Samples here have: ${labels.slice(0, MAX_NAMES).join(", ")}`;
    const chosen = [...requests].map(requestLabel);
    this.menu.opener.firstChild!.textContent = chosen.length === 0 ? "All requests"
      : chosen.length === 1 ? chosen[0]! : `${chosen.length} conditions`;
    this.menu.opener.classList.toggle("active", chosen.length > 0);
    this.chosen.replaceChildren(...[...requests].map((request) => button(
      `${requestLabel(request)} ✕`, "menu-item", () => this.remove(request), `${request}\nClick to take it away`)));
  }

  private add(): void {
    const request = requestOf(this.input.value);
    this.failure.hidden = request !== null;
    if (request === null) {
      this.failure.textContent = "A trace id has 32 hexadecimal digits, a span id 16; a label is NAME=VALUE.";
      return;
    }
    this.input.value = "";
    this.onChange(new Set([...this.requests, request]));
  }

  private remove(request: string): void {
    this.onChange(new Set([...this.requests].filter((each) => each !== request)));
  }
}
