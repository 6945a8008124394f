// Holds what the user chose and redraws what depends on it: profile + filter -> tree -> panes.
import { Profile } from "./data/profile";
import { buildHostTree } from "./model/aggregate";
import { Filter, NO_FILTER, timelineCounts } from "./model/filter";
import { formatCount, formatPercent } from "./model/format";
import { Functions, functionsOf, Grouping } from "./model/names";
import { findPath, pathTo } from "./model/path";
import { sandwich } from "./model/sandwich";
import { matchedSamples, matchingFunctions } from "./model/search";
import { topFunctions } from "./model/top";
import { Tree } from "./model/tree";
import { processChoices, threadChoices } from "./model/choices";
import { Panes, View } from "./view/panes";
import { Shell } from "./view/shell";

export class App {
  readonly shell: Shell;
  private readonly panes: Panes;
  private profile: Profile | null = null;
  private functions: Functions | null = null;
  private tree: Tree | null = null;
  private filter: Filter = NO_FILTER;
  private grouping: Grouping = "command";
  private view: View;
  private fold = false;
  private query = "";
  private zoom = 0;
  private sandwichItem: number | null = null;
  private brushing = false;
  // Told whenever something that holds the live page may have changed.
  onInspect: () => void = () => undefined;

  constructor() {
    this.view = window.innerWidth >= 1500 ? "both" : "flame";
    this.panes = new Panes({
      onZoom: (node) => this.setZoom(node),
      onSandwich: (item) => this.openSandwich(item),
      onCloseSandwich: () => this.closeSandwich(),
    });
    this.shell = new Shell(this.panes.root, this.view, {
      onProcesses: (processes) => this.setFilter({ processes, threads: new Set() }),
      onThreads: (threads) => this.setFilter({ threads }),
      onRange: (buckets) => this.setFilter({ buckets }),
      onBrushing: (busy) => { this.brushing = busy; this.onInspect(); },
      onGrouping: (grouping) => { this.grouping = grouping; this.rebuild(); },
      onFold: (fold) => { this.fold = fold; this.rebuild(); },
      onView: (view) => { this.view = view; this.sandwichItem = null; this.show(); this.onInspect(); },
      onQuery: (query) => { this.query = query; this.show(); },
      onTheme: () => this.show(),
      onEscape: () => this.escape(),
    });
  }

  // Why a live page should keep what it shows; empty: it need not.
  get inspecting(): string {
    if (this.sandwichItem !== null) return "callers and callees are open";
    if (this.zoom > 0) return "zoomed in";
    if (this.filter.buckets !== null || this.brushing) return "a time range is selected";
    return this.shell.choosing ? "a list is open" : "";
  }

  get hasProfile(): boolean {
    return this.profile !== null;
  }

  setProfile(profile: Profile): void {
    this.profile = profile;
    this.functions = functionsOf(profile);
    this.sandwichItem = null;
    if (this.filter.buckets !== null && this.filter.buckets.last >= profile.bucketCount) {
      this.filter = { ...this.filter, buckets: null };
    }
    this.shell.header.set(profile);
    this.rebuild();
  }

  showEmpty(title: string, text: string): void {
    this.panes.showNothing();
    this.panes.empty.show(title, text);
  }

  // Back to everything, as a live page needs to go on.
  release(): void {
    this.sandwichItem = null;
    this.zoom = 0;
    this.filter = { ...this.filter, buckets: null };
    this.rebuild();
  }

  private setFilter(change: Partial<Filter>): void {
    this.filter = { ...this.filter, ...change };
    this.rebuild();
    this.onInspect();
  }

  private rebuild(): void {
    if (this.profile === null || this.functions === null) return;
    const { profile, functions, filter } = this;
    const path = this.tree !== null ? pathTo(this.tree, this.zoom) : [];
    this.tree = buildHostTree(profile, functions, filter, this.grouping, this.fold);
    this.zoom = findPath(this.tree, path);
    this.shell.setChoices(processChoices(profile, filter), threadChoices(profile, filter), filter);
    this.shell.setTimeline({
      startMs: profile.startMs, bucketMs: profile.bucketMs,
      counts: timelineCounts(profile, filter),
    }, filter.buckets, this.tree.total[0]!);
    this.show();
  }

  private show(): void {
    const { tree, functions, profile } = this;
    if (tree === null || functions === null || profile === null) return;
    if (tree.total[0]! <= 0) {
      this.showNoSamples(profile);
      return;
    }
    this.panes.empty.hide();
    const matching = matchingFunctions(functions, this.query);
    this.shell.search.set(this.query, this.searchResult(tree, matching));
    this.panes.show({
      tree, zoom: this.zoom, matching, view: this.view, dark: this.shell.theme.dark,
      top: topFunctions(tree), frequencyHz: profile.frequencyHz,
      sandwich: this.sandwichItem === null ? null
        : { item: this.sandwichItem, trees: sandwich(tree, this.sandwichItem) },
    });
  }

  private showNoSamples(profile: Profile): void {
    this.panes.showNothing();
    if (profile.sampleCount > 0) {
      this.panes.empty.show("No samples in this selection",
        "Nothing passes the chosen processes, threads and time range together.",
        { label: "Show everything", run: () => {
          this.filter = NO_FILTER;
          this.release();
          this.onInspect();
        } });
    } else {
      this.panes.empty.show(profile.title === "" ? "No samples" : `No samples of ${profile.title}`,
        profile.note !== "" ? `In this recording ${profile.note}`
          : "Nothing used a CPU in this time, or what was profiled ended before the first sample.");
    }
  }

  private searchResult(tree: Tree, matching: Uint8Array | null): string {
    if (matching === null) return "";
    const count = matchedSamples(tree, matching);
    return count === 0 ? "no match"
      : `${formatPercent(count, tree.total[0]!)} matched (${formatCount(count)})`;
  }

  private setZoom(node: number): void {
    this.zoom = node;
    if (node === 0) this.panes.flame.zoomTo(0);
    this.panes.setZoom(node);
    this.onInspect();
  }

  private openSandwich(item: number): void {
    this.sandwichItem = item;
    this.show();
    this.onInspect();
  }

  private closeSandwich(): void {
    this.sandwichItem = null;
    this.show();
    this.onInspect();
  }

  // One step back at each press: callers and callees, zoom, search, time range.
  private escape(): void {
    if (this.sandwichItem !== null) this.closeSandwich();
    else if (this.zoom > 0) this.setZoom(0);
    else if (this.query !== "") {
      this.query = "";
      this.show();
    } else if (this.filter.buckets !== null) this.setFilter({ buckets: null });
  }
}
