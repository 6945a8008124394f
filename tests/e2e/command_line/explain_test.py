"""`explain` as its users meet it: a program that runs, one that sleeps, one that is not there."""

import os
import re
import shutil
import subprocess
import unittest

from stackray_command import SamplingCase, run, started

SPIN = os.path.join(os.environ.get("STACKRAY_LIVE_PROGRAMS", "build/live_programs"), "spin")


class Explain(SamplingCase):
    def setUp(self):
        super().setUp()
        if not os.path.exists(SPIN):
            self.skipTest("tests/live/programs are not built")

    def test_a_program_that_runs(self):
        with started(SPIN) as busy:
            answer = run("explain", str(busy.pid), "-d", "2")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertRegex(answer.stdout, rf"spin \(process {busy.pid}\): [1-9]\d* samples")
        complete = float(re.search(r"complete \(([\d.]+) %\)", answer.stdout).group(1))
        self.assertGreaterEqual(complete, 90)
        row = next(line for line in answer.stdout.splitlines() if line.rstrip().find("/spin ") > 0)
        self.assertIn(".eh_frame", row)
        self.assertIn("symbol table", row)

    def test_a_stripped_program_says_what_is_missing(self):
        stripped = self.path("stripped")
        shutil.copy(SPIN, stripped)
        subprocess.run(["strip", stripped], check=True)
        with started(stripped) as busy:
            answer = run("explain", str(busy.pid), "-d", "2")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertRegex(answer.stdout, r"stripped: it is stripped, and only what it exports")
        self.assertIn("build it with -g", answer.stdout)

    def test_a_program_that_sleeps(self):
        with started("sleep", "60") as idle:
            answer = run("explain", str(idle.pid), "-d", "0.2")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("did not run", answer.stdout)
        self.assertIn("libc", answer.stdout)

    def test_what_is_no_process(self):
        with started("true") as gone:
            gone.wait()
            self.assert_failed(run("explain", str(gone.pid)), 2, f"no process {gone.pid}")
        self.assert_failed(run("explain", "firefox"), 2, "firefox is no process")
        self.assert_failed(run("explain"), 2, "needs PID")


if __name__ == "__main__":
    unittest.main()
