// The tree turned around: the root's children are the innermost functions, and below each stand its
// callers, so that what is called from many places stands in one.
import { Tree, TreeBuilder } from "./tree";

export function inverted(tree: Tree): Tree {
  const builder = new TreeBuilder(-1);
  for (let leaf = 0; leaf < tree.item.length; leaf++) {
    if (tree.self[leaf]! <= 0) continue;
    let at = 0;
    for (let node = leaf; node > 0; node = tree.parent[node]!) at = builder.child(at, tree.item[node]!);
    builder.self[at]! += tree.self[leaf]!;
  }
  return { ...builder.finish(tree.functions, tree.groupLabels, tree.label(0)), leafFirst: true };
}
