// The page around the main area: header, toolbar, timeline, keys.
import { Choice } from "../model/choices";
import { Filter } from "../model/filter";
import { formatCount } from "../model/format";
import { Grouping } from "../model/names";
import { SearchBox, Segments, Switch } from "./controls";
import { button, element } from "./dom";
import { Header } from "./header";
import { MultiSelect } from "./multiselect";
import { View } from "./panes";
import { Theme } from "./theme";
import { describeRange, Range, Timeline, TimelineData } from "./timeline";

export interface ShellEvents {
  onProcesses(chosen: ReadonlySet<string>): void;
  onThreads(chosen: ReadonlySet<string>): void;
  onRange(range: Range | null): void;
  onBrushing(busy: boolean): void;
  onGrouping(grouping: Grouping): void;
  onFold(fold: boolean): void;
  onView(view: View): void;
  onQuery(query: string): void;
  onTheme(): void;
  onEscape(): void;
}

export class Shell {
  readonly root: HTMLElement;
  readonly header: Header;
  readonly theme: Theme;
  readonly search: SearchBox;
  readonly banner = element("div", { class: "banner", attributes: { role: "alert" } });
  readonly timeTools = element("div", { class: "time-tools" });
  private readonly processes: MultiSelect;
  private readonly threads: MultiSelect;
  private readonly timeline: Timeline;
  private readonly rangeText = element("span", { class: "range-text" });
  private readonly clearRange: HTMLButtonElement;

  constructor(main: HTMLElement, view: View, private readonly events: ShellEvents) {
    this.theme = new Theme(() => events.onTheme());
    this.header = new Header(this.theme.toggle);
    this.search = new SearchBox((query) => events.onQuery(query));
    this.processes = new MultiSelect({ one: "process", many: "processes" }, events.onProcesses);
    this.threads = new MultiSelect({ one: "thread", many: "threads" }, events.onThreads);
    this.timeline = new Timeline((range) => events.onRange(range), (busy) => events.onBrushing(busy));
    this.clearRange = button("Clear", "link", () => events.onRange(null), "Show the whole time again");
    const toolbar = this.makeToolbar(view);
    const time = element("section", { class: "card time" },
      element("div", { class: "time-title" }, element("span", { text: "CPU samples over time" }),
        this.rangeText, this.clearRange, this.timeTools), this.timeline.root);
    this.banner.hidden = true;
    this.clearRange.hidden = true;
    this.root = element("div", { class: "page" }, this.header.root, this.header.note, toolbar, time, main, this.banner);
    document.addEventListener("keydown", (event) => this.keyPressed(event));
  }

  private makeToolbar(view: View): HTMLElement {
    const grouping = new Segments<Grouping>("One block for each", [
      ["command", "By command"], ["process", "By process"]], "command", this.events.onGrouping);
    const views = new Segments<View>("View", [
      ["flame", "Flame graph"], ["both", "Both"], ["table", "Table"]], view, this.events.onView);
    const fold = new Switch("Fold recursion", "Show a function that calls itself as one frame", this.events.onFold);
    return element("div", { class: "toolbar" }, this.processes.root, this.threads.root, grouping.root,
                   views.root, fold.root, this.search.root);
  }

  // A list of choices is open: redrawing it under the pointer would be rude.
  get choosing(): boolean {
    return this.processes.isOpen || this.threads.isOpen;
  }

  setChoices(processes: Choice[], threads: Choice[], filter: Filter): void {
    this.processes.set(processes, filter.processes);
    this.threads.set(threads, filter.threads);
  }

  setTimeline(data: TimelineData, range: Range | null, samples: number): void {
    this.timeline.set(data, range);
    const count = `${formatCount(samples)} samples`;
    this.rangeText.textContent = range === null ? `${count} · drag to select a time range`
                                                : `${describeRange(data, range)} · ${count}`;
    this.clearRange.hidden = range === null;
  }

  private keyPressed(event: KeyboardEvent): void {
    if (event.key === "Escape" && this.choosing) {
      this.processes.close();
      this.threads.close();
    } else if (event.key === "Escape") {
      this.search.input.blur();
      this.events.onEscape();
    } else if (event.key === "/" && !(event.target instanceof HTMLInputElement) &&
               !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      this.search.input.focus();
      this.search.input.select();
    }
  }
}
