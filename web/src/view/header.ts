// The top line: who was profiled and how good the profile is.
import { Summary } from "../data/sample_types";
import { formatCount, formatDate, formatClock, formatDuration, formatPercent } from "../model/format";
import { isOnCpu } from "../model/measure";
import { Capture } from "../model/captures";
import { Head } from "../model/source";
import { Picker, Segments } from "./controls";
import { element } from "./dom";

interface Fact { label: string; value: string; title: string; warn?: boolean }

export class Header {
  readonly root: HTMLElement;
  private readonly host = element("span", { class: "header-host" });
  private readonly title = element("span", { class: "header-title" });
  readonly tools = element("div", { class: "header-tools" });
  // What is missing, in a sentence; hidden where nothing is.
  readonly note = element("p", { class: "note" });
  private readonly facts = element("dl", { class: "facts" });

  private readonly types: Segments<string>;
  private readonly captures: Picker<string>;
  private offered: ReadonlyMap<string, Capture> = new Map();

  constructor(onType: (type: string) => void, onCapture: (name: string) => void,
              ...tools: HTMLElement[]) {
    this.captures = new Picker<string>("Whose samples", (name) => this.captureText(name), onCapture);
    this.captures.root.classList.add("captures");
    this.captures.root.hidden = true;
    this.types = new Segments<string>("What is measured", [], onType);
    this.types.root.classList.add("types");
    this.types.root.hidden = true;
    const brand = element("span", { class: "brand" }, element("span", { class: "brand-mark" },
      element("i"), element("i"), element("i")), element("span", { class: "brand-name", text: "stackray" }));
    this.root = element("header", { class: "header" }, brand,
      element("div", { class: "header-who" }, this.host, this.title), this.captures.root, this.types.root, this.facts,
      this.tools);
    this.tools.append(...tools);
    this.note.hidden = true;
  }

  setHost(host: string): void {
    this.host.textContent = host;
  }

  // What an agent has captured beside its continuous profile. `chosen`: "" is that profile.
  setCaptures(captures: readonly Capture[], chosen: string): void {
    this.offered = new Map(captures.map((capture) => [capture.name, capture]));
    this.captures.root.hidden = captures.length === 0 && chosen === "";
    this.captures.set(["", ...captures.map(({ name }) => name)], chosen);
    const one = this.offered.get(chosen);
    this.captures.root.title = one === undefined ? "Captures of this host (stackray capture)"
      : `${one.target}, ${one.frequencyHz} Hz, ${formatClock(one.startedMs)}`;
  }

  private captureText(name: string): string {
    if (name === "") return "Continuous profile";
    return `Capture ${name}${this.offered.get(name)?.running === true ? " (running)" : ""}`;
  }

  // What is measured, of which one choice is none; and how good it is.
  setType(profile: Head, chosen: number): void {
    const { types } = profile;
    this.types.root.hidden = types.length < 2;
    this.types.offer(types.map((type) => [type.name, type.label] as const));
    this.types.choose(types[chosen]!.name);
    const { unnamed } = profile.summaries[chosen]!;
    this.note.textContent = [profile.dropped, unnamed ?? ""].join(" ").trim();
    this.note.hidden = this.note.textContent === "";
    this.facts.replaceChildren(...factsOf(profile, chosen).map((fact) => {
      const node = element("div", { class: fact.warn ? "fact warn" : "fact", title: fact.title },
        element("dt", { text: fact.label }), element("dd", { text: fact.value }));
      node.dataset["fact"] = fact.label;
      return node;
    }));
  }

  set(profile: Head): void {
    const span = formatDuration(profile.endMs - profile.startMs);
    this.host.textContent = profile.host || "host";
    // What was recorded, where the title says more than the host's name.
    const recorded = profile.title === profile.host || profile.title === "" ? "" : `${profile.title} · `;
    this.title.textContent = recorded + (profile.startMs > 0
      ? `${formatDate(profile.startMs)} ${formatClock(profile.startMs)} · ${span}` : span);
    this.title.title = this.title.textContent;
    document.title = `${profile.title || profile.host || "profile"} – stackray`;
  }
}

function withoutStack(summary: Summary): string {
  const count = (summary.samples ?? 0) - (summary.user_stacks ?? 0);
  return count > 0 ? `; ${formatCount(count)} samples have no user stack (kernel threads, exec, exit)` : "";
}

function factsOf(profile: Head, type: number): Fact[] {
  const summary = profile.summaries[type]!;
  const facts: Fact[] = [];
  if (profile.frequencyHz > 0 && isOnCpu(profile.types[type]!)) {
    facts.push({ label: "rate", value: `${profile.frequencyHz} Hz`,
                 title: "Samples a second on each CPU" });
  }
  facts.push({ label: "samples", value: formatCount(summary.samples ?? profile.sums[type]!),
               title: "Samples in this profile" });
  if (summary.complete !== undefined && summary.user_stacks !== undefined) {
    facts.push({ label: "complete", value: formatPercent(summary.complete, summary.user_stacks),
      title: `${formatCount(summary.complete)} of ${formatCount(summary.user_stacks)} user stacks ` +
             "were followed to their outermost frame" + withoutStack(summary) });
    if (summary.through_unknown !== undefined && summary.through_unknown > 0) {
      facts.push({ label: "through unknown code",
        value: formatPercent(summary.through_unknown, summary.user_stacks),
        title: `${formatCount(summary.through_unknown)} more user stacks were followed to their outermost frame, ` +
               "but through code of no file ([unknown jit])" });
    }
  }
  if (summary.named_frames !== undefined && summary.frames !== undefined) {
    facts.push({ label: "named", value: formatPercent(summary.named_frames, summary.frames),
      title: `${formatCount(summary.named_frames)} of ${formatCount(summary.frames)} frames have a name` +
             (summary.unnamed === undefined ? "" : `\n${summary.unnamed}`) });
  }
  if (summary.lost !== undefined) {
    facts.push({ label: "lost", value: formatCount(summary.lost), warn: summary.lost > 0,
      title: "Samples that were taken and did not arrive; they show as [lost: …] frames" });
  }
  return facts;
}
