// Samples over time, with a brush: drag to choose a range, drag its edges to move them, click
// outside to drop it.
import { formatClock, formatDuration } from "../model/format";
import { Measure } from "../model/measure";
import { cssColor, element, prepareCanvas } from "./dom";

export interface TimelineData {
  startMs: number;
  bucketMs: number;
  counts: Float64Array; // values of each bucket that pass the filters other than that of time
  measure: Measure;
  cpus: number;         // of the host; 0: unknown
}

export interface Range { first: number; last: number } // buckets, inclusive

const AXIS_HEIGHT = 18;
const EDGE = 6;
const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400];

export class Timeline {
  readonly root: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly hint: HTMLElement;
  private data: TimelineData | null = null;
  private range: Range | null = null;
  private drag: { anchor: number; x: number; moved: boolean } | null = null;
  private hovered = -1;

  constructor(private readonly onRange: (range: Range | null, small: boolean) => void,
              private readonly onBusy: (busy: boolean) => void) {
    this.canvas = element("canvas", { attributes: {
      tabindex: "0", role: "application",
      "aria-label": "Samples over time. Drag to choose a range; arrow keys move it." } });
    this.hint = element("div", { class: "timeline-hint" });
    this.root = element("div", { class: "timeline" }, this.canvas, this.hint);
    this.canvas.addEventListener("pointerdown", (event) => this.pressed(event));
    this.canvas.addEventListener("pointermove", (event) => this.moved(event));
    this.canvas.addEventListener("pointerup", () => this.released());
    this.canvas.addEventListener("pointercancel", () => this.released());
    this.canvas.addEventListener("pointerleave", () => this.hover(-1));
    this.canvas.addEventListener("keydown", (event) => this.keyPressed(event));
    new ResizeObserver(() => this.paint()).observe(this.root);
  }

  set(data: TimelineData, range: Range | null): void {
    this.data = data;
    if (this.drag === null) this.range = range;
    this.hover(Math.min(this.hovered, data.counts.length - 1));
  }

  private bucketAt(x: number): number {
    const buckets = this.data?.counts.length ?? 1;
    const bucket = Math.floor((x / Math.max(this.canvas.clientWidth, 1)) * buckets);
    return Math.min(Math.max(bucket, 0), buckets - 1);
  }

