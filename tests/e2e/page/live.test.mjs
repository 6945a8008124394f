// The page as the agent serves it, against a server of the documented API.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { pathToFileURL } from "node:url";
import { click, fact, launch, open, painted, SharedPage, WAIT_MS } from "./browser.mjs";
import { smallProfile, START_MS } from "./fixtures.mjs";
import { LiveServer } from "./server.mjs";

const html = readFileSync(process.env.STACKRAY_PAGE, "utf8");
const shared = new SharedPage();
let browser, server, url, page, seen;

before(async () => {
  browser = await launch();
  await shared.open(browser, "about:blank");
  ({ page, seen } = shared);
});
after(async () => { await browser?.close(); });
beforeEach(async () => {
  server = new LiveServer(html);
  url = await server.start();
});
afterEach(async () => {
  await page.goto("about:blank");
  await server.stop().catch(() => undefined);
});

// A server is another origin each time, so nothing is left of the test before.
async function show(hash = "") {
  for (const list of Object.values(seen)) list.length = 0;
  await page.goto(url + hash);
}

// Waits until the condition holds; fails with `what` when it takes too long.
async function until(what, condition) {
  for (const end = performance.now() + WAIT_MS; performance.now() < end;) {
    if (await condition()) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  assert.fail(`after ${WAIT_MS / 1000} s still not: ${what}`);
}

const state = () => page.locator(".live-state").innerText();
const spanOf = (asked) => Number(asked.searchParams.get("to_ms")) - Number(asked.searchParams.get("from_ms"));

test("waits for the first samples, then shows them by itself", async () => {
  await show();
  await page.getByText("No samples yet").waitFor();
  assert.equal(server.profileUrls.length, 0);
  server.newestMs = START_MS;
  await page.locator("[data-fact=samples]").waitFor();
  assert.equal(await fact(page, "samples"), "100");
  assert.equal(await page.locator(".header-host").innerText(), "live-host");
  assert.ok(await page.locator(".empty").isHidden());
  assert.equal(await state(), "Live");
  assert.deepEqual(seen.errors, []);
  assert.deepEqual(seen.requests.filter((asked) => !asked.startsWith(url) && !asked.startsWith("data:")), []);
});

test("the token of the printed address opens a session and leaves the address", async () => {
  server.token = "aB3-_0123456789abcdef";
  server.newestMs = START_MS;
  await show(`?token=${server.token}`);
  await page.locator("[data-fact=samples]").waitFor();
  assert.equal(page.url(), url);
  assert.equal(await page.evaluate(() => document.cookie), "");
  await page.reload();
  await page.locator("[data-fact=samples]").waitFor();
  server.session = "session-2";
  await page.getByText("this page's session has ended").waitFor();
  await page.goto(`${url}?token=${server.token}`);
  await page.locator("[data-fact=samples]").waitFor();
  assert.ok(await page.locator(".banner").isHidden());
});

test("asks for the chosen range and shows what is new", async () => {
  server.newestMs = START_MS;
  await show();
  await page.locator("[data-fact=samples]").waitFor();
  assert.ok(Math.abs(spanOf(server.profileUrls[0]) - 60_000) <= 2000);
  const last = server.profileUrls.length;
  await page.getByRole("button", { name: "5 min", exact: true }).click();
  await until("5 min asked", () => server.profileUrls.length > last);
  assert.ok(Math.abs(spanOf(server.profileUrls.at(-1)) - 300_000) <= 4000);
  assert.match(page.url(), /#window=300000$/);
  server.make = (start) => {
    const profile = smallProfile(start);
    profile.summary.samples = 123;
    return profile;
  };
  server.newestMs += 2000;
  await until("new samples", async () => (await fact(page, "samples")) === "123");
});

test("a link to what is looked at shows that time in another browser, and Resume goes on", async () => {
  server.newestMs = START_MS;
  await show();
  await page.locator("[data-fact=samples]").waitFor();
  assert.equal(page.url(), url);
  await painted(page);
  const processes = page.locator("[data-select=processes]");
  await processes.locator(".select-opener").click();
  await processes.locator(".select-label", { hasText: "web" }).click();
  assert.equal(page.url(), `${url}#processes=100+web`); // an open list is no time to come back to
  await processes.locator(".select-all").click();
  await page.keyboard.press("Escape");
  await click(page, 0.3, 1);
  const link = page.url();
  const made = START_MS - 10_000;
  assert.match(link, new RegExp(`at=${made}-${START_MS}$`));
  await page.goto("about:blank");
  server.newestMs += 500_000;
  await page.goto(link);
  await page.locator(".details-name", { hasText: "web" }).waitFor();
  assert.ok(server.profileUrls.at(-1).search.startsWith(`?from_ms=${made}&to_ms=${START_MS}&`));
  assert.equal(await state(), "Paused");
  const [profiles, statuses] = [server.profileUrls.length, server.statusCount];
  await until("a further round", () => server.statusCount > statuses);
  assert.equal(server.profileUrls.length, profiles);
  await page.getByRole("button", { name: "Resume" }).click();
  await until("the newest asked", () => server.profileUrls.length > profiles);
  assert.equal(await state(), "Live");
  assert.equal(page.url(), url);
  await page.goBack();
  await until("the linked time asked again", () =>
    server.profileUrls.at(-1).search.startsWith(`?from_ms=${made}&to_ms=${START_MS}&`));
});

test("a link that is copied shows the same time and view later", async () => {
  server.newestMs = START_MS;
  await show("#view=table&query=main");
  await page.locator("[data-fact=samples]").waitFor();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: url.slice(0, -1) });
  await page.getByRole("button", { name: "Export" }).click();
  const told = page.locator(".notice", { hasText: /^Link copied$/ }).waitFor();
  await page.getByRole("button", { name: "Copy a link to this view" }).click();
  await told;
  const link = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(link, `${url}#view=table&query=main&at=${START_MS - 10_000}-${START_MS}`);
});

