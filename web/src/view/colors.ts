// Colours by type of frame, for both themes, and the types' names in the legend.
import { Kind, kindOf } from "../model/names";

interface Tone { hue: number; saturation: number }

const TONES: Record<Exclude<Kind, "runtime">, Tone> = {
  native: { hue: 214, saturation: 72 },
  inlined: { hue: 188, saturation: 52 },
  kernel: { hue: 22, saturation: 82 },
  marker: { hue: 220, saturation: 4 },
  group: { hue: 226, saturation: 16 },
};

const RUNTIMES: Record<string, Tone> = {
  cpython: { hue: 142, saturation: 48 },
  ruby: { hue: 348, saturation: 68 },
  php: { hue: 262, saturation: 56 },
  perl: { hue: 84, saturation: 44 },
  jvm: { hue: 46, saturation: 78 },
  v8js: { hue: 58, saturation: 66 },
  dotnet: { hue: 292, saturation: 46 },
  go: { hue: 168, saturation: 52 },
  beam: { hue: 322, saturation: 54 },
};

const LABELS: Record<string, string> = {
  native: "Native", kernel: "Kernel", "native+inline": "Inlined", "abort-marker": "Marker", cut: "Cut",
  cpython: "Python", ruby: "Ruby", php: "PHP", perl: "Perl", jvm: "Java", v8js: "JavaScript",
  dotnet: ".NET", go: "Go", beam: "Erlang",
};

export function typeLabel(type: string): string {
  return LABELS[type] ?? type.replace(/\+inline$/, " inlined");
}

function hash(text: string): number {
  let value = 2166136261;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
  return value >>> 0;
}

function toneOf(type: string, kind: Kind): Tone {
  if (kind === "runtime") return RUNTIMES[type] ?? { hue: hash(type) % 360, saturation: 45 };
  return TONES[kind];
}

// `seed` varies the shade a little, so that neighbours of one type stay apart.
export function fillOf(type: string, kind: Kind, seed: string, dark: boolean): string {
  const { hue, saturation } = toneOf(type, kind);
  const shade = (hash(seed) % 5) - 2;
  return dark ? `hsl(${hue} ${Math.round(saturation * 0.62)}% ${36 + shade * 1.8}%)`
              : `hsl(${hue} ${saturation}% ${77 + shade * 1.8}%)`;
}

export function swatchOf(type: string, dark: boolean): string {
  const { hue, saturation } = toneOf(type, kindOf(type));
  return dark ? `hsl(${hue} ${Math.round(saturation * 0.75)}% 52%)`
              : `hsl(${hue} ${saturation}% 64%)`;
}