  private pressed(event: PointerEvent): void {
    if (this.data === null || event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    const bucket = this.bucketAt(event.offsetX);
    const edge = this.edgeNear(event.offsetX);
    // Dragging one edge keeps the other one in place.
    const anchor = edge === "first" ? this.range!.last : edge === "last" ? this.range!.first : bucket;
    this.drag = { anchor, x: event.offsetX, moved: false };
    this.onBusy(true);
  }

  private edgeNear(x: number): "first" | "last" | null {
    if (this.range === null || this.data === null) return null;
    const width = this.canvas.clientWidth / this.data.counts.length;
    if (Math.abs(x - this.range.first * width) <= EDGE) return "first";
    return Math.abs(x - (this.range.last + 1) * width) <= EDGE ? "last" : null;
  }

  private moved(event: PointerEvent): void {
    if (this.drag === null) {
      this.canvas.style.cursor = this.edgeNear(event.offsetX) === null ? "crosshair" : "ew-resize";
      this.hover(this.bucketAt(event.offsetX));
      return;
    }
    if (!this.drag.moved && Math.abs(event.offsetX - this.drag.x) < 4) return;
    this.drag.moved = true;
    const bucket = this.bucketAt(event.offsetX);
    this.range = { first: Math.min(bucket, this.drag.anchor), last: Math.max(bucket, this.drag.anchor) };
    this.hover(bucket);
    this.paint();
  }

  private released(): void {
    if (this.drag === null) return;
    const { moved } = this.drag;
    this.drag = null;
    if (!moved) this.range = null;
    this.onRange(this.range, false);
    this.onBusy(false);
    this.paint();
  }

  private keyPressed(event: KeyboardEvent): void {
    const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (step === 0 || this.data === null) return;
    event.preventDefault();
    const end = this.data.counts.length - 1;
    const range = this.range ?? { first: 0, last: end };
    const last = Math.min(Math.max(range.last + step, 0), end);
    const first = event.shiftKey || this.range === null ? range.first
                                                        : Math.min(Math.max(range.first + step, 0), last);
    this.range = { first: Math.min(first, last), last };
    this.onRange(this.range, true);
    this.paint();
  }

  private hover(bucket: number): void {
    if (this.data === null) return;
    this.hovered = bucket;
    if (bucket < 0) {
      this.hint.textContent = "";
    } else {
      const { startMs, bucketMs, counts, measure } = this.data;
      const value = counts[bucket]!;
      const [amount, rate] = [measure.amount(value), this.rateText(measure.rate.of(value, bucketMs))];
      this.hint.textContent = `${formatClock(startMs + bucket * bucketMs)} · ${amount}` +
        (rate === amount ? "" : ` · ${rate}`);
    }
    this.paint();
  }

  private paint(): void {
    const width = this.root.clientWidth;
    const height = this.root.clientHeight;
    if (this.data === null || width === 0 || height === 0) return;
    const context = prepareCanvas(this.canvas, width, height);
    if (context === null) return;
    context.clearRect(0, 0, width, height);
    this.paintBars(context, width, height - AXIS_HEIGHT);
    this.paintAxis(context, width, height);
    if (this.range !== null) this.paintRange(context, width, height - AXIS_HEIGHT, this.range);
    this.paintScale(context, width, height - AXIS_HEIGHT);
  }

  // "1.7 of 2 CPUs" where the number of CPUs is known and is what the type's rate counts.
  private rateText(rate: number): string {
    const { measure, cpus } = this.data!;
    const text = measure.rate.text(rate);
    return cpus > 0 && / CPUs?$/.test(text) ? text.replace(/ CPUs?$/, ` of ${cpus} CPUs`) : text;
  }

  // One or two lines across the bars, at round rates.
  private paintScale(context: CanvasRenderingContext2D, width: number, height: number): void {
    const { counts, bucketMs, measure } = this.data!;
    const highest = measure.rate.of(counts.reduce((high, value) => Math.max(high, value), 0), bucketMs);
    if (!(highest > 0)) return;
    const step = roundStep(highest / 1.2);
    context.font = "11px " + cssColor("--font");
    context.textBaseline = "top";
    for (let rate = step; rate <= highest; rate += step) {
      const y = Math.round(height - (rate / highest) * (height - 4)) + 0.5;
      context.fillStyle = cssColor("--grid");
      context.fillRect(0, y, width, 1);
      const text = this.rateText(rate);
      context.fillStyle = cssColor("--card");
      context.globalAlpha = 0.88;
      context.fillRect(2, y + 1, context.measureText(text).width + 6, 13);
      context.globalAlpha = 1;
      context.fillStyle = cssColor("--muted");
      context.fillText(text, 5, y + 2);
    }
  }

  private paintBars(context: CanvasRenderingContext2D, width: number, height: number): void {
    const { counts } = this.data!;
    const bar = width / counts.length;
    const highest = counts.reduce((high, value) => Math.max(high, value), 1);
    context.fillStyle = cssColor("--bar");
    for (let i = 0; i < counts.length; i++) {
      const size = (counts[i]! / highest) * (height - 4);
      context.fillRect(i * bar, height - size, Math.max(bar - (bar > 4 ? 1 : 0), 0.8), size);
    }
    if (this.hovered >= 0) {
      context.fillStyle = cssColor("--bar-hover");
      context.fillRect(this.hovered * bar, 0, Math.max(bar, 1), height);
    }
    context.fillStyle = cssColor("--line");
    context.fillRect(0, height, width, 1);
  }

  private paintAxis(context: CanvasRenderingContext2D, width: number, height: number): void {
    const { startMs, bucketMs, counts } = this.data!;
    const spanMs = counts.length * bucketMs;
    const wanted = Math.max(width / 110, 1);
    const step = (STEPS_S.find((s) => spanMs / (s * 1000) <= wanted) ?? 86400 * 7) * 1000;
    context.fillStyle = cssColor("--muted");
    context.font = "11px " + cssColor("--font");
    context.textBaseline = "bottom";
    for (let at = Math.ceil(startMs / step) * step; at < startMs + spanMs; at += step) {
      const x = ((at - startMs) / spanMs) * width;
      if (x > width - 58) break;
      context.fillRect(x, height - AXIS_HEIGHT, 1, 4);
      context.fillText(formatClock(at, step < 60_000), x + 4, height - 1);
    }
  }

  private paintRange(context: CanvasRenderingContext2D, width: number, height: number,
                     range: Range): void {
    const bar = width / this.data!.counts.length;
    const left = range.first * bar;
    const right = (range.last + 1) * bar;
    context.fillStyle = cssColor("--veil");
    context.fillRect(0, 0, left, height);
    context.fillRect(right, 0, width - right, height);
    context.fillStyle = cssColor("--accent");
    context.fillRect(left, 0, 2, height);
    context.fillRect(right - 2, 0, 2, height);
    context.fillRect(left, height - 2, right - left, 2);
  }
}

// The largest of 1, 2, 5 times a power of ten that is at most `limit`.
function roundStep(limit: number): number {
  const power = 10 ** Math.floor(Math.log10(limit));
  return [5, 2, 1].map((digit) => digit * power).find((step) => step <= limit * 1.0001) ?? power;
}

export function describeRange(data: TimelineData, range: Range): string {
  const from = data.startMs + range.first * data.bucketMs;
  const to = data.startMs + (range.last + 1) * data.bucketMs;
  return `${formatClock(from)} – ${formatClock(to)} (${formatDuration(to - from)})`;
}
