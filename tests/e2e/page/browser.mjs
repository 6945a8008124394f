// Starts Chromium with a fresh profile, and reads what the page shows.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(join(here, "../../../web/package.json"));

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync"];

// For what a user would wait for: long, because a busy machine may stand still for half a minute.
export const WAIT_MS = 100_000;

export const ROW_HEIGHT = 20; // of the flame graph, as in web/src/view/flame_paint.ts

// Path of the browser, or null with a reason on standard output. STACKRAY_CHROMIUM names another
// one.
export function findChromium() {
  const usual = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  const candidates = process.env.STACKRAY_CHROMIUM ? [process.env.STACKRAY_CHROMIUM] : usual;
  const found = candidates.find((path) => existsSync(path));
  if (found === undefined) console.log("SKIP page in a browser: no Chromium on this machine");
  return found ?? null;
}

const OPTIONS = () => ({ executablePath: findChromium(), headless: true, args: FLAGS });

export async function launchServer() {
  return require("playwright-core").chromium.launchServer(OPTIONS());
}

// The browser that run.mjs has started, or a new one where a test file runs by itself.
export async function launch() {
  const { chromium } = require("playwright-core");
  const endpoint = process.env.STACKRAY_BROWSER;
  return endpoint ? chromium.connect(endpoint) : chromium.launch(OPTIONS());
}

// A page at `url` with a record of everything it must not do.
export async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: VIEWPORT,
    colorScheme: "light", timezoneId: "UTC", ...options });
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  const seen = { dialogs: [], errors: [], requests: [] };
  page.on("dialog", (dialog) => {
    seen.dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  page.on("pageerror", (error) => seen.errors.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") seen.errors.push(message.text());
  });
  page.on("request", (request) => seen.requests.push(request.url()));
  await page.goto(url);
  return { page, seen, close: () => context.close() };
}

const VIEWPORT = { width: 1280, height: 800 };

// One page at one file for many tests: loading it again is several times as fast as a new page.
export class SharedPage {
  async open(browser, url) {
    Object.assign(this, await open(browser, url));
    this.url = url;
    this.used = false;
  }

  // As if it were opened for the first time, at `hash`.
  async fresh({ viewport = VIEWPORT, colorScheme = "light", hash = "" } = {}) {
    const { page, seen } = this;
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    await page.mouse.move(0, 0);
    if (this.used || hash !== "") {
      await page.evaluate(() => localStorage.clear());
      // Ends the document before: a word typed there comes into its address a little later.
      await page.goto("about:blank");
      for (const list of Object.values(seen)) list.length = 0;
      await page.goto(this.url + hash);
    }
    this.used = true;
    await page.locator("[data-fact=samples]").waitFor();
    await painted(page);
  }
}

// Every graph on the screen is where it will be: no zoom is on its way.
export async function settled(page) {
  await page.waitForFunction(() => document.querySelector("canvas[aria-busy=true]") === null);
  await painted(page);
}

// Two animation frames: whatever was asked for is painted.
export async function painted(page) {
  await page.evaluate(() => new Promise((done) =>
    requestAnimationFrame(() => requestAnimationFrame(done))));
}

// Where a frame is: `share` of the width from the left, `depth` rows from the root.
export async function framePoint(page, share, depth, canvas = ".body > .flame canvas", upward = false) {
  const box = await page.locator(canvas).boundingBox();
  const y = depth * ROW_HEIGHT + ROW_HEIGHT / 2;
  return { x: box.x + share * box.width, y: upward ? box.y + box.height - y : box.y + y };
}

export async function hover(page, share, depth, canvas, upward) {
  const { x, y } = await framePoint(page, share, depth, canvas, upward);
  await page.mouse.move(x, y);
  await painted(page);
  const tip = page.locator(".tooltip");
  return (await tip.isVisible()) ? tip.innerText() : "";
}

export async function click(page, share, depth, canvas, upward) {
  const { x, y } = await framePoint(page, share, depth, canvas, upward);
  await page.mouse.click(x, y);
  await settled(page);
}

// The colour on the screen at the middle of a frame, as "r,g,b".
export async function colorAt(page, share, depth) {
  await painted(page);
  return page.evaluate(([part, row, height]) => {
    const canvas = document.querySelector(".body > .flame canvas");
    const ratio = canvas.width / canvas.clientWidth;
    const [r, g, b, a] = canvas.getContext("2d").getImageData(
      Math.floor(part * canvas.width), Math.floor((row * height + 3) * ratio), 1, 1).data;
    return `${r},${g},${b},${a}`;
  }, [share, depth, ROW_HEIGHT]);
}

// From now on cpuSeconds() says how much CPU time the page's main thread has used, which tells a
// slow page from a busy machine.
export async function cpuClock(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return metrics.find((metric) => metric.name === "TaskDuration").value;
  };
}

export async function fact(page, label) {
  return page.locator(`[data-fact="${label}"] dd`).innerText();
}

export async function rangeText(page) {
  return page.locator(".range-text").innerText();
}
