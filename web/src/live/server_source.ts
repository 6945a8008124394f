// The agent as the source of what is shown: it filters, zooms and searches, and answers with what
// can be drawn. docs/page-data.md has the words of the question.
import { parseAnswer } from "../data/answer";
import { ProfileError } from "../data/columns";
import { Original } from "../data/page_file";
import { CHOSEN } from "../model/filter";
import { Answer, Question, ViewSource } from "../model/source";
import { Span } from "../model/state";

export interface Fetched {
  text: string;
  costMs: number; // CPU time that the server says it took; 0: it does not say
}

export type Fetch = (url: string, signal?: AbortSignal) => Promise<Fetched>;

const TEXTS = ["capture", "type", "zoom", "callers", "query"] as const;
const SWITCHES = ["inverted", "fold", "lines"] as const;
const SETS = [...CHOSEN, "hidden"] as const;

export function viewUrl({ state, lanes, width, order, rows }: Question, span: Span): string {
  const words = new URLSearchParams({ from_ms: String(span.fromMs), to_ms: String(span.toMs) });
  if (state.range !== null) {
    words.set("chosen_from_ms", String(state.range.fromMs));
    words.set("chosen_to_ms", String(state.range.toMs));
  }
  words.set("by", state.grouping);
  for (const key of TEXTS) if (state[key] !== "") words.set(key, state[key]);
  for (const key of SWITCHES) if (state[key]) words.set(key, "1");
  if (lanes) words.set("lanes", "1");
  for (const key of SETS) for (const value of state[key]) words.append(key, value);
  words.set("width", String(Math.round(width)));
  words.set("order", order);
  words.set("rows", String(rows));
  return `/api/view?${words}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ProfileError("the answer is not valid JSON");
  }
}

export class ServerSource implements ViewSource {
  readonly partial = true;
  span: Span = { fromMs: 0, toMs: 0 };
  costMs = 0; // of the last answer
  private capture = ""; // that the last question was of

  constructor(private readonly fetch: Fetch) {}

  async ask(question: Question, signal: AbortSignal, span = this.span): Promise<Answer> {
    this.capture = question.state.capture;
    const { text, costMs } = await this.fetch(viewUrl(question, span), signal);
    this.costMs = costMs;
    return parseAnswer(parse(text), question.state.inverted);
  }

  async askOf(question: Question, span: Span, signal: AbortSignal): Promise<Answer> {
    const state = { ...question.state, range: null, zoom: "", callers: "" };
    const costMs = this.costMs;
    const answer = await this.ask({ ...question, state, lanes: false, width: 1 }, signal, span);
    this.costMs += costMs; // both are one answer for the user
    return answer;
  }

  async progress(): Promise<number | null> {
    const status = parse((await this.fetch("/api/status")).text) as { answering?: unknown } | null;
    const { done, all } = (status?.answering ?? {}) as { done?: unknown; all?: unknown };
    if (typeof done !== "number" || typeof all !== "number" || !(all > 0)) return null;
    return Math.min(Math.max(done / all, 0), 1);
  }

  async original(): Promise<Original> {
    const { fromMs, toMs } = this.span;
    const of = this.capture === "" ? `from_ms=${fromMs}&to_ms=${toMs}`
                                   : `capture=${encodeURIComponent(this.capture)}`;
    return { json: (await this.fetch(`/api/profile?${of}`)).text };
  }
}
