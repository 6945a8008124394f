// Finds a node again in another tree of the same program: by the names on the way to it.
import { Tree } from "./tree";

export function pathTo(tree: Tree, node: number): string[] {
  const path: string[] = [];
  for (let at = node; at > 0; at = tree.parent[at]!) path.push(nameOf(tree, at));
  return path.reverse();
}

function nameOf(tree: Tree, node: number): string {
  const item = tree.item[node]!;
  return item < 0 ? tree.label(node)
                  : `${tree.functions.type[item]} ${tree.functions.name[item]}`;
}

// The node at the end of `path`, or 0, the root, where the tree has no such path.
export function findPath(tree: Tree, path: readonly string[]): number {
  let node = 0;
  for (const name of path) {
    let child = node + 1;
    const end = tree.end[node]!;
    while (child < end && nameOf(tree, child) !== name) child = tree.end[child]!;
    if (child >= end) return 0;
    node = child;
  }
  return node;
}
