// Finds a node again in another tree of the same program, also in another browser: by a number made
// of the names on the way to it, which is short enough for an address.
import { functionKey, Functions } from "./names";
import { Tree } from "./tree";

// 53 bits of a text and of what came before it.
function mix(text: string, before: number): number {
  let low = 0x9e3779b1 ^ (before >>> 0);
  let high = 0x85ebca77 ^ Math.floor(before / 2 ** 32);
  for (let i = 0; i < text.length; i++) {
    low = Math.imul(low ^ text.charCodeAt(i), 0x01000193);
    high = Math.imul(high ^ text.charCodeAt(i), 0x5bd1e995);
    high ^= high >>> 13;
  }
  return (((high ^ (low >>> 15)) >>> 0) % 2 ** 21) * 2 ** 32 + (low >>> 0);
}

export function textKey(text: string): string {
  return mix(text, 0).toString(36);
}

// The key of a step on a way, from its own text's and from that of the way before it.
export function stepKey(own: string, before: number): number {
  return mix(own, before);
}

// The key of each node, made of its parent's; the names of functions are read once each.
function pathKeys(tree: Tree): Float64Array {
  const keys = new Float64Array(tree.item.length);
  const ofItem = new Map<number, string>();
  for (let node = 1; node < keys.length; node++) {
    const item = tree.item[node]!;
    let own = ofItem.get(item);
    if (own === undefined) {
      own = item < 0 ? `group ${tree.label(node)}` : functionKey(tree.functions, item);
      ofItem.set(item, own = textKey(own));
    }
    keys[node] = stepKey(own, keys[tree.parent[node]!]!);
  }
  return keys;
}

// Empty for the root.
export function pathKey(tree: Tree, node: number): string {
  return node <= 0 ? "" : pathKeys(tree)[node]!.toString(36);
}

// The node of that key, or 0, the root, where the tree has none.
export function findPath(tree: Tree, key: string): number {
  if (key === "") return 0;
  return Math.max(pathKeys(tree).indexOf(parseInt(key, 36)), 0);
}

export function findFunction(functions: Functions, key: string): number | null {
  if (key === "") return null;
  const item = functions.name.findIndex((_, index) => textKey(functionKey(functions, index)) === key);
  return item < 0 ? null : item;
}
