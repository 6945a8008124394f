#!/usr/bin/env python3
"""Adds up JUnit files: every skip by name with its reason, every failure, one closing line.

    summarize.py [--table] [--no-closing-line | --closing-line-only] REPORT.xml...

The closing line is `N passed, N failed, N skipped`. Exit code 1 when a test failed or none ran.
Only a test that skipped by its own decision counts as skipped: one whose program is missing, or
whose preparation failed, has failed. A report that is missing or cannot be read is a failure too.
Where NAME-again.xml lies beside NAME.xml, its tests ran a second time: the second outcome counts,
and each is named with what it said the first time.
--table shows every test with its time and the last line it printed that begins `measured:`.
"""

import argparse
import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclass
class Result:
    name: str
    outcome: str
    seconds: float
    reason: str
    measured: str


def skip_reason(output):
    """What the test said: GoogleTest's text after `Skipped`, else its last line."""
    after = re.search(r": Skipped\n(.*?)\n\[  SKIPPED \]", output, re.DOTALL)
    if after and after.group(1).strip():
        return " ".join(after.group(1).split())
    lines = [line for line in output.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no reason given"


def failure_reason(output):
    """GoogleTest's place of the first failure, or Node's name of the first test that failed; else
    what was said first, warnings aside."""
    place = re.search(r"^(.*): Failure$|^not ok \d+ - (.*)$", output, re.MULTILINE)
    if place:
        return place.group(1) or place.group(2)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    lines = [line for line in lines if ": warning: " not in line] or lines
    return lines[0][:160] if lines else "failed without a word, or took too long"


def outcome_of(case, output):
    if case.find("failure") is not None or case.find("error") is not None:
        return FAILED, failure_reason(output)
    skipped = case.find("skipped")
    if skipped is not None:
        message = skipped.get("message", "")
        # ctest's own words; anything else with this tag did not run, although it should have.
        if not message.startswith(("SKIP_REGULAR_EXPRESSION", "SKIP_RETURN_CODE")):
            return FAILED, message or "did not run"
        if "[  FAILED  ]" in output:
            return FAILED, "failed and skipped"
        return SKIPPED, skip_reason(output)
    status = case.get("status", "run")
    if status == "disabled":
        return SKIPPED, "disabled"
    return (PASSED, "") if status == "run" else (FAILED, status)


def read_case(case):
    output = case.findtext("system-out") or ""
    outcome, reason = outcome_of(case, output)
    measured = re.findall(r"^measured: *(.*)$", output, re.MULTILINE)
    seconds = float(case.get("time") or 0)
    return Result(case.get("name", "?"), outcome, seconds, reason, measured[-1] if measured else "")


def read_report(path):
    try:
        root = ElementTree.parse(path).getroot()
        return [read_case(case) for case in root.iter("testcase")]
    except (OSError, ElementTree.ParseError, ValueError) as error:
        return [Result(str(path), FAILED, 0, f"report cannot be read: {error}", "")]


def after_second_run(path, results):
    """The results that count, and the first ones of the tests that passed on their second run."""
    again = path.with_name(f"{path.stem}-again{path.suffix}")
    if not again.exists():
        return results, []
    second = {result.name: result for result in read_report(again)}
    cured = [
        r
        for r in results
        if r.outcome == FAILED and r.name in second and second[r.name].outcome != FAILED
    ]
    return [second[r.name] if r in cured else r for r in results], cured


def print_named(title, results):
    if not results:
        return
    print(f"\n{title} ({len(results)}):")
    width = max(len(result.name) for result in results)
    for result in results:
        print(f"  {result.name:<{width}}  {result.reason}")


def print_table(results):
    width = max((len(result.name) for result in results), default=0)
    for result in results:
        note = result.measured or result.reason
        print(f"  {result.outcome:<7}  {result.name:<{width}}  {result.seconds:8.1f} s  {note}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--no-closing-line", action="store_true")
    parser.add_argument("--closing-line-only", action="store_true")
    parser.add_argument("reports", nargs="+", type=Path)
    arguments = parser.parse_args()

    results, cured = [], []
    for path in arguments.reports:
        counted, first = after_second_run(path, read_report(path))
        results += counted
        cured += first
    count = {kind: [r for r in results if r.outcome == kind] for kind in (PASSED, FAILED, SKIPPED)}
    if not arguments.closing_line_only:
        if arguments.table:
            print_table(results)
        print_named("Skipped", count[SKIPPED])
        print_named("Passed only on the second run", cured)
        print_named("Failed", count[FAILED])
        if not results:
            print("No test ran.")
        print()
    if not arguments.no_closing_line:
        print(", ".join(f"{len(count[kind])} {kind}" for kind in (PASSED, FAILED, SKIPPED)))
    return 1 if count[FAILED] or not (count[PASSED] or count[SKIPPED]) else 0


if __name__ == "__main__":
    sys.exit(main())
