// The address says what is shown: Back and Reload keep to it, and a link shows the same in another
// browser. Beside it, the files that the page saves of what is shown.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { click, hover, launch, open, painted, rangeText, settled, SharedPage } from "./browser.mjs";
import { HOSTILE, typedProfile } from "./fixtures.mjs";
import { embed } from "./page_data.mjs";

const html = readFileSync(process.env.STACKRAY_PAGE, "utf8");
const folder = mkdtempSync(join(tmpdir(), "stackray-address-"));
const shared = new SharedPage();
let browser, url, page;

before(async () => {
  const path = join(folder, "typed.html");
  writeFileSync(path, embed(html, typedProfile()));
  url = pathToFileURL(path).href;
  browser = await launch();
  await shared.open(browser, url);
  page = shared.page;
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function drag(from, to) {
  const box = await page.locator(".timeline canvas").boundingBox();
  for (const [share, action] of [[from, "down"], [to, "up"]]) {
    await page.mouse.move(box.x + share * box.width, box.y + 20);
    await page.mouse[action]();
  }
}

// All that a user sees of the choices, of a page or of another one.
async function shown(at = page) {
  await settled(at);
  return at.evaluate(() => ({
    range: document.querySelector(".range-text").textContent, view: document.querySelector(".body").dataset.view,
    details: document.querySelector(".details").textContent, query: document.querySelector(".search-input").value,
    pressed: [...document.querySelectorAll("[aria-pressed=true]")].map((node) => node.textContent).join(),
    legend: document.querySelector(".legend").textContent, by: document.querySelector("[aria-label='One block for each']").value,
    selects: [...document.querySelectorAll(".select-caption")].map((node) => node.textContent).join(),
  }));
}

test("each choice is a step that Back undoes, and a link shows all of them in another browser", async () => {
  await shared.fresh();
  const steps = [await shown()];
  const step = async (action) => {
    await action();
    steps.push(await shown());
    assert.notDeepEqual(steps.at(-1), steps.at(-2));
  };
  await step(() => page.getByRole("button", { name: "Off-CPU", exact: true }).click());
  await step(() => page.getByLabel("One block for each").selectOption("thread"));
  await step(() => drag(0.02, 0.78));
  await step(() => page.locator(".legend-item", { hasText: "Kernel" }).click());
  await step(() => click(page, 0.1, 3));
  await step(() => page.keyboard.press("b"));
  const address = page.url();
  assert.match(address, /#view=both&by=thread&type=off_cpu&zoom=[a-z0-9]+&hidden=kernel&range=\d+-\d+$/);
  await page.reload();
  await page.locator("[data-fact=samples]").waitFor();
  assert.deepEqual(await shown(), steps.at(-1));
  const other = await open(browser, address);
  await other.page.locator("[data-fact=samples]").waitFor();
  assert.deepEqual(await shown(other.page), steps.at(-1));
  assert.deepEqual(other.seen.errors, []);
  await other.close();
  for (let at = steps.length - 2; at >= 0; at--) {
    await page.goBack();
    assert.deepEqual(await shown(), steps[at], `step ${at}`);
  }
  assert.equal(page.url(), url);
  await page.goForward();
  assert.deepEqual(await shown(), steps[1]);
});

test("what is typed is one step, and callers have an address", async () => {
  await shared.fresh();
  await page.locator(".search-input").pressSequentially("write");
  await page.getByRole("button", { name: "Table", exact: true }).click();
  await page.locator(".table-name", { hasText: /^write$/ }).click();
  assert.match(page.url(), /#view=table&query=write&callers=[a-z0-9]+$/);
  const seen = await shown();
  assert.equal(seen.view, "sandwich");
  await page.reload();
  await page.locator("[data-fact=samples]").waitFor();
  assert.deepEqual(await shown(), seen);
  await page.goBack();
  assert.equal((await shown()).view, "table");
  await page.goBack();
  assert.deepEqual([(await shown()).view, (await shown()).query], ["flame", "write"]);
});

test("an address that names what this profile lacks shows what there is", async () => {
  await shared.fresh({ hash: "#type=none&zoom=zzz&callers=zzz&range=5-9&view=none&by=none2&at=x" });
  assert.match(await rangeText(page), /^100 samples · drag/);
  await shared.fresh({ hash: `#processes=${encodeURIComponent("7 " + HOSTILE)}&query=${encodeURIComponent("<b>x")}` });
  assert.match(await rangeText(page), /^20 samples/);
  assert.deepEqual(shared.seen.errors, []);
  assert.deepEqual(shared.seen.dialogs, []);
});

async function save(name) {
  await page.getByRole("button", { name: "Export" }).click();
  const coming = page.waitForEvent("download");
  await page.getByRole("button", { name }).click();
  const download = await coming;
  const path = join(folder, download.suggestedFilename());
  await download.saveAs(path);
  return { name: download.suggestedFilename(), bytes: readFileSync(path), text: readFileSync(path, "utf8"), path };
}

test("what is shown is saved as folded stacks, for speedscope, and as pictures", async () => {
  await shared.fresh({ hash: "#hidden=kernel" });
  const folded = await save("Folded stacks");
  assert.equal(folded.name, "test-host-2026-09-21-141320.folded");
  assert.equal(folded.text, `${HOSTILE};start;${HOSTILE}<b>bold</b> 20\npython3;main;run;[truncated: depth] 10\n` +
    "web;main;serve;parse_[i] 40\nweb;main;serve;write 30\n");
  await page.keyboard.press("Escape");
  await click(page, 0.3, 1);
  const speedscope = JSON.parse((await save("speedscope")).text);
  assert.equal(speedscope.profiles[0].endValue, 70);
  assert.deepEqual(speedscope.shared.frames.map((frame) => frame.name), ["web", "main", "serve", "parse", "write"]);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await settled(page);
  const svg = await save("Picture of the graph (.svg)");
  const drawn = await page.evaluate((text) => {
    const read = new DOMParser().parseFromString(text, "image/svg+xml");
    return { errors: read.querySelectorAll("parsererror").length, scripts: read.querySelectorAll("script").length,
             titles: [...read.querySelectorAll("g > title")].map((node) => node.textContent) };
  }, svg.text);
  assert.deepEqual([drawn.errors, drawn.scripts], [0, 0]);
  assert.ok(drawn.titles.includes("parse (40 samples, 40.0 %)"));
  assert.ok(drawn.titles.includes(`${HOSTILE}<b>bold</b> (20 samples, 20.0 %)`));
  const png = await save("Picture of the graph (.png)");
  assert.deepEqual([...png.bytes.subarray(1, 4)], [...Buffer.from("PNG")]);
  assert.deepEqual([png.bytes.readUInt32BE(16), png.bytes.readUInt32BE(20)], [3200, 2 * 20 * 5]);
  assert.deepEqual(shared.seen.errors, []);
});

const OPENING = /id="stackray-data" data-view="([^"]*)"/;

test("a saved page opens with the view that was saved, unless its address says another", async () => {
  const query = encodeURIComponent(`"><script>alert(3)</script>&amp;'`);
  await shared.fresh({ hash: `#by=process&hidden=kernel&query=${query}` });
  await click(page, 0.3, 1, ".body > .flame canvas");
  const seen = await shown();
  const told = page.locator(".notice", { hasText: "Saved as test-host-2026-09-21-141320.html" }).waitFor();
  const saved = await save("This page with its data");
  await told;
  assert.equal(saved.text.match(OPENING)[1].includes("<"), false);
  const at = pathToFileURL(saved.path).href;
  const other = await open(browser, at);
  const ready = () => other.page.locator("[data-fact=samples]").waitFor();
  await ready();
  assert.deepEqual(await shown(other.page), seen);
  await other.page.locator(".search-input").fill("");
  for (const name of ["Reset zoom", "Show all types"])
    await other.page.getByRole("button", { name, exact: true }).click();
  await other.page.getByLabel("One block for each").selectOption("command");
  assert.equal(other.page.url(), `${at}#view=`);
  await other.page.reload();
  await ready();
  assert.match(await rangeText(other.page), /^100 samples · drag/);
  await other.page.goto("about:blank");
  await other.page.goto(`${at}#by=thread`);
  await ready();
  const { by, query: typed } = await shown(other.page);
  assert.deepEqual([by, typed], ["thread", ""]);
  await other.page.goto("about:blank");
  writeFileSync(saved.path, saved.text.replace(OPENING, `id="stackray-data" data-view="view=x&amp;zoom=&lt;b>&amp;by=&amp;range=9-1"`));
  await other.page.goto(at);
  await ready();
  assert.match(await rangeText(other.page), /^100 samples · drag/);
  assert.deepEqual([other.seen.errors, other.seen.dialogs], [[], []]);
  await other.close();
});

test("a saved page works like the one it was saved from", async () => {
  await shared.fresh();
  const saved = await save("This page with its data");
  assert.equal(OPENING.test(saved.text), false);
  assert.equal(saved.text.split("stackray-data").length, readFileSync(join(folder, "typed.html"), "utf8").split("stackray-data").length);
  await page.goto(pathToFileURL(saved.path).href);
  await page.locator("[data-fact=samples]").waitFor();
  await painted(page);
  assert.match(await hover(page, 0.1, 4), /^parse\n/);
  assert.equal(await page.title(), "record of test-host – stackray");
  assert.deepEqual(shared.seen.errors, []);
});
