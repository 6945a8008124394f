// Every control at the width of a large screen, a small one and a phone, in light and dark: it is
// on the screen, covers no other one, opens what it opens there, and can be read.
// STACKRAY_PICTURES=FOLDER keeps what was seen, for people.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { launch, painted, settled, SharedPage } from "./browser.mjs";
import { START_MS, TRACE, typedProfile } from "./fixtures.mjs";
import { embed } from "./page_data.mjs";
import { LiveServer } from "./server.mjs";

const html = readFileSync(process.env.STACKRAY_PAGE, "utf8");
const folder = mkdtempSync(join(tmpdir(), "stackray-layout-"));
const shared = new SharedPage();
let browser, page;

before(async () => {
  const path = join(folder, "typed.html");
  writeFileSync(path, embed(html, typedProfile()));
  browser = await launch();
  await shared.open(browser, pathToFileURL(path).href);
  page = shared.page;
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function picture(name) {
  const { STACKRAY_PICTURES: pictures } = process.env;
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
}

// What is wrong with where things are, in the page.
function misplaced() {
  const name = (node) => node.getAttribute("aria-label") || node.textContent.slice(0, 40);
  const wide = document.documentElement.clientWidth;
  const controls = [...document.querySelectorAll(
    ".header button, .toolbar .control, .segment, .search, .time button, .details button, .legend-item, .menu-item, " +
    ".legend-only, .select-only, .select-query, .request-input, .table-sort, .help button")].filter((node) => node.checkVisibility({ visibilityProperty: true }));
  const boxes = controls.map((node) => [node, node.getBoundingClientRect()]);
  const found = boxes.filter(([, box]) => box.width < 8 || box.height < 8 || box.left < -0.5 || box.right > wide + 0.5)
    .map(([node, box]) => `${name(node)} is at ${box.left} to ${box.right} of ${wide}, ${box.height} high`);
  const overlay = ".menu-panel, .select-panel, .help"; // lies over others by design
  boxes.forEach(([a, one], i) => boxes.slice(i + 1).forEach(([b, two]) => {
    if (a.contains(b) || b.contains(a) || (a.closest(overlay) === null) !== (b.closest(overlay) === null)) return;
    const across = Math.min(one.right, two.right) - Math.max(one.left, two.left);
    const down = Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top);
    if (across > 1 && down > 1) found.push(`${name(a)} covers ${name(b)}`);
  }));
  if (document.documentElement.scrollWidth > wide) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
  for (const panel of document.querySelectorAll(overlay)) {
    const box = panel.getBoundingClientRect();
    if (box.width > 0 && (box.left < 0 || box.right > wide)) found.push(`${panel.className} is at ${box.left} to ${box.right}`);
  }
  return found;
}

// Text that stands out too little from what is behind it.
function faint() {
  const channels = (color) => (/color\(srgb/.test(color) ? color.match(/[\d.]+/g).map((part) => 255 * part)
                                                         : color.match(/[\d.]+/g).map(Number));
  const light = (color) => channels(color).slice(0, 3).map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => {
    for (let at = node; at !== null; at = at.parentElement) {
      const parts = channels(getComputedStyle(at).backgroundColor);
      if (parts.length === 3 || parts[3] > 0.99 || parts[3] === 255) return getComputedStyle(at).backgroundColor;
    }
    return "rgb(255, 255, 255)";
  };
  return [...document.querySelectorAll(".control, .segment, .fact dt, .fact dd, .legend-item, .legend-share, .details-hint, " +
    ".range-text, .table-name, .table-percent, .link, .menu-item, .select-name, .help dd, .help dt, .search-result, " +
    ".lines-name > bdi, .lines-text, .lines-value, .menu-note")]
    .filter((node) => node.checkVisibility({ visibilityProperty: true }) && node.textContent.trim() !== "")
    .map((node) => {
      const [a, b] = [light(getComputedStyle(node).color), light(behind(node))].sort((x, y) => y - x);
      return [(a + 0.05) / (b + 0.05), node];
    })
    .filter(([contrast]) => contrast < 4.3)
    .map(([contrast, node]) => `${node.className} “${node.textContent.slice(0, 20)}” has ${contrast.toFixed(2)}`);
}

// What `fault` finds in the page and still finds a little later: a browser that has no CPU may show
// half of a change.
async function lasting(fault) {
  let found = await page.evaluate(fault);
  for (let tries = 0; found.length > 0 && tries < 20; tries++) {
    await page.waitForTimeout(250);
    found = await page.evaluate(fault);
  }
  return found;
}

// Nothing is wrong in the page as it is now.
async function lookAt(state, width, colors) {
  await settled(page);
  assert.deepEqual(await lasting(misplaced), [], state);
  assert.deepEqual(await lasting(faint), [], state);
  await picture(`${width}-${state.replaceAll(" ", "-")}-${colors}`);
}

const VIEWS = [["On-CPU", "Flame graph"], ["Off-CPU", "Both"], ["On-CPU", "Table"], ["Off-CPU", "Time"]];
const OPENERS = ["[data-select=processes] .select-opener", "[data-select=threads] .select-opener",
  "[data-select=waits] .select-opener", "[data-select=containers] .select-opener",
  "[data-select=cgroups] .select-opener", "[data-select=users] .select-opener",
  "[data-menu=request] .menu-opener", "[data-menu=layout] .menu-opener", "[data-menu=export] .menu-opener"];

const SIZES = [[1600, 900], [1000, 700], [400, 800]];

for (const [width, height] of SIZES) {
  // Where things are does not depend on the colours: in the dark only what shows all kinds of text
  // is opened.
  for (const [colors, views, openers] of [["light", VIEWS, OPENERS], ["dark", VIEWS.slice(1, 2), OPENERS.slice(0, 1)]]) {
    test(`every control at ${width} pixels, ${colors}`, async () => {
      await shared.fresh({ viewport: { width, height }, colorScheme: colors });
      const look = (state) => lookAt(state, width, colors);
      for (const [type, view] of views) {
        await page.getByRole("button", { name: type, exact: true }).click();
        await page.getByRole("button", { name: view, exact: true }).click();
        await settled(page);
        await look(`${type} ${view}`);
        const cut = await page.evaluate(() => [...document.querySelectorAll(".table-name")]
          .filter((node) => node.scrollWidth > node.clientWidth).map((node) => node.textContent)
          .filter((name) => name.length <= 10));
        assert.deepEqual(cut, [], `${view} has room for short names`);
        const sizes = await page.evaluate(() => [...document.querySelectorAll(".body > *")]
          .map((part) => [part.offsetWidth, part.offsetHeight]).filter(([wide]) => wide > 0));
        assert.ok(sizes.length >= 1 && sizes.every(([wide, high]) => wide >= Math.min(width, 1000) * 0.4 && high >= 180),
                  `${view}: ${sizes.join(" ")}`);
      }
      for (const opener of openers) {
        await page.locator(opener).click();
        await look(`open ${opener.replace(/[^a-z]+/g, " ").trim()}`);
        await page.keyboard.press("Escape");
      }
      await page.keyboard.press("t");
      await page.locator(".table-name", { hasText: "serve" }).first().click();
      await settled(page);
      await look("callers");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "?", exact: true }).click();
      await look("help");
      await page.keyboard.press("Escape");
      await page.locator(".search-input").fill("main");
      await page.locator(".legend-item").first().hover();
      await painted(page);
      await look("search");
      assert.deepEqual(shared.seen.errors, []);
    });
  }
}

