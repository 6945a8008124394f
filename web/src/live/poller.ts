// Keeps a live page up to date: asks /api/status every 2 s and for a new profile when there is one.
// Contract of the server: docs/page-data.md. Clocks: the range follows the server's newest sample,
// because the browser's clock may be another machine's.
import { parseText } from "../data/decode";
import { Profile } from "../data/profile";

export interface Status {
  host: string;
  version: string;
  frequencyHz: number;
  oldestMs: number;
  newestMs: number;
  samplesTotal: number;
  lostTotal: number;
}

export interface PollerEvents {
  onStatus(status: Status): void;
  onProfile(profile: Profile): void;
  onFailure(reason: string, sinceMs: number): void;
  onReachable(): void;
}

export interface PollerOptions extends PollerEvents {
  fetchText(url: string): Promise<string>; // rejects with an Error whose message the user may see
  now(): number;
  hold(): boolean; // true: keep what is on the screen
}

export const POLL_MS = 2000;
const MAX_REFRESH_MS = 30_000;

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
  private shownNewestMs = -1;
  private lastProfileAt = -Infinity;
  private failingSince: number | null = null;
  private busy = false;
  private again = false; // refresh() came while a round was on its way

  constructor(private readonly options: PollerOptions) {}

  // The next poll loads a profile even when nothing is new.
  refresh(): Promise<void> {
    this.shownNewestMs = -1;
    this.lastProfileAt = -Infinity;
    this.again = this.busy;
    return this.poll();
  }

  // One round. Never rejects; a call during another one does nothing.
  async poll(): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    try {
      const status = parseStatus(await this.options.fetchText("/api/status"));
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

  private wantsProfile(status: Status): boolean {
    if (this.options.hold() || status.newestMs === 0) return false;
    if (status.newestMs === this.shownNewestMs) return false;
    // A long range changes slowly and costs the server more.
    const every = Math.min(this.rangeMs / 240, MAX_REFRESH_MS);
    return this.options.now() - this.lastProfileAt >= every;
  }

  private async loadProfile(status: Status): Promise<void> {
    const asked = this.rangeMs;
    const { fromMs, toMs } = rangeToAsk(status, asked);
    const text = await this.options.fetchText(`/api/profile?from_ms=${fromMs}&to_ms=${toMs}`);
    const profile = parseText(text);
    // The user may have zoomed in or chosen another range while the answer was on its way.
    if (this.options.hold() || asked !== this.rangeMs) return;
    this.shownNewestMs = status.newestMs;
    this.lastProfileAt = this.options.now();
    this.options.onProfile(profile);
  }
}

const TIMEOUT_MS = 10_000;

export async function fetchText(url: string): Promise<string> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), TIMEOUT_MS);
  try {
    const answer = await fetch(url, { signal: abort.signal, cache: "no-store" });
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    return await answer.text();
  } catch (error) {
    if (abort.signal.aborted) throw new Error(`no answer within ${TIMEOUT_MS / 1000} s`);
    if (error instanceof TypeError) throw new Error("no connection");
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
