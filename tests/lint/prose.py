#!/usr/bin/env python3
"""Comments and documents read as docs/glossary.md and CONTRIBUTING.md ask for.

Run by itself it prints how many findings each rule has, those that are off too:

    tests/lint/prose.py [RULE KIND]      with RULE and KIND: its findings
"""

import re
import sys
from collections import namedtuple
from pathlib import Path

sys.dont_write_bytecode = True

# noqa: E402
from comments import C_SUFFIXES, C_TOKENS, cells, comment_lines, prose_lines, sentences
from repository import Problem, Repository  # noqa: E402

COLUMNS = 100
CELL_WORDS = 40
# What the glossary has another word for. Put together here, so that this file does not find itself.
REPLACED = {"tak" + "er": "sink", "made co" + "de": "JIT code", "lad" + "der": "degradation steps",
            "ru" + "ng": "degradation step", "raw sli" + "ce": "stack slice",
            "best known age" + "nt": "the program's name and commit",
            "walk ou" + "t of": "unwind"}
WORDS = re.compile(r"\b(" + "|".join(REPLACED) + r")s?\b", re.IGNORECASE)
OUTSIDE = re.compile(r"\b(?:re)?des" + r"ign\.md\b|\bpro" + r"se\.md\b|\bnewco" + r"mer\.md\b")
SAME = re.compile(r"^The sa" + r"me\b")
# A path of this tree. Linux has a kernel/ as well, with folders in it, which ours has not.
TREE_PATH = re.compile(
    r"(?<![\w/.-])((?:agent|bench|bpf|cmake|deploy|docs|interpreters|kernel|profile|reporter"
    r"|symbolizer|tests|web)/[\w./-]*\w\.(?:cc|h|c|py|sh|md|cmake|ts|txt|yaml|json))\b")
# A name without a folder, in the README of a top folder.
BARE_NAME = re.compile(r"`(\w+\.(?:cc|h|c|py|sh|cmake|ts|bpf\.c))`")
LINUX_FOLDER = re.compile(r"^kernel/\w+/")
MADE_BY_THE_BUILD = (".skel.h", ".pb.h", ".grpc.pb.h")
CAMEL_FUNCTION = re.compile(r"(?<![\w#.:])((?:[A-Za-z_]\w*::)*[A-Z][a-z]\w*)\(\)")
C_FUNCTION = re.compile(r"(?<![\w#.:])([a-z]\w*_\w+)\(\)")
# Functions of the kernel, of runtimes and libraries that comments speak of and no code here calls.
FOREIGN = frozenset(
    "do_exit bpf_find_vma call_sv eval_sv begin_new_exec bpf_d_path exit_mm is_exec_mapping "
    "tls_thread_switch prepare_uretprobe pthread_self bpf_loop load_elf_binary g_initialstub "
    "make_fcontext co_lines check_max_stack_depth bpf_prog_test_run_skb jump_fcontext "
    "ontop_fcontext".split())

# One rule for documents (docs) or comments (code). A rule that is off has findings today; it is
# switched on when they are mended, and tests/lint/README.md has their number.
Rule = namedtuple("Rule", "name kind active")
RULES = (
    Rule("cells", "docs", True),
    Rule("columns", "docs", True),
    Rule("columns", "code", True),
    Rule("files", "docs", True),
    Rule("files", "code", True),
    Rule("functions", "docs", True),
    Rule("functions", "code", True),
    Rule("c-functions", "code", True),
    Rule("outside", "docs", True),
    Rule("outside", "code", True),
    Rule("same", "docs", True),
    Rule("same", "code", True),
    Rule("words", "docs", True),
    Rule("words", "code", True),
)


