// Builds the unit tests and runs them.   node test/run.mjs [--out FOLDER]
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const web = dirname(dirname(fileURLToPath(import.meta.url)));
const at = process.argv.indexOf("--out");
const out = at > 0 ? process.argv[at + 1] : join(web, "dist/tests");
execFileSync(process.execPath, [join(web, "build.mjs"), "--tests", "--out", out], { stdio: "inherit" });
const files = readdirSync(out).filter((name) => name.endsWith(".test.mjs")).map((name) => join(out, name));
if (files.length === 0) throw new Error("no test was built");
process.exit(spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit", cwd: web }).status ?? 1);
