// What a user can change about how a profile is seen: types, order, hidden frames, groups, the time
// view, keys.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { click, hover, launch, painted, rangeText, settled, SharedPage } from "./browser.mjs";
import { HOSTILE, TRACE, typedProfile } from "./fixtures.mjs";
import { embed } from "./page_data.mjs";

const html = readFileSync(process.env.STACKRAY_PAGE, "utf8");
const folder = mkdtempSync(join(tmpdir(), "stackray-views-"));
const path = join(folder, "typed.html");
const shared = new SharedPage();
let browser;

before(async () => {
  writeFileSync(path, embed(html, typedProfile()));
  browser = await launch();
  await shared.open(browser, pathToFileURL(path).href);
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

function pageTest(name, body, options) {
  test(name, async () => {
    await shared.fresh(options);
    await body(shared.page);
    assert.deepEqual(shared.seen.errors, []);
    assert.deepEqual(shared.seen.dialogs, []);
  });
}

pageTest("everything that one request did, and one block for each route", async (page) => {
  await page.getByLabel("One block for each").selectOption("label:route");
  await settled(page);
  assert.match(await hover(page, 0.8, 1), /^route=\/checkout\n/);
  assert.match(await hover(page, 0.2, 1), /^\[no route\]\n/);
  await page.getByRole("button", { name: "All requests" }).click();
  assert.match(await page.locator("[data-menu=request] .quiet").innerText(), /route, trace_id$/);
  const input = page.getByLabel("Trace id, span id or NAME=VALUE");
  await input.fill(TRACE);
  await input.press("Enter");
  assert.match(await rangeText(page), /^40 samples/);
  await input.fill("route=/cart");
  await input.press("Enter");
  assert.match(await page.locator(".empty").innerText(), /No samples in this selection/);
  await page.keyboard.press("Escape");
  await page.goBack();
  assert.match(await rangeText(page), /^40 samples/);
  assert.match(page.url(), new RegExp(`requests=trace_id%3D${TRACE}$`));
});

const flame = (page) => page.locator(".body > .flame canvas");
const legend = (page, type) => page.locator(".legend-item", { hasText: type });
const lines = async (page, selector) => (await page.locator(selector).allInnerTexts()).join("|");

pageTest("the switch of types shows each type's values in its unit, and waits can be chosen", async (page) => {
  assert.equal(await lines(page, ".types .segment"), "On-CPU|Off-CPU|Page faults");
  assert.match(await rangeText(page), /^100 samples/);
  assert.ok(await page.locator("[data-select=waits]").isHidden());
  await page.getByRole("button", { name: "Off-CPU", exact: true }).click();
  assert.match(await rangeText(page), /^2\.53 s · drag/);
  assert.equal(await lines(page, ".fact"), "samples\n12|lost\n1");
  assert.equal(await page.locator(".time-title > span").first().innerText(), "Off-CPU over time, each wait where it ended");
  assert.match(await hover(page, 0.1, 4), /^lock\n[^]*Total\s*79\.1 %\s*2 s\n/);
  await page.locator("[data-select=waits] .select-opener").click();
  assert.equal(await lines(page, "[data-select=waits] .select-name"), "Blocked|Run queue|Preempted");
  assert.equal(await lines(page, "[data-select=waits] .select-count"), "2 s|500 ms|30 ms");
  await page.locator("[data-select=waits] .select-label", { hasText: "Run queue" }).click();
  assert.match(await rangeText(page), /^500 ms/);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Page faults", exact: true }).click();
  assert.match(await page.locator(".empty").innerText(), /No samples in this selection/);
  await page.getByRole("button", { name: "Show everything" }).click();
  assert.match(await rangeText(page), /^40 page faults/);
  assert.equal(await page.locator("[data-fact=samples] dd").innerText(), "1");
});

pageTest("the timeline's scale is CPUs in use, or what the type counts over time", async (page) => {
  const hint = async () => {
    const box = await page.locator(".timeline canvas").boundingBox();
    await page.mouse.move(box.x + 0.95 * box.width, box.y + 20);
    await page.waitForFunction(() => document.querySelector(".timeline-hint").textContent !== "");
    return page.locator(".timeline-hint").innerText();
  };
  assert.match(await hint(), /· 18 samples · 1\.8 of 2 CPUs$/);
  await page.getByRole("button", { name: "Off-CPU", exact: true }).click();
  assert.match(await hint(), /\d · 230 ms$/);
});

pageTest("innermost first: callers stand below the functions that they call", async (page) => {
  await page.getByRole("button", { name: "Layout" }).click();
  await page.getByLabel("Innermost first").check();
  await page.keyboard.press("Escape");
  assert.match(await hover(page, 0.1, 1), /^parse\n[^]*Total\s*40\.0 %\s*40 samples/);
  assert.match(await hover(page, 0.1, 2), /^serve\n/);
  assert.match(await hover(page, 0.1, 4), /^web\n/);
  assert.match(await page.locator(".details-hint").innerText(), /callers are below their callees/);
  await click(page, 0.5, 1);
  assert.equal(await page.locator(".details-share").innerText(), "30.0 % · 30 samples");
  await page.keyboard.press("i");
  assert.match(await hover(page, 0.1, 1), /^web\n/);
});

pageTest("the root can stand at the bottom", async (page) => {
  await page.keyboard.press("u");
  await painted(page);
  assert.match(await hover(page, 0.1, 1, ".body > .flame canvas", true), /^web\n/);
  assert.match(await hover(page, 0.1, 4, ".body > .flame canvas", true), /^parse\n/);
  await page.keyboard.press("u");
  assert.match(await hover(page, 0.1, 1), /^web\n/);
});

pageTest("a click in the legend hides a type, “only” hides all others", async (page) => {
  await legend(page, "Kernel").click();
  assert.equal(await legend(page, "Kernel").getAttribute("aria-pressed"), "false");
  assert.match(await hover(page, 0.5, 4), /^write\n[^]*Self\s*30\.0 %/);
  assert.equal(await hover(page, 0.5, 5), "");
  assert.match(await legend(page, "Kernel").innerText(), /30\.0 %/); // the share stays
  await page.getByRole("button", { name: "Show all types" }).click();
  assert.match(await hover(page, 0.5, 5), /^ksys_write\n/);
  assert.match(await legend(page, "Python").getAttribute("title"), /^Click to leave these frames out/);
  const only = page.locator(".legend-entry", { hasText: "Python" }).getByRole("button", { name: "only" });
  assert.ok(await only.isVisible()); // without a hover
  await only.click();
  assert.match(await rangeText(page), /^10 samples · 90 samples in hidden frames only/);
  assert.match(await hover(page, 0.5, 2), /^run\n/);
  await legend(page, "Python").click();
  await legend(page, "Marker").click();
  assert.match(await page.locator(".empty").innerText(), /All frames here are hidden/);
  await page.locator(".empty").getByRole("button", { name: "Show all types" }).click();
  assert.match(await rangeText(page), /^100 samples/);
});

pageTest("search finds files, tells of a wrong expression, and steps through the matches", async (page) => {
  const result = page.locator(".search-result");
  await page.locator(".search-input").fill("libc");
  assert.equal(await result.innerText(), "30.0 % matched (30)");
  await page.locator(".search-input").fill("/(/");
  assert.match(await result.innerText(), /^no valid expression: Unterminated group/);
  assert.equal(await page.locator(".search-input").getAttribute("aria-invalid"), "true");
  await page.locator(".search-input").fill("main");
  await page.keyboard.press("Enter");
  await settled(page);
  assert.equal(await result.innerText(), "1 of 2");
  assert.match(await page.locator(".details-share").innerText(), /^70\.0 %/);
  await page.getByRole("button", { name: /^Zoom to the next match/ }).click();
  assert.equal(await result.innerText(), "2 of 2");
  assert.match(await page.locator(".details-share").innerText(), /^10\.0 %/);
  await page.locator(".search-input").blur();
  await page.keyboard.press("p");
  assert.equal(await result.innerText(), "1 of 2");
});

pageTest("blocks can be processes, threads, containers or all together", async (page) => {
  const picker = page.getByLabel("One block for each");
  assert.deepEqual(await picker.locator("option").allInnerTexts(),
                   ["By command", "By process", "By thread", "By container", "By cgroup", "By user", "All together",
                    "By route", "By trace"]);
  for (const [value, expected] of [["thread", /^worker \(101\) of web \(100\)/], ["container", /^c0ffee/],
                                   ["cgroup", /^\/system\.slice\/web\.service/], ["user", /^www-data/], ["none", /^main/]]) {
    await picker.selectOption(value);
    assert.match(await hover(page, 0.1, 1), expected);
  }
});

pageTest("markers explain themselves", async (page) => {
  assert.match(await hover(page, 0.95, 4), /^\[truncated: depth\]\nMarker[^]*could not be followed further/);
});

pageTest("the time view shows who ran when, and a click shows that one alone", async (page) => {
  await page.getByRole("button", { name: "Time", exact: true }).click();
  const box = await page.locator(".lanes canvas").boundingBox();
  const at = async (row, share) => {
    await page.mouse.move(box.x + share * box.width, box.y + row * 22 + 11);
    await painted(page);
    return page.locator(".tooltip").innerText();
  };
  assert.match(await at(0, 0.5), /^web \(100\)\n70 samples in the chosen time\n\d\d:13:\d\d: 8 samples, 0\.8 CPUs/);
  assert.match(await at(1, 0.99), /^worker \(101\)\n40 samples in the chosen time\n.*: nothing/);
  assert.match(await at(3, 0.5), new RegExp(`^${HOSTILE.replace(/[()/]/g, "\\$&")}`));
  await page.mouse.click(box.x + 20, box.y + 2 * 22 + 11);
  assert.match(await rangeText(page), /^30 samples/);
  assert.match(await hover(page, 0.5, 4), /^write\n/);
  await page.locator(".lanes canvas").focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
  assert.match(await rangeText(page), /^100 samples/);
});

pageTest("the table's rows lead into the graph, have names for screen readers, and keys", async (page) => {
  await page.keyboard.press("t");
  const table = page.getByRole("table", { name: /^Functions/ });
  assert.equal(await table.getAttribute("aria-rowcount"), "11");
  assert.equal(await page.getByRole("row").nth(1).getAttribute("aria-rowindex"), "2");
  assert.equal(await page.getByRole("columnheader", { name: "Self" }).getAttribute("aria-sort"), "descending");
  assert.match(await page.getByRole("cell", { name: /^parse/ }).innerText(), /^parse\s*, Inlined/);
  await page.locator(".table-name").first().focus();
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "ksys_write");
  await page.getByRole("button", { name: "Show in the graph: ksys_write" }).click();
  await settled(page);
  assert.equal(await page.locator(".details-name").innerText(), "ksys_write");
  assert.ok(await flame(page).isVisible());
});

pageTest("the table shows source lines, and what changed since the time before", async (page) => {
  await page.keyboard.press("t");
  await page.getByRole("button", { name: "By line" }).click();
  assert.match(page.url(), /lines=1/);
  assert.match(await lines(page, ".table-name"), /(^|\|)web\.cc:12(\||$)/);
  await page.locator(".search-input").fill("serve");
  await page.waitForFunction(() => document.querySelectorAll(".table-name").length === 1);
  assert.equal(await lines(page, ".table-name"), "web.cc:12");
  await page.locator(".search-input").fill("");
  await page.getByRole("button", { name: "By function" }).click();
  const compare = page.locator(".compare");
  assert.ok(await compare.isHidden()); // nothing is known of the time before all of it
  await page.locator(".timeline canvas").focus();
  await page.keyboard.press("ArrowRight");
  await compare.click();
  assert.match(await compare.innerText(), /^No samples of /); // it is all of the time
  await page.locator(".timeline canvas").focus();
  await page.keyboard.press("ArrowRight");
  assert.match(await compare.innerText(), /^Compared with /);
  assert.equal(await compare.getAttribute("aria-pressed"), "true");
  assert.match(page.url(), /before=1/);
  const changes = await page.locator(".table-body .cell-change").allInnerTexts();
  assert.ok(changes.length > 0 && changes.every((text) => /^(new |gone )?[+−]?[<\d]/.test(text.replace(/\s+/g, " "))), changes.join("|"));
  await compare.click();
  assert.ok(await page.locator(".cell-change").first().isHidden());
});

pageTest("keys lead everywhere, and ? tells them", async (page) => {
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Help" });
  assert.match(await help.innerText(), /Search functions and files/);
  await page.keyboard.press("t"); // the box has the keys
  assert.ok(await help.isVisible());
  await page.keyboard.press("Escape");
  assert.ok(await help.isHidden());
  const view = () => page.locator(".body").getAttribute("data-view");
  for (const [key, expected] of [["t", "table"], ["b", "both"], ["w", "time"], ["f", "flame"]]) {
    await page.keyboard.press(key);
    assert.equal(await view(), expected);
  }
  await page.keyboard.press("r");
  await page.getByRole("button", { name: "Layout" }).click();
  assert.ok(await page.getByLabel("Fold recursion").isChecked());
  await page.keyboard.press("Escape");
  await flame(page).focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "c"]) await page.keyboard.press(key);
  assert.equal(await view(), "sandwich");
  assert.equal(await page.locator(".details-name").innerText(), "serve");
  await page.keyboard.press("Escape");
  assert.equal(await view(), "flame");
  await page.locator(".search-input").fill("");
  await page.locator(".search-input").press("t"); // a letter in a box is a letter
  assert.equal(await view(), "flame");
});

