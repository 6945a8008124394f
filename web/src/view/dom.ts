// Makes elements. Text is always set as text: names come from foreign processes.

export interface Options {
  class?: string;
  text?: string;
  title?: string;
  attributes?: Record<string, string>;
  on?: { [K in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[K]) => void };
}

export function element<K extends keyof HTMLElementTagNameMap>(
    tag: K, options: Options = {}, ...children: (Node | string)[]): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  if (options.class !== undefined) node.className = options.class;
  if (options.text !== undefined) node.textContent = options.text;
  if (options.title !== undefined) node.title = options.title;
  for (const [name, value] of Object.entries(options.attributes ?? {})) {
    node.setAttribute(name, value);
  }
  for (const [name, listener] of Object.entries(options.on ?? {})) {
    node.addEventListener(name, listener as EventListener);
  }
  node.append(...children);
  return node;
}

export function button(text: string, className: string, onClick: () => void,
                       title = ""): HTMLButtonElement {
  const node = element("button", { class: className, text, on: { click: onClick } });
  node.type = "button";
  if (title !== "") node.title = title;
  return node;
}

const SVG = "http://www.w3.org/2000/svg";

// A 16 × 16 line icon from path data of ours.
export function icon(path: string): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

export const ICONS = {
  search: "M7 12.5A5.5 5.5 0 1 0 7 1.5a5.5 5.5 0 0 0 0 11zM11 11l3.5 3.5",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1" +
       "M13 3l-1 1M4 12l-1 1",
  moon: "M13.5 9.8A6 6 0 0 1 6.2 2.5a6 6 0 1 0 7.3 7.3z",
  auto: "M2 3h12v8H2zM5.5 14h5M8 11v3",
  close: "M4 4l8 8M12 4l-8 8",
  down: "M4 6l4 4 4-4",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  play: "M5 3l7.5 5L5 13z",
  graph: "M2 3h12v3H2zM4 6h8v3H4zM6 9h4v4H6z",
  copy: "M5.5 5.5h8v8h-8zM3 10.5H2.5v-8h8V3",
  done: "M3 8.5l3.5 3.5L13 4.5",
};

// False where the browser does not allow it.
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

// Sizes a canvas for the screen's density; answers its 2d context in CSS pixels.
export function prepareCanvas(canvas: HTMLCanvasElement, width: number,
                              height: number): CanvasRenderingContext2D | null {
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

export function cssColor(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
