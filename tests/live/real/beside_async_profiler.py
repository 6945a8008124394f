#!/usr/bin/env python3
"""Java stacks of one program beside async-profiler's, of the same seconds.

    beside_async_profiler.py BUILD LIBRARY JAVA... [--seconds N]

LIBRARY is libasyncProfiler.so; JAVA the java to run, with words in front where it is entered
("chroot ROOT HOME/bin/java"; then LIBRARY lies in the root as well). The load is Shapes.java; both
sample 499 times a second. Compared are the Java frames alone, methods in their order: the share of
each one's samples whose stack the other has seen too. Exit: 0, or 77 with a reason.
"""

import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile
import time

HIDDEN = re.compile(r"[+/](0x)?[0-9a-f]+(?=\.|$)|\.0x[0-9a-f]+(?=\.)")
JAVA = re.compile(r"[\w$.]+\.[\w$<>]+")
CLONE = re.compile(r"\.(constprop|isra|part|cold)\b")  # Of a C function, by gcc.


def of_async_profiler(path):
    """Java stacks, outermost first, by their samples."""
    stacks, cut = collections.Counter(), 0
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            stack, _, count = line.rstrip("\n").rpartition(" ")
            frames = stack.split(";")
            if any(frame.startswith(("[unknown", "[break", "[not_walk")) for frame in frames):
                cut += int(count)
                continue
            java = tuple(HIDDEN.sub("", frame[:-4]).replace("/", ".") for frame in frames if re.search(r"_\[[jik01]\]$", frame) and not frame.endswith("_[k]"))
            if java:
                stacks[java] += int(count)
    return stacks, cut


def of_stackray(path):
    stacks = collections.Counter()
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            stack, _, count = line.rstrip("\n").rpartition(" ")
            frames = [frame.removesuffix("_[i]") for frame in stack.split(";")[1:]]
            java = tuple(frame for frame in frames if JAVA.fullmatch(frame) and not CLONE.search(frame))
            if java:
                stacks[java] += int(count)
    return stacks


def share(ours, theirs):
    total = sum(ours.values())
    return (sum(count for stack, count in ours.items() if stack in theirs), total)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("library")
    parser.add_argument("java", nargs="+")
    parser.add_argument("--seconds", type=int, default=20)
    options = parser.parse_args()
    if not os.path.exists(options.library) and "chroot" not in options.java[0]:
        print("no async-profiler there")
        return 77
    classes = os.path.join(options.build, "live_programs", "java")
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = f"{folder}/theirs.folded", f"{folder}/ours.folded"
        agent = f"-agentpath:{options.library}=start,event=itimer,interval=2ms,cstack=vmx,ann,collapsed,file={theirs}"
        program = subprocess.Popen([*options.java, agent, "-Xmx256m", "-cp", classes, "Shapes"])
        time.sleep(5)
        subprocess.run([f"{options.build}/stackray", "record", "-F", "499", "-p", str(program.pid), "-d", str(options.seconds),
                        "-o", ours], check=True, capture_output=True)
        program.terminate()
        program.wait()
        stacks, cut = of_async_profiler(theirs)
        own = of_stackray(ours)
    of_theirs, of_ours = share(stacks, own), share(own, stacks)
    print(f"{options.java[-1]}: async-profiler {of_theirs[0]} of {of_theirs[1]} samples have a Java stack that stackray saw too ({cut} more are cut); "
          f"stackray {of_ours[0]} of {of_ours[1]}")
    for name, one, other in (("async-profiler", stacks, own), ("stackray", own, stacks)):
        for stack, count in one.most_common(400):
            if stack not in other and count > 3:
                print(f"  only {name}: {count} {';'.join(stack[-6:])} ({len(stack)} frames)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
