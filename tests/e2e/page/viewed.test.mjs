// `stackray view` and its server in a browser: files of others, and who gets the cookie.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { fact, launch, open } from "./browser.mjs";
import { smallProfile } from "./fixtures.mjs";
import { embed } from "./page_data.mjs";

const html = readFileSync(process.env.STACKRAY_PAGE, "utf8");
const program = process.env.STACKRAY_BINARY;
const skip = program ? false : "STACKRAY_BINARY names no program";
const folder = mkdtempSync(join(tmpdir(), "stackray-viewed-"));
const EVIL = "<script>window.evil = true; document.cookie = 'evil=1'; alert('evil');</script>";
let browser;

before(async () => { browser = await launch(); });
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

// The page's address, as `view` prints it, and what ends it.
async function view(name, text) {
  writeFileSync(join(folder, name), text);
  const process = spawn(program, ["view", join(folder, name)], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(process.stdout, "data");
  const stop = async () => {
    if (process.exitCode !== null) return;
    process.kill("SIGINT");
    await once(process, "exit");
  };
  return { url: String(line).trim(), stop };
}

// Any page, and the cookies that came with each request.
async function listen(port = 0) {
  const cookies = [];
  const server = createServer((request, response) => {
    cookies.push(request.headers.cookie ?? "");
    response.end("<!doctype html><title>other</title>");
  });
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${server.address().port}/`, cookies,
           stop: () => new Promise((done) => { server.close(done); server.closeAllConnections(); }) };
}

// Scripts before the data, behind them, in attributes, and a refresh to elsewhere; no policy.
function hostile() {
  const page = embed(html, smallProfile());
  const data = /<script type="application\/octet-stream"[^]*?<\/script>/.exec(page)[0];
  return `<!doctype html><html><head>${EVIL}<title>evil</title>
<meta http-equiv="refresh" content="1;url=http://127.0.0.1:9/"></head>
<body onload="window.evil = true">${EVIL}<img src="x" onerror="window.evil = true">
${data.replace(' id=', ' onclick="window.evil = true" id=')}${EVIL}</body></html>`;
}

test("no script of a file runs: its data are drawn by the program's own page", { skip }, async () => {
  const asFile = join(folder, "control.html");
  writeFileSync(asFile, hostile());
  const control = await open(browser, pathToFileURL(asFile).href);
  assert.equal(await control.page.evaluate(() => window.evil), true); // the file is what it says
  await control.close();

  const { url, stop } = await view("evil.html", hostile());
  try {
    const { page, seen, close } = await open(browser, url);
    await page.locator("[data-fact=samples]").waitFor();
    assert.equal(await fact(page, "samples"), "100");
    await new Promise((done) => setTimeout(done, 1500)); // longer than its refresh
    assert.equal(await page.evaluate(() => window.evil), undefined);
    assert.equal(await page.evaluate(() => document.cookie), "");
    assert.equal(await page.locator("img, meta[http-equiv=refresh], [onload], [onclick]").count(), 0);
    assert.deepEqual(seen.dialogs, []);
    assert.deepEqual(seen.errors, []);
    const origin = new URL(url).origin;
    assert.deepEqual(seen.requests.filter((asked) => !asked.startsWith(origin) && !asked.startsWith("data:")), []);
    assert.equal(new URL(page.url()).search, "");
    await close();
  } finally {
    await stop();
  }
});

test("the token is in no cookie, so who listens elsewhere, or here later, does not get it", { skip }, async () => {
  const viewed = await view("small.html", embed(html, smallProfile()));
  const other = await listen();
  const address = new URL(viewed.url);
  const token = address.searchParams.get("token");
  let later;
  try {
    const { page, close } = await open(browser, viewed.url);
    await page.locator("[data-fact=samples]").waitFor();
    const cookies = await page.context().cookies(address.origin);
    assert.deepEqual(cookies.map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite]),
                     [[`stackray-session-${address.port}`, true, "Strict"]]);
    assert.match(cookies[0].value, /^[A-Za-z0-9_-]{32}$/);
    assert.notEqual(cookies[0].value, token);
    await page.reload(); // the session is enough
    await page.locator("[data-fact=samples]").waitFor();

    const second = await page.context().newPage();
    await second.goto(other.url);
    assert.ok(other.cookies[0].includes(cookies[0].value)); // cookies know no ports
    assert.ok(!other.cookies.join().includes(token));

    await viewed.stop();
    later = await listen(Number(address.port));
    await page.reload();
    assert.equal(await page.title(), "other");
    assert.ok(!later.cookies.join().includes(token));
    await close();
  } finally {
    await Promise.all([viewed.stop(), other.stop(), later?.stop()]);
  }
});

test("an address without its token, and a session of another server, get a page that says what to do",
     { skip }, async () => {
  const viewed = await view("small.html", embed(html, smallProfile()));
  try {
    const address = new URL(viewed.url);
    const { page, close } = await open(browser, "about:blank");
    await page.context().addCookies([{ name: `stackray-session-${address.port}`, value: "A".repeat(32),
                                       url: address.origin }]);
    const answer = await page.goto(address.origin);
    assert.equal(answer.status(), 401);
    await page.getByText("stackray agent --status").waitFor();
    await page.getByText("Its session has ended").waitFor();
    await close();
  } finally {
    await viewed.stop();
  }
});
