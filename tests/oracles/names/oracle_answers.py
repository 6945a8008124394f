"""What others say of addresses: llvm-symbolizer's frames and `go tool addr2line`'s, and stackray's
in the same form."""

import collections
import functools
import glob
import re
import subprocess

Frame = collections.namedtuple("Frame", "function file line")
UNKNOWN = "??"


OLDEST = 16  # Before it a relative directory of a unit of DWARF 5 stood twice in paths.


@functools.cache
def llvm_symbolizer():
    """The newest that is here; None: it is too old, or there is none."""
    found = {}
    for path in glob.glob("/usr/bin/llvm-symbolizer*"):
        version = re.search(r"LLVM version (\d+)", subprocess.run([path, "--version"], text=True, check=False,
                                                                 stdout=subprocess.PIPE).stdout)
        found[int(version.group(1)) if version else 0] = path
    newest = max(found, default=0)
    return found[newest] if newest >= OLDEST else None


def unversioned(name):
    """A symbol's version (@GLIBC_2.2.5) is no part of its name; "@plt" is."""
    return name if name.endswith("@plt") else name[:1] + name[1:].split("@")[0]


def parse(text):
    """Frames of each address, innermost first: a line of the function, one of the place; an empty
    line behind the last."""
    answers, frames, lines = [], [], text.split("\n")
    at = 0
    while at < len(lines):
        if not lines[at]:
            if frames:
                answers.append(tuple(frames))
            frames = []
            at += 1
            continue
        file, _, rest = lines[at + 1].rpartition(":")[0].rpartition(":")
        function = "" if lines[at] == UNKNOWN else unversioned(lines[at])
        frames.append(Frame(function, "" if file == UNKNOWN else file, int(rest or 0)))
        at += 2
    return answers


def _run(command, addresses, folder=None):
    done = subprocess.run(command, input="".join(f"0x{a:x}\n" for a in addresses), text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, cwd=folder)
    return done.stdout, done.stderr


def ask_llvm(path, addresses, folder=None):
    command = [llvm_symbolizer(), f"--obj={path}", "--inlines", "--no-demangle", "--functions=linkage"]
    answers = parse(_run(command, addresses, folder)[0])
    if len(answers) != len(addresses):
        raise RuntimeError(f"llvm-symbolizer answered {len(answers)} of {len(addresses)} for {path}")
    return answers


def ask_stackray(program, root, path, addresses):
    """Its frames, and what it says of time and memory."""
    output, cost = _run([program, root, path], addresses)
    answers = parse(output)
    if len(answers) != len(addresses):
        raise RuntimeError(f"stackray answered {len(answers)} of {len(addresses)} for {path}: {cost}")
    return answers, cost.strip()


def ask_go(path, addresses):
    """One frame an address: the function that the code belongs to, file and line of the
    innermost."""
    lines = _run(["go", "tool", "addr2line", path], addresses)[0].split("\n")
    answers = []
    for function, place in zip(lines[::2], lines[1::2]):
        file, _, line = place.rpartition(":")
        answers.append((Frame("" if function == "?" else function, "" if file == "?" else file,
                              int(line) if line.isdigit() else 0),))
    return answers
