// What the build must keep: no registry's name in the lock file, exact versions, and Debian 12's
// node.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const text = readFileSync("package-lock.json", "utf8");
const manifest = JSON.parse(readFileSync("package.json", "utf8"));

test("the lock file names no host", () => {
  assert.ok(!text.includes("://"));
  assert.ok(!text.includes(`"resolved"`));
});

test("versions are exact", () => {
  for (const version of Object.values<string>(manifest.devDependencies)) {
    assert.match(version, /^\d+\.\d+\.\d+$/);
  }
  assert.equal(manifest.dependencies, undefined);
});

test("every package runs on node 18, with its integrity written down", () => {
  const packages = Object.entries<any>(JSON.parse(text).packages).filter(([path]) => path !== "");
  assert.ok(packages.length >= 4);
  for (const [path, entry] of packages) {
    assert.match(entry.integrity, /^sha512-/, path);
    const ranges: string[] = (entry.engines?.node ?? ">=0").split("||");
    const least = ranges.map((range) => /^\s*>=\s*(\d+)[\d.]*\s*$/.exec(range)?.[1]);
    const runs = least.some((major) => major !== undefined && Number(major) <= 18);
    assert.ok(runs, `${path} wants node ${entry.engines?.node}`);
  }
});
