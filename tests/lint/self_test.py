"""Proves each lint: small trees that it must refuse, at the line it must name, and their
neighbours that it must accept. Runs as a lint itself, so that a dead rule fails the build."""

import subprocess
import tempfile
from pathlib import Path

import bpf_headers
import foreign
import formatting
import includes
import lengths
import paths
import prose
import reflow
import syntax
import words
from repository import Problem, Repository

UNFINISHED = "TO" + "DO"
HOME = "/" + "work/main"
REGISTRY = "registry." + "npmjs" + ".org"
FORMAT = "BasedOnStyle: Google\nColumnLimit: 100\n"

# Lint, file, text, line of the expected failure (0: must pass).
CASES = (
    (includes, "kernel/a.cc", '#include "kernel/b.h"\n#include "agent/main.h"\n', 2),
    (includes, "symbolizer/a.h", '#include "interpreters/python.h"\n', 1),
    (includes, "reporter/a.h", '#include "interpreters/python.h"\n', 1),
    (includes, "interpreters/a.h", '#include "reporter/batch.h"\n', 1),
    (includes, "profile/a.h", '#include "kernel/proc.h"\n', 1),
    (includes, "bpf/shared/a.h", '#include "profile/frame.h"\n', 1),
    (includes, "bpf/a.bpf.c", '#include "kernel/proc.h"\n', 1),
    (includes, "profile/a.h", '#include "bpf/sampler.skel.h"\n', 1),
    (includes, "symbolizer/a.cc", "int x;\n#  include <agent/main.h>\n", 2),
    (includes, "agent/a.cc", '#include "tests/fake.h"\n', 1),
    (includes, "agent/a.cc", '#include "reporter/a.h"\n#include "bpf/shared/a.h"\n', 0),
    (includes, "kernel/a.cc", '#include "bpf/sampler.skel.h"\n', 0),
    (includes, "kernel/a.cc", "#include <bpf/libbpf.h>\n", 0),
    (includes, "kernel/a.cc", '#include "bpf/walk.h"\n', 1),
    (includes, "symbolizer/unwind/host_walk.cc", '#include "bpf/walk.h"\n', 0),
    (includes, "tests/agent/a.cc", '#include "agent/main.h"\n', 0),
    (includes, "kernel/a.cc", "#include <linux/bpf.h>\n// #include \"agent/a.h\"\n", 0),
    (bpf_headers, "bpf/a.h", "int x;\n#include <stddef.h>\n", 2),
    (bpf_headers, "bpf/a.h", "#include <stddef.h>\n/* #include */\nsize_t x;\n", 0),
    (lengths, "kernel/a.cc", "//\n" * 501, 500),
    (lengths, "web/src/a.ts", "//\n" * 501, 500),
    (lengths, "kernel/a.cc", "//\n" * 500, 0),
    (lengths, "tests/fixtures/a.c", "//\n" * 501, 0),
    (words, "kernel/a.cc", f"int a;\n// {UNFINISHED}: later\n", 2),
    (words, "bpf/a.bpf.c", "/* " + "fix" + "me */\n", 1),
    (words, "agent/a.cc", "return 0;  // not yet imple" + "mented\n", 1),
    (words, "agent/a.cc", "// a stu" + "b for now\n", 1),
    (words, "agent/a.cc", "// this is just a place" + "holder\n", 1),
    (words, "agent/a.cc", "TEST(A, DIS" + "ABLED_B) {}\n", 1),
    (words, "symbolizer/a.cc", "// a PLT stu" + "b pushes its index\n", 0),
    (words, "reporter/a.cc", "auto stu" + "b = Profiles::NewStu" + "b(channel);\n", 0),
    (words, "web/src/a.ts", "place" + "holder=\"Search\"\n", 0),
    (words, "README.md", f"{UNFINISHED}\n", 0),
    (foreign, "agent/a.cc", "process_vm_readv(pid, &a, 1, &b, 1, 0);\n", 1),
    (foreign, "kernel/a.cc", '  std::ifstream file(fmt::format("/proc/{}/maps", pid));\n', 1),
    (foreign, "kernel/a.cc", 'open(fmt::format("/proc/{}/root/tmp/x", pid).c_str(), O_RDONLY);\n', 1),
    (foreign, "kernel/a.cc", 'ReadSmallFile(fmt::format("/proc/{}/stat", pid));\n', 0),
    (foreign, "kernel/foreign/a.cc", "process_vm_readv(pid, &a, 1, &b, 1, 0);\n", 0),
    (foreign, "kernel/a.cc", "// As process_vm_readv(2) has it.\n", 0),
    (paths, "agent/a.cc", f'open("{HOME}/x");\n', 1),
    (paths, "docs/a.md", "see\n/tmp/bui" + "ld-dev/x\n", 2),
    (paths, "web/package-lock.json", f'"resolved": "https://{REGISTRY}/a.tgz"\n', 1),
    (paths, "web/package-lock.json", '"resolved": "https://mirror.example/a.tgz"\n', 1),
    (paths, "web/.npmrc", "registry=https://mirror.example/\n", 1),
    (paths, "README.md", f"fetched from {REGISTRY}\n", 1),
    (paths, "web/package-lock.json", '"funding": {"url": "https://example.org/a"}\n', 0),
    (paths, "agent/a.cc", "// /home/me" + HOME + " and /tmp/perf-1.map\n", 0),
    (syntax, "tests/tools/a.sh", "if true\n", 1),
    (syntax, ".ci/run", "#!/usr/bin/env bash\nfor\n", 1),
    (syntax, "tests/tools/a.py", "def f(:\n", 1),
    (syntax, "web/a.json", "{,}\n", 1),
    (syntax, "deploy/a.yaml", "a:\n\t- b\n", 1),
    (syntax, "deploy/a.yaml", "a:\n  - b  # c\n", 0),
    (prose, "docs/a.md", "| a |\n|---|\n| " + "word " * 41 + "|\n", 3),
    (prose, "docs/a.md", "| a |\n|---|\n| " + "word " * 40 + "|\n", 0),
    (prose, "docs/a.md", "see\n`agent/none.cc`\n", 2),
    (prose, "docs/a.md", "`docs/a.md`, `kernel/bpf/verifier.c`, `bpf/NAME.h`\n", 0),
    (prose, "docs/a.md", "```\n`agent/none.cc`\n```\n", 0),
    (prose, "kernel/README.md", "`README.md`\n`none.cc`\n", 2),
    (prose, "kernel/a.cc", "int a;  // See kernel/none.h\n", 1),
    (prose, "kernel/a.cc", 'const char* a = "// agent/none.cc";\n', 0),
    (prose, "tests/tools/a.py", '"""A.\n\nSee docs/none.md."""\n', 3),
    (prose, "docs/a.md", "It calls `NoSuchFunction()`.\n", 1),
    (prose, "docs/a.md", "A sample.\nThe sa" + "me one again.\n", 2),
    (prose, "docs/a.md", "A sample of the sa" + "me process.\n", 0),
    (prose, "docs/a.md", "Each tak" + "er has one.\n", 1),
    (prose, "docs/a.md", "Each sink has one.\n", 0),
    (prose, "docs/a.md", "as des" + "ign.md says\n", 1),
    (formatting, "kernel/a.cc", "int a;\nint   b ;\n", 2),
    (formatting, "kernel/a.cc", "int a;\nint b;\n", 0),
    (formatting, "bpf/a.bpf.c", "int   b ;\n", 0),
)

