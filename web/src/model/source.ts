// Answers what the page asks. DocumentSource adds the page's own document up; the live page has a
// server for it (live/server_source.ts). Both give the same answer.
import { Original } from "../data/page_file";
import { Profile } from "../data/profile";
import { SampleType, Summary } from "../data/sample_types";
import { buildHostTree } from "./aggregate";
import { Choice, commandChoices, groupChoices, processChoices, threadChoices,
         waitChoices } from "./choices";
import { CHOSEN, Filter, NOTHING_CHOSEN, timelineCounts } from "./filter";
import { inverted } from "./invert";
import { typeShares, TypeShare } from "./kinds";
import { Lane, lanesOf } from "./lanes";
import { allLines, linesOf } from "./lines";
import { Functions, functionsOf, Grouping, groupingsOf } from "./names";
import { findFunction } from "./path";
import { sandwich, Sandwich } from "./sandwich";
import { filterOf, Span, State } from "./state";
import { ThreadLabels } from "./thread_labels";
import { topFunctions, TopRow } from "./top";
import { Tree } from "./tree";

// What is known of the samples as a whole.
export interface Head {
  title: string;
  host: string;
  frequencyHz: number; // 0: unknown
  cpus: number;        // of the host; 0: unknown
  startMs: number;
  endMs: number;
  bucketMs: number;
  bucketCount: number;
  types: SampleType[]; // at least one
  sums: number[];       // by type
  summaries: Summary[]; // by type
  note: string;
  dropped: string; // what it leaves out, in a sentence
}

export type TableOrder = "self" | "total" | "name";

export interface Question {
  state: State;
  lanes: boolean;    // the time of each process and thread is wanted too
  width: number;     // of the graph in pixels; 0: every frame, however narrow
  order: TableOrder; // of the table …
  rows: number;      // … and how many of its rows are wanted
}

export interface LineRow {
  file: string;
  line: number;  // 0: unknown
  self: number;
  total: number; // each sample once
  text: string;  // the line itself, where it may be shown
}

export type ChoiceLists = Record<"processes" | "threads" | "waits" | "commands" | "containers" |
    "services" | "cgroups" | "users", Choice[]>;

export interface Answer extends ChoiceLists {
  head: Head;
  functions: Functions;
  groupings: Grouping[];
  labels: string[];      // names of what samples say of their threads' work, trace_id too
  tree: Tree;            // as it is drawn
  top: TopRow[];
  topCount: number;      // how many rows there are
  lines: { rows: TopRow[]; count: number } | null; // the same by source line, where that was asked
  shares: TypeShare[];
  passing: number;       // what passes the filter, also where all its frames are hidden
  timeline: Float64Array;
  more: Record<keyof ChoiceLists, number>; // what the lists leave out
  lanes: Lane[];
  matched: number | null; // what the search covers; null: the tree says it
  sandwich: { item: number; trees: Sandwich; lines: LineRow[] } | null;
}

export interface ViewSource {
  // What is asked next depends on the zoom, the search and the table too: the answer has no more
  // than what is to be seen.
  readonly partial: boolean;
  ask(question: Question, signal: AbortSignal, span?: Span): Promise<Answer>;
  // What a table of another time would have, for the same filters; null: nothing is known of it.
  askOf(question: Question, span: Span, signal: AbortSignal): Promise<Answer | null>;
  original(): Promise<Original>;
  // The part of the answer that is made, 0 to 1; null: not known.
  progress?(): Promise<number | null>;
}

export class DocumentSource implements ViewSource {
  readonly partial = false;
  private readonly functions: Functions;
  private known: { key: string; answer: Answer; stacks: Tree } | null = null;

  constructor(private readonly profile: Profile, private readonly packed: Original) {
    this.functions = functionsOf(profile);
  }

  original(): Promise<Original> {
    return Promise.resolve(this.packed);
  }

  ask(question: Question): Promise<Answer> {
    const { profile, functions } = this;
    const { state } = question;
    const filter = filterOf(state, profile);
    const key = JSON.stringify([filter.type, filter.buckets, state.grouping, state.inverted,
      state.fold, question.lanes,
      ...[state.hidden, ...CHOSEN.map((key) => state[key])].map((set) => [...set])]);
    if (this.known?.key !== key) this.known = { key, ...this.make(question) };
    const { answer, stacks } = this.known;
    const item = findFunction(functions, state.callers);
    return Promise.resolve({ ...answer, sandwich: item === null ? null
      : { item, trees: sandwich(stacks, item), 
          lines: linesOf(profile, functions, filter, state.hidden, item) },
      lines: state.lines ? this.lines(filter, state) : null });
  }

  askOf(question: Question, range: Span): Promise<Answer | null> {
    const state = { ...question.state, range, callers: "" };
    if (filterOf(state, this.profile).buckets === null) return Promise.resolve(null);
    return this.ask({ ...question, state });
  }

  private lines(filter: Filter, { hidden }: State): Answer["lines"] {
    const rows = allLines(this.profile, this.functions, filter, hidden);
    return { rows, count: rows.length };
  }

  private make({ state, lanes }: Question): { answer: Answer; stacks: Tree } {
    const { profile, functions } = this;
    const filter = filterOf(state, profile);
    const stacks = buildHostTree(profile, functions, filter, state);
    const timeline = timelineCounts(profile, filter);
    const first = filter.buckets?.first ?? 0;
    const last = filter.buckets?.last ?? timeline.length - 1;
    const top = topFunctions(stacks);
    const processes = processChoices(profile, filter);
    return { stacks, answer: {
      head: profile, functions, groupings: groupingsOf(profile), timeline,
      labels: new ThreadLabels(profile).names,
      top, topCount: top.length, lines: null,
      tree: state.inverted ? inverted(stacks) : stacks,
      shares: typeShares(profile, functions, filter),
      passing: timeline.subarray(first, last + 1).reduce((sum, value) => sum + value, 0),
      processes,
      threads: threadChoices(profile, filter),
      waits: waitChoices(profile, filter),
      commands: commandChoices(profile, filter, processes),
      containers: groupChoices(profile, filter, "container"),
      services: groupChoices(profile, filter, "service"),
      cgroups: groupChoices(profile, filter, "cgroup"),
      users: groupChoices(profile, filter, "user"),
      more: { processes: 0, threads: 0, waits: 0, commands: 0, containers: 0, services: 0,
              cgroups: 0, users: 0 },
      // All of them, so that another one can be chosen.
      lanes: lanes ? lanesOf(profile, { ...filter, ...NOTHING_CHOSEN, waits: filter.waits,
                                        requests: filter.requests }) : [],
      matched: null, sandwich: null,
    } };
  }
}
