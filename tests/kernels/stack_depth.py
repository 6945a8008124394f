#!/usr/bin/env python3
"""How much of BPF's stack each program of an object needs, along its deepest chain of calls.

    stack_depth.py OBJECT...        exit 1: a program needs more than a kernel has

A kernel allows 512 bytes for a program and all that it calls (MAX_BPF_STACK), and counts each
function as a multiple of 32 (kernel/bpf/verifier.c, check_max_stack_depth() up to 6.7; later ones
count less). The verifier of this machine says nothing about older ones, so it is counted here, from
the object's own instructions: where the frame pointer, r10, is used, and how far below it.
"""

import struct
import sys

MOST_BYTES = 512
ROUNDED_TO = 32
INSTRUCTION_BYTES = 8
CALL, CALL_OF_OURS, LOAD_CONSTANT = 0x85, 1, 0x18
COPY, ADD = 0xbf, 0x07  # 64 bits, from a register; with a constant
FRAME_POINTER = 10
SHT_SYMTAB, SHT_REL, STT_FUNC, SHF_EXECINSTR = 2, 9, 2, 4


class Object:
    """An ELF object for BPF: its functions by (section, offset), and the symbols that its
    instructions name."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        offset, = struct.unpack_from("<Q", self.data, 0x28)
        size, count, _ = struct.unpack_from("<HHH", self.data, 0x3a)
        # Name, type, flags, address, offset, size, link, info.
        self.sections = [struct.unpack_from("<IIQQQQII", self.data, offset + i * size) for i in range(count)]
        self.symbols = self.read_symbols()
        self.relocations = self.read_relocations()
        self.functions = {(section, value): (name, size) for name, kind, section, value, size in self.symbols
                          if kind == STT_FUNC}

    def read_symbols(self):
        table = next(section for section in self.sections if section[1] == SHT_SYMTAB)
        names = self.sections[table[6]][4]
        symbols = []
        for at in range(table[4], table[4] + table[5], 24):
            name, info, _, section, value, size = struct.unpack_from("<IBBHQQ", self.data, at)
            end = self.data.index(b"\0", names + name)
            symbols.append((self.data[names + name:end].decode(), info & 15, section, value, size))
        return symbols

    def read_relocations(self):
        """{(section, offset): symbol}"""
        found = {}
        for section in self.sections:
            if section[1] != SHT_REL:
                continue
            for at in range(section[4], section[4] + section[5], 16):
                offset, info = struct.unpack_from("<QQ", self.data, at)
                found[(section[7], offset)] = self.symbols[info >> 32]
        return found

    def is_code(self, section):
        return bool(self.sections[section][2] & SHF_EXECINSTR)

    def instructions(self, section, begin, size):
        """(offset, code, destination, source, offset field, constant) of each."""
        at, end = begin, begin + size
        while at < end:
            code, registers, distance, constant = struct.unpack_from(
                "<BBhi", self.data, self.sections[section][4] + at)
            yield at, code, registers & 15, registers >> 4, distance, constant
            at += INSTRUCTION_BYTES * (2 if code == LOAD_CONSTANT else 1)


def look_at(program, section, begin, size):
    """(bytes of stack, functions that are called) of one function."""
    deepest, calls, copies = 0, set(), {}
    for at, code, to, source, distance, constant in program.instructions(section, begin, size):
        kind = code & 7
        if kind == 1 and source == FRAME_POINTER or kind in (2, 3) and to == FRAME_POINTER:
            deepest = max(deepest, -distance)  # A load; a store.
        if code == COPY:
            copies[to] = source == FRAME_POINTER
        elif code == ADD and copies.get(to):
            deepest = max(deepest, -constant)
        elif kind in (0, 1, 4, 7):
            copies[to] = False
        if code == CALL and source == CALL_OF_OURS:
            symbol = program.relocations.get((section, at))
            if symbol is None:  # Inside of the section.
                calls.add((section, at + (constant + 1) * INSTRUCTION_BYTES))
            else:
                calls.add((symbol[2], symbol[3] + (constant + 1) * INSTRUCTION_BYTES))
    return deepest, calls


def deepest_chain(program, function, looked, known):
    """(bytes, [function and its bytes]) from this function on."""
    if function in known:
        return known[function]
    name, _ = program.functions[function]
    own, calls = looked[function]
    rounded = max(ROUNDED_TO, -(-own // ROUNDED_TO) * ROUNDED_TO)
    most, below = max((deepest_chain(program, called, looked, known) for called in calls), default=(0, []))
    known[function] = rounded + most, [(name, own), *below]
    return known[function]


def main(paths):
    too_deep = False
    for path in paths:
        program = Object(path)
        looked, known = {}, {}
        called = set()
        for function, (_, size) in program.functions.items():
            if program.is_code(function[0]):
                looked[function] = look_at(program, *function, size)
                called |= looked[function][1]
        for function in sorted(set(looked) - called):
            total, chain = deepest_chain(program, function, looked, known)
            print(f"{chain[0][0]} {total} of {MOST_BYTES}: " + ", ".join(f"{name} {own}" for name, own in chain))
            too_deep = too_deep or total > MOST_BYTES
    return 1 if too_deep else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print(__doc__)
        sys.exit(2)
    sys.exit(main(sys.argv[1:]))
