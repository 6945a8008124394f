// A flame graph on a canvas: zoom, hover, selection, keys. Knows trees, not profiles.
import { Tree } from "../model/tree";
import { element, prepareCanvas } from "./dom";
import { FlamePainter, MIN_WIDTH, ROW_HEIGHT, rowTop, Scene } from "./flame_paint";

export interface FlameEvents {
  onHover(node: number, x: number, y: number): void; // -1: nothing under the pointer
  onSelect(node: number): void;                      // clicked: the view has zoomed to it
}

const ZOOM_MS = 160;

export class FlameView {
  readonly root: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly content: HTMLElement;
  private readonly painter = new FlamePainter();
  private scene: Scene | null = null;
  private animation = 0;
  private scheduled = false;
  private fromEnd = 0; // of a graph that grows upwards: pixels below what is seen

  constructor(private readonly events: FlameEvents, private upward: boolean, name: string) {
    this.canvas = element("canvas", { attributes: { tabindex: "0", role: "application",
      "aria-label": `${name}. Arrow keys move, Enter zooms, Escape resets.` } });
    this.content = element("div", { class: "flame-content" }, this.canvas);
    this.root = element("div", { class: "flame" }, this.content);
    this.root.addEventListener("scroll", () => {
      const { clientHeight, scrollHeight, scrollTop } = this.root;
      // A new height scrolls too, before resize() knows of it.
      if (this.scene?.height === clientHeight) this.fromEnd = scrollHeight - clientHeight - scrollTop;
      this.draw();
    }, { passive: true });
    this.canvas.addEventListener("pointermove", (event) => this.pointerMoved(event));
    this.canvas.addEventListener("pointerleave", () => this.hover(-1, 0, 0));
    this.canvas.addEventListener("click", (event) => this.clicked(event));
    this.canvas.addEventListener("keydown", (event) => this.keyPressed(event));
    new ResizeObserver(() => this.resize()).observe(this.root);
  }

  // Where the root is; the next tree is drawn so.
  turn(upward: boolean): void {
    if (this.upward !== upward) this.scene = null;
    this.upward = upward;
  }

  // The frame that the keys are on; -1: none.
  get selected(): number {
    return this.scene?.selected ?? -1;
  }

  setTree(tree: Tree, zoom: number, matching: Uint8Array | null, dark: boolean): void {
    cancelAnimationFrame(this.animation);
    this.canvas.ariaBusy = "false";
    const before = this.scene?.tree;
    const first = before === undefined || before.label(0) !== tree.label(0);
    this.scene = {
      tree, zoom, matching, dark, upward: this.upward, selected: zoom > 0 ? zoom : -1, hovered: -1,
      left: tree.start[zoom]!, right: tree.start[zoom]! + tree.total[zoom]!,
      width: this.root.clientWidth, height: this.root.clientHeight, scroll: this.root.scrollTop,
    };
    if (first) this.fromEnd = 0;
    this.resize();
    if (first && !this.upward) this.root.scrollTop = 0;
  }

  zoomTo(node: number): void {
    const scene = this.scene;
    if (scene === null || scene.tree.total[node]! <= 0) return;
    scene.zoom = node;
    scene.selected = node > 0 ? node : -1;
    if (node > 0) this.reveal(scene, node);
    const from = { left: scene.left, right: scene.right };
    const to = { left: scene.tree.start[node]!,
                 right: scene.tree.start[node]! + scene.tree.total[node]! };
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const began = performance.now();
    const step = (now: number) => {
      const part = still ? 1 : Math.min(Math.max((now - began) / ZOOM_MS, 0), 1);
      const eased = 1 - (1 - part) ** 3;
      scene.left = part === 1 ? to.left : from.left + (to.left - from.left) * eased;
      scene.right = part === 1 ? to.right : from.right + (to.right - from.right) * eased;
      this.paint();
      if (part < 1) this.animation = requestAnimationFrame(step);
      else this.canvas.ariaBusy = "false";
    };
    cancelAnimationFrame(this.animation);
    this.canvas.ariaBusy = "true"; // what is drawn is not yet where it will be
    this.animation = requestAnimationFrame(step);
  }