LONG = "word " * 24 + "word"  # 124 columns
# What reflow.py makes of a file: name, text, text that comes.
REFLOWED = (
    ("a.md", f"{LONG}\nend\n", f"{'word ' * 19}word\n{'word ' * 5}end\n"),
    ("a.md", f"- {LONG}\n", f"- {'word ' * 18}word\n  {'word ' * 5}word\n"),
    ("a.md", f"| {LONG} |\n", f"| {LONG} |\n"),
    ("a.cc", f"// {LONG}\n// end\n", f"// {'word ' * 18}word\n// {'word ' * 6}end\n"),
    ("a.c", f"/* {LONG} */\n", f"/* {'word ' * 18}word\n * {'word ' * 5}word */\n"),
    ("a.cc", f"int a;  // {LONG}\n", f"// {'word ' * 18}word\n// {'word ' * 5}word\nint a;\n"),
    ("a.cc", f'auto a = "{LONG}";\n', f'auto a = "{LONG}";\n'),
    ("a.py", f'"""{LONG}."""\n', f'"""{"word " * 18}word\n{"word " * 5}word."""\n'),
)


def run_case(lint, name, text):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=True)
        for path, content in ((".clang-format", FORMAT), (name, text)):
            target = Path(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content)
        return [p for p in lint.check(Repository(folder)) if p.path == name]


def check():
    problems = []
    for number, (lint, name, text, line) in enumerate(CASES):
        if lint is formatting and formatting.installed_version() is None:
            continue
        found = [p.line for p in run_case(lint, name, text)
                 if not p.warning or lint is formatting]
        expected = [line] if line else []
        if found != expected:
            what = f"case {number}: {lint.__name__} on {name} gave {found}, expected {expected}"
            problems.append(Problem("tests/lint/self_test.py", 1, what))
    for name, text, expected in REFLOWED:
        made = reflow.document(text) if name.endswith(".md") else reflow.source(name, text)
        if made != expected:
            what = f"reflow of {name} gave {made!r}, expected {expected!r}"
            problems.append(Problem("tests/lint/self_test.py", 1, what))
    return problems
