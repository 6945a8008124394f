// Keeps a live page up to date: asks /api/status every 2 s and for a new profile when there is one.
// Contract of the server: docs/page-data.md. Clocks: the range follows the server's newest sample,
// because the browser's clock may be another machine's.
import { Capture, captureSpan, parseCaptures } from "../model/captures";
import { Span } from "../model/state";
import { Fetched } from "./server_source";

export interface Status {
  host: string;
  version: string;
  frequencyHz: number;
  oldestMs: number;
  newestMs: number;
  samplesTotal: number;
  lostTotal: number;
  captures: Capture[];
}

export interface PollerEvents {
  onStatus(status: Status): void;
  onFailure(reason: string, sinceMs: number): void;
  onReachable(): void;
}

export interface Loaded {
  costMs: number; // CPU time that the server says it took; 0: it does not say
  show(): void;
  drop(): void; // what is on the screen stays
}

// Both reject with an Error whose message the user may see.
export interface PollerOptions extends PollerEvents {
  fetchAnswer(url: string): Promise<Fetched>;
  // What is to be shown of a time; `wanted` by the user, and not only newer than what is shown.
  load(fromMs: number, toMs: number, wanted: boolean): Promise<Loaded>;
  now(): number;
  hold(): boolean; // true: keep what is on the screen
  aiming(): boolean; // true: so too for a moment, unless the user asked for another time
}

export const POLL_MS = 2000;
const MAX_REFRESH_MS = 30_000;
// The server may spend one part in so many of a CPU on this page, if that does not take too long.
const COST_PARTS = 100;
const MAX_WAIT_MS = 1_800_000;

export function parseStatus(text: string): Status {
  const json: unknown = JSON.parse(text);
  if (typeof json !== "object" || json === null) throw new Error("the status is not an object");
  const record = json as Record<string, unknown>;
  const number = (key: string) => {
    const value = record[key];
    return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : 0;
  };
  const words = (key: string) => (typeof record[key] === "string" ? (record[key] as string) : "");
  return {
    host: words("host"), version: words("version"), frequencyHz: number("frequency_hz"),
    oldestMs: number("oldest_ms"), newestMs: number("newest_ms"),
    samplesTotal: number("samples_total"), lostTotal: number("lost_total"),
    captures: parseCaptures(record["captures"]),
  };
}

// The range to ask for. Its ends lie on whole steps, so that the bars do not wander at each poll.
export function rangeToAsk(status: Status, rangeMs: number): { fromMs: number; toMs: number } {
  const step = Math.max(1000, Math.ceil(rangeMs / 200 / 1000) * 1000);
  const toMs = Math.ceil((status.newestMs + 1) / step) * step;
  const oldest = Math.min(status.oldestMs, status.newestMs - 60_000);
  const fromMs = Math.max(status.newestMs - rangeMs, oldest, 0);
  return { fromMs: Math.floor(fromMs / step) * step, toMs };
}

export class Poller {
  rangeMs = 60_000;
  fixed: Span | null = null; // the time that is shown, whatever comes; null: the newest `rangeMs`
  capture = ""; // whose samples are shown; "": the continuous profile's
  private shownCapture = "";
  private shownFixed: Span | null = null;
  private shownNewestMs = -1;
  private lastProfileAt = -Infinity;
  private costMs = 0; // of the last profile
  private failingSince: number | null = null;
  private busy = false;
  private again = false; // refresh() came while a round was on its way

  constructor(private readonly options: PollerOptions) {}

  // The next poll loads a profile even when nothing is new.
  refresh(): Promise<void> {
    this.shownNewestMs = -1;
    this.shownFixed = null;
    this.shownCapture = "";
    this.lastProfileAt = -Infinity;
    this.again = this.busy;
    return this.poll();
  }

