#!/usr/bin/env python3
"""A runtime of kind STACK that is added to a copy of the tree, and one that the verifier refuses.

    toy_runtime_test.py SOURCE FOLDER

In FOLDER/tree, a copy of SOURCE, three files get a line or two (EDITS); all else of the runtime is
in tests/toy_runtime. The copy is built, and must show each sample of toy_program whole. Then the
step is made into one that no verifier takes: the copy must show everything but the toy's frames,
and its doctor must say so. What user space walks itself, the first samples of a process, may have
them still. The shipped tree is as before. Takes as long as a build. Exit: 0, 1, or 77 with a
reason.
"""

import os
import re
import shutil
import subprocess
import sys
import time

SKIPPED = 77
NAMES = ("main", "call_toy", "toy_main", "toy_parse", "toy_visit", "toy_deep", "toy_sum", "toy_leaf")
FREQUENCY_HZ = 499
LEAST_SHARE = 0.998
MOST_IN_USER_SPACE = 0.1


def add_to_table(text):
    """Behind the newest, whatever the table has by now."""
    newest = max(int(number) for number in re.findall(r"LINE\((\d+), [A-Z]", text))
    text = text.replace("#define FOR_EACH_CHAIN_RUNTIME", '#include "tests/toy_runtime/toy.h"\n\n'
                        "#define FOR_EACH_CHAIN_RUNTIME", 1)
    return re.sub(rf"(LINE\({newest}, [^\n]*)", rf'\1 LINE({newest + 1}, TOY, toy, Toy, "toy")', text, count=1)


def after(line, more):
    return lambda text: text.replace(line, line + more, 1)


EDITS = {
    "bpf/shared/runtimes.h": add_to_table,
    "bpf/stack_steps.h": after('#include "bpf/hotspot.h"\n', '#include "tests/toy_runtime/toy_step.h"\n'),
    "interpreters/runtimes.cc": lambda text: after(
        '#include "kernel/raw_sample.h"\n', '#include "tests/toy_runtime/toy_runtime.h"\n')(after(
            "  loaders_.push_back(std::make_unique<HotSpotLoader>());\n",
            "  loaders_.push_back(std::make_unique<ToyLoader>());\n")(text)),
}


def edit(path, change):
    with open(path, encoding="utf-8") as file:
        before = file.read()
    text = change(before)
    if text == before:
        sys.exit(f"{path} has no place for the toy")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def copy(source, tree):
    """What an earlier run has built there stays."""
    for name in os.listdir(tree) if os.path.isdir(tree) else []:
        path = os.path.join(tree, name)
        if name == "build":
            continue
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.remove(path)
    shutil.copytree(source, tree, symlinks=True, dirs_exist_ok=True,
                    ignore=lambda folder, names: [name for name in names if name.startswith("build") and folder == source or name == ".git"])


def run(command, **arguments):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, **arguments)


def build(tree):
    environment = {**os.environ, "CCACHE_BASEDIR": tree, "CCACHE_NOHASHDIR": "1",
                   "PATH": os.environ["PATH"] + ":/usr/lib/ccache"}
    for command in (["cmake", "--preset", "release"], ["ninja", "-j2", "-C", "build", "stackray"],
                    ["gcc", "-O1", "-g", "-rdynamic", "-I", ".", "-o", "build/toy_program",
                     "tests/toy_runtime/toy_program.c"]):
        done = run(command, cwd=tree, env=environment)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}:\n{(done.stdout + done.stderr)[-3000:]}")


def stacks_of(tree, seconds=6):
    """(frames from the process on, count) of the toy's program, and of a Python program."""
    output = f"{tree}/build/toy.folded"
    spin = "def inner():\n while time.time() < end: pass\nimport time\nend = time.time() + " + str(seconds + 2) + "\ninner()"
    with subprocess.Popen([f"{tree}/build/toy_program", str(seconds + 2)]) as toy, \
            subprocess.Popen([sys.executable, "-c", spin]) as python:
        time.sleep(1)
        done = run([f"{tree}/build/stackray", "record", "-F", str(FREQUENCY_HZ), "-d", str(seconds),
                    "-p", f"{toy.pid},{python.pid}", "-o", output])
    if done.returncode != 0:
        return None, done.stderr
    with open(output, encoding="utf-8") as lines:
        return [(stack.split(";"), int(count)) for stack, _, count in (line.rstrip("\n").rpartition(" ") for line in lines)], ""


def shares(stacks):
    """Of the toy's samples those with all functions in order; of Python's those with `inner`; of
    the toy's those with a toy's name."""
    def share(process, is_good):
        of_process = [(frames, count) for frames, count in stacks if frames[0].startswith(process)]
        total = sum(count for _, count in of_process)
        return sum(count for frames, count in of_process if is_good(frames)) / max(total, 1), total
    toy = share("toy_program", lambda frames: contains(frames, NAMES))
    return toy, share("python", lambda frames: "inner" in frames), share("toy_program", has_toy_name)


def has_toy_name(frames):
    return any(frame.startswith("toy_") for frame in frames[1:])


def contains(frames, names):
    """In order, beside each other. The kernel's frames and call_toy's own work may lie inside."""
    frames = [frame for frame in frames if not frame.endswith("_[k]")]
    if "call_toy" in frames and not any(frame.startswith("toy_") for frame in frames[1:]):
        return True  # Between two calls.
    if "toy_main" not in frames:
        return False
    first = frames.index("toy_main") - 2
    seen = frames[max(first, 0):]
    return tuple(seen) == NAMES[:len(seen)]  # A leaf may stand in any of them.


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    if os.geteuid() != 0:
        print("skipped: needs root")
        return SKIPPED
    source, tree = os.path.realpath(sys.argv[1]), os.path.join(os.path.realpath(sys.argv[2]), "tree")
    copy(source, tree)
    for path, change in EDITS.items():
        edit(os.path.join(tree, path), change)
    print(f"{len(EDITS)} files outside of tests/toy_runtime")
    build(tree)
    stacks, problem = stacks_of(tree)
    if stacks is None:
        print(f"skipped: {problem.strip()}")
        return SKIPPED
    (toy, samples), (python, _), _ = shares(stacks)
    print(f"toy: {100 * toy:.2f} % of {samples} samples are whole; Python beside it {100 * python:.1f} %")
    is_good = toy >= LEAST_SHARE and samples > 500 and python > 0.9
    edit(os.path.join(tree, "tests/toy_runtime/toy_step.h"), lambda text: "#define TOY_IS_REFUSED\n" + text)
    build(tree)
    stacks, problem = stacks_of(tree)
    if stacks is None:
        print(f"refused: nothing is sampled: {problem}")
        return 1
    _, (python, samples), (named, of_toy) = shares(stacks)
    are_right = all(contains(frames, NAMES) for frames, _ in stacks if frames[0].startswith("toy_program") and has_toy_name(frames))
    said = [line for line in run([f"{tree}/build/stackray", "doctor"]).stdout.splitlines() if "toy" in line]
    print(f"refused: Python {100 * python:.1f} % of {samples}; toy's names in {100 * named:.1f} % of {of_toy}, "
          f"right: {are_right}; doctor: {said}")
    return 0 if is_good and python > 0.9 and of_toy and named <= MOST_IN_USER_SPACE and are_right and said else 1


if __name__ == "__main__":
    sys.exit(main())
