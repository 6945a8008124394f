// What a browser shows of one function's lines on a live page, as JSON.
//   node source_lines.mjs URL PROCESS FUNCTION      PROCESS: as an address says it, "PID COMMAND"
// Exit codes: 0 printed, 77 there is no Chromium.
import { findChromium, launch, open } from "./browser.mjs";

const [url, process_, name] = process.argv.slice(2);
if (findChromium() === null) process.exit(77);

const browser = await launch();
try {
  const words = new URLSearchParams({ view: "table", processes: process_ });
  const { page, seen } = await open(browser, `${url}#${words}`);
  await page.locator(".table-name", { hasText: new RegExp(`^${name}$`) }).first().click();
  await page.locator(".lines-row .lines-name").first().waitFor();
  const rows = await page.evaluate(() => [...document.querySelectorAll(".lines-body .lines-row")]
    .map((row) => ({ at: row.querySelector(".lines-name").title,
                     text: row.querySelector(".lines-text")?.innerText ?? "",
                     self: row.querySelector(".lines-value").title })));
  const all = await page.evaluate(() => document.documentElement.outerHTML);
  console.log(JSON.stringify({ rows, all, errors: seen.errors }));
} finally {
  await browser.close();
}
