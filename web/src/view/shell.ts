// The page around the main area: header, toolbar, timeline.
import { Filter } from "../model/filter";
import { formatClock } from "../model/format";
import { Measure } from "../model/measure";
import { FixedGrouping, Grouping } from "../model/names";
import { Answer, ChoiceLists } from "../model/source";
import { Span, State, View } from "../model/state";
import { Busy } from "./busy";
import { Picker, SearchBox, SearchEvents, Segments } from "./controls";
import { button, element } from "./dom";
import { ExportMenu, Format } from "./export_menu";
import { Header } from "./header";
import { Help } from "./help";
import { Check, Menu } from "./menu";
import { MultiSelect } from "./multiselect";
import { Notice } from "./notice";
import { RequestMenu } from "./request_menu";
import { Theme } from "./theme";
import { describeRange, Range, Timeline, TimelineData } from "./timeline";

export interface ShellEvents extends SearchEvents {
  onChange(change: Partial<State>): void;
  onRange(range: Range | null, small: boolean): void;
  onCompare(): void;
  onBrushing(busy: boolean): void;
  onTheme(): void;
  onExport(format: Format): Promise<{ name: string; blob: Blob }>;
  linkOf(): string;
  onCancel(): void;
  onProgress(): Promise<number | null>;
  onCapture(name: string): void;
}

const GROUPING_TEXTS: Record<FixedGrouping | "trace" | "span", string> = {
  command: "By command", process: "By process", thread: "By thread", container: "By container",
  service: "By service", cgroup: "By cgroup", user: "By user", none: "All together",
  trace: "By trace", span: "By span",
};

function groupingText(grouping: Grouping): string {
  return grouping in GROUPING_TEXTS ? GROUPING_TEXTS[grouping as keyof typeof GROUPING_TEXTS]
                                    : `By ${grouping.slice("label:".length)}`;
}

// Lists that are there only where the samples say such a thing.
const SOMETIMES = ["commands", "containers", "services", "cgroups", "users", "waits"] as const;

export class Shell {
  readonly root: HTMLElement;
  readonly header: Header;
  readonly theme: Theme;
  readonly search: SearchBox;
  readonly help = new Help();
  readonly busy: Busy;
  readonly notice = new Notice();
  readonly banner = element("div", { class: "banner", attributes: { role: "alert" } });
  readonly timeTools = element("div", { class: "time-tools" });
  private readonly selects: Record<keyof ChoiceLists, MultiSelect>;
  private readonly grouping: Picker<Grouping>;
  private readonly views: Segments<View>;
  private readonly checks: Record<"inverted" | "upward" | "fold", Check>;
  private readonly layout: Menu;
  private readonly exports: ExportMenu;
  private readonly requests: RequestMenu;
  private readonly timeline: Timeline;
  private readonly timeName = element("span");
  private readonly compare: HTMLButtonElement;
  private readonly rangeText = element("span", { class: "range-text" });
  private readonly clearRange: HTMLButtonElement;

