// What the process and the thread list offer, with samples in the chosen time.
import { Profile } from "../data/profile";
import { countsByThread, Filter, forEachRow, GroupColumn, processKey, threadKey } from "./filter";
import { formatCount } from "./format";
import { processLabel, threadLabel } from "./names";

export interface Choice {
  key: string;
  label: string;
  note: string;
  count: number;
}

// Two executables in turn under one pid and command share a key, so they share a line.
function add(choices: Map<string, Choice>, choice: Choice): void {
  const known = choices.get(choice.key);
  if (known === undefined) choices.set(choice.key, choice);
  else known.count += choice.count;
}

export function processChoices(profile: Profile, filter: Filter): Choice[] {
  const { threads, processes, strings } = profile;
  const counts = countsByThread(profile, filter);
  const choices = new Map<string, Choice>();
  for (let thread = 0; thread < counts.length; thread++) {
    const process = threads.process[thread]!;
    const container = strings[processes.container[process]!]!;
    const executable = strings[processes.executable[process]!]!;
    add(choices, {
      key: processKey(profile, process), label: processLabel(profile, process),
      note: container === "" ? executable : `${executable} in container ${container.slice(0, 12)}`,
      count: counts[thread]!,
    });
  }
  return [...choices.values()];
}

export function threadChoices(profile: Profile, filter: Filter): Choice[] {
  const { threads } = profile;
  const counts = countsByThread(profile, filter);
  const choices = new Map<string, Choice>();
  for (let thread = 0; thread < counts.length; thread++) {
    const process = threads.process[thread]!;
    if (filter.processes.size > 0 && !filter.processes.has(processKey(profile, process))) continue;
    add(choices, {
      key: threadKey(profile, thread),
      label: threads.tid[thread] === 0 ? `whole process ${processLabel(profile, process)}`
                                       : threadLabel(profile, thread),
      note: `of ${processLabel(profile, process)}`,
      count: counts[thread]!,
    });
  }
  return [...choices.values()];
}

// The containers, services … of the processes; empty where there is no more than one.
export function groupChoices(profile: Profile, filter: Filter,
                             grouping: GroupColumn): Choice[] {
  const { threads, processes, strings } = profile;
  const counts = countsByThread(profile, filter);
  const choices = new Map<string, Choice>();
  for (let thread = 0; thread < counts.length; thread++) {
    const key = strings[processes[grouping][threads.process[thread]!]!]!;
    if (counts[thread]! > 0) add(choices, { key, label: key, note: "", count: counts[thread]! });
  }
  return choices.size < 2 ? [] : [...choices.values()];
}

// Where a command has several processes; else the list of processes says it all.
export function commandChoices(profile: Profile, filter: Filter, processes: Choice[]): Choice[] {
  const choices = groupChoices(profile, filter, "command");
  return choices.length < processes.filter(({ count }) => count > 0).length ? choices : [];
}

const WAITS: Record<string, [string, string]> = {
  blocked: ["Blocked", "Waiting for something to happen: I/O, a lock, a timer"],
  run_queue: ["Run queue", "Able to run, and waiting for a CPU"],
  preempted: ["Preempted", "Running until another thread took its CPU"],
};

export function waitChoice(key: string): Choice {
  const [label, note] = WAITS[key] ?? [key.replaceAll("_", " ") || "Unknown", ""];
  return { key, label, note, count: 0 };
}

// What the samples waited for; empty where the type knows no such thing.
export function waitChoices(profile: Profile, filter: Filter): Choice[] {
  const choices = new Map<string, Choice>();
  let known = false;
  forEachRow(profile, { ...filter, waits: new Set() }, (row) => {
    const key = profile.strings[profile.samples.wait[row]!]!;
    known ||= key !== "";
    add(choices, { ...waitChoice(key), count: profile.samples.count[row]! });
  });
  return known ? [...choices.values()] : [];
}

export interface Listed {
  many: string;      // the noun
  listed: number;    // choices that the list has
  left: number;      // of which there are more, with fewer samples
  searched: boolean; // something is typed
  passing: number;   // of the list's, those that match it
  shown: number;     // of those, the ones on the screen
}

// What a list says below its choices. Those that it lacks were not searched.
export function unlistedText({ many, listed, left, searched, passing, shown }: Listed): string[] {
  const more = passing - shown;
  if (!searched) {
    if (more > 0) return [`${formatCount(more + left)} more: type to narrow the list`];
    if (left > 0) return [`${formatCount(left)} more ${many} with fewer samples`];
    return passing === 0 ? ["Nothing found"] : [];
  }
  const texts = more > 0 ? [`${formatCount(more)} more match: type more to narrow the list`] : [];
  if (passing === 0) texts.push("Nothing found");
  if (left > 0) {
    texts.push(`Searched the ${formatCount(listed)} ${many} with the most samples; ` +
               `${formatCount(left)} others are not in this list`);
  }
  return texts;
}
