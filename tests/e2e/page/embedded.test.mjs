// The self-contained file, opened from disk: everything a user does to a profile.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { click, colorAt, cpuClock, fact, hover, launch, painted, rangeText, settled, SharedPage } from "./browser.mjs";
import { HOSTILE, largeProfile, smallProfile, START_MS } from "./fixtures.mjs";
import { embed, PageData } from "./page_data.mjs";

const html = readFileSync(process.env.STACKRAY_PAGE, "utf8");
const folder = mkdtempSync(join(tmpdir(), "stackray-page-"));
const shared = new SharedPage();
let browser;

before(async () => {
  browser = await launch();
  await shared.open(browser, smallUrl);
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

function save(name, text) {
  const path = join(folder, name);
  writeFileSync(path, text);
  return pathToFileURL(path).href;
}

const smallUrl = save("small.html", embed(html, smallProfile()));

// Shows the small profile, runs `body`, and then proves that the page did nothing it must not.
function pageTest(name, body, options) {
  test(name, async () => {
    await shared.fresh(options);
    const { page, seen } = shared;
    await body(page, seen);
    assert.deepEqual(seen.dialogs, []);
    assert.deepEqual(seen.errors, []);
    assert.deepEqual(seen.requests.filter((url) => !/^(data:|file:)/.test(url)), []);
  });
}

pageTest("the header tells host, rate and quality", async (page, seen) => {
  assert.equal(await page.locator(".header-host").innerText(), "test-host");
  const facts = ["rate", "samples", "complete", "through unknown code", "named", "lost"];
  assert.deepEqual(await Promise.all(facts.map((label) => fact(page, label))),
                   ["10 Hz", "100", "90.0 %", "6.0 %", "99.0 %", "3"]);
  assert.equal(await page.locator(".note").innerText(),
               `Unnamed: 1.0 % of the frames are code made at run time (${HOSTILE}).`);
  assert.equal(seen.requests.filter((url) => url.startsWith("file:")).length, 1);
  const legend = await page.locator(".legend").innerText();
  for (const [type, share] of [["Inlined", "40.0 %"], ["Kernel", "30.0 %"], ["Native", "20.0 %"],
                               ["Python", ""], ["Marker", "10.0 %"]]) {
    assert.match(legend, new RegExp(`${type}\\s*${share}`));
  }
});

pageTest("a tooltip tells name, kind, file, share and count", async (page) => {
  const text = await hover(page, 0.1, 4);
  assert.match(text, /^parse\n/);
  assert.match(text, /Inlined\s*parse\.cc\n/);
  assert.match(text, /Total\s*40\.0 %\s*40 samples\s*≈ 4 s of CPU/);
  assert.match(await hover(page, 0.5, 5), /ksys_write\s*Kernel\s*vmlinux/);
});

pageTest("hostile names are text and nothing else", async (page) => {
  assert.match(await hover(page, 0.8, 1), new RegExp(`^${HOSTILE.replace(/[()]/g, "\\$&")}`));
  assert.ok((await hover(page, 0.8, 3)).includes(`${HOSTILE}<b>bold</b>`));
  await click(page, 0.8, 3);
  assert.ok((await page.locator(".details-name").innerText()).includes(HOSTILE));
  await page.locator("[data-select=processes] .select-opener").click();
  await page.locator("[data-select=processes] .select-row", { hasText: HOSTILE }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator("[data-select=threads] .select-opener").click();
  await page.locator(".select-row", { hasText: "<img src=x onerror=" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Table", exact: true }).click();
  await page.locator(".table-name", { hasText: HOSTILE }).waitFor();
  assert.equal(await page.locator("img, b, body script:not(:last-of-type)").count(), 0);
});

pageTest("the policy lets no other script run and no other place be asked", async (page, seen) => {
  const ran = await page.evaluate(async () => {
    const script = document.createElement("script");
    script.textContent = "window.injected = true";
    document.body.append(script);
    const asked = await fetch("http://127.0.0.1:9/").then(() => "answered", () => "refused");
    return { injected: window.injected === true, asked };
  });
  assert.deepEqual(ran, { injected: false, asked: "refused" });
  assert.ok(seen.errors.some((text) => /script-src/.test(text)), "the script was refused by the policy");
  assert.ok(seen.errors.some((text) => /connect-src/.test(text)), "the request was refused by the policy");
  seen.errors.length = 0;
  seen.requests.length = 0;
});

pageTest("a click zooms in, Escape zooms out", async (page) => {
  assert.match(await hover(page, 0.5, 4), /^write\n/);
  await click(page, 0.3, 1);
  assert.equal(await page.locator(".details-name").innerText(), "web");
  assert.match(await page.locator(".details-share").innerText(), /^70\.0 % · 70 samples · 0 % self$/);
  assert.match(await hover(page, 0.5, 4), /^parse\n/);
  await page.keyboard.press("Escape");
  await settled(page);
  assert.match(await hover(page, 0.5, 4), /^write\n/);
  assert.equal(await page.locator(".details-name").count(), 0);
  await click(page, 0.95, 1); // the right end: the view no longer begins at 0
  assert.equal(await page.locator(".details-name").innerText(), "python3");
  assert.match(await hover(page, 0.1, 3), /^run\n/);
  await click(page, 0.5, 0); // the root
  assert.match(await hover(page, 0.1, 3), /^serve\n/);
});

pageTest("the keyboard walks the graph", async (page) => {
  await page.locator(".body > .flame canvas").focus();
  for (const key of ["ArrowDown", "ArrowRight", "ArrowDown", "Enter"]) await page.keyboard.press(key);
  await settled(page);
  assert.equal(await page.locator(".details-name").innerText(), "start");
});

pageTest("search highlights, dims the rest and tells the share", async (page) => {
  const before = [await colorAt(page, 0.1, 4), await colorAt(page, 0.8, 3)];
  await page.keyboard.press("/");
  await page.keyboard.type("PARSE");
  assert.equal(await page.locator(".search-result").innerText(), "40.0 % matched (40)");
  assert.equal(await colorAt(page, 0.1, 4), before[0]);
  assert.notEqual(await colorAt(page, 0.8, 3), before[1]);
  await page.locator(".search-input").fill("nowhere");
  assert.equal(await page.locator(".search-result").innerText(), "no match");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".search-input").inputValue(), "");
  assert.equal(await colorAt(page, 0.8, 3), before[1]);
});

pageTest("processes can be found and chosen, threads too", async (page) => {
  const processes = page.locator("[data-select=processes]");
  await processes.locator(".select-opener").click();
  const labels = await processes.locator(".select-name").allInnerTexts();
  assert.deepEqual(labels, ["web (100)", `${HOSTILE} (7)`, "python3 (9)"]);
  await processes.locator(".select-query").fill("script");
  assert.equal(await processes.locator(".select-count").innerText(), "20");
  await processes.locator(".select-label").click();
  assert.match(await rangeText(page), /^20 samples/);
  await processes.locator(".select-query").fill("");
  await processes.locator(".select-label", { hasText: "web" }).click();
  assert.match(await rangeText(page), /^90 samples/);
  assert.equal(await processes.locator(".select-label").first().getAttribute("title"),
               "web (100)\n/usr/bin/web in container c0ffee");
  const only = processes.locator(".select-only").last();
  assert.ok(await only.isVisible()); // without a hover
  await only.click();
  assert.match(await rangeText(page), /^10 samples/);
  const all = processes.locator(".select-all");
  assert.equal(await all.innerText(), "All processes");
  await all.click();
  await page.keyboard.type("python"); // no shortcut, and found in the list
  assert.equal(await processes.locator(".select-query").inputValue(), "python");
  assert.equal(await processes.locator(".select-name").innerText(), "python3 (9)");
  assert.equal(page.url(), smallUrl);
  await page.keyboard.press("Escape");
  const threads = page.locator("[data-select=threads]");
  await threads.locator(".select-opener").click();
  await threads.locator(".select-label", { hasText: "writer (102)" }).click();
  assert.match(await rangeText(page), /^30 samples/);
});

pageTest("keys do nothing to the page behind an open list, menu or the help", async (page) => {
  const view = () => page.locator(".body").getAttribute("data-view");
  for (const open of ["Layout", "Export", "?"]) {
    await page.getByRole("button", { name: open, exact: true }).click();
    for (const key of ["t", "b", "i", "/"]) await page.keyboard.press(key);
    assert.equal(await view(), "flame", open);
    assert.equal(page.url(), smallUrl, open);
    assert.equal(await page.evaluate(() => document.activeElement.className === "search-input"), false);
    await page.keyboard.press("Escape");
  }
  await page.keyboard.press("t");
  assert.equal(await view(), "table");
});

pageTest("dragging over the timeline selects a time range", async (page) => {
  const box = await page.locator(".timeline canvas").boundingBox();
  const at = (share) => [box.x + share * box.width, box.y + 20];
  await page.mouse.move(...at(0.02));
  await page.mouse.down();
  await page.mouse.move(...at(0.3));
  await page.mouse.move(...at(0.48));
  await page.mouse.up();
  assert.match(await rangeText(page), /\(5 s\) · 50 samples$/);
  assert.match(await hover(page, 0.1, 4), /parse[^]*80\.0 %\s*40 samples/);
  await page.mouse.move(...at(0.5));  // the right edge
  await page.mouse.down();
  await page.mouse.move(...at(0.7));
  await page.mouse.move(...at(0.99));
  await page.mouse.up();
  assert.match(await rangeText(page), /\(10 s\) · 100 samples$/);
  await page.getByRole("button", { name: "Clear" }).click();
  assert.match(await rangeText(page), /^100 samples · drag/);
});

pageTest("the table sorts, and opens callers and callees", async (page) => {
  await page.getByRole("button", { name: "Table", exact: true }).click();
  const names = () => page.locator(".table-name").allInnerTexts();
  assert.deepEqual((await names()).slice(0, 2), ["parse", "ksys_write"]);
  await page.getByRole("button", { name: "Total", exact: true }).click();
  assert.deepEqual((await names()).slice(0, 3), ["main", "serve", "parse"]);
  await page.locator(".table-sort", { hasText: "Function" }).click();
  assert.equal((await names())[0], "[truncated: depth]");
  await page.locator(".table-name", { hasText: "serve" }).click();
  assert.equal(await page.locator(".details-name").innerText(), "serve");
  assert.match(await page.locator(".details-share").innerText(), /70\.0 % · 70 samples/);
  assert.match(await hover(page, 0.2, 1, ".half.callees canvas"), /^parse\n/);
  assert.match(await hover(page, 0.9, 2, ".half.callees canvas"), /^ksys_write\n/);
  assert.match(await hover(page, 0.5, 1, ".half.callers canvas", true), /^main\n/);
  assert.match(await hover(page, 0.5, 2, ".half.callers canvas", true), /^web\n/);
  await page.keyboard.press("Escape");
  await page.locator(".table-name").first().waitFor();
});

test("of deep stacks, the nearest callers are in sight", async () => {
  const data = new PageData({ title: "deep", host: "h", frequency_hz: 10, start_ms: START_MS,
                              end_ms: START_MS + 1000, bucket_ms: 1000 });
  const way = Array.from({ length: 60 }, (_, i) => [`f${i}`, "native", "a", "a.cc", i + 1]);
  data.sample(data.thread(data.process(1, "deep"), 1, "deep"), 0, way, 5);
  const { page } = shared;
  await page.goto(save("deep.html", embed(html, data.document())));
  await page.getByRole("button", { name: "Table", exact: true }).click();
  await page.locator(".table-name", { hasText: "f59" }).click();
  await page.locator(".lines").first().waitFor();
  await painted(page);
  const left = () => page.locator(".half.callers .flame").evaluate((node) =>
    node.scrollHeight - node.clientHeight - node.scrollTop);
  assert.ok(await left() <= 1);
  await page.setViewportSize({ width: 1280, height: 500 });
  await painted(page);
  assert.ok(await left() <= 1);
  await page.goto(smallUrl);
});

pageTest("the graph opens callers and callees of the zoomed frame", async (page) => {
  await click(page, 0.5, 4);
  await page.getByRole("button", { name: "Callers and callees" }).click();
  assert.equal(await page.locator(".details-name").innerText(), "write");
  assert.match(await hover(page, 0.5, 1, ".half.callees canvas"), /^ksys_write\n/);
  await page.getByRole("button", { name: "Back to the graph" }).click();
  await page.locator(".body > .flame canvas").waitFor();
});

pageTest("colours follow the system until the user says otherwise", async (page) => {
  const theme = () => page.evaluate(() => [document.documentElement.dataset.theme,
    getComputedStyle(document.body).backgroundColor]);
  const light = await theme();
  const frame = await colorAt(page, 0.1, 4);
  assert.equal(light[0], "light");
  await page.emulateMedia({ colorScheme: "dark" });
  await painted(page);
  const dark = await theme();
  assert.equal(dark[0], "dark");
  assert.notEqual(dark[1], light[1]);
  assert.notEqual(await colorAt(page, 0.1, 4), frame);
  await page.getByRole("button", { name: /^Colours/ }).click();
  assert.deepEqual(await theme(), light);
  assert.equal(await colorAt(page, 0.1, 4), frame);
});

pageTest("processes can stand apart, and a selection without samples says so", async (page) => {
  await page.getByLabel("One block for each").selectOption("process");
  assert.match(await hover(page, 0.3, 1), /^web \(100\)/);
  await page.locator("[data-select=threads] .select-opener").click();
  await page.locator(".select-label", { hasText: "python3 (9)" }).click();
  await page.keyboard.press("Escape");
  const box = await page.locator(".timeline canvas").boundingBox();
  await page.mouse.move(box.x + 10, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + 100, box.y + 20);
  await page.mouse.up();
  assert.match(await page.locator(".empty").innerText(), /No samples in this selection/);
  await page.getByRole("button", { name: "Show everything" }).click();
  assert.match(await rangeText(page), /^100 samples/);
  assert.ok(await page.locator(".empty").isHidden());
});

pageTest("nothing moves while the user works", async (page) => {
  const places = () => page.evaluate(() => [".toolbar", ".timeline", ".details", ".body", ".legend"].map(
    (part) => JSON.stringify(document.querySelector(part).getBoundingClientRect())).join());
  const before = await places();
  await click(page, 0.3, 1);
  await page.keyboard.press("/");
  await page.keyboard.type("write");
  assert.equal(await places(), before);
  const box = await page.locator(".timeline canvas").boundingBox();
  await page.mouse.move(box.x + 10, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + 900, box.y + 20);
  await page.mouse.up();
  assert.equal(await places(), before);
});

for (const width of [390, 800, 1920]) {
  pageTest(`fits a screen of ${width} pixels`, async (page) => {
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `${wide} pixels wide`);
    const flame = await page.locator(".body > .flame canvas").boundingBox();
    const measured = `the flame graph is ${flame.width} × ${flame.height} at ${flame.x}, ${flame.y}`;
    assert.ok(flame.width > 0.5 * Math.min(width, 1000) && flame.height > 200, measured);
    // It fills its box and no more, and its size is no step of a loop.
    const box = await page.locator(".body > .flame").boundingBox();
    assert.ok(flame.width <= box.width && Math.abs(flame.height - box.height) <= 1,
              `${measured}; its box is ${box.width} × ${box.height}`);
    for (let i = 0; i < 5; i++) await painted(page);
    assert.deepEqual(await page.locator(".body > .flame canvas").boundingBox(), flame);
  }, { viewport: { width, height: Math.max(Math.round(width * 0.6), 700) } });
}

test("damaged data and an empty recording are told, not drawn", async () => {
  const whole = embed(html, smallProfile());
  const cut = whole.replace(/(id="stackray-data">)([^<]+)/, (_, tag, data) => tag + data.slice(0, 400));
  const none = { ...smallProfile(), samples: { node: [], thread: [], bucket: [], count: [] } };
  const wrong = { ...smallProfile(), format: "other" };
  await shared.fresh();
  const { page, seen } = shared;
  for (const [name, text, expected] of [["cut", cut, /cannot be shown\s*the compressed data/],
    ["none", embed(html, none), /No samples of record of test-host\s*Nothing used a CPU/],
    ["why", embed(html, { ...none, note: "no process is named <b>x</b>." }),
      /No samples of record of test-host\s*In this recording no process is named <b>x<\/b>\./],
    ["wrong", embed(html, wrong), /cannot be shown\s*its format is not/]]) {
    await page.goto(save(`${name}.html`, text));
    await page.locator(".empty h2").waitFor();
    assert.match(await page.locator(".empty").innerText(), expected);
    assert.deepEqual(seen.errors, []);
  }
});

test("a busy host's profile loads and redraws fast", async () => {
  const document = largeProfile();
  assert.ok(document.nodes.parent.length >= 5000);
  assert.equal(document.processes.pid.length, 60);
  const url = save("large.html", embed(html, document));
  const { page, seen } = shared;
  const cpuSeconds = await cpuClock(page);
  const began = performance.now();
  await page.goto(url);
  await page.locator(".header-host", { hasText: document.host }).waitFor();
  await painted(page);
  const [loaded, spent] = [performance.now() - began, await cpuSeconds()];
  assert.match(await hover(page, 0.01, 3), /^__libc_start_main\n/);
  console.log(`# ${document.nodes.parent.length} nodes: on the screen ${loaded.toFixed(0)} ms after opening, ` +
    `${spent.toFixed(2)} s of CPU`);
  assert.ok(spent > 0.02, "or nothing was measured");
  assert.ok(spent < 5, `${spent} s of CPU`);
  assert.deepEqual(seen.errors, []);
});

test("all processes of a command can be chosen together", async () => {
  const document = largeProfile();
  const count = (text) => Number(text.match(/^([\d,]+) samples/)[1].replaceAll(",", ""));
  const { page, seen } = shared;
  await page.goto(save("commands.html", embed(html, document)));
  await page.locator(".header-host", { hasText: document.host }).waitFor();
  await settled(page);
  const all = count(await rangeText(page));
  await page.locator("[data-select=commands] .select-opener").click();
  await page.locator("[data-select=commands] .select-label", { hasText: "nginx" }).click();
  await settled(page);
  const chosen = count(await rangeText(page));
  assert.ok(chosen > 0 && chosen < all, `${chosen} of ${all}`);
  assert.match(page.url(), /#commands=nginx$/);
  await page.keyboard.press("Escape");
  await page.locator("[data-select=processes] .select-opener").click();
  const names = await page.locator("[data-select=processes] .select-label", { hasText: "nginx" }).count();
  assert.ok(names > 1, `${names} processes`);
  await page.keyboard.press("Escape");
  await settled(page);
  assert.match(await hover(page, 0.01, 1), /^nginx\n/);
  assert.deepEqual(seen.errors, []);
});
