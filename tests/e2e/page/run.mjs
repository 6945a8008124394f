// Runs the page in a real browser.   node run.mjs [PAGE]   default: web/dist/page.html
// Exit codes: 0 all held, 1 something did not, 77 skipped because there is no Chromium.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { findChromium } from "./browser.mjs";

const here = dirname(fileURLToPath(import.meta.url));
if (findChromium() === null) process.exit(77);
const page = resolve(process.argv[2] ?? join(here, "../../../web/dist/page.html"));
if (!existsSync(page)) throw new Error(`${page} is missing: run npm run build in web/ first`);
const tests = ["embedded.test.mjs", "live.test.mjs"].map((name) => join(here, name));
const result = spawnSync(process.execPath, ["--test", ...tests],
                         { stdio: "inherit", env: { ...process.env, STACKRAY_PAGE: page } });
process.exit(result.status ?? 1);
