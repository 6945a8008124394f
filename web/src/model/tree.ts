// The tree that the flame graph shows, in columns. Nodes stand in depth-first order, the heaviest
// sibling first, so node i's subtree is i .. end[i]-1 and its width is total[i] from start[i].
import { Functions } from "./names";

export interface Tree {
  label: (node: number) => string;
  // >= 0: index into functions. < 0: a level of ours (-1 the root, -2-g group g).
  item: Int32Array;
  parent: Int32Array;
  depth: Int32Array;
  end: Int32Array;
  self: Float64Array;
  total: Float64Array;
  start: Float64Array;
  maxDepth: number;
  functions: Functions;
  groupLabels: string[];
  // callers stand below the functions that they call; then `self` says nothing of a node
  leafFirst: boolean;
}

// A tree while it grows: parents come before their children, siblings are unique by item.
export class TreeBuilder {
  readonly item: number[] = [];
  readonly parent: number[] = [];
  readonly self: number[] = [];
  private readonly children = new Map<number, Map<number, number>>();

  constructor(rootItem: number) {
    this.add(-1, rootItem);
  }

  private add(parent: number, item: number): number {
    this.item.push(item);
    this.parent.push(parent);
    return this.self.push(0) - 1;
  }

  child(parent: number, item: number): number {
    let siblings = this.children.get(parent);
    if (siblings === undefined) this.children.set(parent, siblings = new Map());
    let node = siblings.get(item);
    if (node === undefined) siblings.set(item, node = this.add(parent, item));
    return node;
  }

  finish(functions: Functions, groupLabels: string[], rootLabel: string): Tree {
    const total = Float64Array.from(this.self);
    for (let node = total.length - 1; node > 0; node--) total[this.parent[node]!]! += total[node]!;
    const order = this.depthFirst(total);
    return this.arrange(order, total, functions, groupLabels, rootLabel);
  }

  private depthFirst(total: Float64Array): number[] {
    const order: number[] = [];
    const stack = [0];
    while (stack.length > 0) {
      const node = stack.pop()!;
      order.push(node);
      const siblings = this.children.get(node);
      if (siblings === undefined) continue;
      // Lightest first onto the stack; equal ones by age, so that a redraw keeps their order.
      const sorted = [...siblings.values()].filter((child) => total[child]! > 0).sort((a, b) => total[a]! - total[b]! || b - a);
      for (const child of sorted) stack.push(child);
    }
    return order;
  }

  private arrange(order: readonly number[], totalOf: Float64Array, functions: Functions,
                  groupLabels: string[], rootLabel: string): Tree {
    const place = new Int32Array(this.item.length);
    order.forEach((node, i) => { place[node] = i; });
    return treeOf({
      item: Int32Array.from(order, (node) => this.item[node]!),
      parent: Int32Array.from(order, (node, i) => (i === 0 ? -1 : place[this.parent[node]!]!)),
      self: Float64Array.from(order, (node) => this.self[node]!),
      total: Float64Array.from(order, (node) => totalOf[node]!),
    }, functions, groupLabels, rootLabel);
  }
}

// From columns in depth-first order: where each node lies, and where it ends.
export function treeOf(columns: Pick<Tree, "item" | "parent" | "self" | "total">,
                       functions: Functions,
                       groupLabels: string[], rootLabel: string): Tree {
  const { item, parent, total } = columns;
  const count = item.length;
  const tree = { ...columns, depth: new Int32Array(count), end: new Int32Array(count),
                 start: new Float64Array(count), maxDepth: 0, functions, groupLabels,
                 leafFirst: false };
  const nextStart = new Float64Array(count); // where a node's next child begins
  for (let i = 0; i < count; i++) {
    tree.end[i] = i + 1;
    const above = parent[i]!;
    if (above >= 0) {
      tree.depth[i] = tree.depth[above]! + 1;
      tree.maxDepth = Math.max(tree.maxDepth, tree.depth[i]!);
      tree.start[i] = nextStart[above]!;
      nextStart[above]! += total[i]!;
    }
    nextStart[i] = tree.start[i]!;
  }
  for (let i = count - 1; i > 0; i--) {
    const above = parent[i]!;
    tree.end[above] = Math.max(tree.end[above]!, tree.end[i]!);
  }
  const label = (node: number): string => {
    const own = item[node]!;
    if (own >= 0) return functions.name[own]!;
    return own === -1 ? rootLabel : groupLabels[-2 - own]!;
  };
  return { ...tree, label };
}