pageTest("the help answers usual questions in words that the page has", async (page) => {
  await click(page, 0.3, 3);
  await page.keyboard.press("?");
  const help = await page.locator(".help").innerText();
  const [questions, words] = help.split("What words mean");
  for (const word of ["[stale]", "[truncated: …]", "through unknown code", "lost"])
    assert.ok(words.split("\n").includes(word), word);
  const named = [...questions.matchAll(/“([^”]+)”/g)].map(([, name]) => name);
  assert.ok(named.length >= 8, named.join());
  const outside = await page.evaluate(() => {
    const copy = document.querySelector(".page").cloneNode(true);
    copy.querySelector(".help").remove();
    return copy.textContent;
  });
  for (const name of named) assert.ok(outside.includes(name), name);
});

// Letters of an element's text that are in sight, where it is cut.
function seen(page, selector) {
  return page.locator(selector).evaluate((node) => {
    const box = node.getBoundingClientRect();
    const text = document.createTreeWalker(node, NodeFilter.SHOW_TEXT).nextNode();
    return [...text.data].filter((_, i) => {
      const range = new Range();
      range.setStart(text, i);
      range.setEnd(text, i + 1);
      const letter = range.getBoundingClientRect();
      return letter.left >= box.left - 0.5 && letter.right <= box.right + 0.5;
    }).join("");
  });
}