  private resize(): void {
    if (this.scene === null) return;
    this.scene.width = this.root.clientWidth;
    this.scene.height = this.root.clientHeight;
    const rows = (this.scene.tree.maxDepth + 1) * ROW_HEIGHT;
    this.content.style.height = `${Math.max(rows, this.scene.height)}px`;
    this.scene.width = this.root.clientWidth; // a scroll bar may have come or gone
    // What grows upwards stays where it was, seen from its root.
    if (this.upward) this.root.scrollTop = this.root.scrollHeight - this.scene.height - this.fromEnd;
    this.draw();
  }

  private draw(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.paint();
    });
  }

  private paint(): void {
    const scene = this.scene;
    if (scene === null || scene.width === 0 || scene.height === 0) return;
    scene.scroll = this.root.scrollTop;
    const context = prepareCanvas(this.canvas, scene.width, scene.height);
    if (context !== null) this.painter.paint(context, scene);
  }

  // The node under a point of the canvas, or -1.
  private nodeAt(x: number, y: number): number {
    const scene = this.scene;
    if (scene === null || scene.tree.total[0]! <= 0) return -1;
    const { tree } = scene;
    const offset = (y - rowTop(scene, 0)) / ROW_HEIGHT;
    const depth = this.upward ? -Math.floor(offset) : Math.floor(offset);
    if (depth < 0 || depth > tree.maxDepth) return -1;
    const scale = (scene.right - scene.left) / scene.width;
    const at = scene.left + x * scale;
    let node = 0;
    while (tree.depth[node]! < depth) {
      let child = node + 1;
      const end = tree.end[node]!;
      while (child < end && tree.start[child]! + tree.total[child]! <= at) child = tree.end[child]!;
      if (child >= end || tree.start[child]! > at) return -1;
      node = child;
    }
    return tree.total[node]! / scale < MIN_WIDTH ? -1 : node;
  }

  private pointerMoved(event: PointerEvent): void {
    this.hover(this.nodeAt(event.offsetX, event.offsetY), event.clientX, event.clientY);
  }

  private hover(node: number, x: number, y: number): void {
    if (this.scene !== null && this.scene.hovered !== node) {
      this.scene.hovered = node;
      this.canvas.style.cursor = node >= 0 ? "pointer" : "default";
      this.draw();
    }
    this.events.onHover(node, x, y);
  }

  private clicked(event: MouseEvent): void {
    const node = this.nodeAt(event.offsetX, event.offsetY);
    if (node < 0) return;
    this.zoomTo(node);
    this.events.onSelect(node);
  }

  private keyPressed(event: KeyboardEvent): void {
    const scene = this.scene;
    if (scene === null) return;
    const next = this.neighbour(scene, event.key);
    if (event.key === "Enter" && scene.selected >= 0) {
      this.zoomTo(scene.selected);
      this.events.onSelect(scene.selected);
    } else if (next >= 0) {
      scene.selected = next;
      this.reveal(scene, next);
      this.draw();
      const box = this.canvas.getBoundingClientRect();
      const x = ((scene.tree.start[next]! - scene.left) / (scene.right - scene.left)) * scene.width;
      this.events.onHover(next, box.left + Math.max(x, 0) + 8,
                          box.top + rowTop(scene, scene.tree.depth[next]!) + ROW_HEIGHT);
    } else {
      return;
    }
    event.preventDefault();
  }

  private neighbour(scene: Scene, key: string): number {
    const { tree } = scene;
    const from = Math.max(scene.selected, 0);
    const parent = tree.parent[from]!;
    const [deeper, back] = this.upward ? ["ArrowUp", "ArrowDown"] : ["ArrowDown", "ArrowUp"];
    if (key === deeper) return from + 1 < tree.end[from]! ? from + 1 : from;
    if (key === back) return Math.max(parent, 0);
    if (key === "ArrowRight") {
      return parent >= 0 && tree.end[from]! < tree.end[parent]! ? tree.end[from]! : from;
    }
    if (key !== "ArrowLeft") return -1;
    let previous = from;
    for (let child = parent + 1; parent >= 0 && child < from; child = tree.end[child]!) previous = child;
    return previous;
  }

  private reveal(scene: Scene, node: number): void {
    const top = rowTop(scene, scene.tree.depth[node]!);
    if (top < 0) this.root.scrollTop += top;
    if (top + ROW_HEIGHT > scene.height) this.root.scrollTop += top + ROW_HEIGHT - scene.height;
  }
}
