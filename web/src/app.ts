// Holds what the user chose and redraws what depends on it: state -> question -> answer -> panes.
import { Asker, Asking, Shower } from "./asking";
import { Original } from "./data/page_file";
import { Profile } from "./data/profile";
import { ServerSource } from "./live/server_source";
import { CHOSEN, Filter, NOTHING_CHOSEN } from "./model/filter";
import { Lane, passesLane } from "./model/lanes";
import { Measure, measureOf } from "./model/measure";
import { functionKey } from "./model/names";
import { spanBefore } from "./model/change";
import { findPath, pathKey, textKey } from "./model/path";
import { Search } from "./model/search";
import { Answer, DocumentSource, Head } from "./model/source";
import { chosenSpan, filterOf, Span, spanOf, State, View, writeSaved, writeState }
  from "./model/state";
import { TopRow } from "./model/top";
import { Address } from "./view/address";
import { Busy } from "./view/busy";
import { copyText } from "./view/dom";
import { Format } from "./view/export_menu";
import { Command, listenToKeys } from "./view/keys";
import { Panes } from "./view/panes";
import { Shell } from "./view/shell";
import { exportFile, STACK_FORMATS } from "./export";


// What an answer depends on; all else only changes how it is shown.
const ASKED = ["type", "grouping", "inverted", "fold", "lines", "before", "hidden", ...CHOSEN,
               "range", "callers"] as const;
// Of a source that answers with what is to be seen alone, also these.
const ASKED_OF_PARTS = ["zoom", "query"] as const;
const TYPING_MS = 150; // what is typed is asked for when the user stops for a moment

export class App implements Asker {
  readonly shell: Shell;
  state: State;
  private readonly address: Address;
  private readonly panes: Panes;
  private readonly asking = new Asking(this);
  private typing = 0;
  private zoom = 0;
  private readonly search = new Search();
  private brushing = false;
  // A live page keeps to the time that it shows while something is looked at.
  live = false;
  // Told whenever something that holds the live page may have changed, and when the address says
  // another time.
  onInspect: () => void = () => undefined;
  onTime: () => void = () => undefined;
  // Told when a question was not answered.
  onTrouble: (reason: string) => void = () => undefined;

  // `saved`: the choices that a file was saved with, in the words of an address.
  constructor(saved: string) {
    this.address = new Address(saved, (state) => this.goBack(state));
    this.state = this.address.read();
    this.panes = new Panes({
      onZoom: (node) => this.setZoom(node),
      onSandwich: (item) =>
        this.change({ callers: textKey(functionKey(this.answer!.functions, item)) }),
      onCloseSandwich: () => this.change({ callers: "" }),
      onFind: (item) => this.findInGraph(item),
      onHide: (hidden) => this.change({ hidden }),
      onLane: (lane) => this.pickLane(lane),
      onMore: (order, all) => this.asking.wantRows(order, all),
      onLines: (lines) => this.change({ lines }),
    });
    this.shell = new Shell(this.panes.root, {
      onChange: (change) => this.change(change),
      onCompare: () => this.compareWithBefore(),
      onRange: (buckets, small) => this.change(
        { range: buckets === null ? null : spanOf(buckets, this.answer!.head) }, small),
      onBrushing: (busy) => { this.brushing = busy; this.onInspect(); },
      onQuery: (query) => this.change({ query }, true),
      onStep: (step) => this.stepMatch(step),
      onTheme: () => this.show(),
      onExport: (format) => this.export(format),
      linkOf: () => this.link(),
      onCancel: () => this.cancel(),
      onProgress: () => this.asking.source?.progress?.() ?? Promise.resolve(null),
      onCapture: (capture) => {
        this.change({ capture, callers: "", zoom: "", range: null, at: null });
        this.onTime();
      },
    });
    listenToKeys((command) => this.run(command));
  }

  // Why a live page should keep what it shows; empty: it need not.
  get inspecting(): string {
    if (this.state.at !== null) return "the address names this time";
    if (this.looking !== "") return this.looking;
    if (this.brushing) return "a time range is selected";
    return this.shell.choosing ? "a list is open" : "";
  }

