// Runs the page in a real browser.   node run.mjs [PAGE [FILE…]]   default: web/dist/page.html, all
// files Exit codes: 0 all held, 1 something did not, 77 skipped because there is no Chromium.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { findChromium, launchServer } from "./browser.mjs";

const here = dirname(fileURLToPath(import.meta.url));
if (findChromium() === null) process.exit(77);
const page = resolve(process.argv[2] ?? join(here, "../../../web/dist/page.html"));
if (!existsSync(page)) throw new Error(`${page} is missing: run npm run build in web/ first`);
const names = process.argv.slice(3);
const tests = readdirSync(here).filter((name) => name.endsWith(".test.mjs"))
  .filter((name) => names.length === 0 || names.some((part) => name.startsWith(part)))
  .map((name) => join(here, name));
// One browser for all files: starting one takes longer than most tests. Files run side by side,
// because the live page mostly waits.
const browser = await launchServer();
const env = { ...process.env, STACKRAY_PAGE: page, STACKRAY_BROWSER: browser.wsEndpoint() };
const results = await Promise.all(tests.map(async (path) => {
  const run = spawn(process.execPath, ["--test", path], { env, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  run.stdout.on("data", (part) => { output += part; });
  const [status] = await once(run, "close");
  console.log(`# ${basename(path)}\n${output}`);
  return { name: basename(path), status: status ?? 1, output };
}));
await browser.close();
// Once more, at the end, why: what prints this may have cut what is above.
for (const { name, output } of results.filter(({ status }) => status !== 0)) {
  console.log(`# ${name} failed`);
  for (const [why] of output.matchAll(/^not ok [^]*?^  \.\.\.$/gm)) console.log(why);
}
process.exit(Math.max(...results.map(({ status }) => status)));