  constructor(main: HTMLElement, events: ShellEvents) {
    this.theme = new Theme(() => events.onTheme());
    const help = button("?", "control icon-only", () => this.help.open(), "Help: usual questions, words, keys and mouse (?)");
    this.header = new Header((type) => events.onChange({ type }), (name) => events.onCapture(name),
                             help, this.theme.toggle);
    this.search = new SearchBox(events);
    this.selects = {
      processes: new MultiSelect({ one: "process", many: "processes" },
        (processes) => events.onChange({ processes, threads: new Set() })),
      threads: new MultiSelect({ one: "thread", many: "threads" }, (threads) => events.onChange({ threads })),
      waits: new MultiSelect({ one: "wait", many: "waits" }, (waits) => events.onChange({ waits })),
      commands: new MultiSelect({ one: "command", many: "commands" },
                                (commands) => events.onChange({ commands })),
      containers: new MultiSelect({ one: "container", many: "containers" },
                                  (containers) => events.onChange({ containers })),
      services: new MultiSelect({ one: "service", many: "services" },
                                (services) => events.onChange({ services })),
      cgroups: new MultiSelect({ one: "cgroup", many: "cgroups" }, (cgroups) => events.onChange({ cgroups })),
      users: new MultiSelect({ one: "user", many: "users" }, (users) => events.onChange({ users })),
    };
    for (const key of SOMETIMES) this.selects[key].root.hidden = true;
    this.busy = new Busy(() => events.onCancel(), () => events.onProgress());
    this.grouping = new Picker<Grouping>("One block for each", groupingText,
                                         (grouping) => events.onChange({ grouping }));
    this.views = new Segments<View>("View", [["flame", "Flame graph"], ["both", "Both"], ["table", "Table"],
      ["time", "Time"]], (view) => events.onChange({ view, callers: "" }));
    this.checks = {
      inverted: new Check("Innermost first", "Turn the stacks around: callers stand below what they call (i)",
                          (inverted) => events.onChange({ inverted })),
      upward: new Check("Root at the bottom", "Draw the graph upwards (u)", (upward) => events.onChange({ upward })),
      fold: new Check("Fold recursion", "Show a function that calls itself as one frame (r)",
                      (fold) => events.onChange({ fold })),
    };
    this.layout = new Menu("layout", "Layout", "How the graph is drawn",
      ...Object.values(this.checks).map((check) => check.root));
    this.exports = new ExportMenu(events.onExport, events.linkOf, (text) => this.notice.say(text));
    this.requests = new RequestMenu((requests) => events.onChange({ requests }));
    this.timeline = new Timeline(events.onRange, events.onBrushing);
    this.clearRange = button("Clear", "link", () => events.onRange(null, false), "Show the whole time again");
    this.clearRange.hidden = true;
    this.compare = button("", "link compare", () => events.onCompare());
    this.banner.hidden = true;
    const { processes, threads, waits, commands, containers, services, cgroups, users } = this.selects;
    const toolbar = element("div", { class: "toolbar" }, processes.root, threads.root,
      commands.root, containers.root, services.root, cgroups.root, users.root, waits.root,
      this.requests.menu.root, this.grouping.root, this.views.root,
      this.layout.root, this.exports.menu.root, this.search.root);
    const time = element("section", { class: "card time" }, element("div", { class: "time-title" },
      this.timeName, this.rangeText, this.compare, this.clearRange, this.timeTools), this.timeline.root);
    this.root = element("div", { class: "page" }, this.header.root, this.header.note, toolbar, time,
                        this.busy.root, main, this.banner, this.notice.root, this.help.root);
  }

  // A list of choices is open: redrawing it under the pointer would be rude.
  get choosing(): boolean {
    return [...Object.values(this.selects), this.layout, this.exports.menu, this.requests.menu].some((list) => list.isOpen);
  }

  closeLists(): void {
    for (const list of [...Object.values(this.selects), this.layout, this.exports.menu, this.requests.menu]) list.close();
  }

  // What the state says, as the controls show it.
  setState(state: State, view: View, { groupings, labels }: Answer): void {
    this.requests.set(state.requests, labels);
    this.grouping.set(groupings, state.grouping);
    this.views.choose(view);
    for (const key of ["inverted", "upward", "fold"] as const) this.checks[key].set(state[key]);
  }

  setChoices(answer: Answer, filter: Filter, measure: Measure): void {
    for (const key of ["processes", "threads", ...SOMETIMES] as const) {
      this.selects[key].set(answer[key], answer.more[key], filter[key], measure.short);
    }
    for (const key of SOMETIMES) {
      this.selects[key].root.hidden = answer[key].length === 0 && filter[key].size === 0;
    }
  }

  // `left`: what passes the filter and has no frame that is shown.
  setTimeline(data: TimelineData, range: Range | null, shown: number, left: number): void {
    const { measure } = data;
    this.timeline.set(data, range);
    this.timeName.textContent = `${measure.type.label} ${measure.overTime}`;
    const count = left > 0 ? `${measure.amount(shown)} · ${measure.amount(left)} in hidden frames only`
                           : measure.amount(shown);
    this.rangeText.textContent = range === null ? `${count} · drag to select a time range`
                                                : `${describeRange(data, range)} · ${count}`;
    this.clearRange.hidden = range === null;
  }

  // `before`: the time that the table is compared with; null: it is not. `known`: there are samples
  // of it. `possible`: there may be.
  setCompared(before: Span | null, known: boolean, possible: boolean): void {
    this.compare.hidden = !possible && before === null;
    this.compare.setAttribute("aria-pressed", String(before !== null));
    this.compare.textContent = before === null ? "Compare with before"
      : `${known ? "Compared with" : "No samples of"} ${formatClock(before.fromMs)} – ${formatClock(before.toMs)} ×`;
    this.compare.title = before === null
      ? "What is new, gone, more or less than in the time of equal length right before, in the table"
      : "Compare no more";
  }
}
