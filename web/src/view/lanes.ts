// Who ran when: a lane of bars for each process and thread, under one time axis. Knows lanes, not
// profiles.
import { formatClock } from "../model/format";
import { Lane } from "../model/lanes";
import { Measure } from "../model/measure";
import { cssColor, element, prepareCanvas } from "./dom";

export interface LaneScene {
  lanes: Lane[];
  startMs: number;
  bucketMs: number;
  bucketCount: number;
  buckets: { first: number; last: number } | null;
  measure: Measure;
  passes: (lane: Lane) => boolean; // or it is not in the graph
}

export interface LaneEvents {
  onHover(lines: string[] | null, x: number, y: number): void;
  onPick(lane: Lane): void;
}

const ROW = 22;
const GAP = 4;

export class LanesView {
  readonly root: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly content: HTMLElement;
  private scene: LaneScene | null = null;
  private highest = { process: 1, thread: 1 };
  private hovered = -1;

  constructor(private readonly events: LaneEvents) {
    this.canvas = element("canvas", { attributes: { tabindex: "0", role: "application",
      "aria-label": "Time of each process and thread. Arrow keys move, Enter shows only that one." } });
    this.content = element("div", { class: "flame-content" }, this.canvas);
    this.root = element("div", { class: "lanes" }, this.content);
    this.root.addEventListener("scroll", () => this.paint(), { passive: true });
    this.canvas.addEventListener("pointermove", (event) => this.hover(this.laneAt(event.offsetY), event));
    this.canvas.addEventListener("pointerleave", () => this.hover(-1, null));
    this.canvas.addEventListener("click", (event) => this.pick(this.laneAt(event.offsetY)));
    this.canvas.addEventListener("keydown", (event) => this.keyPressed(event));
    new ResizeObserver(() => this.resize()).observe(this.root);
  }

  set(scene: LaneScene): void {
    this.scene = scene;
    const highest = { process: 1e-9, thread: 1e-9 };
    for (const lane of scene.lanes) {
      const kind = lane.thread === "" ? "process" : "thread";
      for (const value of lane.counts.values()) highest[kind] = Math.max(highest[kind], value);
    }
    this.highest = highest;
    this.hovered = Math.min(this.hovered, scene.lanes.length - 1);
    this.resize();
  }

  private get labelWidth(): number {
    return Math.min(Math.max(this.root.clientWidth * 0.32, 90), 200);
  }

  private laneAt(y: number): number {
    const lane = Math.floor((y + this.root.scrollTop) / ROW);
    return this.scene !== null && lane < this.scene.lanes.length ? lane : -1;
  }

  private pick(index: number): void {
    const lane = this.scene?.lanes[index];
    if (lane !== undefined) this.events.onPick(lane);
  }

  private hover(index: number, event: PointerEvent | null): void {
    const moved = this.hovered !== index;
    this.hovered = index;
    this.canvas.style.cursor = index >= 0 ? "pointer" : "default";
    if (moved) this.paint();
    const lines = index < 0 || event === null ? null : this.linesOf(index, event.offsetX);
    this.events.onHover(lines, event?.clientX ?? 0, event?.clientY ?? 0);
  }

  private linesOf(index: number, x: number): string[] {
    const { lanes, startMs, bucketMs, bucketCount, measure } = this.scene!;
    const lane = lanes[index]!;
    const lines = [lane.label, `${measure.amount(lane.sum)} in the chosen time`];
    const share = (x - this.labelWidth) / (this.root.clientWidth - this.labelWidth);
    if (share < 0 || share >= 1) return lines;
    const bucket = Math.floor(share * bucketCount);
    const value = lane.counts.get(bucket) ?? 0;
    const [amount, rate] = [measure.amount(value), measure.rate.text(measure.rate.of(value, bucketMs))];
    lines.push(`${formatClock(startMs + bucket * bucketMs)}: ` +
      (value === 0 ? "nothing" : rate === amount ? amount : `${amount}, ${rate}`));
    return lines;
  }

  private keyPressed(event: KeyboardEvent): void {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (this.scene === null || (step === 0 && event.key !== "Enter")) return;
    event.preventDefault();
    if (step === 0) return this.pick(this.hovered);
    this.hovered = Math.min(Math.max(this.hovered + step, 0), this.scene.lanes.length - 1);
    this.root.scrollTop = Math.min(this.root.scrollTop, this.hovered * ROW);
    this.root.scrollTop = Math.max(this.root.scrollTop, (this.hovered + 1) * ROW - this.root.clientHeight);
    this.paint();
    const box = this.canvas.getBoundingClientRect();
    if (this.hovered >= 0) this.events.onHover(this.linesOf(this.hovered, 0), box.left,
                                               box.top + (this.hovered + 1) * ROW - this.root.scrollTop);
  }

  private resize(): void {
    if (this.scene === null) return;
    this.content.style.height = `${Math.max(this.scene.lanes.length * ROW, this.root.clientHeight)}px`;
    this.paint();
  }

  private paint(): void {
    const [width, height] = [this.root.clientWidth, this.root.clientHeight];
    if (this.scene === null || width === 0 || height === 0) return;
    const context = prepareCanvas(this.canvas, width, height);
    if (context === null) return;
    context.clearRect(0, 0, width, height);
    const first = Math.floor(this.root.scrollTop / ROW);
    const last = Math.min(first + Math.ceil(height / ROW) + 1, this.scene.lanes.length);
    for (let index = first; index < last; index++) {
      this.paintLane(context, index, index * ROW - this.root.scrollTop, width);
    }
    this.veil(context, width, height);
  }

  private paintLane(context: CanvasRenderingContext2D, index: number, top: number, width: number): void {
    const { lanes, bucketCount, passes } = this.scene!;
    const lane = lanes[index]!;
    const whole = lane.thread === "";
    const left = this.labelWidth;
    if (index === this.hovered) {
      context.fillStyle = cssColor("--hover");
      context.fillRect(0, top, width, ROW);
    }
    context.fillStyle = cssColor(whole ? "--text" : "--muted");
    context.globalAlpha = passes(lane) ? 1 : 0.4;
    context.font = `${whole ? "600 " : ""}12px ${cssColor("--font")}`;
    context.textBaseline = "middle";
    const indent = whole ? 8 : 22;
    context.save();
    context.beginPath();
    context.rect(0, top, left - 8, ROW);
    context.clip();
    context.fillText(lane.label.slice(0, 200), indent, top + ROW / 2);
    context.restore();
    const bar = (width - left) / bucketCount;
    const highest = whole ? this.highest.process : this.highest.thread;
    context.fillStyle = cssColor(whole ? "--bar" : "--bar-thread");
    for (const [bucket, value] of lane.counts) {
      const size = Math.max((value / highest) * (ROW - GAP), 2); // a little is not nothing
      context.fillRect(left + bucket * bar, top + ROW - 1 - size, Math.max(bar - (bar > 4 ? 1 : 0), 0.8), size);
    }
    context.globalAlpha = 1;
    context.fillStyle = cssColor("--line");
    context.fillRect(left, top + ROW - 1, width - left, 1);
  }

  private veil(context: CanvasRenderingContext2D, width: number, height: number): void {
    const { buckets, bucketCount } = this.scene!;
    if (buckets === null) return;
    const left = this.labelWidth;
    const bar = (width - left) / bucketCount;
    context.fillStyle = cssColor("--veil");
    context.fillRect(left, 0, buckets.first * bar, height);
    const end = left + (buckets.last + 1) * bar;
    context.fillRect(end, 0, width - end, height);
  }
}
