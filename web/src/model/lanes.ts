// Who ran when: a lane for each process, and one for each of its threads, with its values over
// time.
import { Profile } from "../data/profile";
import { commandOfKey, Filter, forEachRow, processKey, threadKey } from "./filter";
import { processLabel, threadLabel } from "./names";

export interface Lane {
  label: string;
  process: string;        // keys of the filter
  thread: string;         // "": the lane is a whole process
  sum: number;            // in the chosen time
  // by bucket, whatever time is chosen; buckets without values are absent
  counts: Map<number, number>;
}

// Processes heaviest first, each followed by its threads where it has several.
export function lanesOf(profile: Profile, filter: Filter): Lane[] {
  const { thread, bucket, count } = profile.samples;
  const first = filter.buckets?.first ?? 0;
  const last = filter.buckets?.last ?? Infinity;
  const byProcess = new Map<string, { whole: Lane; threads: Map<string, Lane> }>();
  forEachRow(profile, { ...filter, buckets: null }, (row) => {
    const process = profile.threads.process[thread[row]!]!;
    const key = processKey(profile, process);
    let entry = byProcess.get(key);
    if (entry === undefined) {
      entry = { whole: emptyLane(processLabel(profile, process), key, ""), threads: new Map() };
      byProcess.set(key, entry);
    }
    const own = threadKey(profile, thread[row]!);
    let lane = entry.threads.get(own);
    if (lane === undefined) {
      lane = emptyLane(threadLabel(profile, thread[row]!), key, own);
      entry.threads.set(own, lane);
    }
    const at = bucket[row]!;
    for (const each of [entry.whole, lane]) {
      each.counts.set(at, (each.counts.get(at) ?? 0) + count[row]!);
      if (at >= first && at <= last) each.sum += count[row]!;
    }
  });
  const heaviest = <T>(list: T[], laneOf: (each: T) => Lane) =>
    list.sort((a, b) => laneOf(b).sum - laneOf(a).sum);
  return heaviest([...byProcess.values()], (entry) => entry.whole).flatMap(({ whole, threads }) =>
    threads.size < 2 ? [whole] : [whole, ...heaviest([...threads.values()], (lane) => lane)]);
}

function emptyLane(label: string, process: string, thread: string): Lane {
  return { label, process, thread, sum: 0, counts: new Map() };
}

// Whether the filter keeps any of the lane; a process passes with any of its threads.
export function passesLane({ processes, threads, commands }: Filter, { process, thread }: Lane): boolean {
  if (commands.size > 0 && !commands.has(commandOfKey(process))) return false;
  if (processes.size > 0 && !processes.has(process)) return false;
  if (threads.size === 0) return true;
  return thread !== "" ? threads.has(thread) : [...threads].some((key) => key.startsWith(`${process} `));
}
