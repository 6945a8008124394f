// Which functions match what the user typed, and how many samples they cover.
import { Functions } from "./names";
import { Tree } from "./tree";

// Text is looked for as it stands, without case; /.../ is a regular expression.
export function matcher(query: string): ((text: string) => boolean) | null {
  const trimmed = query.trim();
  if (trimmed === "") return null;
  const expression = /^\/(.+)\/$/.exec(trimmed);
  if (expression !== null) {
    try {
      const pattern = new RegExp(expression[1]!, "i");
      return (text) => pattern.test(text);
    } catch {
      return () => false;
    }
  }
  const wanted = trimmed.toLowerCase();
  return (text) => text.toLowerCase().includes(wanted);
}

export function matchingFunctions(functions: Functions, query: string): Uint8Array | null {
  const matches = matcher(query);
  if (matches === null) return null;
  return Uint8Array.from(functions.name, (name) => (matches(name) ? 1 : 0));
}

// Samples with at least one matching frame; each sample counts once.
export function matchedSamples(tree: Tree, matching: Uint8Array): number {
  let sum = 0;
  for (let node = 0; node < tree.item.length;) {
    const item = tree.item[node]!;
    const hit = item >= 0 && matching[item] === 1;
    if (hit) sum += tree.total[node]!;
    node = hit ? tree.end[node]! : node + 1;
  }
  return sum;
}
