// Adds the samples that pass a filter up to the tree of the whole host. With `fold` a function that
// calls itself is one frame; its own and its total samples are the same either way. Frames of a
// hidden type are left out: their samples belong to their caller, and a sample with hidden frames
// only is not shown.
import { Profile } from "../data/profile";
import { Filter, forEachRow } from "./filter";
import { Functions, Grouping, groupsOf } from "./names";
import { Tree, TreeBuilder } from "./tree";

export interface Shape {
  grouping: Grouping;
  fold: boolean;
  hidden: ReadonlySet<string>; // types of frames
}

// Rows that pass, sorted by group, so that one scratch column serves all groups in turn.
function rowsByGroup(profile: Profile, filter: Filter, ofThread: Int32Array): number[][] {
  const rows: number[][] = [];
  forEachRow(profile, filter, (row) => {
    (rows[ofThread[profile.samples.thread[row]!]!] ??= []).push(row);
  });
  return rows;
}

export function buildHostTree(profile: Profile, functions: Functions, filter: Filter, shape: Shape): Tree {
  const groups = groupsOf(profile, shape.grouping);
  const builder = new TreeBuilder(-1);
  const shown = new Int32Array(profile.nodes.parent.length).fill(-1); // data node -> tree node
  const copier = new Copier(profile, functions, builder, shown, shape);
  rowsByGroup(profile, filter, groups.ofThread).forEach((rows, group) => {
    shown.fill(-1);
    const top = shape.grouping === "none" ? 0 : builder.child(0, -2 - group);
    shown[0] = top;
    for (const row of rows) {
      const leaf = profile.samples.node[row]!;
      const node = copier.show(leaf);
      if (node !== top || leaf === 0) builder.self[node]! += profile.samples.count[row]!;
    }
  });
  return builder.finish(functions, groups.label, profile.host || "host");
}

class Copier {
  private readonly hidden: Uint8Array; // by function

  constructor(private readonly profile: Profile, private readonly functions: Functions,
              private readonly builder: TreeBuilder, private readonly shown: Int32Array,
              private readonly shape: Shape) {
    this.hidden = Uint8Array.from(functions.type, (type) => (shape.hidden.has(type) ? 1 : 0));
  }

  // The tree node of a data node; makes it and its ancestors where they are not there yet.
  show(leaf: number): number {
    const { shown, builder, hidden } = this;
    const { parent, frame } = this.profile.nodes;
    const missing: number[] = [];
    let node = leaf;
    for (; shown[node] === -1; node = parent[node]!) missing.push(node);
    let result = shown[node]!;
    while (missing.length > 0) {
      node = missing.pop()!;
      const item = this.functions.ofFrame[frame[node]!]!;
      const repeats = this.shape.fold && builder.item[result] === item;
      if (hidden[item] === 0 && !repeats) result = builder.child(result, item);
      shown[node] = result;
    }
    return result;
  }
}
