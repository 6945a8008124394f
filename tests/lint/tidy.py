"""The clang-tidy checks chosen in .clang-tidy, file by file, within a time budget.

Locally the files that differ from the last commit; with --all, and in CI, every file until the
budget is spent: the program before its tests, the most recently committed first. What was left out
is said, and is a warning. A file costs about 3 s of a CPU, most of it reading headers.
A file that passed is not looked at again until it, a header of ours that it includes, its compile
command or the checks change (BUILD/lint-cache).
"""

import hashlib
import json
import os
import re
import shlex
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from repository import Problem

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
MESSAGE = re.compile(r"^(/[^:\n]+):(\d+):\d+: (?:error|warning): (.*)$", re.MULTILINE)
# Clang 14 cannot read all of the library that comes with g++ 12; the compiler proper judges syntax.
SYNTAX = "[clang-diagnostic-error]"
PRECOMPILED = re.compile(r"-Winvalid-pch +|-include \S*/cmake_pch\.hxx +|^.*?\bccache ")


class Tidy:
    def __init__(self, repository, build, seconds):
        self.repository = repository
        self.build = Path(build)
        self.deadline = time.monotonic() + seconds
        self.cache = self.build / "lint-cache"
        self.commands = {}
        self.unreadable = []
        version = subprocess.run(["clang-tidy", "--version"], capture_output=True, text=True,
                                 check=True).stdout
        self.salt = version + (repository.root / ".clang-tidy").read_text()

    def load_commands(self):
        """Reads the build's compile commands; clang-tidy gets them without gcc's precompiled
        headers, which clang cannot read. A file that lacks an include is found by that too."""
        entries = json.loads((self.build / "compile_commands.json").read_text())
        root = self.repository.root.resolve()
        for entry in entries:
            entry["command"] = PRECOMPILED.sub("", entry.get("command", ""))
            path = Path(entry["directory"], entry["file"])
            if path.is_relative_to(root):
                self.commands[str(path.relative_to(root))] = entry["command"]
        self.cache.mkdir(parents=True, exist_ok=True)
        (self.cache / "compile_commands.json").write_text(json.dumps(entries))

    def fingerprint(self, name):
        """Of everything of ours that the result depends on."""
        seen, waiting = set(), [name]
        digest = hashlib.sha256(self.salt.encode() + self.commands[name].encode())
        while waiting:
            current = waiting.pop()
            if current in seen or not (self.repository.root / current).is_file():
                continue
            seen.add(current)
            text = self.repository.read(current)
            digest.update(current.encode() + text.encode())
            folder = os.path.dirname(current)
            for included in sorted(INCLUDE.findall(text)):
                waiting += [included, os.path.normpath(os.path.join(folder, included))]
        return digest.hexdigest()

    def run(self, name):
        """Problems of one file; None when the budget was spent before it."""
        stamp = self.cache / self.fingerprint(name)
        if stamp.exists():
            return []
        left = self.deadline - time.monotonic()
        if left <= 0:
            return None
        command = ["clang-tidy", "--quiet", "-p", str(self.cache),
                   "--extra-arg=-Wno-unknown-warning-option", name]
        try:
            done = subprocess.run(command, cwd=self.repository.root, capture_output=True,
                                  text=True, errors="replace", check=False, timeout=left + 30)
        except subprocess.TimeoutExpired:
            return None
        problems = self.parse(done.stdout)
        if SYNTAX in done.stdout:
            self.unreadable.append(name)
            return problems
        if done.returncode and not problems:
            problems = [Problem(name, 1, f"clang-tidy: {shlex.quote(done.stderr.strip()[-300:])}")]
        if not problems:
            stamp.touch()
        return problems

    def parse(self, output):
        root = str(self.repository.root.resolve()) + "/"
        return [Problem(path.removeprefix(root), int(line), text)
                for path, line, text in MESSAGE.findall(output) if SYNTAX not in text]


def in_order(repository, names):
    """The program, then its tests; each by the commit that touched it last, new files first."""
    log = subprocess.run(["git", "-C", str(repository.root), "log", "--format=", "--name-only"],
                         capture_output=True, text=True, check=False).stdout
    rank = {}
    for name in filter(None, log.splitlines()):
        rank.setdefault(name, len(rank) + 1)
    return sorted(names, key=lambda n: (n.startswith("tests/"), rank.get(n, 0), n))


def check(repository, build, every_file, seconds):
    if not (Path(build) / "compile_commands.json").is_file():
        return [Problem("CMakeLists.txt", 1, f"no compile commands in {build}: build first")]
    tidy = Tidy(repository, build, seconds)
    tidy.load_commands()
    wanted = repository.files if every_file else repository.changed_files()
    names = in_order(repository, [n for n in wanted if n.endswith(".cc") and
                                      n in tidy.commands])
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        results = list(pool.map(tidy.run, names))
    problems = {problem: None for result in results for problem in result or []}
    left_out = results.count(None)
    if left_out:
        text = f"{left_out} of {len(names)} files not looked at within {seconds} s"
        problems[Problem(".clang-tidy", 1, text, warning=True)] = None
    for name in sorted(tidy.unreadable):
        problems[Problem(name, 1, "clang-tidy could not read all of it", warning=True)] = None
    print(f"  clang-tidy looked at {len(names) - left_out} of {len(names)} files")
    return list(problems)