  // What of this is a choice, so that a link has to show it.
  private get looking(): string {
    if (this.state.callers !== "") return "callers and callees are open";
    if (this.state.zoom !== "") return "zoomed in";
    return this.state.range !== null ? "a time range is selected" : "";
  }

  // The pointer is on its way to something in the graph or the table.
  get aiming(): boolean {
    return this.panes.aim.isOn;
  }

  private get answer(): Answer | null {
    return this.asking.answer;
  }

  get lanes(): boolean {
    return this.view === "time";
  }

  get width(): number {
    return this.panes.width;
  }

  get busy(): Busy {
    return this.shell.busy;
  }

  get hasProfile(): boolean {
    return this.answer !== null;
  }

  private get view(): View {
    return this.state.view !== "" ? this.state.view : window.innerWidth >= 1500 ? "both" : "flame";
  }

  private get filter(): Filter {
    return filterOf(this.state, this.answer!.head);
  }

  private get measure(): Measure {
    const { types, frequencyHz } = this.answer!.head;
    return measureOf(types[this.filter.type]!, frequencyHz);
  }

  // Of a page with its data in it.
  setProfile(profile: Profile, original: Original): void {
    this.asking.source = new DocumentSource(profile, original);
    if (filterOf(this.state, profile).buckets === null) this.state = { ...this.state, range: null };
    void this.asking.ask();
  }

  // Asks the agent for a time; what is given back shows the answer, or drops it.
  load(source: ServerSource, span: Span, wanted: boolean): Promise<Shower> {
    return this.asking.load(source, span, wanted);
  }

  showEmpty(title: string, text: string): void {
    this.panes.showNothing();
    this.panes.empty.show(title, text);
  }

  // Back to everything, as a live page needs to go on.
  release(): void {
    this.change({ callers: "", zoom: "", range: null, at: null });
  }

  // `small`: one of many changes, no step of its own for Back.
  change(change: Partial<State>, small = false): void {
    const before = this.state;
    this.state = { ...before, ...change };
    if (change.inverted !== undefined) this.state.zoom = "";
    if (small) this.address.replace(this.shared());
    else this.address.push(this.shared());
    this.redraw(before);
  }

  // The state as the address has it: what a live page shows has a place in time.
  private shared(): State {
    if (!this.live || this.answer === null) return this.state;
    if (this.state.at !== null || this.looking === "") return this.state;
    if (this.state.capture !== "") return this.state; // which has its own time
    const { startMs, endMs } = this.answer.head;
    const at: Span = { fromMs: startMs, toMs: endMs };
    return { ...this.state, at: at.fromMs < at.toMs ? at : null };
  }

  // Of a page that a server has, also with the time that is shown.
  private link(): string {
    if (!location.protocol.startsWith("http")) return "";
    const shown = this.answer?.head;
    const fixed = !this.live || this.state.at !== null || this.state.capture !== "" || shown === undefined;
    const at = fixed ? this.state.at : { fromMs: shown.startMs, toMs: shown.endMs };
    return `${location.origin}${location.pathname}#${writeState({ ...this.state, at })}`;
  }

  private goBack(state: State): void {
    const before = this.state;
    this.state = state;
    const { at, windowMs } = before;
    this.redraw(before);
    if (before.capture !== state.capture || at?.fromMs !== state.at?.fromMs || at?.toMs !== state.at?.toMs || windowMs !== state.windowMs) this.onTime();
  }

  private redraw(before: State): void {
    const changed = (key: keyof State) => this.state[key] !== before[key];
    const lanesWanted = this.view === "time" && this.answer?.lanes.length === 0;
    const parts = this.asking.partial && ASKED_OF_PARTS.some(changed);
    if (ASKED.some(changed) || lanesWanted || parts) {
      if (!changed("query")) this.asking.forgetRows();
      clearTimeout(this.typing);
      const onlyTyped = changed("query") && !ASKED.some(changed);
      if (onlyTyped) this.typing = window.setTimeout(() => void this.asking.ask(), TYPING_MS);
      else void this.asking.ask();
    }
    if (this.answer !== null && !ASKED.some(changed)) {
      this.findZoom();
      this.show();
    }
    this.onInspect();
  }