test("the live page saves a page with its data that works from disk", async () => {
  server.newestMs = START_MS;
  await show("#by=trace&hidden=kernel&window=300000&requests=route%3D%2Fcheckout");
  await page.locator("[data-fact=samples]").waitFor();
  await painted(page);
  await page.getByRole("button", { name: "Export" }).click();
  const coming = page.waitForEvent("download");
  await page.getByRole("button", { name: "This page with its data" }).click();
  const download = await coming;
  assert.match(download.suggestedFilename(), /^live-host-2026-09-21-\d{6}\.html$/);
  const folder = mkdtempSync(join(tmpdir(), "stackray-saved-"));
  try {
    await download.saveAs(join(folder, "saved.html"));
    await page.goto(pathToFileURL(join(folder, "saved.html")).href);
    await page.locator("[data-fact=samples]").waitFor();
    assert.equal(await fact(page, "samples"), "100");
    assert.equal(await page.locator(".header-host").innerText(), "live-host");
    assert.equal(await page.locator(".live-state").count(), 0);
    assert.match(page.url(), /saved\.html#hidden=kernel$/); // the rest is the agent's to answer
    assert.deepEqual(seen.errors, []);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("everything that one request did is asked for by its trace id", async () => {
  server.newestMs = START_MS;
  await show();
  await page.locator("[data-fact=samples]").waitFor();
  await page.getByRole("button", { name: "All requests" }).click();
  const input = page.getByLabel("Trace id, span id or NAME=VALUE");
  await input.fill("4bf92f35");
  await input.press("Enter");
  assert.match(await page.locator("[data-menu=request] [role=alert]").innerText(), /32 hexadecimal digits/);
  await input.fill("4BF92F35-77B3-4DA6-A3CE-929D0E0E4736");
  await input.press("Enter");
  const asked = "requests=trace_id%3D4bf92f3577b34da6a3ce929d0e0e4736";
  await until("the trace asked for", () => server.profileUrls.at(-1).search.includes(asked));
  assert.match(page.url(), new RegExp(asked));
  await page.locator("[data-menu=request] .menu-opener", { hasText: "trace 4bf92f35…" }).waitFor();
  await page.getByRole("button", { name: "trace 4bf92f35… ✕" }).click();
  await until("all asked for again", () => !server.profileUrls.at(-1).search.includes("requests"));
  await page.getByRole("button", { name: "All requests" }).waitFor();
  await page.keyboard.press("Escape");
  const grouping = page.getByLabel("One block for each");
  assert.deepEqual((await grouping.locator("option").allInnerTexts()).slice(-2), ["By route", "By trace"]);
  await grouping.selectOption("label:route");
  await until("one block a route", () => server.profileUrls.at(-1).searchParams.get("by") === "label:route");
  assert.match(page.url(), /by=label%3Aroute/);
  await grouping.selectOption("trace");
  await until("one block a trace", () => server.profileUrls.at(-1).searchParams.get("by") === "trace");
});

test("a capture is chosen in the header, and a link shows it", async () => {
  server.newestMs = START_MS;
  await show();
  await page.locator("[data-fact=samples]").waitFor();
  const captures = page.getByLabel("Whose samples");
  assert.ok(await captures.isHidden()); // there is none
  const [from, to] = [START_MS - 70_000, START_MS - 10_000];
  server.captures = [{ name: "slow", target: "user www-data", frequency_hz: 499, running: false,
                       started_ms: from, ended_ms: to }];
  await captures.waitFor();
  assert.deepEqual(await captures.locator("option").allInnerTexts(),
                   ["Continuous profile", "Capture slow"]);
  for (const [width, height] of [[400, 800], [1000, 700], [1600, 900]]) {
    for (const colorScheme of ["light", "dark"]) {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme });
      await painted(page);
      const box = await captures.boundingBox();
      assert.ok(box.x >= 0 && box.x + box.width <= width && box.width > 60, `${width}: ${JSON.stringify(box)}`);
      const host = await page.locator(".header-host").boundingBox();
      assert.ok(host.width > 40, `${width}: the host's name has ${host.width} pixels`);
      if (process.env.STACKRAY_PICTURES)
        await page.screenshot({ path: join(process.env.STACKRAY_PICTURES, `${width}-captures-${colorScheme}.png`) });
    }
  }
  await captures.selectOption("slow");
  const words = () => server.profileUrls.at(-1).searchParams;
  await until("the capture asked", () => words().get("capture") === "slow");
  assert.equal(Number(words().get("from_ms")), from);
  assert.equal(Number(words().get("to_ms")), to + 1000);
  assert.match(page.url(), /#capture=slow$/);
  assert.ok(await page.getByRole("button", { name: "5 min", exact: true }).isHidden());
  const link = page.url();
  await captures.selectOption("");
  await until("the profile asked", () => words().get("capture") === null);
  await page.goBack();
  await until("the capture again", () => words().get("capture") === "slow");
  server.captures = [];
  await page.goto("about:blank");
  await page.goto(link);
  await page.getByText("There is no capture “slow”").waitFor();
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1280, height: 800 });
  assert.deepEqual(seen.errors, []);
});

test("answers that cost the agent much are asked for seldom, and the page says so", async () => {
  server.newestMs = START_MS;
  server.costMs = 6_000;
  await show();
  await page.locator("[data-fact=samples]").waitFor();
  const [profiles, statuses] = [server.profileUrls.length, server.statusCount];
  server.newestMs += 2000;
  await until("two more rounds", () => server.statusCount >= statuses + 2);
  assert.equal(server.profileUrls.length, profiles);
  assert.equal(await page.locator(".live-state").getAttribute("title"), "Updates every 600 s");
});

test("pausing, zooming and selecting time keep what is on the screen", async () => {
  server.newestMs = START_MS;
  await show();
  await page.locator("[data-fact=samples]").waitFor();
  const quiet = async (why) => {
    const [profiles, statuses] = [server.profileUrls.length, server.statusCount];
    server.newestMs += 2000;
    await until("two more rounds", () => server.statusCount >= statuses + 2);
    assert.equal(server.profileUrls.length, profiles, why);
    assert.equal(await state(), "Paused", why);
  };
  await page.getByRole("button", { name: "Pause" }).click();
  await quiet("paused by the user");
  const told = page.locator(".notice", { hasText: /^Live again: the last 5 min$/ }).waitFor();
  await page.getByRole("button", { name: "5 min", exact: true }).click();
  await told;
  assert.equal(await state(), "Live");
  await painted(page);
  await click(page, 0.3, 1);
  await quiet("zoomed in");
  await page.keyboard.press("Escape");
  await page.mouse.move(0, 0);
  assert.equal(await state(), "Live");
  const profiles = server.profileUrls.length;
  server.newestMs += 2000;
  await until("going on after Escape", () => server.profileUrls.length > profiles);
});

test("nothing new comes while the pointer moves over the graph, nor after Pause", async () => {
  server.newestMs = START_MS;
  await show();
  await page.locator("[data-fact=samples]").waitFor();
  await painted(page);
  const { x, y } = await page.locator(".body > .flame canvas").boundingBox();
  await page.mouse.move(x + 20, y + 50);
  const moving = await page.evaluate((clientY) => { // in the page, by its own clock
    const canvas = document.querySelector(".body > .flame canvas");
    let clientX = 0;
    return setInterval(() => canvas.dispatchEvent(
      new PointerEvent("pointermove", { bubbles: true, clientX: 20 + (clientX++ % 40), clientY })), 100);
  }, y + 50);
  const [profiles, statuses] = [server.profileUrls.length, server.statusCount];
  server.newestMs += 2000;
  await until("two more rounds", () => server.statusCount >= statuses + 2);
  assert.equal(server.profileUrls.length, profiles);
  assert.equal(await state(), "Live");
  await page.evaluate((timer) => clearInterval(timer), moving);
  server.delayMs = 60_000;
  await page.mouse.move(0, 0);
  await until("going on", () => server.profileUrls.length > profiles);
  await page.getByRole("button", { name: "Pause" }).click();
  server.release();
  const rounds = server.statusCount;
  await until("the answer dropped", () => server.statusCount > rounds);
  server.delayMs = 0;
  await page.keyboard.press("i"); // is asked of the time that is shown
  await until("turned around", () => server.profileUrls.at(-1).searchParams.get("inverted") === "1");
  assert.equal(server.profileUrls.at(-1).searchParams.get("to_ms"),
               server.profileUrls[0].searchParams.get("to_ms"));
  assert.notEqual(server.profileUrls[0].searchParams.get("to_ms"),
                  server.profileUrls[profiles].searchParams.get("to_ms"));
});

test("an agent that goes away is told with the time, and that it is back", async () => {
  server.newestMs = START_MS;
  await show();
  await page.locator("[data-fact=samples]").waitFor();
  await server.stop();
  await page.getByText(/cannot be reached since \d\d:\d\d:\d\d .*: no connection.*from before/).waitFor();
  assert.equal(await state(), "Offline");
  assert.equal(await fact(page, "samples"), "100");
  await server.start(server.port);
  await until("reachable again", () => page.locator(".banner").isHidden());
  assert.equal(await state(), "Live");
});

test("errors of the server are told with their number", async () => {
  server.failWith = 503;
  await show();
  await page.getByText(/the server answered 503/).waitFor();
  await page.getByText("Is it still running on this host?").waitFor();
  server.failWith = 0;
  server.newestMs = START_MS;
  await page.locator("[data-fact=samples]").waitFor();
  assert.ok(await page.locator(".banner").isHidden());
});

test("a question that the agent refuses says why", async () => {
  server.newestMs = START_MS;
  await show();
  await page.locator("[data-fact=samples]").waitFor();
  server.refusal = "too many different stacks: choose a shorter time";
  await page.getByLabel("One block for each").selectOption("trace");
  await page.getByText("Not answered: too many different stacks: choose a shorter time. What you see is from before.")
    .waitFor();
  server.refusal = "";
  await page.getByLabel("One block for each").selectOption("command");
  await until("as it was", () => page.url() === url);
  await until("told long enough", () => page.locator(".banner").isHidden());
});

test("filters, zoom and search are asked of the agent, and the latest choice alone is waited for",
     async () => {
  server.newestMs = START_MS;
  await show();
  await page.locator("[data-fact=samples]").waitFor();
  const words = () => server.profileUrls.at(-1).searchParams;
  const processes = page.locator("[data-select=processes]");
  await processes.locator(".select-opener").click();
  await processes.locator(".select-label", { hasText: "web" }).click();
  await until("the filter asked", () => words().getAll("processes").join() === "100 web");
  await processes.locator(".select-all").click();
  await page.keyboard.press("Escape");
  await until("no filter asked", () => words().getAll("processes").length === 0);
  server.delayMs = 60_000;
  await page.locator(".search-input").fill("main");
  await until("the search asked", () => words().get("query") === "main");
  assert.equal(server.closed, 0);
  await page.getByText("Adding samples up").waitFor();
  server.answering = { done: 13, all: 30 };
  await page.getByText(/Adding samples up… \d+ s, 43 %/).waitFor();
  server.delayMs = 0;
  await page.locator(".search-input").fill("mai");
  await until("the first search given up", () => server.closed === 1);
  await page.locator(".busy").waitFor({ state: "hidden" });
  assert.equal(words().get("query"), "mai");
  assert.deepEqual(seen.errors, []);
});

test("Cancel and Escape keep what is shown, and the agent need not go on", async () => {
  server.newestMs = START_MS;
  await show();
  await page.locator("[data-fact=samples]").waitFor();
  await painted(page);
  server.delayMs = 60_000;
  await page.getByRole("button", { name: "Layout" }).click();
  await page.locator(".menu-item", { hasText: "Fold recursion" }).click();
  await page.keyboard.press("Escape");
  await page.getByText("Adding samples up").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await until("given up", () => server.closed === 1);
  assert.ok(await page.locator(".busy").isHidden());
  await until("the address as it was", () => page.url() === url);
  await page.keyboard.press("r");
  await page.getByText("Adding samples up").waitFor();
  await page.keyboard.press("Escape");
  await until("given up again", () => server.closed === 2);
  server.delayMs = 0;
  await click(page, 0.3, 1);
  await until("the zoom asked",
              () => server.profileUrls.at(-1).searchParams.get("zoom")?.length > 5);
  assert.equal(server.profileUrls.at(-1).searchParams.get("fold"), null);
  assert.equal(await fact(page, "samples"), "100");
});
