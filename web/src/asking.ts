// Asks a source what is to be shown, one question at a time: a later one takes the place of one
// that is on its way.
import { ServerSource } from "./live/server_source";
import { compared, spanBefore } from "./model/change";
import { Answer, Question, TableOrder, ViewSource } from "./model/source";
import { chosenSpan, Span, State } from "./model/state";
import { Busy } from "./view/busy";

const FIRST_ROWS = 200;
const ALL_ROWS = 100_000;
const COMPARED_ROWS = 20_000; // a row that is rare now may have been frequent
const ZOOM_MS = 180; // a graph on its way to a frame gets there before it is drawn anew

export interface Asker {
  readonly state: State;
  readonly lanes: boolean; // the time of each process and thread is looked at
  readonly width: number;  // of the graph
  readonly busy: Busy;
  onAnswer(): void;
  onTrouble(reason: string): void;
}

export interface Shower { show(): void; drop(): void }

export class Asking {
  source: ViewSource | null = null;
  answer: Answer | null = null;
  answered: State | null = null; // what the user had chosen when it was asked for
  zoomedAt = -Infinity;
  private running = new AbortController();
  private table: { order: TableOrder; rows: number } = { order: "self", rows: FIRST_ROWS };

  constructor(private readonly asker: Asker) {}

  // What is shown depends on the zoom and the search too.
  get partial(): boolean {
    return this.source?.partial === true;
  }

  question(more: Partial<Question> = {}): Question {
    const { state, lanes, width } = this.asker;
    const pixels = Math.max(width, 320) * Math.min(window.devicePixelRatio || 1, 2);
    const rows = state.before ? Math.max(this.table.rows, COMPARED_ROWS) : this.table.rows;
    return { state, lanes, width: pixels, order: this.table.order, rows, ...more };
  }

  // Of the agent, for a time; what is given back shows the answer or drops it. What the user
  // chooses meanwhile is asked of the new time where that is `wanted`, or else of the one shown.
  async load(source: ServerSource, span: Span, wanted: boolean): Promise<Shower> {
    const before = source.span;
    const soon = wanted || this.answer === null;
    if (soon) source.span = span;
    this.source = source;
    const back = () => { if (source.span === span) source.span = before; };
    const { state } = this.asker;
    const running = this.begin();
    try {
      const answer = await this.answerOf(source, running.signal, span);
      const show = () => {
        source.span = span;
        if (this.asker.state === state || this.answer === null) this.take(answer, state);
        else void this.ask();
      };
      return { show, drop: back };
    } catch (error) {
      if (this.running === running) back();
      if (!running.signal.aborted) throw error;
      const nothing = () => undefined; // cancelled, or a later question took its place
      return { show: nothing, drop: nothing };
    } finally {
      this.end(running);
    }
  }

  async ask(): Promise<void> {
    if (this.source === null) return;
    const { source, partial } = this;
    const { state } = this.asker;
    const running = this.begin();
    try {
      const answer = await this.answerOf(source, running.signal);
      const moving = partial ? this.zoomedAt + ZOOM_MS - performance.now() : 0;
      if (moving > 0) await new Promise((done) => setTimeout(done, moving));
      if (!running.signal.aborted) this.take(answer, state);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      if (!running.signal.aborted) this.asker.onTrouble(text);
    } finally {
      this.end(running);
    }
  }

  // With the table beside the time before, where that is wanted.
  private async answerOf(source: ViewSource, signal: AbortSignal, of?: Span): Promise<Answer> {
    const question = this.question();
    const answer = await source.ask(question, signal, of);
    if (!question.state.before) return answer;
    const span = spanBefore(chosenSpan(question.state, answer.head));
    const before = await source.askOf(question, span, signal);
    return before === null ? answer : compared(answer, before);
  }

  // The user does not wait for the answer.
  cancel(): void {
    this.running.abort();
    this.asker.busy.end();
  }

  forgetRows(): void {
    this.table.rows = FIRST_ROWS;
  }

  wantRows(order: TableOrder, all: boolean): void {
    const rows = all ? ALL_ROWS : this.table.order === order ? this.table.rows * 4 : FIRST_ROWS;
    if (order === this.table.order && rows <= this.table.rows) return;
    this.table = { order, rows };
    void this.ask();
  }

  private begin(): AbortController {
    this.running.abort();
    this.running = new AbortController();
    if (this.partial) this.asker.busy.begin();
    return this.running;
  }

  private end(running: AbortController): void {
    if (running === this.running) this.asker.busy.end();
  }

  private take(answer: Answer, state: State): void {
    this.answer = answer;
    this.answered = state;
    this.asker.onAnswer();
  }
}
