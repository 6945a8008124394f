// How much of the values is in which type of frame, for the legend: from the data's own tree, so
// that types whose frames are hidden are counted too.
import { Profile } from "../data/profile";
import { Filter, forEachRow } from "./filter";
import { Functions, kindOf } from "./names";

export interface TypeShare {
  type: string;
  count: number; // leaves of the type; of markers, every stack that has one
}

const MARKER = "abort-marker";

// Values at each node, and of all below it.
function sums(profile: Profile, filter: Filter): { self: Float64Array; total: Float64Array } {
  const self = new Float64Array(profile.nodes.parent.length);
  forEachRow(profile, filter, (row) => {
    self[profile.samples.node[row]!]! += profile.samples.count[row]!;
  });
  const total = self.slice();
  for (let node = total.length - 1; node > 0; node--) total[profile.nodes.parent[node]!]! += total[node]!;
  return { self, total };
}

// Heaviest first; types that only call others have none of their own and come last but for markers.
export function typeShares(profile: Profile, functions: Functions, filter: Filter): TypeShare[] {
  const { self, total } = sums(profile, filter);
  const { parent, frame } = profile.nodes;
  const counts = new Map<string, number>();
  const inMarker = new Uint8Array(parent.length);
  let marked = 0;
  for (let node = 1; node < parent.length; node++) {
    if (total[node] === 0) continue;
    const type = functions.type[functions.ofFrame[frame[node]!]!]!;
    counts.set(type, (counts.get(type) ?? 0) + self[node]!);
    const outer = inMarker[parent[node]!]!;
    if (type === MARKER && outer === 0) marked += total[node]!;
    inMarker[node] = outer === 1 || type === MARKER ? 1 : 0;
  }
  const hasMarker = counts.delete(MARKER);
  const shares = [...counts].map(([type, count]) => ({ type, count })).sort((a, b) => b.count - a.count);
  if (hasMarker) shares.push({ type: MARKER, count: marked });
  return shares;
}

// The types that `only` leaves: markers stay, because they say what is missing.
export function hideAllBut(shares: readonly TypeShare[], only: string): Set<string> {
  return new Set(shares.map((share) => share.type)
    .filter((type) => type !== only && kindOf(type) !== "marker"));
}
