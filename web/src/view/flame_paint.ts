// Paints the visible part of a tree. Subtrees that are narrower than a pixel or outside the view
// are skipped whole, so the work follows what is on the screen, not the size of the tree.
import { Tree } from "../model/tree";
import { cssColor } from "./dom";
import { fillOf } from "./colors";

export const ROW_HEIGHT = 20;
export const MIN_WIDTH = 0.6;
const TEXT_MIN_WIDTH = 26;
const PADDING = 5;

export interface Scene {
  tree: Tree;
  left: number;         // the samples that span the width: left .. right
  right: number;
  width: number;        // CSS pixels
  height: number;
  scroll: number;       // CSS pixels above the view
  upward: boolean;      // root at the bottom
  zoom: number;
  selected: number;
  hovered: number;
  matching: Uint8Array | null; // by function; null: no search
  dark: boolean;
}

export function rowTop(scene: Scene, depth: number): number {
  const rows = scene.tree.maxDepth + 1;
  const content = Math.max(rows * ROW_HEIGHT, scene.height);
  const top = scene.upward ? content - (depth + 1) * ROW_HEIGHT : depth * ROW_HEIGHT;
  return top - scene.scroll;
}

export class FlamePainter {
  private fills = new Map<number, string>();
  private widths = new Map<string, number>();
  private filledFor: { tree: Tree; dark: boolean } | null = null;
  private text = "";
  private outline = "";

  paint(context: CanvasRenderingContext2D, scene: Scene): void {
    this.prepare(scene);
    context.clearRect(0, 0, scene.width, scene.height);
    context.font = "12px " + cssColor("--font");
    context.textBaseline = "middle";
    const { tree, left, right } = scene;
    const scale = scene.width / Math.max(right - left, 1e-9);
    for (let node = 0; node < tree.item.length;) {
      const x = (tree.start[node]! - left) * scale;
      const width = tree.total[node]! * scale;
      if (width < MIN_WIDTH || x + width <= 0 || x >= scene.width) {
        node = tree.end[node]!;
        continue;
      }
      const y = rowTop(scene, tree.depth[node]!);
      if (y > -ROW_HEIGHT && y < scene.height) this.box(context, scene, node, x, y, width);
      node++;
    }
    this.frame(context, scene, scene.hovered, scale, 1);
    this.frame(context, scene, scene.selected, scale, 2);
  }

  private prepare(scene: Scene): void {
    if (this.filledFor?.tree !== scene.tree || this.filledFor.dark !== scene.dark) {
      this.fills.clear();
      this.filledFor = { tree: scene.tree, dark: scene.dark };
    }
    if (this.widths.size > 20_000) this.widths.clear();
    this.text = cssColor("--frame-text");
    this.outline = cssColor("--text");
  }

  private fill(scene: Scene, node: number): string {
    const item = scene.tree.item[node]!;
    let fill = this.fills.get(item);
    if (fill === undefined) {
      const { functions } = scene.tree;
      fill = item < 0 ? fillOf("", "group", item === -1 ? "" : scene.tree.label(node), scene.dark)
        : fillOf(functions.type[item]!, functions.kind[item]!, functions.name[item]!, scene.dark);
      this.fills.set(item, fill);
    }
    return fill;
  }

  private box(context: CanvasRenderingContext2D, scene: Scene, node: number, x: number, y: number,
              width: number): void {
    const { tree, matching } = scene;
    const from = Math.max(x, 0);
    const to = Math.min(x + width, scene.width);
    const item = tree.item[node]!;
    const faded = matching !== null ? item < 0 || matching[item] === 0
                                    : tree.depth[node]! < tree.depth[scene.zoom]!;
    context.globalAlpha = faded ? (matching !== null ? 0.28 : 0.55) : 1;
    context.fillStyle = this.fill(scene, node);
    const gap = to - from > 3 ? 1 : 0;
    context.fillRect(from, y, to - from - gap, ROW_HEIGHT - 1);
    if (item >= 0 && tree.functions.kind[item] === "marker" && to - from > 6) {
      this.stripes(context, from, y, to - from - gap);
    }
    if (to - from < TEXT_MIN_WIDTH) return;
    context.globalAlpha = faded ? 0.6 : 1;
    context.fillStyle = this.text;
    const label = this.fit(context, tree.label(node), to - from - 2 * PADDING);
    if (label !== "") context.fillText(label, from + PADDING, y + ROW_HEIGHT / 2);
  }

  private stripes(context: CanvasRenderingContext2D, x: number, y: number, width: number): void {
    context.save();
    context.beginPath();
    context.rect(x, y, width, ROW_HEIGHT - 1);
    context.clip();
    context.strokeStyle = this.outline;
    context.globalAlpha *= 0.16;
    context.lineWidth = 2;
    context.beginPath();
    for (let offset = -ROW_HEIGHT; offset < width; offset += 8) {
      context.moveTo(x + offset, y + ROW_HEIGHT);
      context.lineTo(x + offset + ROW_HEIGHT, y);
    }
    context.stroke();
    context.restore();
  }

  private fit(context: CanvasRenderingContext2D, label: string, room: number): string {
    // Names can be kilobytes long; nothing after this shows at any screen width.
    const text = label.length > 800 ? label.slice(0, 800) : label;
    let width = this.widths.get(text);
    if (width === undefined) this.widths.set(text, width = context.measureText(text).width);
    if (width <= room) return text;
    // Letters differ in width: the first guess may be too long for its box.
    for (let letters = Math.floor((text.length * room) / width); letters >= 2; letters--) {
      const cut = text.slice(0, letters) + "…";
      if (context.measureText(cut).width <= room) return cut;
    }
    return "";
  }

  private frame(context: CanvasRenderingContext2D, scene: Scene, node: number, scale: number,
                thickness: number): void {
    if (node < 0 || node >= scene.tree.item.length) return;
    const x = Math.max((scene.tree.start[node]! - scene.left) * scale, 0);
    const end = (scene.tree.start[node]! + scene.tree.total[node]! - scene.left) * scale;
    const width = Math.min(end, scene.width) - x;
    if (width <= 0) return;
    context.globalAlpha = thickness > 1 ? 1 : 0.5;
    context.strokeStyle = this.outline;
    context.lineWidth = thickness;
    const y = rowTop(scene, scene.tree.depth[node]!);
    const inset = thickness / 2;
    context.strokeRect(x + inset, y + inset, Math.max(width - thickness - 1, 1),
                       ROW_HEIGHT - 1 - thickness);
    context.globalAlpha = 1;
  }
}
