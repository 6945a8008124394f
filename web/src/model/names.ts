// Functions: what the page adds up by. Frames that differ only in their line are one function.
import { Profile } from "../data/profile";

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

export type Grouping = "command" | "process";

export interface Groups {
  ofProcess: Int32Array; // process -> group
  label: string[];
}

// The level below the host: one group a command, or one a process.
export function groupsOf(profile: Profile, grouping: Grouping): Groups {
  const { processes } = profile;
  const result: Groups = { ofProcess: new Int32Array(processes.pid.length), label: [] };
  const known = new Map<string, number>();
  for (let process = 0; process < processes.pid.length; process++) {
    const label = grouping === "command" ? commandLabel(profile, process)
                                         : processLabel(profile, process);
    let group = known.get(label);
    if (group === undefined) {
      group = result.label.push(label) - 1;
      known.set(label, group);
    }
    result.ofProcess[process] = group;
  }
  return result;
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
