"""Includes point one way, so that a lower folder never learns of a higher one.

agent -> reporter, interpreters -> symbolizer -> kernel -> profile -> bpf/shared
"""

import re

from repository import CPP_SUFFIXES, Problem

# Folder: the folders it may include, itself apart.
BELOW = {
    "bpf": {"bpf"},
    "profile": {"bpf"},
    "kernel": {"profile", "bpf"},
    "symbolizer": {"kernel", "profile", "bpf"},
    "interpreters": {"symbolizer", "kernel", "profile", "bpf"},
    "reporter": {"symbolizer", "kernel", "profile", "bpf"},
    "agent": {"reporter", "interpreters", "symbolizer", "kernel", "profile", "bpf"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([a-z_]+)/([^">]+)[">]')
# The kernel's unwinder, compiled for this side too: it runs on recorded stacks and finishes walks.
HOST_COMPILED = "symbolizer/unwind/host_"
# Generated in the build tree from bpf/*.bpf.c: the loader's, and nobody else's.
SKELETON = re.compile(r"\.skel\.h$")


def check(repository):
    problems = []
    for name in repository.files:
        folder = name.split("/", 1)[0]
        if folder in BELOW and name.endswith((*CPP_SUFFIXES, ".c")):
            problems += check_file(repository, name, folder)
    return problems


def check_file(repository, name, folder):
    problems = []
    for number, line in repository.lines(name):
        found = INCLUDE.match(line)
        if not found or found.group(1) not in set(BELOW) | {"tests", "bench"}:
            continue
        if line.strip().endswith(">") and found.group(1) == "bpf":
            continue  # libbpf's own headers are called <bpf/...>.
        if name.startswith(HOST_COMPILED) and found.group(1) == "bpf":
            continue
        why = forbidden(folder, found.group(1), found.group(2))
        if why:
            problems.append(Problem(name, number, f'{why}: "{found.group(1)}/{found.group(2)}"'))
    return problems


def forbidden(folder, other, rest):
    """Why `folder` may not include `other`/`rest`, or None."""
    if other in ("tests", "bench"):
        return f"{folder}/ includes what only tests may use"
    if other == folder:
        return None
    if other not in BELOW[folder]:
        allowed = ", ".join(sorted(BELOW[folder] - {folder})) or "nothing else"
        return f"{folder}/ may not include {other}/ (only {allowed})"
    if other == "bpf" and not rest.startswith("shared/"):
        if SKELETON.search(rest) and folder in ("kernel", "agent", "interpreters"):
            return None
        if SKELETON.search(rest):
            return f"{folder}/ may not load programs (bpf/*.skel.h)"
        return f"{folder}/ may include of bpf/ only bpf/shared/"
    return None
