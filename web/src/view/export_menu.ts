// Saves what is shown in files.
import { copyText, element } from "./dom";
import { Menu, menuItem } from "./menu";

export const FORMATS = ["folded", "pprof", "speedscope", "svg", "png", "html"] as const;
export type Format = (typeof FORMATS)[number];

const TEXTS: Record<Format, [string, string]> = {
  folded: ["Folded stacks (.folded)", "One line a stack, of what is shown"],
  pprof: ["pprof (.pb.gz)", "What is shown, for go tool pprof, Pyroscope and others"],
  speedscope: ["speedscope (.speedscope.json)", "What is shown, for speedscope"],
  svg: ["Picture of the graph (.svg)", "The graph as it is zoomed, with names on hover"],
  png: ["Picture of the graph (.png)", "The graph as it is zoomed"],
  html: ["This page with its data (.html)", "One file for a colleague: all of the profile, and it opens with the view that you see"],
};

export class ExportMenu {
  readonly menu: Menu;
  private readonly failure = element("p", { class: "menu-note", attributes: { role: "alert" } });

  private readonly link = menuItem("Copy a link to this view", "For a colleague who may open this page: " +
    "the time, the filters and the zoom stand in it, and no token", () => void this.copyLink());

  // `linkOf`: the address of what is shown; "": it has none that others can open.
  // `say`: what was done.
  constructor(private readonly make: (format: Format) => Promise<{ name: string; blob: Blob }>,
              private readonly linkOf: () => string, private readonly say: (text: string) => void) {
    this.failure.hidden = true;
    this.link.hidden = linkOf() === "";
    this.menu = new Menu("export", "Export", "Save what is shown, or link to it", this.link,
      ...FORMATS.map((format) => menuItem(...TEXTS[format], () => void this.save(format))), this.failure);
  }

  // Where a browser does not let pages copy, the link is shown to be copied.
  private async copyLink(): Promise<void> {
    const link = this.linkOf();
    this.failure.hidden = await copyText(link);
    if (!this.failure.hidden) {
      this.failure.textContent = link;
      return;
    }
    this.menu.close();
    this.say("Link copied");
  }

  private async save(format: Format): Promise<void> {
    try {
      const { name, blob } = await this.make(format);
      const url = URL.createObjectURL(blob);
      const link = element("a", { attributes: { href: url, download: name } });
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
      this.failure.hidden = true;
      this.menu.close();
      this.say(`Saved as ${name}`);
    } catch (error) {
      this.failure.textContent = `Not saved: ${error instanceof Error ? error.message : String(error)}`;
      this.failure.hidden = false;
    }
  }
}
