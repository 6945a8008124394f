// Chooses samples by what their threads worked on: a trace, a span, labels.
import { requestLabel, requestOf } from "../model/requests";
import { button, element } from "./dom";
import { Menu } from "./menu";

export class RequestMenu {
  readonly menu: Menu;
  private readonly input = element("input", { class: "request-input", attributes: {
    type: "text", "aria-label": "Trace id, span id or NAME=VALUE", spellcheck: "false",
    autocomplete: "off", placeholder: "Trace id, span id or NAME=VALUE" } });
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
                         add, this.failure, this.chosen);
    this.menu.root.hidden = true;
  }

  // `offered`: the source knows what samples belong to.
  set(requests: ReadonlySet<string>, offered: boolean): void {
    this.requests = requests;
    this.menu.root.hidden = !offered && requests.size === 0;
    const labels = [...requests].map(requestLabel);
    this.menu.opener.firstChild!.textContent = labels.length === 0 ? "All requests"
      : labels.length === 1 ? labels[0]! : `${labels.length} conditions`;
    this.menu.opener.classList.toggle("active", labels.length > 0);
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
