"""Does a call site call the function whose frame stands above it? Answered by disassembly, apart
from all that has made the stack.

A pair is judged by the instruction before the return address:
  direct      a call of the callee, or of what reaches the callee by jumps (tail calls, parts of a
  function that lie elsewhere)
  by name     a call of a PLT stub, or through a slot of the GOT, whose symbol is the callee or
  reaches it by jumps
  indirect    a call through a register or memory: the target is not known from the code
  jump        the target leaves by a jump through a register or memory, so that it may have reached
  the callee
  chosen      the target is chosen when the program starts (IFUNC)
  by hand     no call leads there: a signal's handler returns to its trampoline, what was
  interrupted calls nothing
  unknown     the code is not at hand (no file, no range of a function)
  broken      none of these: the callee was never called from there
"""

import os
import re

import capstone

MOST_PLACES = 1000        # That a search by jumps looks at.
TRAMPOLINE = bytes.fromhex("48c7c00f0000000f05")  # mov $15, %rax; syscall
RETPOLINES = ("__x86_indirect_thunk", "__llvm_retpoline", "__x86_return_thunk")
STUB_BYTES = 16           # Of a PLT stub.
DIRECT = re.compile(r"0x[0-9a-f]+$")
SLOT = re.compile(r"qword ptr \[rip ([+-]) (0x[0-9a-f]+|\d+)\]$")
# Of a switch in code that is not to be moved; with a register beside the index it is a table of
# functions.
ABSOLUTE_TABLE = re.compile(r"\[\w+\*8 \+ 0x[0-9a-f]+\]")


class Code:
    """One function's instructions, as far as the judge needs them."""

    def __init__(self):
        # Return address to ("direct", target), ("slot", address) or ("indirect", None).
        self.calls = {}
        self.jumps = set()        # Direct targets outside of it.
        self.slots = set()        # Slots of the GOT that it jumps through.
        self.leaves_by_pointer = False
        self.falls_to = None      # Where it ends without a jump.


class Judge:
    """Knows each file's functions; `open_elf` gives an ElfCode by path, or None."""

    def __init__(self, open_elf):
        self.open_elf = open_elf
        self.machine = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
        self.codes = {}
        self.verdicts = {}

    def judge(self, callee, caller, files):
        """`callee`: (path, address); `caller`: (path, address of the call's last byte). `files`:
        what defines names."""
        key = (callee, caller)
        if key not in self.verdicts:
            self.verdicts[key] = self._judge(callee, caller, files)
        return self.verdicts[key]

    def _judge(self, callee, caller, files):
        callee_elf, caller_elf = self.open_elf(callee[0]), self.open_elf(caller[0])
        if callee_elf is None or caller_elf is None:
            return "unknown", "no such file"
        if TRAMPOLINE in caller_elf.read(caller[1] - 9, 19):
            return "by hand", "a signal's handler returns to its trampoline"
        if TRAMPOLINE in callee_elf.read(callee[1] - 9, 19):
            return "by hand", "interrupted by a signal"
        function = caller_elf.function_of(caller[1]) or caller_elf.gap_of(caller[1])
        call = self.code(caller[0], function).calls.get(caller[1] + 1)
        if call is None:
            call = _call_by_bytes(caller_elf, caller[1] + 1)
        if call is None:
            return "broken", "no call ends there"
        kind, target = call
        if kind == "indirect":
            return "indirect", ""
        return self._search((kind, caller[0], target), callee, files)

    def code(self, path, function):
        key = (path, function)
        if key not in self.codes:
            self.codes[key] = self._disassemble(path, function)
        return self.codes[key]

    def _disassemble(self, path, function):
        code, elf = Code(), self.open_elf(path)
        begin, end = function
        tables = {}  # Register to whether it was made from a table: jumps of a switch stay inside.
        last = ""
        at, data = begin, elf.read(begin, end - begin)
        while at - begin < len(data):
            decoded = False
            for address, size, mnemonic, operands in self.machine.disasm_lite(data[at - begin:], at):
                decoded, at = True, address + size
                if not mnemonic.endswith("nop"):
                    last = mnemonic
                    _take(code, function, (at, mnemonic, operands), tables)
            if not decoded:
                at += 1  # Data among the code.
        if last and not last.endswith(("jmp", "ret", "ud2", "hlt", "call", "int3")):
            code.falls_to = end
        return code

    def _search(self, start, callee, files):
        """Follows jumps from a call's target: places in code, slots of the GOT, names."""
        search = Search(start)
        while search.waiting and len(search.seen) < MOST_PLACES:
            found = self._step(search, search.waiting.pop(), callee, files)
            if found:
                return found
        if search.by_pointer:
            return "jump", search.title
        if search.undefined and not search.is_defined:
            return "unknown", f"{search.undefined} is defined in no file of these stacks"
        return "broken", f"the call is of {search.title}"

    def _step(self, search, place, callee, files):
        kind, path, target = place
        if kind == "name":
            return self._step_by_name(search, target, files)
        elf = self.open_elf(path)
        if kind == "slot":
            name = elf.slots.get(target)
            if name:
                search.go_on("name", "", name)
            elif name == "":
                return "chosen", "at the start"
            else:
                search.by_pointer = True
            return None
        search.title = search.title or elf.name_of(target)
        if target in elf.ifuncs:
            return "chosen", elf.name_of(target)
        function = elf.function_of(target) or elf.gap_of(target)
        if path == callee[0] and function[0] <= callee[1] < function[1]:
            return "by name" if search.is_named else "direct", ""
        if elf.in_plt(target):
            return self._step_by_stub(search, elf, place, callee)
        if any(name.startswith(RETPOLINES) for name in elf.names_at.get(target, ())):
            return "indirect", "a retpoline"
        code = self.code(path, function)
        for other in code.jumps | ({code.falls_to} if code.falls_to else set()):
            # A function has many ways into its rarely used part, which is looked at once.
            function = None if elf.in_plt(other) else elf.function_of(other)
            search.go_on("direct", path, function[0] if function else other)
        for slot in code.slots:
            search.go_on("slot", path, slot)
        search.by_pointer |= code.leaves_by_pointer
        return None

    def _step_by_name(self, search, name, files):
        search.is_named, search.title = True, search.title or name
        for path in files:
            elf = self.open_elf(path)
            if elf is None or name not in elf.named:
                continue
            search.is_defined = True
            if name in elf.ifuncs:
                return "chosen", name
            for address in elf.named[name]:
                search.go_on("direct", path, address)
        search.undefined = name
        return None

    def _step_by_stub(self, search, elf, place, callee):
        """A PLT stub jumps through a slot, which is the loader's until it is filled. Its own frame
        is its callee too."""
        _, path, target = place
        if path == callee[0] and elf.in_plt(callee[1]):
            return "direct", "a stub"
        if os.path.basename(callee[0]).startswith("ld-"):
            return "by name", "the loader fills the slot"
        for at, size, mnemonic, operands in self.machine.disasm_lite(elf.read(target, STUB_BYTES), target):
            if mnemonic.endswith("jmp"):
                kind, slot = _target_of(at + size, operands)
                if kind == "slot":
                    search.go_on(kind, path, slot)
                return None
        return None


