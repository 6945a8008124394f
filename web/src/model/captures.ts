// The captures of the agent's state directory, as /api/status lists them.
import { Span } from "./state";

export interface Capture {
  name: string;
  target: string;
  frequencyHz: number;
  running: boolean;
  startedMs: number;
  endedMs: number; // 0: it runs
}

// Of any JSON: what is no capture is left out.
export function parseCaptures(value: unknown): Capture[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((each: unknown): Capture[] => {
    if (typeof each !== "object" || each === null) return [];
    const record = each as Record<string, unknown>;
    const number = (key: string) => {
      const found = record[key];
      return typeof found === "number" && Number.isFinite(found) && found >= 0 ? found : 0;
    };
    const { name, target } = record;
    if (typeof name !== "string" || name === "") return [];
    return [{ name, target: typeof target === "string" ? target : "",
              frequencyHz: number("frequency_hz"), running: record["running"] === true,
              startedMs: number("started_ms"), endedMs: number("ended_ms") }];
  });
}

// All the time of a capture, in whole seconds; of a running one up to the newest samples.
export function captureSpan({ running, startedMs, endedMs }: Capture, newestMs: number): Span {
  const last = running ? newestMs : endedMs;
  const fromMs = Math.floor(startedMs / 1000) * 1000;
  return { fromMs, toMs: Math.max(Math.ceil((last + 1) / 1000) * 1000, fromMs + 1000) };
}
