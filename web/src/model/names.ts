// Functions: what the page adds up by. Frames that differ only in their line are one function.
import { Profile } from "../data/profile";
import { ThreadLabels } from "./thread_labels";

export type Kind = "native" | "inlined" | "kernel" | "marker" | "runtime" | "group";

export interface Functions {
  ofFrame: Int32Array; // frame -> function
  name: string[];
  type: string[];      // as in the data, for example "cpython" or "native+inline"
  file: string[];      // with its line only when all its frames agree
  kind: Kind[];
}

export function kindOf(type: string): Kind {
  if (type.endsWith("+inline")) return "inlined";
  if (type === "native") return "native";
  if (type === "kernel") return "kernel";
  if (type === "abort-marker" || type === "cut") return "marker";
  if (type === "group") return "group"; // a frame outside of the others: what they belong to
  return "runtime";
}

function withoutLine(file: string): string {
  return file.replace(/:\d+(:\d+)?$/, "");
}

export function functionsOf(profile: Profile): Functions {
  const { frames, strings } = profile;
  const result: Functions =
    { ofFrame: new Int32Array(frames.name.length), name: [], type: [], file: [], kind: [] };
  const known = new Map<string, number>();
  for (let frame = 0; frame < frames.name.length; frame++) {
    const file = strings[frames.file[frame]!]!;
    const key = `${frames.name[frame]} ${frames.type[frame]} ${withoutLine(file)}`;
    let index = known.get(key);
    if (index === undefined) {
      index = result.name.length;
      known.set(key, index);
      const type = strings[frames.type[frame]!]!;
      result.name.push(strings[frames.name[frame]!] || "[no name]");
      result.type.push(type);
      result.file.push(file);
      result.kind.push(kindOf(type));
    } else if (result.file[index] !== file) {
      result.file[index] = withoutLine(file);
    }
    result.ofFrame[frame] = index;
  }
  return result;
}

export const GROUPINGS = ["command", "process", "thread", "container", "service",
                          "cgroup", "user", "none"] as const;
export type FixedGrouping = (typeof GROUPINGS)[number];
// By what threads worked on: "trace", "span" or "label:NAME".
export type Grouping = FixedGrouping | "trace" | "span" | `label:${string}`;

const LONGEST_GROUPING = 300;

// undefined: it is none.
export function readGrouping(text: string | null): Grouping | undefined {
  const fixed = GROUPINGS.find((each) => each === text);
  if (fixed !== undefined || text === null) return fixed;
  if (text === "trace" || text === "span") return text;
  return /^label:./.test(text) && text.length <= LONGEST_GROUPING ? (text as Grouping) : undefined;
}

// Those by what samples say of their threads' work. `labels`: its names, trace_id and span_id too.
export function requestGroupings(labels: readonly string[]): Grouping[] {
  return labels.map((name): Grouping =>
    (name === "trace_id" ? "trace" : name === "span_id" ? "span" : `label:${name}`));
}

export interface Groups {
  ofThread: Int32Array; // thread -> group
  label: string[];
}

// The level below the host: what one group stands for is the user's choice.
export function groupsOf(profile: Profile, grouping: Grouping): Groups {
  const { threads } = profile;
  const result: Groups = { ofThread: new Int32Array(threads.tid.length), label: [] };
  const known = new Map<string, number>();
  const labels = new ThreadLabels(profile);
  for (let thread = 0; thread < threads.tid.length; thread++) {
    const label = isFixed(grouping) ? groupLabel(profile, thread, grouping)
                                    : requestLabelOf(labels, thread, grouping);
    let group = known.get(label);
    if (group === undefined) {
      group = result.label.push(label) - 1;
      known.set(label, group);
    }
    result.ofThread[thread] = group;
  }
  return result;
}

function isFixed(grouping: Grouping): grouping is FixedGrouping {
  return GROUPINGS.some((each) => each === grouping);
}

// As SampleGrouping names groups: "route=/item/3", "[no route]".
function requestLabelOf(labels: ThreadLabels, thread: number, grouping: Grouping): string {
  const name = grouping.replace(/^label:/, "");
  const key = grouping === "trace" || grouping === "span" ? `${grouping}_id` : name;
  const text = labels.text(thread, key);
  return text === "" ? `[no ${name}]` : `${name}=${text}`;
}

function groupLabel(profile: Profile, thread: number, grouping: FixedGrouping): string {
  const { threads, processes, strings } = profile;
  const process = threads.process[thread]!;
  switch (grouping) {
    case "command": return commandLabel(profile, process);
    case "process": return processLabel(profile, process);
    case "thread": return `${threadLabel(profile, thread)} of ${processLabel(profile, process)}`;
    case "container": return strings[processes.container[process]!]!.slice(0, 12) || "[no container]";
    case "service": return strings[processes.service[process]!]! || "[no service]";
    case "cgroup": return strings[processes.cgroup[process]!]! || "[no cgroup]";
    case "user": return strings[processes.user[process]!]! || "[no user]";
    case "none": return "";
  }
}

function isShared(grouping: Grouping): grouping is "container" | "service" | "cgroup" | "user" {
  return ["container", "service", "cgroup", "user"].includes(grouping);
}

// The groupings that tell something of this profile's processes.
export function groupingsOf(profile: Profile): Grouping[] {
  const { processes } = profile;
  return [...GROUPINGS.filter((grouping) => !isShared(grouping) ||
                                            processes[grouping].some((text) => text > 0)),
          ...requestGroupings(new ThreadLabels(profile).names)];
}

// Process 0 stands for the host itself: it carries what was lost.
function commandLabel(profile: Profile, process: number): string {
  const { processes, strings } = profile;
  return strings[processes.command[process]!] ||
    (processes.pid[process] === 0 ? "[host]" : "[no name]");
}

export function processLabel(profile: Profile, process: number): string {
  const pid = profile.processes.pid[process]!;
  const command = commandLabel(profile, process);
  if (pid > 0) return `${command} (${pid})`;
  // Of pid 0: the host itself, or with a command all of its processes that have few samples.
  return profile.processes.command[process]! > 0 ? `${command} (others)` : command;
}

export function threadLabel(profile: Profile, thread: number): string {
  const tid = profile.threads.tid[thread]!;
  return tid === 0 ? "whole process" : `${profile.strings[profile.threads.name[thread]!] || "[no name]"} (${tid})`;
}

export function functionKey(functions: Functions, item: number): string {
  return `${functions.type[item]} ${functions.name[item]} ${withoutLine(functions.file[item]!)}`;
}
