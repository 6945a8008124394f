// The page as the agent serves it, against a server of the documented API.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { click, fact, launch, open, painted, WAIT_MS } from "./browser.mjs";
import { smallProfile, START_MS } from "./fixtures.mjs";
import { LiveServer } from "./server.mjs";

const html = readFileSync(process.env.STACKRAY_PAGE, "utf8");
let browser, server, url, page, seen, close;

before(async () => { browser = await launch(); });
after(async () => { await browser?.close(); });
beforeEach(async () => {
  server = new LiveServer(html);
  url = await server.start();
});
afterEach(async () => {
  await close?.();
  close = undefined;
  await server.stop().catch(() => undefined);
});

async function show() {
  ({ page, seen, close } = await open(browser, url));
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

test("the token of the printed address becomes a cookie and leaves the address", async () => {
  server.token = "aB3-_0123456789abcdef";
  server.newestMs = START_MS;
  ({ page, seen, close } = await open(browser, `${url}?token=${server.token}`));
  await page.locator("[data-fact=samples]").waitFor();
  assert.equal(page.url(), url);
  assert.equal(await page.evaluate(() => document.cookie), "");
  await page.reload();
  await page.locator("[data-fact=samples]").waitFor();
  server.token = "another-token-4567890";
  await page.getByText("the token has changed").waitFor();
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
  server.make = (start) => {
    const profile = smallProfile(start);
    profile.summary.samples = 123;
    return profile;
  };
  server.newestMs += 2000;
  await until("new samples", async () => (await fact(page, "samples")) === "123");
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
  await page.getByRole("button", { name: "Resume" }).click();
  assert.equal(await state(), "Live");
  await painted(page);
  await click(page, 0.3, 1);
  await quiet("zoomed in");
  await page.keyboard.press("Escape");
  assert.equal(await state(), "Live");
  const profiles = server.profileUrls.length;
  server.newestMs += 2000;
  await until("going on after Escape", () => server.profileUrls.length > profiles);
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
