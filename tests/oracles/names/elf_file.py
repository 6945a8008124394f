"""What the comparison itself reads of an ELF file: sections with code and symbols. Plain, whole and
independent of stackray's own reader (ELF-64, little endian; System V ABI, chapters 4 and 5)."""

import bisect
import collections
import hashlib
import mmap
import random
import struct

Section = collections.namedtuple("Section", "name type flags address offset size link entry_size")
Symbol = collections.namedtuple("Symbol", "address size type bind name table limit")

SYMTAB, STRTAB, NOBITS, DYNSYM = 2, 3, 8, 11
ALLOC, EXECUTABLE = 2, 4
NOTYPE, FUNCTION, IFUNC = 0, 2, 10
# How far stackray lets a label without a size reach (symbolizer/symbol_scan.cc).
LABEL_REACH = 4096


class ElfFile:
    """Sections at once; symbols of code when they are asked for."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self.bytes[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is no ELF-64 file")
        offset, = struct.unpack_from("<Q", self.bytes, 40)
        count, names = struct.unpack_from("<HH", self.bytes, 60)
        raw = [struct.unpack_from("<IIQQQQIIQQ", self.bytes, offset + 64 * i) for i in range(count)]
        self.sections = [
            Section(self.text(raw[names][4], s[0]), s[1], s[2], s[3], s[4], s[5], s[6], s[9]) for s in raw]

    def text(self, table, at):
        begin = table + at
        return self.bytes[begin:self.bytes.find(b"\0", begin)].decode(errors="replace")

    def section(self, name):
        return next((s for s in self.sections if s.name == name and s.type != NOBITS and s.size), None)

    def code(self):
        wanted = ALLOC | EXECUTABLE
        return [s for s in self.sections if s.flags & wanted == wanted and s.size]

    def random_addresses(self, count, seed):
        """`count` addresses of sections with code, the same ones every time."""
        sections = self.code()
        choose = random.Random(hashlib.sha256(seed.encode()).digest())
        total = sum(s.size for s in sections)
        ends = []
        for section in sections:
            ends.append((ends[-1] if ends else 0) + section.size)
        addresses = []
        while total and len(addresses) < count:
            at = choose.randrange(total)
            index = bisect.bisect_right(ends, at)
            addresses.append(sections[index].address + at - (ends[index] - sections[index].size))
        return addresses

    def limit(self, index):
        """Where the section ends."""
        return self.sections[index].address + self.sections[index].size if index < len(self.sections) else 1 << 64

    def symbols(self):
        """Of code, in both tables, with labels that have no size; and the names of all others."""
        found, others = [], set()
        for table in self.sections:
            if table.type not in (SYMTAB, DYNSYM) or table.entry_size != 24:
                continue
            strings = self.sections[table.link].offset
            for name, info, _, index, value, size in struct.iter_unpack(
                    "<IBBHQQ", self.bytes[table.offset:table.offset + table.size // 24 * 24]):
                kind = info & 15
                if name == 0 or index == 0:
                    continue
                is_code = index >= len(self.sections) or self.sections[index].flags & EXECUTABLE
                if not is_code or kind not in (NOTYPE, FUNCTION, IFUNC):
                    others.add(self.text(strings, name))
                    continue
                found.append(Symbol(value, size, kind, info >> 4, self.text(strings, name), table.type,
                                    self.limit(index)))
        return sorted(found), others


class Names:
    """Which symbols can be meant at an address."""

    def __init__(self, elf):
        self.symbols, self.elsewhere = elf.symbols()
        # What gcc calls the second entry of a function in DWARF 2, which cannot say two ranges.
        self.second_sections = elf.bytes.find(b"__second_sect_of_") >= 0
        self.starts = [s.address for s in self.symbols]
        self.furthest = []  # The largest end of what begins up to here.
        for symbol in self.symbols:
            end = symbol.address + max(symbol.size, LABEL_REACH if symbol.size == 0 else 0)
            self.furthest.append(max(self.furthest[-1] if self.furthest else 0, end))

    def starts_of(self, name, address):
        """Where symbols of that name begin, below the address: (start, size), the last one
        first."""
        return [(s.address, s.size) for s in self._below(address) if s.name.split("@")[0] == name]

    def covering(self, address):
        """Symbols whose size reaches over the address, the last one first."""
        return [s for s in self._below(address) if address < s.address + s.size]

    def before(self, address):
        """Symbols at the last start at or below the address."""
        index = bisect.bisect_right(self.starts, address)
        start = self.starts[index - 1] if index else None
        found = []
        while index and self.starts[index - 1] == start:
            index -= 1
            found.append(self.symbols[index])
        return found

    def _below(self, address):
        index = bisect.bisect_right(self.starts, address)
        while index and self.furthest[index - 1] > address:
            index -= 1
            yield self.symbols[index]
