// Bundles the page into one file.   node build.mjs [--out FILE]            default dist/page.html
// Bundles the unit tests.           node build.mjs --tests [--out FOLDER]  default dist/tests
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const MARKER = "<!--stackray-data-->";

async function bundle(entry, options) {
  const result = await build({
    entryPoints: [join(here, entry)], bundle: true, write: false, minify: true, charset: "utf8",
    legalComments: "none", logLevel: "warning", ...options,
  });
  return result.outputFiles[0].text.trim();
}

function hashSource(text) {
  return `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;
}

// Only this very script and style may run; only the page's own server may be asked.
function policy(script, style) {
  return ["default-src 'none'", `script-src ${hashSource(script)}`, `style-src ${hashSource(style)}`,
          "img-src data:", "connect-src 'self'", "base-uri 'none'", "form-action 'none'"].join("; ");
}

async function buildPage(out) {
  const script = await bundle("src/main.ts", { format: "iife", target: "chrome100" });
  const style = await bundle("src/style/page.css", { target: "chrome100" });
  const svg = readFileSync(join(here, "src/icon.svg"), "utf8").trim();
  const values = {
    POLICY: policy(script, style), STYLE: style, SCRIPT: script,
    ICON: `data:image/svg+xml,${encodeURIComponent(svg)}`,
  };
  const template = readFileSync(join(here, "src/page.html"), "utf8");
  const page = template.replace(/@([A-Z]+)@/g, (_, name) => values[name]);
  if (page.split(MARKER).length !== 2) throw new Error(`${MARKER} must stand in the page exactly once`);
  if (/<\/?script/i.test(script)) throw new Error("the script would end itself early");
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(out, page);
  console.log(`${out}: ${page.length} bytes`);
}

async function buildTests(out) {
  const names = readdirSync(join(here, "test")).filter((name) => name.endsWith(".test.ts"));
  rmSync(out, { recursive: true, force: true }); // no test outlives its source
  mkdirSync(out, { recursive: true });
  for (const name of names) {
    const code = await bundle(join("test", name), { platform: "node", format: "esm", minify: false });
    writeFileSync(join(out, name.replace(/\.ts$/, ".mjs")), code);
  }
}

const at = process.argv.indexOf("--out");
const out = at > 0 ? process.argv[at + 1] : null;
if (process.argv.includes("--tests")) await buildTests(out ?? join(here, "dist/tests"));
else await buildPage(out ?? join(here, "dist/page.html"));
