#!/usr/bin/env python3
"""Does each loop of a BPF object go back by a jump?

    loop_ends.py OBJECT...        exit 1: one does not

Linux 5.10 follows a program's ways before it verifies it, depth first, and refuses it where an
instruction that is no jump runs on into one that this way has come through already ("back-edge",
kernel/bpf/verifier.c, check_cfg()). A compiler may lay a loop so. The verifier of a newer machine
says nothing of it, so the ways are followed here.
"""

import sys

from stack_depth import INSTRUCTION_BYTES, Object

CLASS_JUMP, CLASS_JUMP_32 = 5, 6
ALWAYS, CALL, EXIT = 0x00, 0x80, 0x90  # The operation, in the upper four bits.


def ways_of(program, section, begin, size):
    """{offset: [(offset that follows, by a jump?)]} in the order in which a kernel follows them."""
    instructions = list(program.instructions(section, begin, size))
    ways = {}
    for i, (at, code, _, _, distance, _) in enumerate(instructions):
        behind = [instructions[i + 1][0]] if i + 1 < len(instructions) else []
        operation = code & 0xf0
        if code & 7 not in (CLASS_JUMP, CLASS_JUMP_32) or operation == CALL:
            ways[at] = [(to, False) for to in behind]
        elif operation == EXIT:
            ways[at] = []
        else:
            target = at + (distance + 1) * INSTRUCTION_BYTES
            ways[at] = [(to, True) for to in ([] if operation == ALWAYS else behind) + [target]]
    return ways


def bad_ends(ways, begin):
    """(from, to) of each instruction that runs on into one of its own way."""
    found = []
    on_way, left = {begin}, set()
    way = [(begin, iter(ways[begin]))]
    while way:
        at, following = way[-1]
        step = next(following, None)
        if step is None:
            way.pop()
            on_way.discard(at)
            left.add(at)
            continue
        to, by_jump = step
        if to in on_way:
            if not by_jump:
                found.append((at, to))
        elif to not in left:
            on_way.add(to)
            way.append((to, iter(ways[to])))
    return found


def main(paths):
    is_bad, looked = False, 0
    for path in paths:
        program = Object(path)
        for (section, begin), (name, size) in program.functions.items():
            if size == 0 or not program.is_code(section):
                continue
            looked += 1
            for at, to in bad_ends(ways_of(program, section, begin, size), begin):
                is_bad = True
                print(f"{path}: {name}: byte {at} runs on into its loop's begin at {to}")
    print(f"{looked} functions")
    return 1 if is_bad or looked == 0 else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print(__doc__)
        sys.exit(2)
    sys.exit(main(sys.argv[1:]))
