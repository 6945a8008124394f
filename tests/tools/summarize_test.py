#!/usr/bin/env python3
"""The closing line must never be better than the truth: summarize.py on reports made here."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SUMMARIZE = Path(__file__).with_name("summarize.py")
PASS = '<testcase name="a" time="1" status="run"/>'
FAIL = '<testcase name="b" status="fail"><failure message=""/></testcase>'
SKIP = ('<testcase name="c" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>'
        "<system-out>x.cc:3: Skipped\nno BPF\nhere\n[  SKIPPED ] c (0 ms)\n</system-out></testcase>")
SKIP_BY_CODE = ('<testcase name="d" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>'
                "<system-out>starting\nneeds root\n</system-out></testcase>")
NO_PROGRAM = ('<testcase name="e" status="notrun">'
              '<skipped message="Unable to find executable"/></testcase>')
BROKEN_SETUP = ('<testcase name="f" status="notrun">'
                '<skipped message="Fixture dependency failed"/></testcase>')
SKIP_AND_FAIL = SKIP.replace("</system-out>", "[  FAILED  ] c\n</system-out>")


def summarize(*cases, options=(), text=None):
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        report.write_text(text or f"<testsuite>{''.join(cases)}</testsuite>")
        done = subprocess.run([sys.executable, SUMMARIZE, *options, report], capture_output=True,
                              text=True, check=False)
    lines = done.stdout.splitlines()
    return done.returncode, lines[-1] if lines else "", done.stdout


class Summarize(unittest.TestCase):
    def test_counts(self):
        code, last, _ = summarize(PASS, SKIP, SKIP_BY_CODE)
        self.assertEqual((code, last), (0, "1 passed, 0 failed, 2 skipped"))

    def test_a_failure_fails(self):
        code, last, _ = summarize(PASS, FAIL)
        self.assertEqual((code, last), (1, "1 passed, 1 failed, 0 skipped"))

    def test_what_could_not_run_has_failed(self):
        for case in (NO_PROGRAM, BROKEN_SETUP, SKIP_AND_FAIL):
            code, last, _ = summarize(PASS, case)
            self.assertEqual((code, last), (1, "1 passed, 1 failed, 0 skipped"), case)

    def test_nothing_run_fails(self):
        code, last, _ = summarize()
        self.assertEqual((code, last), (1, "0 passed, 0 failed, 0 skipped"))

    def test_a_report_cut_short_fails(self):
        code, last, _ = summarize(text="<testsuite><testcase name=")
        self.assertEqual((code, last), (1, "0 passed, 1 failed, 0 skipped"))

    def test_reasons_of_skips_are_shown(self):
        _, _, text = summarize(SKIP, SKIP_BY_CODE)
        self.assertRegex(text, r"(?m)^  c  no BPF here$")
        self.assertRegex(text, r"(?m)^  d  needs root$")

    def test_a_failure_is_told_before_a_warning(self):
        case = FAIL.replace("</testcase>", "<system-out>a.cc:1: warning: long\nb.cc:1: too long\n"
                                           "</system-out></testcase>")
        _, _, text = summarize(case)
        self.assertRegex(text, r"(?m)^  b  b\.cc:1: too long$")

    def test_the_table_quotes_what_was_measured(self):
        case = PASS.replace("/>", "><system-out>x\nmeasured: 3 of 4\n</system-out></testcase>")
        _, _, text = summarize(case, options=["--table"])
        self.assertRegex(text, r"passed +a +1\.0 s  3 of 4")

    def test_only_or_without_the_closing_line(self):
        _, _, text = summarize(FAIL, options=["--closing-line-only"])
        self.assertEqual(text, "0 passed, 1 failed, 0 skipped\n")
        _, _, text = summarize(FAIL, options=["--no-closing-line"])
        self.assertNotIn("0 passed", text)

    def test_a_second_run_counts_and_is_named(self):
        fixed = PASS.replace('"a"', '"b"')
        for second, expected in ((fixed, "2 passed, 0 failed, 0 skipped"),
                                 (FAIL, "1 passed, 1 failed, 0 skipped"),
                                 (PASS, "1 passed, 1 failed, 0 skipped")):
            with tempfile.TemporaryDirectory() as folder:
                report = Path(folder, "host.xml")
                report.write_text(f"<testsuite>{PASS}{FAIL}</testsuite>")
                Path(folder, "host-again.xml").write_text(f"<testsuite>{second}</testsuite>")
                done = subprocess.run([sys.executable, SUMMARIZE, report], capture_output=True,
                                      text=True, check=False)
            self.assertEqual(done.stdout.splitlines()[-1], expected)
            self.assertEqual("only on the second run (1)" in done.stdout, second == fixed)


if __name__ == "__main__":
    unittest.main()
