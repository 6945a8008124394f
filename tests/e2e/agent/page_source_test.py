#!/usr/bin/env python3
"""Source lines on the live page, in a browser: with the setting and without it, and a file that the
profiled process may not read."""

import json
import os
import re
import shutil
import subprocess
import time

import agent_case

NOBODY = 65534
READER = os.path.join(agent_case.ROOT, "tests/e2e/page/source_lines.mjs")
HOT_LINE = "sum = sum * 31 + at; /* most of the time */"
SECRET = "a line that nobody may read"

# borrow() says that its lines are of another file, as any program may.
PROGRAM = """\
static volatile unsigned long sum;

__attribute__((noinline)) static void rank_offers(unsigned long count)
{
\tfor (unsigned long at = 0; at < count; at++)
\t\tHOT_LINE
}

#line 1 "SECRET_FILE"
__attribute__((noinline)) static void borrow(unsigned long count)
{
\tfor (unsigned long at = 0; at < count; at++)
\t\tsum = sum * 17 + at;
}
#line 17 "SOURCE_FILE"

int main(void)
{
\tfor (;;) {
\t\trank_offers(1000000);
\t\tborrow(1000000);
\t}
}
"""


class PageSource(agent_case.AgentCase):
    def setUp(self):
        super().setUp()
        for needed in ("cc", "node"):
            if shutil.which(needed) is None:
                self.skipTest(f"no {needed} here")
        os.chmod(self.folder, 0o755)  # The program's user comes to its files.
        self.source, self.secret = self.path("offers.c"), self.path("secret.txt")
        self.write(self.source, PROGRAM.replace("HOT_LINE", HOT_LINE)
                   .replace("SOURCE_FILE", self.source).replace("SECRET_FILE", self.secret))
        self.write(self.secret, "".join(f"{SECRET}, {at}\n" for at in range(1, 9)))
        os.chmod(self.secret, 0o600)
        subprocess.run(["cc", "-g", "-O1", "-o", self.path("offers"), self.source], check=True)
        as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        self.pid = self.spin(*as_nobody, self.path("offers"))

    def write(self, path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.utime(path, (1_000_000_000, 1_000_000_000))  # Older than the program that runs.

    def begin(self, *arguments):
        agent = self.agent("--page-access", "open", "--seal-interval", "500ms", *arguments)
        self.wait_until_sampling(agent)
        self.assertIsNotNone(agent.find_page(), agent.log())
        until = time.monotonic() + 60
        while not self.is_listed(agent):
            self.assertLess(time.monotonic(), until, "no lines of the two functions are known")
            time.sleep(0.5)
        return agent

    def is_listed(self, agent):
        """Whether both functions have samples by now, lines too."""
        _, text = agent.get(f"/api/profile?from_ms=0&to_ms={int(time.time() * 1000)}")
        if not text.startswith("{"):
            return False
        document = json.loads(text)
        strings, frames = document["strings"], document["frames"]
        known = {strings[name] for name, line in zip(frames["name"], frames.get("line", []))
                 if line > 0}
        return {"rank_offers", "borrow"} <= known

    def shown(self, agent, function):
        """({(file, line): (text, samples)}, the whole page) of a function's lines."""
        answer = subprocess.run(["node", READER, agent.url, f"{self.pid} offers", function],
                                capture_output=True, text=True, timeout=150, check=False)
        if answer.returncode == agent_case.SKIPPED:
            self.skipTest(answer.stdout.strip())
        self.assertEqual(answer.returncode, 0, answer.stderr)
        said = json.loads(answer.stdout)
        self.assertEqual(said["errors"], [])
        rows = {}
        for row in said["rows"]:
            file, _, line = row["at"].rpartition(":")
            if not line:  # Samples of code that the compiler gave no line.
                self.assertEqual(row["text"], "")
                continue
            samples = int(re.match(r"[\d,]+", row["self"])[0].replace(",", ""))
            rows[(file, int(line))] = (row["text"], samples)
        self.assertTrue(any(samples > 0 for _, samples in rows.values()), rows)
        return rows, said["all"]

    def assert_lines_of(self, path, rows):
        """Each row's text is that line of the file."""
        with open(path, encoding="utf-8") as file:
            lines = [line.strip() for line in file]
        for (named, line), (text, _) in rows.items():
            self.assertEqual((named, text), (path, lines[line - 1]))

    def test_lines_with_samples_show_their_text(self):
        agent = self.begin("--page-source")
        rows, _ = self.shown(agent, "rank_offers")
        self.assert_lines_of(self.source, rows)
        self.assertIn(HOT_LINE, [text for text, samples in rows.values() if samples > 0])

        with self.subTest("a file that the program may not read"):
            rows, page = self.shown(agent, "borrow")
            self.assertEqual({file for file, _ in rows}, {self.secret})
            self.assertEqual({text for text, _ in rows.values()}, {""})
            self.assertNotIn(SECRET, page)
        with self.subTest("once it may"):
            os.chmod(self.secret, 0o644)
            rows, _ = self.shown(agent, "borrow")
            self.assert_lines_of(self.secret, rows)
        with self.subTest("a file that was written after the program began"):
            os.utime(self.source)
            rows, page = self.shown(agent, "rank_offers")
            self.assertEqual({text for text, _ in rows.values()}, {""})
            self.assertNotIn(HOT_LINE, page)

    def test_without_the_setting_no_text_is_shown(self):
        agent = self.begin()
        rows, page = self.shown(agent, "rank_offers")
        self.assertEqual({file for file, _ in rows}, {self.source})
        self.assertEqual({text for text, _ in rows.values()}, {""})
        self.assertNotIn(HOT_LINE, page)


if __name__ == "__main__":
    agent_case.main()
