// Which functions match what the user typed, and how many samples they cover.
import { formatCount, formatPercent } from "./format";
import { Measure } from "./measure";
import { Functions } from "./names";
import { Tree } from "./tree";

export interface Query {
  matches: ((text: string) => boolean) | null; // null: nothing is looked for
  error: string;                               // why the expression is none; ""
}

// Text is looked for as it stands, without case; /.../ is a regular expression.
export function parseQuery(query: string): Query {
  const trimmed = query.trim();
  if (trimmed === "") return { matches: null, error: "" };
  const expression = /^\/(.+)\/$/.exec(trimmed);
  if (expression !== null) {
    try {
      const pattern = new RegExp(expression[1]!, "i");
      return { matches: (text) => pattern.test(text), error: "" };
    } catch (error) {
      const reason = error instanceof Error ? error.message.replace(/^.*\/i?: /, "") : "";
      return { matches: () => false, error: `no valid expression: ${reason}` };
    }
  }
  const wanted = trimmed.toLowerCase();
  return { matches: (text) => text.toLowerCase().includes(wanted), error: "" };
}

// By name, or by the file or library that the function is in.
export function matchingFunctions(functions: Functions, query: Query): Uint8Array | null {
  const { matches } = query;
  if (matches === null) return null;
  return Uint8Array.from(functions.name, (name, item) =>
    (matches(name) || matches(functions.file[item]!) ? 1 : 0));
}

// The outermost matching frame of each stack, in the order of the graph.
export function outermostMatches(tree: Tree, matching: Uint8Array): number[] {
  const found: number[] = [];
  for (let node = 0; node < tree.item.length;) {
    const item = tree.item[node]!;
    const hit = item >= 0 && matching[item] === 1;
    if (hit) found.push(node);
    node = hit ? tree.end[node]! : node + 1;
  }
  return found;
}

// Samples with at least one matching frame; each sample counts once.
export function matchedSamples(tree: Tree, matching: Uint8Array): number {
  return outermostMatches(tree, matching).reduce((sum, node) => sum + tree.total[node]!, 0);
}

// One query in one tree, and which of its matches was gone to.
export class Search {
  matching: Uint8Array | null = null;
  error = "";
  private tree: Tree | null = null;
  private text = "";
  private found: number[] = [];
  private at = -1;

  look(text: string, tree: Tree): void {
    if (this.text === text && this.tree === tree) return;
    Object.assign(this, { text, tree, at: -1 });
    const query = parseQuery(text);
    this.error = query.error;
    this.matching = matchingFunctions(tree.functions, query);
    this.found = this.matching === null ? [] : outermostMatches(tree, this.matching);
  }

  // `matched`: what the search covers, where the tree does not have all of it.
  result(measure: Measure, matched: number | null = null): string {
    const { tree, matching, found, at } = this;
    if (tree === null || matching === null) return "";
    if (found.length === 0 && !(matched !== null && matched > 0)) return "no match";
    if (at >= 0) return `${at + 1} of ${formatCount(found.length)}`;
    const count = matched ?? matchedSamples(tree, matching);
    return `${formatPercent(count, tree.total[0]!)} matched (${measure.short(count)})`;
  }

  // The next match, from the first on, and around; 0: there is none.
  step(by: 1 | -1): number {
    const { length } = this.found;
    if (length === 0) return 0;
    this.at = this.at < 0 ? (by > 0 ? 0 : length - 1) : (this.at + by + length) % length;
    return this.found[this.at]!;
  }
}
