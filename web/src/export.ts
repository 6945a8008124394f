// Makes the files that the page saves.
import { Original, pageFile } from "./data/page_file";
import { pprofBytes } from "./model/export_pprof";
import { foldedText, speedscopeText } from "./model/export_text";
import { Measure } from "./model/measure";
import { Head } from "./model/source";
import { Tree } from "./model/tree";
import { Format } from "./view/export_menu";
import { pngBlob, svgText } from "./view/graph_file";

// Those of which each stack is wanted, however narrow.
export const STACK_FORMATS: ReadonlySet<Format> = new Set(["folded", "pprof", "speedscope"] as const);

export interface Exported {
  profile: Head;
  original: () => Promise<Original>;
  tree: Tree;
  zoom: number;
  upward: boolean;
  dark: boolean;
  measure: Measure;
  view: string; // what is chosen, in the words of an address
}

// "build-host-2026-09-21-140320": a name that every file system takes.
function fileName(profile: Head): string {
  const host = profile.host.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[.-]+/, "").slice(0, 60) || "profile";
  const time = profile.startMs > 0 && profile.startMs < 8e15
    ? `-${new Date(profile.startMs).toISOString().slice(0, 19).replaceAll(":", "").replace("T", "-")}` : "";
  return `${host}${time}`;
}

const ENDINGS: Partial<Record<Format, string>> = { speedscope: "speedscope.json", pprof: "pb.gz" };

async function gzipBlob(bytes: Uint8Array<ArrayBuffer>): Promise<Blob> {
  return new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"))).blob();
}

export async function exportFile(format: Format, what: Exported): Promise<{ name: string; blob: Blob }> {
  const { profile, tree, zoom, measure } = what;
  const title = profile.title || profile.host || "profile";
  const name = `${fileName(profile)}.${ENDINGS[format] ?? format}`;
  const text = (content: string, type: string) => ({ name, blob: new Blob([content], { type }) });
  switch (format) {
    case "folded": return text(foldedText(tree, zoom, measure), "text/plain");
    case "speedscope": return text(speedscopeText(tree, zoom, title, measure), "application/json");
    case "pprof": return { name, blob: await gzipBlob(pprofBytes(tree, zoom, measure, profile)) };
    case "svg": return text(svgText({ ...what, title }), "image/svg+xml");
    case "png": return { name, blob: await pngBlob({ ...what, title }) };
    case "html": return text(await pageFile(await what.original(), title, what.view), "text/html");
  }
}