  // One round. Never rejects; a call during another one does nothing.
  async poll(): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    try {
      const status = parseStatus((await this.options.fetchAnswer("/api/status")).text);
      this.options.onStatus(status);
      if (this.wantsProfile(status)) await this.loadProfile(status);
      this.failingSince = null;
      this.options.onReachable();
    } catch (error) {
      this.failingSince ??= this.options.now();
      const reason = error instanceof Error ? error.message : String(error);
      this.options.onFailure(reason, this.failingSince);
    } finally {
      this.busy = false;
    }
    if (!this.again) return;
    this.again = false;
    await this.refresh();
  }

  // How long a profile stays on the screen: a long range changes slowly and costs the server more.
  get refreshMs(): number {
    const bar = Math.min(this.rangeMs / 240, MAX_REFRESH_MS);
    return Math.max(POLL_MS, bar, Math.min(COST_PARTS * this.costMs, MAX_WAIT_MS));
  }

  // What is to be loaded next is the user's choice.
  private get wanted(): boolean {
    return this.fixed !== null || this.shownNewestMs < 0;
  }

  private wantsProfile(status: Status): boolean {
    if (this.capture !== "") {
      const one = status.captures.find(({ name }) => name === this.capture);
      if (one === undefined) return false;
      if (this.shownCapture === keyOf(one)) return false; // a finished one stays as it is
    } else if (status.newestMs === 0) return false;
    if (this.fixed !== null) return this.fixed !== this.shownFixed;
    if (this.options.hold() || (!this.wanted && this.options.aiming())) return false;
    if (status.newestMs === this.shownNewestMs) return false;
    const passed = this.options.now() - this.lastProfileAt;
    return passed >= this.refreshMs - POLL_MS / 2; // rounds are no clockwork
  }

  private async loadProfile(status: Status): Promise<void> {
    const { rangeMs, fixed, capture, wanted } = this;
    const one = status.captures.find(({ name }) => name === capture);
    const { fromMs, toMs } = fixed ??
      (one === undefined ? rangeToAsk(status, rangeMs) : captureSpan(one, status.newestMs));
    const { costMs, show, drop } = await this.options.load(fromMs, toMs, wanted);
    // The user may have paused, zoomed in or chosen another range while the answer was on its way.
    const other = rangeMs !== this.rangeMs || fixed !== this.fixed || capture !== this.capture;
    if (other || (fixed === null && this.options.hold())) return drop();
    if (!wanted && this.options.aiming()) {
      this.lastProfileAt = this.options.now(); // its cost counts
      this.costMs = costMs;
      return drop();
    }
    this.shownFixed = fixed;
    this.shownCapture = one === undefined || one.running ? "" : keyOf(one);
    this.shownNewestMs = status.newestMs;
    this.lastProfileAt = this.options.now();
    this.costMs = costMs;
    show();
  }
}

function keyOf({ name, startedMs, endedMs }: Capture): string {
  return `${name} ${startedMs} ${endedMs}`;
}

const TIMEOUT_MS = 10_000;
const PROFILE_TIMEOUT_MS = 120_000; // a day of a busy host takes the agent a while

// What the agent understood, and will not do.
export const NOT_ANSWERED = "Not answered";

async function reasonOf(answer: Response): Promise<string> {
  const { error } = (await answer.json().catch(() => ({}))) as { error?: unknown };
  return typeof error === "string" && error !== "" ? error : "it would take too much memory";
}

export async function fetchAnswer(url: string, signal?: AbortSignal): Promise<Fetched> {
  const abort = new AbortController();
  const limit = url.startsWith("/api/status") ? TIMEOUT_MS : PROFILE_TIMEOUT_MS;
  const timer = setTimeout(() => abort.abort(), limit);
  const giveUp = () => abort.abort();
  signal?.addEventListener("abort", giveUp);
  try {
    const answer = await fetch(url, { signal: abort.signal, cache: "no-store" });
    if (answer.status === 401)
      throw new Error("this page's session has ended, with the agent that began it, with its token, or " +
                      "unused: open the address that stackray agent --status prints");
    if (answer.status === 413) throw new Error(`${NOT_ANSWERED}: ${await reasonOf(answer)}`);
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    const cost = /(?:^|,)\s*make\s*;\s*dur=([0-9.]+)/.exec(answer.headers.get("Server-Timing") ?? "");
    return { text: await answer.text(), costMs: Number(cost?.[1] ?? 0) || 0 };
  } catch (error) {
    if (signal?.aborted) throw new Error("cancelled");
    if (abort.signal.aborted) throw new Error(`no answer within ${limit / 1000} s`);
    if (error instanceof TypeError) throw new Error("no connection");
    throw error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
  }
}