class Tree:
    """What prose may name: files, and identifiers that stand in code."""

    def __init__(self, repository):
        self.files = set(repository.files)
        folders = {name.rsplit("/", depth)[0] for name in self.files
                   for depth in range(1, name.count("/") + 1)}
        self.base_names = {name.rsplit("/", 1)[-1] for name in self.files}
        self.files |= folders
        self.identifiers = set()
        for name in repository.files:
            if name.endswith((*C_SUFFIXES, ".py", ".sh", ".cmake", "CMakeLists.txt")):
                text = repository.read(name)
                if name.endswith(C_SUFFIXES):
                    text = C_TOKENS.sub(lambda m: " " if m.group("line") or m.group("block")
                                        else m.group(), text)
                self.identifiers.update(re.findall(r"[A-Za-z_]\w+", text))

    def has_file(self, path, page):
        beside = str(Path(page).parent / path)
        return path in self.files or beside in self.files or path.endswith(MADE_BY_THE_BUILD)


def columns(page, lines, text, _tree):
    rows = text.splitlines()
    for number in dict(lines):
        row = rows[number - 1]
        if len(row) > COLUMNS and not row.startswith(("|", "![")):
            yield page, number, f"{len(row)} columns, {COLUMNS} are the limit"


def cells_of(page, lines, _text, _tree):
    for number, line in lines:
        for cell in cells(line):
            count = len(cell.split())
            if count > CELL_WORDS:
                yield page, number, f"a cell of {count} words, {CELL_WORDS} are the limit"


def files(page, lines, _text, tree):
    for number, line in lines:
        for path in TREE_PATH.findall(line):
            placeholder = re.search(r"[A-Z]{3}|…", path) and path not in tree.files
            if not (placeholder or LINUX_FOLDER.match(path) or tree.has_file(path, page)):
                yield page, number, f"names {path}, which is not there"
        if page.endswith("/README.md") and page.count("/") == 1:
            for bare in BARE_NAME.findall(line):
                if bare not in tree.base_names:
                    yield page, number, f"names {bare}, which is not there"


def functions(page, lines, _text, tree, pattern=CAMEL_FUNCTION):
    for number, line in lines:
        for name in pattern.findall(line):
            last = name.rsplit("::", 1)[-1]
            if last not in tree.identifiers and last not in FOREIGN:
                yield page, number, f"names {name}(), which no code has"


def c_functions(page, lines, text, tree):
    yield from functions(page, lines, text, tree, C_FUNCTION)


def outside(page, lines, _text, _tree):
    for number, line in lines:
        found = OUTSIDE.search(line)
        if found:
            yield page, number, f"cites {found.group()}, which is no page of this repository"


def same(page, lines, _text, _tree):
    for number, sentence in sentences(lines):
        if SAME.match(sentence):
            yield page, number, f'begins with "The same": name it: {sentence[:60]}'


def words(page, lines, _text, _tree):
    if page == "docs/glossary.md":
        return
    for number, line in lines:
        for word in WORDS.findall(line):
            yield page, number, f'"{word}": the glossary has "{REPLACED[word.lower()]}"'


CHECKS = {"cells": cells_of, "columns": columns, "files": files, "functions": functions,
          "c-functions": c_functions, "outside": outside, "same": same, "words": words}


def findings(repository, rules):
    """Pairs of rule and Problem, in the order of the files."""
    tree = Tree(repository)
    for name in repository.files:
        kind = "docs" if name.endswith(".md") else "code"
        text = repository.read(name)
        lines = prose_lines(text) if kind == "docs" else comment_lines(name, text)
        for rule in rules:
            if rule.kind == kind and lines:
                for page, number, what in CHECKS[rule.name](name, lines, text, tree):
                    yield rule, Problem(page, number, f"{rule.name}: {what}")


def check(repository, rules=None):
    chosen = rules or [rule for rule in RULES if rule.active]
    return [problem for _, problem in findings(repository, chosen)]


def main():
    repository = Repository(Path(__file__).resolve().parents[2])
    chosen = [r for r in RULES if sys.argv[1:] in ([], [r.name, r.kind])]
    counts = dict.fromkeys(chosen, 0)
    for rule, problem in findings(repository, chosen):
        counts[rule] += 1
        if len(sys.argv) > 1:
            print(problem)
    for rule, count in counts.items():
        print(f"{rule.name:12} {rule.kind}  {'on ' if rule.active else 'off'} {count:5}")


if __name__ == "__main__":
    main()
