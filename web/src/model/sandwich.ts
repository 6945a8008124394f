// One function's callers and callees. Both begin at the outermost occurrence in each stack, so that
// the root of either tree carries exactly the function's total. The root's own samples are the
// function's in all its calls, also those from itself: the table has the same two numbers.
import { Tree, TreeBuilder } from "./tree";

export interface Sandwich {
  callers: Tree; // root: the function; its children are who called it
  callees: Tree; // root: the function; its children are whom it called
}

function outermost(tree: Tree, wanted: number): number[] {
  const found: number[] = [];
  for (let node = 0; node < tree.item.length;) {
    const hit = tree.item[node] === wanted;
    if (hit) found.push(node);
    node = hit ? tree.end[node]! : node + 1;
  }
  return found;
}

function ownSamples(tree: Tree, wanted: number): number {
  let sum = 0;
  for (let node = 0; node < tree.item.length; node++) {
    if (tree.item[node] === wanted) sum += tree.self[node]!;
  }
  return sum;
}

export function sandwich(tree: Tree, wanted: number): Sandwich {
  const callers = new TreeBuilder(wanted);
  const callees = new TreeBuilder(wanted);
  for (const top of outermost(tree, wanted)) {
    let above = 0;
    for (let node = tree.parent[top]!; node > 0; node = tree.parent[node]!) {
      above = callers.child(above, tree.item[node]!);
    }
    callers.self[above]! += tree.total[top]!;
    const shown = new Map<number, number>([[top, 0]]);
    callees.self[0]! += tree.self[top]!;
    for (let node = top + 1; node < tree.end[top]!; node++) {
      const copy = callees.child(shown.get(tree.parent[node]!)!, tree.item[node]!);
      shown.set(node, copy);
      callees.self[copy]! += tree.self[node]!;
    }
  }
  const finish = (builder: TreeBuilder): Tree => {
    const finished = builder.finish(tree.functions, tree.groupLabels, "");
    finished.self[0] = ownSamples(tree, wanted);
    return finished;
  };
  return { callers: finish(callers), callees: finish(callees) };
}
