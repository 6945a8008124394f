// Adds the samples that pass a filter up to the tree of the whole host. With `fold` a function that calls
// itself is one frame; its own and its total samples are the same either way.
import { Profile } from "../data/profile";
import { Filter, forEachRow } from "./filter";
import { Functions, Grouping, groupsOf } from "./names";
import { Tree, TreeBuilder } from "./tree";

// Rows that pass, sorted by group, so that one scratch column serves all groups in turn.
function rowsByGroup(profile: Profile, filter: Filter, groupOfThread: Int32Array): number[][] {
  const rows: number[][] = [];
  forEachRow(profile, filter, (row) => {
    const group = groupOfThread[profile.samples.thread[row]!]!;
    (rows[group] ??= []).push(row);
  });
  return rows;
}

export function buildHostTree(profile: Profile, functions: Functions, filter: Filter,
                              grouping: Grouping, fold = false): Tree {
  const groups = groupsOf(profile, grouping);
  const groupOfThread = profile.threads.process.map((process) => groups.ofProcess[process]!);
  const builder = new TreeBuilder(-1);
  const shown = new Int32Array(profile.nodes.parent.length).fill(-1); // data node -> tree node
  rowsByGroup(profile, filter, groupOfThread).forEach((rows, group) => {
    shown.fill(-1);
    shown[0] = builder.child(0, -2 - group);
    for (const row of rows) {
      const node = showNode(profile, functions, builder, shown, profile.samples.node[row]!, fold);
      builder.self[node]! += profile.samples.count[row]!;
    }
  });
  return builder.finish(functions, groups.label, profile.host || "host");
}

// The tree node of a data node; makes it and its ancestors where they are not there yet.
function showNode(profile: Profile, functions: Functions, builder: TreeBuilder, shown: Int32Array,
                  leaf: number, fold: boolean): number {
  const missing: number[] = [];
  let node = leaf;
  for (; shown[node] === -1; node = profile.nodes.parent[node]!) missing.push(node);
  let result = shown[node]!;
  while (missing.length > 0) {
    node = missing.pop()!;
    const item = functions.ofFrame[profile.nodes.frame[node]!]!;
    if (!fold || builder.item[result] !== item) result = builder.child(result, item);
    shown[node] = result;
  }
  return result;
}
