// The page's files as other programs show them: the filter, the names and the sums are those of the
// picture. speedscope 1.25 runs in the same browser; `go tool pprof` reads the other file.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { launch, open, SharedPage, WAIT_MS } from "./browser.mjs";
import { HOSTILE, typedProfile } from "./fixtures.mjs";
import { embed } from "./page_data.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const speedscope = join(here, "../../../web/node_modules/speedscope/dist/release/index.html");
const folder = mkdtempSync(join(tmpdir(), "stackray-readers-"));
const shared = new SharedPage();
let browser;

before(async () => {
  const path = join(folder, "typed.html");
  writeFileSync(path, embed(readFileSync(process.env.STACKRAY_PAGE, "utf8"), typedProfile()));
  browser = await launch();
  await shared.open(browser, pathToFileURL(path).href);
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function saved(name, hash) {
  await shared.fresh({ hash });
  const { page } = shared;
  await page.getByRole("button", { name: "Export" }).click();
  const coming = page.waitForEvent("download");
  await page.getByRole("button", { name }).click();
  const download = await coming;
  const path = join(folder, download.suggestedFilename());
  await download.saveAs(path);
  return path;
}

// [function, own, all] of each row of the page's own table.
async function ownTable(hash) {
  await shared.fresh({ hash: `${hash}&view=table` });
  return shared.page.locator(".table-body .table-row").evaluateAll((rows) => rows.map((row) => {
    const [self, total] = [...row.querySelectorAll(".table-count")].map((cell) => Number(cell.innerText));
    return [row.querySelector(".table-name").innerText.trim(), self, total];
  }).sort());
}

// Beside the groups, whose name is a function's there.
const withoutGroup = (rows) => rows.filter(([name]) => name !== "web").sort();
const FILTER = "#hidden=kernel&processes=" + encodeURIComponent("100 web");
const SHOWN = [["main", 0, 70], ["parse", 40, 40], ["serve", 0, 70], ["write", 30, 30]];

test("the table that the others are compared with", async () => {
  assert.deepEqual(await ownTable(FILTER), SHOWN);
});

test("speedscope shows the stacks that are shown",
     { skip: existsSync(speedscope) ? false : "speedscope is not installed" }, async () => {
  const path = await saved("speedscope", FILTER);
  const other = await open(browser, pathToFileURL(speedscope).href);
  try {
    await other.page.locator("input[type=file]").first().setInputFiles(path);
    await other.page.getByText("Sandwich").click({ timeout: WAIT_MS });
    await other.page.locator("table tr td").first().waitFor();
    const rows = await other.page.locator("table tr").evaluateAll((all) => all.slice(1)
      .map((row) => [...row.cells].map((cell) => cell.innerText.trim())));
    assert.deepEqual(withoutGroup(rows.map(([total, self, name]) =>
      [name, parseInt(self, 10), parseInt(total, 10)])), SHOWN);
  } finally {
    await other.close();
  }
});

test("go tool pprof shows the stacks that are shown",
     { skip: spawnSync("go", ["version"]).status === 0 ? false : "there is no Go" }, async () => {
  const path = await saved("pprof", FILTER);
  const text = execFileSync("go", ["tool", "pprof", "-top", "-nodefraction=0", "-sample_index=samples", path],
                            { encoding: "utf8", env: { ...process.env, PPROF_TMPDIR: folder } });
  const rows = text.slice(text.indexOf("cum%")).split("\n").slice(1).filter((line) => line.trim() !== "")
    .map((line) => line.trim().split(/\s+/)).map(([self, , , total, , name]) => [name, Number(self), Number(total)]);
  assert.deepEqual(withoutGroup(rows), SHOWN);
  assert.match(text, /Type: samples\nTime: 2026-09-21 .*\nDuration: 10s, Total samples = 70/);
});
