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

// The number of an old function among the new ones, which get it where they lack it.
function itemOf(functions: Functions, old: Functions, item: number, known: Map<string, number>): number {
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

function compareRows(now: TopRow[], sum: number, functions: Functions, before: TopRow[],
                     sumBefore: number, old: Functions): TopRow[] {
  const rowsBefore = new Map(before.map((row) => [rowKey(old, row), row]));
  const share = (value: number, all: number) => (all > 0 ? value / all : 0);
  const rows = now.map((row): TopRow => {
    const key = rowKey(functions, row);
    const was = share(rowsBefore.get(key)?.total ?? 0, sumBefore);
    rowsBefore.delete(key);
    return { ...row, change: { now: share(row.total, sum), was } };
  });
  const known = new Map(functions.name.map((_, item) => [functionKey(functions, item), item]));
  for (const row of rowsBefore.values()) {
    rows.push({ ...row, item: itemOf(functions, old, row.item, known), self: 0, total: 0,
                change: { now: 0, was: share(row.total, sumBefore) } });
  }
  return rows;
}

// `answer` with what its rows were before, and the rows that are no more.
export function compared(answer: Answer, before: Answer): Answer {
  const { name, type, file, kind } = answer.functions;
  const functions = { ...answer.functions, name: [...name], type: [...type], file: [...file],
                      kind: [...kind] };
  const sum = answer.tree.total[0]!;
  const sumBefore = before.tree.total[0]!;
  const compare = (now: TopRow[], was: TopRow[]) =>
    compareRows(now, sum, functions, was, sumBefore, before.functions);
  const top = compare(answer.top, before.top);
  const lines = answer.lines === null || before.lines === null ? answer.lines
    : compare(answer.lines.rows, before.lines.rows);
  const ofLines = Array.isArray(lines) ? { rows: lines, count: lines.length } : lines;
  return { ...answer, functions, tree: { ...answer.tree, functions },
           top, topCount: top.length, lines: ofLines };
}