class Search:
    """What is still to be looked at, and what was learned on the way."""

    def __init__(self, start):
        self.waiting, self.seen = [start], {start}
        self.by_pointer = self.is_named = self.is_defined = False
        self.title = self.undefined = ""

    def go_on(self, kind, path, target):
        place = (kind, path, target)
        if place not in self.seen:
            self.seen.add(place)
            self.waiting.append(place)


def _take(code, function, instruction, tables):
    after, mnemonic, operands = instruction
    if mnemonic.endswith("call"):
        code.calls[after] = _target_of(after, operands)
    elif mnemonic.split()[-1].startswith("j"):
        kind, target = _target_of(after, operands)
        if kind == "direct":
            if not function[0] <= target < function[1]:
                code.jumps.add(target)
        elif kind == "slot":
            code.slots.add(target)
        elif not (ABSOLUTE_TABLE.search(operands) or mnemonic.startswith("notrack") or tables.get(operands, False)):
            code.leaves_by_pointer = True
    else:
        first, _, rest = operands.partition(", ")
        tables[first] = (mnemonic == "movsxd" and "*4" in rest) or (
            mnemonic == "mov" and ABSOLUTE_TABLE.search(rest) is not None) or (
            mnemonic == "add" and (tables.get(first, False) or tables.get(rest, False)))


def _target_of(after, operands):
    """Of a call or a jump whose next instruction is at `after`."""
    if DIRECT.match(operands):
        return "direct", int(operands, 16)
    slot = SLOT.match(operands)
    if slot:
        distance = int(slot.group(2), 0)
        return "slot", after + (distance if slot.group(1) == "+" else -distance)
    return "indirect", None


def _call_by_bytes(elf, after):
    """Where the code before is not to be followed: the bytes in front of a return address."""
    data = elf.read(after - 8, 8)
    if len(data) == 8 and data[3] == 0xE8:
        target = after + int.from_bytes(data[4:8], "little", signed=True)
        if elf.is_code(target):
            return "direct", target
    if len(data) == 8 and any(data[8 - n] == 0xFF and data[9 - n] & 0x38 == 0x10 for n in (2, 3, 4, 6, 7)):
        return "indirect", None
    return None