pageTest("of a path that is too long, the end is in sight", async (page) => {
  const groups = page.locator("[data-select=cgroups]");
  await groups.locator(".select-opener").click();
  await groups.locator(".select-label", { hasText: "web" }).click();
  const caption = groups.locator(".select-caption");
  assert.equal(await caption.getAttribute("title"), "/system.slice/web.service");
  const inSight = await seen(page, "[data-select=cgroups] .select-caption");
  assert.ok(inSight.endsWith("/web.service") && !inSight.startsWith("/system"), inSight);
  assert.equal(await seen(page, "[data-select=cgroups] .select-row:first-child .select-name"),
               "/system.slice/web.service");
});

pageTest("containers and users can be chosen, and a function's lines stand below its callers and callees",
         async (page) => {
  assert.ok(await page.locator("[data-select=services]").isHidden());
  await page.locator("[data-select=containers] .select-opener").click();
  assert.equal(await lines(page, "[data-select=containers] .select-name"), "c0ffee|[no container]");
  await page.locator("[data-select=containers] .select-label", { hasText: "c0ffee" }).click();
  assert.match(await rangeText(page), /^70 samples/);
  assert.match(page.url(), /#containers=c0ffee$/);
  await page.keyboard.press("Escape");
  await page.locator("[data-select=users] .select-opener").click();
  await page.locator("[data-select=users] .select-label", { hasText: "www-data" }).click();
  assert.match(await rangeText(page), /^70 samples/);
  assert.match(page.url(), /#containers=c0ffee&users=www-data$/);
  await page.keyboard.press("Escape");
  await page.keyboard.press("t");
  await page.locator(".table-name", { hasText: "serve" }).click();
  assert.equal((await lines(page, ".lines-row")).replace(/\s+/g, " "),
               "Line Self Total|web.cc:12 0 % 100.0 %");
  assert.equal(await page.locator(".lines-name").first().getAttribute("title"), "/src/web.cc:12");
  await page.getByRole("button", { name: "Off-CPU", exact: true }).click();
  assert.match(await lines(page, ".lines-row"), /web\.cc:30/);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "On-CPU", exact: true }).click();
  await page.locator(".table-name", { hasText: "parse" }).first().click();
  assert.ok(await page.locator(".lines").isHidden()); // no line is known
});
