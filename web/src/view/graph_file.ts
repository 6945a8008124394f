// The flame graph as a picture: all rows below the zoomed frame, in the colours of the screen.
import { formatPercent } from "../model/format";
import { Measure } from "../model/measure";
import { Tree } from "../model/tree";
import { fillOf } from "./colors";
import { cssColor } from "./dom";
import { FlamePainter, MIN_WIDTH, ROW_HEIGHT, Scene } from "./flame_paint";

const WIDTH = 1600;
const MAX_ROWS = 800; // a canvas has at most 16,384 pixels at twice the density in most browsers
const LETTER = 6.6;   // of the 11 px font below, on the safe side

export interface Picture { tree: Tree; zoom: number; upward: boolean; dark: boolean; measure: Measure; title: string }

// Characters that no XML document may have are shown as U+FFFD.
function escapeXml(text: string): string {
  return text.replace(/[^\t\n\r -\ud7ff\ue000-\ufffd]|[\ud800-\udfff]/g, (character, at: number) => {
    const pair = /^[\ud800-\udbff][\udc00-\udfff]/.test(text.slice(at, at + 2)) ||
                 /^[\ud800-\udbff][\udc00-\udfff]/.test(text.slice(at - 1, at + 1));
    return pair ? character : "\ufffd";
  }).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

// Rows from the root to the deepest frame of the zoomed part.
function rowsOf({ tree, zoom }: Picture): number {
  let deepest = tree.depth[zoom]!;
  for (let node = zoom; node < tree.end[zoom]!; node++) deepest = Math.max(deepest, tree.depth[node]!);
  return Math.min(deepest + 1, MAX_ROWS);
}

function fillIn({ tree, dark }: Picture, node: number): string {
  const item = tree.item[node]!;
  return item < 0 ? fillOf("", "group", item === -1 ? "" : tree.label(node), dark)
    : fillOf(tree.functions.type[item]!, tree.functions.kind[item]!, tree.functions.name[item]!, dark);
}

function box(picture: Picture, node: number, x: number, y: number, width: number): string {
  const { tree, measure } = picture;
  const name = tree.label(node);
  const room = Math.floor((width - 8) / LETTER);
  const letters = [...name.slice(0, 800)];
  const label = letters.length <= room ? letters.join("") : `${letters.slice(0, room - 1).join("")}…`;
  const share = `${measure.amount(tree.total[node]!)}, ${formatPercent(tree.total[node]!, tree.total[0]!)}`;
  return `<g><title>${escapeXml(`${name.slice(0, 1200)} (${share})`)}</title>` +
    `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${ROW_HEIGHT - 1}" ` +
    `fill="${fillIn(picture, node)}"/>` +
    (room < 3 ? "" : `<text x="${(x + 4).toFixed(1)}" y="${y + 14}">${escapeXml(label)}</text>`) + "</g>\n";
}

export function svgText(picture: Picture): string {
  const { tree, zoom, upward } = picture;
  const rows = rowsOf(picture);
  const height = rows * ROW_HEIGHT;
  const scale = WIDTH / tree.total[zoom]!;
  const parts: string[] = [];
  for (let node = 0; node < tree.end[zoom]!;) {
    const from = Math.max((tree.start[node]! - tree.start[zoom]!) * scale, 0);
    const to = Math.min((tree.start[node]! + tree.total[node]! - tree.start[zoom]!) * scale, WIDTH);
    if (to - from < MIN_WIDTH) {
      node = tree.end[node]!;
      continue;
    }
    const row = tree.depth[node]!;
    const y = (upward ? rows - 1 - row : row) * ROW_HEIGHT;
    if (row < rows) parts.push(box(picture, node, from, y, to - from));
    node++;
  }
  return `<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" ` +
    `height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="11" ` +
    `fill="${cssColor("--frame-text")}"><title>${escapeXml(picture.title)}</title>\n` +
    `<rect width="${WIDTH}" height="${height}" fill="${cssColor("--card")}"/>\n${parts.join("")}</svg>\n`;
}

export function pngBlob(picture: Picture): Promise<Blob> {
  const { tree, zoom, upward, dark } = picture;
  const height = rowsOf(picture) * ROW_HEIGHT;
  const canvas = document.createElement("canvas");
  canvas.width = 2 * WIDTH;
  canvas.height = 2 * height;
  const context = canvas.getContext("2d");
  if (context === null) return Promise.reject(new Error("this browser draws no picture"));
  context.scale(2, 2);
  const all = Math.max((tree.maxDepth + 1) * ROW_HEIGHT, height);
  const scene: Scene = { tree, zoom, upward, dark, left: tree.start[zoom]!, width: WIDTH, height,
    right: tree.start[zoom]! + tree.total[zoom]!, scroll: upward ? all - height : 0, selected: -1, hovered: -1,
    matching: null };
  new FlamePainter().paint(context, scene);
  context.globalCompositeOperation = "destination-over"; // the painter has cleared what was there
  context.globalAlpha = 1;
  context.fillStyle = cssColor("--card");
  context.fillRect(0, 0, WIDTH, height);
  return new Promise((resolve, reject) => canvas.toBlob((blob) =>
    (blob === null ? reject(new Error("the picture is too large for this browser")) : resolve(blob)), "image/png"));
}
