// The stacks of a tree, for files that hold them.
import { Tree } from "./tree";

// Calls `visit` for each node at or below `zoom` that has values of its own, with the way to it
// from below the root of the host.
export function forEachStack(tree: Tree, zoom: number,
                             visit: (path: number[], value: number) => void): void {
  for (let node = zoom; node < tree.end[zoom]!; node++) {
    if (tree.self[node]! <= 0) continue;
    const path: number[] = [];
    for (let at = node; at > 0; at = tree.parent[at]!) path.push(at);
    visit(path.reverse(), tree.self[node]!);
  }
}
