// Sums by function over a tree: the table of functions.
import { Tree } from "./tree";

export interface TopRow {
  item: number;  // function
  self: number;
  total: number; // each sample once, however often the function recurs in its stack
  place?: LinePlace; // of one of its lines, which has these values
  change?: Change;   // beside another time
}

// As compilers and editors write it; "": not known.
export function placeText({ file, line }: LinePlace): string {
  return line === 0 ? "" : `${file.slice(file.lastIndexOf("/") + 1)}:${line}`;
}

// Shares of all samples, 0 to 1: of the row's total now, and before.
export interface Change {
  now: number;
  was: number;
}

export interface LinePlace {
  file: string;
  line: number; // 0: not known
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
