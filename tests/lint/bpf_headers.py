"""Each header in bpf/ stands alone: it compiles by itself for BPF, on both machines, and includes
what it needs at its top."""

import re
import shutil
import subprocess

from repository import Problem

MACHINES = {"x86": ("native_arm64.h", "registers_arm64.h"),
            "arm64": ("native_x86_64.h", "registers_x86_64.h", "made_code.h")}  # Not for it.
# What a header declares may be defined by another one.
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wno-unused-function",
            "-Wno-undefined-internal")
INCLUDE = re.compile(r'^\s*#\s*include\b')
PREPROCESSOR = re.compile(r"^\s*#")


def check(repository):
    headers = [name for name in repository.files if re.fullmatch(r"bpf/[a-z0-9_]+\.h", name)]
    problems = [problem for name in headers
                for problem in late_includes(name, repository.read(name))]
    clang = shutil.which("clang")
    if clang:
        for machine, foreign in MACHINES.items():
            for name in headers:
                if name.rsplit("/", 1)[1] not in foreign:
                    problems += compile_alone(repository, clang, name, machine)
    return problems


def late_includes(name, text):
    """Includes behind the first line of code."""
    text = re.sub(r"/\*.*?\*/", lambda match: "\n" * match.group().count("\n"), text, flags=re.S)
    problems, code = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if INCLUDE.match(line):
            if code:
                problems.append(Problem(name, number, "an include behind code"))
        elif line.strip() and not PREPROCESSOR.match(line):
            code = True
    return problems


def compile_alone(repository, clang, name, machine):
    done = subprocess.run(
        [clang, "-O2", "-target", "bpf", "-mcpu=v3", f"-D__TARGET_ARCH_{machine}", *WARNINGS,
         "-I", str(repository.root), "-idirafter", "/usr/include/x86_64-linux-gnu",
         "-fsyntax-only", "-x", "c", str(repository.root / name)],
        capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return []
    first = next((line for line in done.stderr.splitlines() if "error:" in line), done.stderr)
    return [Problem(name, 1, f"does not compile alone for {machine}: {first.strip()[:200]}")]
