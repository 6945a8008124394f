// What the user chose to see, and the sample rows that pass.
import { Profile } from "../data/profile";
import { ThreadLabels } from "./thread_labels";

// What can be chosen from lists: keys, which survive a new profile, where indices do not. An empty
// set means "all"; of requests all chosen ones have to be met (requests.ts).
export const CHOSEN = ["processes", "threads", "waits", "commands", "containers", "services",
                       "cgroups", "users", "requests"] as const;
export type Chosen = Record<typeof CHOSEN[number], ReadonlySet<string>>;
export const NOTHING_CHOSEN = chosenOf(() => new Set());

export function chosenOf(choice: (key: keyof Chosen) => ReadonlySet<string>): Chosen {
  return Object.fromEntries(CHOSEN.map((key) => [key, choice(key)])) as Chosen;
}

export interface Filter extends Chosen {
  type: number; // index into the profile's types: rows of one type at a time
  buckets: { first: number; last: number } | null; // inclusive
}

export const NO_FILTER: Filter = { type: 0, ...NOTHING_CHOSEN, buckets: null };

export function processKey(profile: Profile, process: number): string {
  const { processes, strings } = profile;
  return `${processes.pid[process]} ${strings[processes.command[process]!]}`;
}

export function commandOfKey(process: string): string {
  return process.slice(process.indexOf(" ") + 1);
}

export function threadKey(profile: Profile, thread: number): string {
  const { threads } = profile;
  return `${processKey(profile, threads.process[thread]!)} ${threads.tid[thread]}`;
}

// For each thread: do its samples pass the process and the thread filter?
export function passingThreads(profile: Profile, filter: Filter): Uint8Array {
  const passing = new Uint8Array(profile.threads.tid.length);
  const requests = new ThreadLabels(profile);
  for (let thread = 0; thread < passing.length; thread++) {
    const byProcess = filter.processes.size === 0 ||
      filter.processes.has(processKey(profile, profile.threads.process[thread]!));
    const byThread = filter.threads.size === 0 || filter.threads.has(threadKey(profile, thread));
    passing[thread] = byProcess && byThread && passesGroups(profile, filter, thread) &&
      [...filter.requests].every((request) => requests.has(thread, request)) ? 1 : 0;
  }
  return passing;
}

// The lists of what several processes share, and the columns that say it.
export const GROUP_LISTS = [["commands", "command"], ["containers", "container"],
                            ["services", "service"], ["cgroups", "cgroup"], ["users", "user"]] as const;
export type GroupColumn = typeof GROUP_LISTS[number][1];

function passesGroups({ threads, processes, strings }: Profile, filter: Filter,
                      thread: number): boolean {
  const process = threads.process[thread]!;
  return GROUP_LISTS.every(([list, column]) =>
    filter[list].size === 0 || filter[list].has(strings[processes[column][process]!]!));
}

// The indices of the chosen words.
function passingWaits(profile: Profile, chosen: ReadonlySet<string>): Set<number> {
  const waits = new Set<number>();
  profile.strings.forEach((text, index) => { if (chosen.has(text)) waits.add(index); });
  return waits;
}

// Calls `visit` for each row that passes, in the data's order.
export function forEachRow(profile: Profile, filter: Filter, visit: (row: number) => void): void {
  const { thread, bucket, count, type, wait } = profile.samples;
  const waits = filter.waits.size === 0 ? null : passingWaits(profile, filter.waits);
  const passing = passingThreads(profile, filter);
  const first = filter.buckets?.first ?? 0;
  const last = filter.buckets?.last ?? Infinity;
  for (let row = 0; row < count.length; row++) {
    if (type[row] !== filter.type || passing[thread[row]!] === 0) continue;
    if (waits !== null && !waits.has(wait[row]!)) continue;
    if (bucket[row]! < first || bucket[row]! > last) continue;
    visit(row);
  }
}

export function timelineCounts(profile: Profile, filter: Filter): Float64Array {
  const counts = new Float64Array(profile.bucketCount);
  forEachRow(profile, { ...filter, buckets: null }, (row) => {
    counts[profile.samples.bucket[row]!]! += profile.samples.count[row]!;
  });
  return counts;
}

// Values of each thread within the chosen time, for the lists of choices.
export function countsByThread(profile: Profile, { type, buckets }: Filter): Float64Array {
  const counts = new Float64Array(profile.threads.tid.length);
  forEachRow(profile, { ...NO_FILTER, type, buckets }, (row) => {
    counts[profile.samples.thread[row]!]! += profile.samples.count[row]!;
  });
  return counts;
}
