// What is different from before: each row of the table beside the same function or line in the
// time of equal length right before the chosen one. Shares are compared, so the load may differ.
import { functionKey, Functions } from "./names";
import { Answer } from "./source";
import { Span } from "./state";
import { TopRow } from "./top";

export function spanBefore({ fromMs, toMs }: Span): Span {
  return { fromMs: Math.max(fromMs - (toMs - fromMs), 0), toMs: fromMs };
}

function rowKey(functions: Functions, { item, place }: TopRow): string {
  const of = functionKey(functions, item);
  return place === undefined ? of : `${of} ${place.file}:${place.line}`;
}

interface Compared {
  functions: Functions;           // of both
  known: Map<string, number>;     // which of them, by key
  old: Functions;
  sum: number;
  sumBefore: number;
}

// The number of an old function among the new ones, which get it where they lack it.
function itemOf(item: number, { functions, known, old }: Compared): number {
  const key = functionKey(old, item);
  let found = known.get(key);
  if (found === undefined) {
    found = functions.name.push(old.name[item]!) - 1;
    functions.type.push(old.type[item]!);
    functions.file.push(old.file[item]!);
    functions.kind.push(old.kind[item]!);
    known.set(key, found);
  }
  return found;
}

function compareRows(now: TopRow[], before: TopRow[], both: Compared): TopRow[] {
  const { functions, old, sum, sumBefore } = both;
  const rowsBefore = new Map(before.map((row) => [rowKey(old, row), row]));
  const share = (value: number, all: number) => (all > 0 ? value / all : 0);
  const rows = now.map((row): TopRow => {
    const key = rowKey(functions, row);
    const was = share(rowsBefore.get(key)?.total ?? 0, sumBefore);
    rowsBefore.delete(key);
    return { ...row, change: { now: share(row.total, sum), was } };
  });
  for (const row of rowsBefore.values()) {
    rows.push({ ...row, item: itemOf(row.item, both), self: 0, total: 0,
                change: { now: 0, was: share(row.total, sumBefore) } });
  }
  return rows;
}

// `answer` with what its rows were before, and the rows that are no more.
export function compared(answer: Answer, before: Answer): Answer {
  const { name, type, file, kind } = answer.functions;
  const functions = { ...answer.functions, name: [...name], type: [...type], file: [...file],
                      kind: [...kind] };
  const both: Compared = {
    functions, known: new Map(name.map((_, item) => [functionKey(functions, item), item])),
    old: before.functions, sum: answer.tree.total[0]!, sumBefore: before.tree.total[0]! };
  const top = compareRows(answer.top, before.top, both);
  const rows = answer.lines === null || before.lines === null ? null
    : compareRows(answer.lines.rows, before.lines.rows, both);
  return { ...answer, functions, tree: { ...answer.tree, functions }, top, topCount: top.length,
           lines: rows === null ? answer.lines : { rows, count: rows.length } };
}
