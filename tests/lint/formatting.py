"""Our C++ is laid out as .clang-format says (Google, 100 columns)."""

import re
import subprocess

from repository import Problem

# Formats of different clang-format releases differ in details; the tree follows Debian 12's.
MAJOR_VERSION = "14"
MESSAGE = re.compile(r"^(.*?):(\d+):\d+: error: (.*?)(?: \[-Wclang-format-violations\])?$")


def installed_version():
    try:
        output = subprocess.run(["clang-format", "--version"], capture_output=True, text=True,
                                check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    found = re.search(r"version (\d+)", output)
    return found.group(1) if found else None


def check(repository):
    version = installed_version()
    if version is None:
        return [Problem(".clang-format", 1, "clang-format is not installed")]
    problems = []
    files = repository.cpp_files()
    if files:
        run = subprocess.run(["clang-format", "--dry-run", "-Werror", "--style=file", *files],
                             cwd=repository.root, capture_output=True, text=True, check=False)
        problems = parse(run.stderr, warning=version != MAJOR_VERSION)
        if run.returncode and not problems:
            problems = [Problem(".clang-format", 1, run.stderr.strip() or "clang-format failed")]
    return problems


def parse(output, warning):
    """One finding a file: the first line that is laid out differently."""
    first = {}
    for line in output.splitlines():
        found = MESSAGE.match(line)
        if found and found.group(1) not in first:
            text = "not formatted (make format)"
            first[found.group(1)] = Problem(found.group(1), int(found.group(2)), text, warning)
    return list(first.values())


def fix(repository):
    files = repository.cpp_files()
    if files:
        subprocess.run(["clang-format", "-i", "--style=file", *files], cwd=repository.root,
                       check=True)
