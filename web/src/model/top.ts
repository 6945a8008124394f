// Sums by function over a tree: the table of functions, and the shares by type of frame.
import { Tree } from "./tree";

export interface TopRow {
  item: number;  // function
  self: number;
  total: number; // each sample once, however often the function recurs in its stack
}

export function topFunctions(tree: Tree): TopRow[] {
  const count = tree.functions.name.length;
  const self = new Float64Array(count);
  const total = new Float64Array(count);
  // The subtree in which a function already counted ends here.
  const countedUntil = new Int32Array(count);
  for (let node = 0; node < tree.item.length; node++) {
    const item = tree.item[node]!;
    if (item < 0) continue;
    self[item]! += tree.self[node]!;
    if (node < countedUntil[item]!) continue;
    countedUntil[item] = tree.end[node]!;
    total[item]! += tree.total[node]!;
  }
  const rows: TopRow[] = [];
  for (let item = 0; item < count; item++) {
    if (total[item]! > 0) rows.push({ item, self: self[item]!, total: total[item]! });
  }
  return rows;
}

// Samples with at least one frame of the type; each counts once.
export function samplesWithType(tree: Tree, type: string): number {
  let sum = 0;
  for (let node = 0; node < tree.item.length;) {
    const item = tree.item[node]!;
    const hit = item >= 0 && tree.functions.type[item] === type;
    if (hit) sum += tree.total[node]!;
    node = hit ? tree.end[node]! : node + 1;
  }
  return sum;
}

// Samples by the type of their leaf frame, heaviest first.
export function sharesByType(tree: Tree): { type: string; count: number }[] {
  const counts = new Map<string, number>();
  for (let node = 0; node < tree.item.length; node++) {
    const item = tree.item[node]!;
    if (item < 0 || tree.self[node] === 0) continue;
    const type = tree.functions.type[item]!;
    counts.set(type, (counts.get(type) ?? 0) + tree.self[node]!);
  }
  return [...counts].map(([type, count]) => ({ type, count })).sort((a, b) => b.count - a.count);
}
