// What a sample has to say of what its thread worked on: a trace, a span or a label, as a question
// to the agent has it (docs/page-data.md).

// What a user typed as a request's text; null: it is none. Digits of an id may stand in groups, as
// a UUID has them.
export function requestOf(typed: string): string | null {
  const text = typed.trim();
  const named = /^(trace_id|span_id)=(.*)$/.exec(text);
  const id = (named?.[2] ?? text).replaceAll("-", "").toLowerCase();
  const digits = named === null ? 0 : named[1] === "trace_id" ? 32 : 16;
  if (/^[0-9a-f]+$/.test(id) && !/^0+$/.test(id)) {
    if (id.length === 32 && digits !== 16) return `trace_id=${id}`;
    if (id.length === 16 && digits !== 32) return `span_id=${id}`;
  }
  return named === null && /^[^=]+=/.test(text) ? text : null;
}

// As the page shows it.
export function requestLabel(request: string): string {
  const [, kind, id] = /^(trace|span)_id=(.*)$/.exec(request) ?? [];
  return kind === undefined ? request : `${kind} ${id!.slice(0, 8)}…`;
}
