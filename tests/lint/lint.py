#!/usr/bin/env python3
"""Runs every lint and prints what it found; the rules are in the files beside this one.

    tests/lint/lint.py [--build FOLDER] [--all] [--only NAME] [--fix-format]

Without a build folder clang-tidy is left out. With one, a JUnit report is written to
FOLDER/test-results/lint.xml: one case a lint. Exit code 1 when one failed.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from xml.sax.saxutils import escape

sys.dont_write_bytecode = True

import bpf_headers  # noqa: E402
import foreign  # noqa: E402
import formatting  # noqa: E402
import includes  # noqa: E402
import lengths  # noqa: E402
import paths  # noqa: E402
import prose  # noqa: E402
import self_test  # noqa: E402
import syntax  # noqa: E402
import tidy  # noqa: E402
import words  # noqa: E402
from repository import Repository  # noqa: E402

TIDY_SECONDS = 180


def chosen_lints(repository, arguments):
    lints = {
        "self-test": self_test.check,
        "bpf-headers": lambda: bpf_headers.check(repository),
        "format": lambda: formatting.check(repository),
        "foreign": lambda: foreign.check(repository),
        "includes": lambda: includes.check(repository),
        "lengths": lambda: lengths.check(repository),
        "words": lambda: words.check(repository),
        "paths": lambda: paths.check(repository),
        "prose": lambda: prose.check(repository),
        "syntax": lambda: syntax.check(repository),
    }
    if arguments.build:
        every_file = arguments.all or bool(os.environ.get("CI"))
        lints["clang-tidy"] = lambda: tidy.check(repository, arguments.build, every_file,
                                                 arguments.tidy_seconds)
    if arguments.only:
        return {arguments.only: lints[arguments.only]}
    return lints


def run(name, check):
    """Runs one lint, prints its findings, and returns its JUnit case and whether it passed."""
    began = time.monotonic()
    problems = check()
    seconds = time.monotonic() - began
    failures = [problem for problem in problems if not problem.warning]
    print(f"lint {name}: {'FAILED' if failures else 'ok'} ({seconds:.1f} s)")
    for problem in problems:
        print(f"  {problem}")
    output = escape("\n".join(map(str, problems)))
    failure = "<failure/>" if failures else ""
    case = (f'<testcase name="lint {name}" time="{seconds:.1f}">{failure}'
            f"<system-out>{output}</system-out></testcase>")
    return case, not failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=Path(__file__).resolve().parents[2], type=Path)
    parser.add_argument("--build", type=Path)
    parser.add_argument("--all", action="store_true", help="clang-tidy on every file")
    parser.add_argument("--only", metavar="NAME")
    parser.add_argument("--tidy-seconds", type=int, default=TIDY_SECONDS)
    parser.add_argument("--fix-format", action="store_true")
    arguments = parser.parse_args()

    repository = Repository(arguments.root)
    if arguments.fix_format:
        formatting.fix(repository)
        return 0
    if arguments.build:
        arguments.build = arguments.build.resolve()
    results = [run(name, check) for name, check in chosen_lints(repository, arguments).items()]
    if arguments.build:
        folder = arguments.build / "test-results"
        folder.mkdir(parents=True, exist_ok=True)
        cases = "\n".join(case for case, _ in results)
        (folder / "lint.xml").write_text(f"<testsuite>\n{cases}\n</testsuite>\n")
    return 0 if all(passed for _, passed in results) else 1


if __name__ == "__main__":
    sys.exit(main())