  onAnswer(): void {
    this.shell.header.set(this.answer!.head);
    this.findZoom();
    this.show();
  }

  // Back to what is shown, because the user does not wait for the answer, or there is none.
  cancel(): void {
    const { answered } = this.asking;
    this.asking.cancel();
    if (answered === null || this.answer === null) return;
    this.state = answered;
    this.address.replace(this.shared());
    this.findZoom();
    this.show();
    this.onInspect();
  }

  // A frame that this tree lacks is no longer zoomed to.
  private findZoom(): void {
    if (this.answer === null) return;
    this.zoom = findPath(this.answer.tree, this.state.zoom);
    if (this.zoom === 0 && this.state.zoom !== "") this.state = { ...this.state, zoom: "" };
  }

  private show(): void {
    const { answer, state } = this;
    if (answer === null) return;
    const { filter, measure } = this;
    const { head } = answer;
    this.shell.setState(state, this.view, answer);
    this.shell.header.setType(head, filter.type);
    this.shell.setChoices(answer, filter, measure);
    const { startMs, bucketMs, cpus } = head;
    const total = answer.tree.total[0]!;
    this.shell.setTimeline({ startMs, bucketMs, counts: answer.timeline, measure, cpus }, filter.buckets, total,
                           answer.passing - total);
    this.shell.setCompared(state.before ? spanBefore(chosenSpan(state, head)) : null,
                           answer.top.some(({ change }) => change !== undefined),
                           startMs > 0 && (this.asking.partial || state.range !== null));
    if (total <= 0) {
      this.showNoSamples(head, answer);
      return;
    }
    this.panes.empty.hide();
    const { search } = this;
    search.look(state.query, answer.tree);
    const matched = this.asking.answered?.query === state.query ? answer.matched : null;
    this.shell.search.set(state.query, search.error || search.result(measure, matched),
                          search.error !== "");
    this.panes.show({
      tree: answer.tree, zoom: this.zoom, matching: search.matching, view: this.view, upward: state.upward,
      dark: this.shell.theme.dark, ...this.tableRows(answer), measure,
      shares: answer.shares, passing: answer.passing, hidden: state.hidden,
      sandwich: state.callers === "" ? null : answer.sandwich,
      lanes: { lanes: answer.lanes, startMs, bucketMs, bucketCount: answer.timeline.length,
        buckets: filter.buckets, measure,
        passes: (lane) => passesLane(filter, lane) },
    });
  }

  // What changed stands in the table, which is then shown.
  private compareWithBefore(): void {
    const before = !this.state.before;
    const hasTable = this.view === "table" || this.view === "both";
    this.change({ before, view: before && !hasTable ? "table" : this.state.view });
  }

  private tableRows(answer: Answer): { lines: boolean; top: TopRow[]; topCount: number } {
    const { lines } = answer;
    return this.state.lines && lines !== null
      ? { lines: true, top: lines.rows, topCount: lines.count }
      : { lines: false, top: answer.top, topCount: answer.topCount };
  }

  private showNoSamples(head: Head, answer: Answer): void {
    this.panes.showNothing();
    if (answer.passing > 0) {
      this.panes.showLegend(answer.shares, this.state.hidden, answer.passing, this.shell.theme.dark);
    }
    this.panes.empty.showFor(head, this.filter.type, answer.passing, {
      types: () => this.change({ hidden: new Set() }),
      everything: () => this.change({ ...NOTHING_CHOSEN, hidden: new Set(), callers: "", zoom: "",
                                      range: null }),
    });
  }

  private stepMatch(step: 1 | -1): void {
    const node = this.search.step(step);
    if (node === 0) return;
    const view = this.view === "table" ? "flame" : this.view;
    this.change({ view, callers: "", zoom: pathKey(this.answer!.tree, node) });
  }