// Lines of source and the text that their rows have room for, in the page.
function textsInRows() {
  return [...document.querySelectorAll(".lines-body .lines-row")].map((row) => {
    const [cell, text, value] = [".lines-name", ".lines-text", ".lines-value"]
      .map((part) => row.querySelector(part).getBoundingClientRect());
    const words = document.createRange();
    words.selectNodeContents(row.querySelector(".lines-text"));
    const end = Math.min(text.right, cell.right);
    return { wide: words.getBoundingClientRect().width, room: end - text.left, free: value.left - end,
             high: row.getBoundingClientRect().height };
  });
}

// In the dark alone, for time's sake; where things are does not depend on the colours.
test("what a live page alone has: requests, labels, text of lines, at three widths in the dark", async () => {
  const server = new LiveServer(html);
  const url = await server.start();
  server.newestMs = START_MS;
  server.lines = [["/src/web.cc", 12, 0, 40, "for (auto& request : take(requests)) answer(request, connection_of(request), now);"],
                  ["/src/web.cc", 30, 0, 30, "<b>write</b>(answer);"]];
  try {
    await page.emulateMedia({ colorScheme: "dark" });
    for (const [width, height] of SIZES) {
      const look = (state) => lookAt(state, width, "dark");
      await page.setViewportSize({ width, height });
      await page.goto("about:blank");
      await page.goto(`${url}#view=table`);
      await page.locator("[data-fact=samples]").waitFor();
      await page.locator("[data-menu=request] .menu-opener").click();
      const input = page.getByLabel("Trace id, span id or NAME=VALUE");
      await input.fill("4bf9");
      await input.press("Enter");
      await look("request that is none");
      await input.fill(TRACE);
      await input.press("Enter");
      await page.getByRole("button", { name: "trace 4bf92f35… ✕" }).waitFor();
      await look("request chosen");
      await page.keyboard.press("Escape");
      await page.getByLabel("One block for each").selectOption("label:route");
      await look("by a label");
      await page.locator(".table-name", { hasText: "serve" }).first().click();
      await page.locator(".lines-text", { hasText: "<b>write</b>(answer);" }).waitFor();
      await look("text of lines");
      const rows = await page.evaluate(textsInRows);
      assert.equal(rows.length, 2);
      for (const { wide, room, free, high } of rows)
        assert.ok(room >= Math.min(wide, width * 0.4) && free >= 0 && high <= 50, `${width}: ${JSON.stringify(rows)}`);
    }
    assert.deepEqual(shared.seen.errors, []);
  } finally {
    await page.goto("about:blank");
    await server.stop();
  }
});
