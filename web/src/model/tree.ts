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
    const count = order.length;
    const place = new Int32Array(count);
    const tree = {
      item: new Int32Array(count), parent: new Int32Array(count), depth: new Int32Array(count),
      end: new Int32Array(count), self: new Float64Array(count), total: new Float64Array(count),
      start: new Float64Array(count), maxDepth: 0, functions, groupLabels, leafFirst: false,
    };
    const nextStart = new Float64Array(count); // where a node's next child begins
    for (let i = 0; i < count; i++) {
      const node = order[i]!;
      place[node] = i;
      tree.item[i] = this.item[node]!;
      tree.self[i] = this.self[node]!;
      tree.total[i] = totalOf[node]!;
      tree.end[i] = i + 1;
      const parent = i === 0 ? -1 : place[this.parent[node]!]!;
      tree.parent[i] = parent;
      if (parent >= 0) {
        tree.depth[i] = tree.depth[parent]! + 1;
        tree.maxDepth = Math.max(tree.maxDepth, tree.depth[i]!);
        tree.start[i] = nextStart[parent]!;
        nextStart[parent]! += tree.total[i]!;
      }
      nextStart[i] = tree.start[i]!;
    }
    for (let i = count - 1; i > 0; i--) {
      const parent = tree.parent[i]!;
      tree.end[parent] = Math.max(tree.end[parent]!, tree.end[i]!);
    }
    const label = (node: number): string => {
      const item = tree.item[node]!;
      if (item >= 0) return functions.name[item]!;
      return item === -1 ? rootLabel : groupLabels[-2 - item]!;
    };
    return { ...tree, label };
  }
}
