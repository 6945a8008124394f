import assert from "node:assert/strict";
import { test } from "node:test";
import { stepKey, textKey } from "../src/model/path";

// The agent makes equal keys: tests/reporter/page/page_question_test.cc has the values too.
test("keys of functions and ways are those of the agent", () => {
  assert.equal(textKey("native main app"), "fnj7dhx85s");
  assert.equal(textKey(""), "udntgy60fl");
  assert.equal(textKey("cpython größe 😀.py"), "b6s2yelvhb");
  assert.equal(stepKey(textKey("native main app"), parseInt(textKey("group web"), 36)).toString(36),
               "604w9atw1c");
});