  // From the table to the function's heaviest frame.
  private findInGraph(item: number): void {
    const { tree } = this.answer!;
    let best = 0;
    for (let node = 1; node < tree.item.length; node++) {
      if (tree.item[node] === item && (best === 0 || tree.total[node]! > tree.total[best]!)) best = node;
    }
    this.change({ view: this.view === "table" ? "flame" : this.view, callers: "", zoom: pathKey(tree, best) });
  }

  private pickLane(lane: Lane): void {
    const { processes, threads } = this.state;
    const chosen = lane.thread === "" ? processes.has(lane.process) : threads.has(lane.thread);
    const none = new Set<string>();
    if (lane.thread === "") this.change({ processes: chosen ? none : new Set([lane.process]), threads: none });
    else this.change({ threads: chosen ? none : new Set([lane.thread]) });
  }

  private setZoom(node: number): void {
    if (this.answer === null) return;
    this.zoom = node;
    this.state = { ...this.state, zoom: pathKey(this.answer.tree, node) };
    if (node === 0) this.panes.flame.zoomTo(0);
    this.panes.setZoom(node);
    this.address.push(this.shared());
    this.asking.zoomedAt = performance.now();
    if (this.asking.partial) void this.asking.ask();
    this.onInspect();
  }

  // Files for other programs hold every frame, pictures what can be seen.
  private async export(format: Format): Promise<{ name: string; blob: Blob }> {
    const { answer, state } = this;
    const { source } = this.asking;
    if (source === null || answer === null) throw new Error("nothing is shown yet");
    const measure = this.measure;
    const whole = source.partial && STACK_FORMATS.has(format)
      ? await source.ask(this.asking.question({ width: 0, rows: 0 }), new AbortController().signal)
      : answer;
    return exportFile(format, {
      profile: answer.head, tree: whole.tree, zoom: findPath(whole.tree, state.zoom), measure,
      upward: state.upward, dark: this.shell.theme.dark, original: () => source.original(),
      view: writeSaved(state, source.partial) });
  }

  // False: the key means something else here.
  private run(command: Command): boolean {
    if (command === "escape") return this.escape();
    if (this.shell.help.isOpen || this.shell.choosing) return false;
    if (command === "help") this.shell.help.open();
    else if (command === "search") {
      this.shell.search.input.focus();
      this.shell.search.input.select();
    } else if (command === "next" || command === "previous") this.stepMatch(command === "next" ? 1 : -1);
    else if (command === "invert") this.change({ inverted: !this.state.inverted });
    else if (command === "upward") this.change({ upward: !this.state.upward });
    else if (command === "fold") this.change({ fold: !this.state.fold });
    else if (command === "callers" || command === "copy") return this.runOnSelected(command);
    else this.change({ view: command, callers: "" });
    return true;
  }

  private runOnSelected(command: "callers" | "copy"): boolean {
    const selected = this.panes.selected;
    if (selected === null) return false;
    const item = selected.tree.item[selected.node]!;
    if (command === "copy") void this.copyName(selected.tree.label(selected.node));
    else if (item >= 0) this.change({ callers: textKey(functionKey(selected.tree.functions, item)) });
    return true;
  }

  private async copyName(name: string): Promise<void> {
    this.shell.notice.say((await copyText(name)) ? "Name copied" : "This browser does not let pages copy");
  }

  // One step back at each press: what is open, callers and callees, zoom, search, time range.
  private escape(): boolean {
    if (this.shell.help.isOpen) return false; // the box closes itself
    if (this.shell.busy.running && this.answer !== null) {
      this.cancel();
      return true;
    }
    if (this.shell.choosing) {
      this.shell.closeLists();
      return true;
    }
    this.shell.search.input.blur();
    if (this.state.callers !== "") this.change({ callers: "" });
    else if (this.zoom > 0) this.setZoom(0);
    else if (this.state.query !== "") this.change({ query: "" });
    else if (this.state.range !== null) this.change({ range: null });
    return true;
  }
}
