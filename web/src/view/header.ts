// The top line: who was profiled and how good the profile is.
import { Profile, Summary } from "../data/profile";
import { formatCount, formatDate, formatClock, formatDuration, formatPercent } from "../model/format";
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

  constructor(...tools: HTMLElement[]) {
    const brand = element("span", { class: "brand" }, element("span", { class: "brand-mark" },
      element("i"), element("i"), element("i")), element("span", { class: "brand-name", text: "stackray" }));
    this.root = element("header", { class: "header" }, brand,
      element("div", { class: "header-who" }, this.host, this.title), this.facts,
      this.tools);
    this.tools.append(...tools);
    this.note.hidden = true;
  }

  setHost(host: string): void {
    this.host.textContent = host;
  }

  set(profile: Profile): void {
    const span = formatDuration(profile.endMs - profile.startMs);
    this.host.textContent = profile.host || "host";
    this.title.textContent = profile.startMs > 0
      ? `${formatDate(profile.startMs)} ${formatClock(profile.startMs)} · ${span}` : span;
    this.title.title = profile.title;
    document.title = `${profile.title || profile.host || "profile"} – stackray`;
    this.note.textContent = profile.summary.unnamed ?? "";
    this.note.hidden = profile.summary.unnamed === undefined;
    this.facts.replaceChildren(...factsOf(profile).map((fact) => {
      const node = element("div", { class: fact.warn ? "fact warn" : "fact", title: fact.title },
        element("dt", { text: fact.label }), element("dd", { text: fact.value }));
      node.dataset["fact"] = fact.label;
      return node;
    }));
  }
}

function withoutStack(summary: Summary): string {
  const count = (summary.samples ?? 0) - (summary.user_stacks ?? 0);
  return count > 0 ? `; ${formatCount(count)} samples have no user stack (kernel threads, exec, exit)` : "";
}

function factsOf(profile: Profile): Fact[] {
  const { summary } = profile;
  const facts: Fact[] = [];
  if (profile.frequencyHz > 0) {
    facts.push({ label: "rate", value: `${profile.frequencyHz} Hz`,
                 title: "Samples a second on each CPU" });
  }
  facts.push({ label: "samples", value: formatCount(summary.samples ?? profile.sampleCount),
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
