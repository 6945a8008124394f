// What the process and the thread list offer, with samples in the chosen time.
import { Profile } from "../data/profile";
import { countsByThread, Filter, processKey, threadKey } from "./filter";
import { processLabel } from "./names";

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
  const counts = countsByThread(profile, filter.buckets);
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
  const { threads, strings } = profile;
  const counts = countsByThread(profile, filter.buckets);
  const choices = new Map<string, Choice>();
  for (let thread = 0; thread < counts.length; thread++) {
    const process = threads.process[thread]!;
    if (filter.processes.size > 0 && !filter.processes.has(processKey(profile, process))) continue;
    const tid = threads.tid[thread]!;
    const name = strings[threads.name[thread]!] || "[no name]";
    add(choices, {
      key: threadKey(profile, thread),
      label: tid === 0 ? `whole process ${processLabel(profile, process)}` : `${name} (${tid})`,
      note: `of ${processLabel(profile, process)}`,
      count: counts[thread]!,
    });
  }
  return [...choices.values()];
}
