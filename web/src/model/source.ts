// Answers what the page asks of a profile. DocumentSource adds the page's own document up; an
// answer is awaited all the same, so that another source may be a server.
import { Profile } from "../data/profile";
import { buildHostTree, Shape } from "./aggregate";
import { Choice, processChoices, threadChoices, waitChoices } from "./choices";
import { Filter, timelineCounts } from "./filter";
import { inverted } from "./invert";
import { typeShares, TypeShare } from "./kinds";
import { Lane, lanesOf } from "./lanes";
import { Functions, functionsOf } from "./names";
import { TopRow, topFunctions } from "./top";
import { Tree } from "./tree";

export interface Question extends Shape {
  filter: Filter;
  inverted: boolean;
  lanes: boolean; // the time of each process and thread is wanted too
}

export interface Answer {
  tree: Tree;            // as it is drawn
  stacks: Tree;          // root first: what callers and callees are made of
  top: TopRow[];
  shares: TypeShare[];
  passing: number;       // what passes the filter, also where all its frames are hidden
  timeline: Float64Array;
  processes: Choice[];
  threads: Choice[];
  waits: Choice[];
  lanes: Lane[];
}

export interface ViewSource {
  readonly functions: Functions;
  ask(question: Question): Promise<Answer>;
}

export class DocumentSource implements ViewSource {
  readonly functions: Functions;

  constructor(private readonly profile: Profile) {
    this.functions = functionsOf(profile);
  }

  ask(question: Question): Promise<Answer> {
    const { profile, functions } = this;
    const { filter } = question;
    const stacks = buildHostTree(profile, functions, filter, question);
    const shares = typeShares(profile, functions, filter);
    const timeline = timelineCounts(profile, filter);
    const first = filter.buckets?.first ?? 0;
    const last = filter.buckets?.last ?? timeline.length - 1;
    return Promise.resolve({
      tree: question.inverted ? inverted(stacks) : stacks, stacks, shares, timeline,
      top: topFunctions(stacks),
      passing: timeline.subarray(first, last + 1).reduce((sum, value) => sum + value, 0),
      processes: processChoices(profile, filter),
      threads: threadChoices(profile, filter),
      waits: waitChoices(profile, filter),
      // All of them, so that another one can be chosen.
      lanes: question.lanes ? lanesOf(profile, { ...filter, processes: new Set(), threads: new Set() }) : [],
    });
  }
}
