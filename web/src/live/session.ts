// A page served by the agent: range presets, pause, and what the connection does.
import { App } from "../app";
import { formatClock, formatDuration } from "../model/format";
import { Segments } from "../view/controls";
import { button, element, icon, ICONS } from "../view/dom";
import { fetchAnswer, NOT_ANSWERED, Poller, POLL_MS, Status } from "./poller";
import { ServerSource } from "./server_source";

const RANGES = [["60000", "1 min"], ["300000", "5 min"], ["900000", "15 min"], ["3600000", "1 h"],
                ["86400000", "24 h"]] as const;

const TOLD_MS = 8000;

export class LiveSession {
  private readonly poller: Poller;
  private readonly source = new ServerSource(fetchAnswer);
  private readonly state = element("span", { class: "live-state", attributes: { role: "status" } });
  private readonly pause: HTMLButtonElement;
  private readonly ranges: Segments<string>;
  private paused = false;
  private failing = false;
  private toldUntil = -Infinity; // what stands in the banner is to be read
  private hasSamples = false;

  constructor(private readonly app: App) {
    this.poller = new Poller({
      fetchAnswer,
      now: () => Date.now(),
      hold: () => app.hasProfile && this.reasonToHold() !== "",
      onStatus: (status) => this.gotStatus(status),
      aiming: () => app.hasProfile && app.aiming,
      load: async (fromMs, toMs, wanted) => {
        const { show, drop } = await app.load(this.source, { fromMs, toMs }, wanted);
        return { costMs: this.source.costMs, drop, show: () => {
          this.hasSamples = true;
          show();
        } };
      },
      onFailure: (reason, sinceMs) => this.failed(reason, sinceMs),
      onReachable: () => this.reachable(),
    });
    app.onTrouble = (reason) => {
      if (reason.startsWith(NOT_ANSWERED)) app.cancel();
      this.failed(reason, Date.now());
    };
    this.pause = button("", "control pause", () => this.togglePause());
    this.ranges = new Segments<string>("Time range", RANGES, (range) => this.setRange(Number(range)));
    app.shell.header.tools.prepend(this.state, this.pause);
    app.shell.timeTools.append(this.ranges.root);
    app.live = true;
    app.onInspect = () => this.describe();
    app.onTime = () => {
      this.follow();
      void this.poller.refresh();
    };
    this.follow();
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) void this.poller.poll();
    });
    this.describe();
    app.showEmpty("Loading…", "Asking the agent for its samples.");
  }

  start(): void {
    const round = () => {
      const next = () => setTimeout(round, POLL_MS);
      if (document.hidden) next();
      else void this.poller.poll().then(next);
    };
    round();
  }

  private reasonToHold(): string {
    if (this.paused) return "by you";
    if (document.hidden) return "the tab is hidden";
    return this.app.inspecting;
  }

  // Shows the time that the state names.
  private follow(): void {
    const { windowMs, at, capture } = this.app.state;
    this.poller.rangeMs = windowMs;
    this.poller.fixed = at;
    this.poller.capture = capture;
    this.ranges.root.hidden = capture !== "";
    this.ranges.choose(at === null ? String(windowMs) : "");
  }

  private setRange(windowMs: number): void {
    const paused = this.reasonToHold() !== "";
    this.app.state = { ...this.app.state, windowMs };
    this.resume();
    const text = RANGES.find(([value]) => value === String(windowMs))?.[1];
    if (paused) this.app.shell.notice.say(`Live again: the last ${text}`);
  }

  private togglePause(): void {
    if (this.reasonToHold() !== "") {
      this.resume();
    } else {
      this.paused = true;
      this.describe();
    }
  }

  private resume(): void {
    this.paused = false;
    this.app.release();
    this.follow();
    this.describe();
    void this.poller.refresh();
  }

  private gotStatus(status: Status): void {
    if (!this.app.hasProfile) this.app.shell.header.setHost(status.host);
    const { capture } = this.app.state;
    this.app.shell.header.setCaptures(status.captures, capture);
    if (capture !== "") {
      if (status.captures.every(({ name }) => name !== capture)) {
        this.app.showEmpty(`There is no capture “${capture}”`, "It may have been dropped for its age or " +
          "for room. The header has those that there are, and the continuous profile.");
      }
      return;
    }
    if (status.newestMs === 0 && !this.hasSamples) {
      this.app.showEmpty("No samples yet", "The agent is running and has nothing to show so far. " +
        "This page fills by itself when the first samples arrive.");
    }
  }

  private failed(reason: string, sinceMs: number): void {
    this.failing = true;
    const forMs = Math.round((Date.now() - sinceMs) / 1000) * 1000;
    const since = formatClock(sinceMs) + (forMs > 0 ? ` (${formatDuration(forMs)})` : "");
    const refused = reason.startsWith(NOT_ANSWERED);
    if (refused) this.toldUntil = performance.now() + TOLD_MS;
    const text = refused ? `${reason}.`
      : `The agent cannot be reached since ${since}: ${reason}. Trying again every ${POLL_MS / 1000} s.`;
    const { banner } = this.app.shell;
    banner.textContent = this.hasSamples ? `${text} What you see is from before.` : text;
    banner.hidden = false;
    if (!this.hasSamples) {
      this.app.showEmpty("The agent cannot be reached",
        "Is it still running on this host? The page goes on by itself when it answers.");
    }
    this.describe();
  }

  private reachable(): void {
    this.failing = false;
    this.app.shell.banner.hidden = performance.now() >= this.toldUntil;
    this.describe();
  }

  private describe(): void {
    const hold = this.reasonToHold();
    const state = hold !== "" ? "paused" : this.failing ? "failing" : "running";
    this.state.dataset["state"] = state;
    this.state.textContent = state === "paused" ? "Paused" : state === "failing" ? "Offline" : "Live";
    this.state.title = state === "paused" ? `Paused: ${hold}` : `Updates every ${Math.round(this.poller.refreshMs / 1000)} s`;
    const text = hold !== "" ? "Resume" : "Pause";
    if (this.pause.dataset["text"] === text) return;
    this.pause.dataset["text"] = text;
    this.pause.replaceChildren(icon(hold !== "" ? ICONS.play : ICONS.pause), text);
    this.pause.title = hold !== "" ? "Show everything again and go on" : "Keep what is on the screen";
  }
}
