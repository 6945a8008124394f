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

// Heaviest first. Each sample counts once for a line, also where the function recurs.
export function linesOf(profile: Profile, functions: Functions, filter: Filter,
                        hidden: ReadonlySet<string>,
                        item: number): LineRow[] {
  const { nodes, strings, frames, samples } = profile;
  const lines = new Map<string, LineRow>();
  const isHidden = functions.type.map((type) => hidden.has(type));
  if (isHidden[item]) return [];
  const functionOf = (node: number) => functions.ofFrame[nodes.frame[node]!]!;
  forEachRow(profile, filter, (row) => {
    const count = samples.count[row]!;
    const seen = new Set<string>();
    let inner = true; // no shown frame was met yet
    for (let node = samples.node[row]!; node > 0; node = nodes.parent[node]!) {
      const own = functionOf(node);
      if (own === item) {
        const frame = nodes.frame[node]!;
        const key = keyOf(profile, frame);
        let line = lines.get(key);
        if (line === undefined) {
          line = { file: strings[frames.source[frame]!]!, line: frames.line[frame]!, self: 0,
                   total: 0, text: "" };
          lines.set(key, line);
        }
        if (inner) line.self += count;
        if (!seen.has(key)) line.total += count;
        seen.add(key);
      }
      if (!isHidden[own]) inner = false;
    }
  });
  return [...lines.values()].sort((a, b) => b.total - a.total);
}

// Of all functions, in no order.
export function allLines(profile: Profile, functions: Functions, filter: Filter,
                         hidden: ReadonlySet<string>): TopRow[] {
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
    for (let node = samples.node[sample]!; node > 0; node = nodes.parent[node]!) {
      const frame = nodes.frame[node]!;
      if (isHidden[functions.ofFrame[frame]!]) continue;
      const row = (rowOf[frame] ??= find(frame));
      if (seen.size === 0) row.self += count; // the innermost shown frame
      if (seen.has(row)) continue;
      seen.add(row);
      row.total += count;
    }
  });
  return [...rows.values()];
}
