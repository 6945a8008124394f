// The lines of one function, with their own values and with those of what they called.
import { Profile } from "../data/profile";
import { Filter, forEachRow } from "./filter";
import { Functions } from "./names";
import { LineRow } from "./source";
import { TopRow } from "./top";

// By file and line, as a frame has them; frames without any are one line of their own.
function keyOf(profile: Profile, frame: number): string {
  return `${profile.frames.line[frame]} ${profile.frames.source[frame]}`;
}

// Of one function, heaviest first. Each sample counts once for a line, also where it recurs.
export function linesOf(profile: Profile, functions: Functions, filter: Filter,
                        hidden: ReadonlySet<string>, item: number): LineRow[] {
  return allLines(profile, functions, filter, hidden, item)
    .map(({ self, total, place }) => ({ ...place!, self, total, text: "" }))
    .sort((a, b) => b.total - a.total);
}

// Of all functions, or of `only` one, in the order of their first samples.
export function allLines(profile: Profile, functions: Functions, filter: Filter,
                         hidden: ReadonlySet<string>, only?: number): TopRow[] {
  const { nodes, strings, frames, samples } = profile;
  const isHidden = functions.type.map((type) => hidden.has(type));
  const rows = new Map<string, TopRow>();
  const rowOf: (TopRow | undefined)[] = []; // by frame
  const find = (frame: number): TopRow => {
    const item = functions.ofFrame[frame]!;
    const key = `${item} ${keyOf(profile, frame)}`;
    let row = rows.get(key);
    if (row === undefined) {
      const place = { file: strings[frames.source[frame]!]!, line: frames.line[frame]! };
      row = { item, self: 0, total: 0, place };
      rows.set(key, row);
    }
    return row;
  };
  forEachRow(profile, filter, (sample) => {
    const count = samples.count[sample]!;
    const seen = new Set<TopRow>();
    let inner = true; // no shown frame was met yet
    for (let node = samples.node[sample]!; node > 0; node = nodes.parent[node]!) {
      const frame = nodes.frame[node]!;
      const item = functions.ofFrame[frame]!;
      if (isHidden[item]) continue;
      const own = inner;
      inner = false;
      if (only !== undefined && item !== only) continue;
      const row = (rowOf[frame] ??= find(frame));
      if (own) row.self += count;
      if (seen.has(row)) continue;
      seen.add(row);
      row.total += count;
    }
  });
  return [...rows.values()];
}
