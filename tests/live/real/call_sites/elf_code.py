"""What the guard against false stacks knows of an ELF file: its bytes by address, where functions
begin and end, which names stand where, and what a PLT stub or a slot of the GOT is filled with.
x86-64, little endian, made for files of this machine.

Sources: System V ABI (ELF-64, AMD64 relocations); Linux Standard Base, .eh_frame_hdr and .eh_frame.
"""

import bisect
import mmap
import struct

PT_LOAD, PT_GNU_EH_FRAME, PF_X = 1, 0x6474E550, 1
SHT_SYMTAB, SHT_RELA, SHT_DYNSYM, SHF_ALLOC, SHT_NOBITS = 2, 4, 11, 2, 8
STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE = 2, 10, 0
R_COPY, R_GLOB_DAT, R_JUMP_SLOT, R_64, R_IRELATIVE = 5, 6, 7, 1, 37
OPEN_END = 1 << 20  # A function whose end nobody says is looked at as far as the next one.


class ElfCode:
    """One file. Addresses are the file's own, as in a batch."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self.data[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", self.data, 18)[0] != 62:
            raise ValueError("no x86-64 ELF file")
        self.loads, self.sections, self.header_at = [], [], None
        self._read_headers()
        # (begin, end), ascending: from .eh_frame and from symbols with a size.
        self.functions = []
        self.names_at = {}      # Address to names.
        self.named = {}         # Name to addresses.
        self.ifuncs = set()     # Addresses and names of functions that choose another one.
        # Address of a GOT slot to the name that fills it; "" for one chosen at start.
        self.slots = {}
        self._read_symbols()
        self._read_fdes()
        self._read_relocations()
        self.functions = _without_overlaps(self.functions)
        self.begins = [begin for begin, _ in self.functions]

    def _read_headers(self):
        phoff, shoff = struct.unpack_from("<QQ", self.data, 32)
        phentsize, phnum, shentsize, shnum, _ = struct.unpack_from("<HHHHH", self.data, 54)
        for i in range(phnum):
            kind, flags, offset, vaddr, _, filesz, memsz = struct.unpack_from("<IIQQQQQ", self.data, phoff + i * phentsize)
            if kind == PT_LOAD:
                self.loads.append((vaddr, offset, filesz, memsz, flags & PF_X))
            elif kind == PT_GNU_EH_FRAME:
                self.header_at = vaddr
        for i in range(shnum if shoff else 0):
            name, kind, flags, addr, offset, size, link, info, _, entsize = struct.unpack_from(
                "<IIQQQQIIQQ", self.data, shoff + i * shentsize)
            self.sections.append({"name": name, "kind": kind, "flags": flags, "addr": addr, "offset": offset, "size": size,
                                  "link": link, "info": info, "entsize": entsize})
        shstrndx = struct.unpack_from("<H", self.data, 62)[0]
        for section in self.sections:
            section["name"] = self._text(self.sections[shstrndx]["offset"] + section["name"])

    def _text(self, offset):
        return self.data[offset:self.data.find(b"\0", offset)].decode("utf-8", "replace")

    def offset_of(self, address):
        for vaddr, offset, filesz, _, _ in self.loads:
            if vaddr <= address < vaddr + filesz:
                return offset + address - vaddr
        return None

    def is_code(self, address):
        return any(vaddr <= address < vaddr + memsz and executable for vaddr, _, _, memsz, executable in self.loads)

    def read(self, address, count):
        offset = self.offset_of(address)
        return b"" if offset is None else self.data[offset:offset + count]

    def in_plt(self, address):
        return any(s["name"].startswith((".plt", ".iplt")) and s["addr"] <= address < s["addr"] + s["size"]
                   for s in self.sections)

    def _read_symbols(self):
        for section in self.sections:
            if section["kind"] not in (SHT_SYMTAB, SHT_DYNSYM) or section["size"] == 0:
                continue
            strings = self.sections[section["link"]]["offset"]
            table = self.data[section["offset"]:section["offset"] + section["size"] // 24 * 24]
            section["symbols"] = []
            for name, info, _, shndx, value, size in struct.iter_unpack("<IBBHQQ", table):
                if section["kind"] == SHT_DYNSYM:
                    section["symbols"].append(name)
                if shndx == 0 or info & 15 not in (STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE) or not self.is_code(value):
                    continue
                text = self._text(strings + name).split("@")[0]
                if not text:
                    continue
                self.names_at.setdefault(value, set()).add(text)
                self.named.setdefault(text, set()).add(value)
                if info & 15 == STT_GNU_IFUNC:
                    self.ifuncs.add(text)
                    self.ifuncs.add(value)
                elif size and info & 15 == STT_FUNC:
                    self.functions.append((value, value + size))

    def _read_fdes(self):
        if self.header_at is None:
            return
        at = self.offset_of(self.header_at)
        version, pointer, count, table = self.data[at:at + 4]
        if version != 1 or pointer & 15 not in (3, 11) or count != 3 or table != 0x3B:
            return
        number = struct.unpack_from("<I", self.data, at + 8)[0]
        entries = self.data[at + 12:at + 12 + 8 * number]
        for begin, entry in struct.iter_unpack("<ii", entries):
            size = self._fde_size(self.header_at + entry)
            if size:
                self.functions.append((self.header_at + begin, self.header_at + begin + size))

    def _fde_size(self, address):
        """Of a function: behind length, CIE's distance and begin. Pointers are 4 bytes wide, else
        the entry is passed over."""
        head = self.read(address, 16)
        if len(head) < 16:
            return 0
        cie = address + 4 - struct.unpack_from("<I", head, 4)[0]
        text = self.read(cie + 9, 16)
        end = text.find(b"\0")
        augmentation = text[:end]
        if end < 0 or b"R" not in augmentation:
            return 0
        # Behind the text: code alignment, data alignment, register, length, then one byte a letter
        # but for P's pointer.
        body = self.read(cie + 9 + end + 1, 32)
        at = 0
        for _ in range(4):
            while body[at] & 0x80:
                at += 1
            at += 1
        for letter in augmentation[1:]:
            if letter == ord("R"):
                return struct.unpack_from("<I", head, 12)[0] if body[at] & 15 in (3, 11) else 0
            if letter == ord("P"):
                at += 5 if body[at] & 15 in (3, 11) else 9
            elif letter == ord("L"):
                at += 1
        return 0

    def _read_relocations(self):
        for section in self.sections:
            if section["kind"] != SHT_RELA or not section["flags"] & SHF_ALLOC:
                continue
            names = self.sections[section["link"]].get("symbols")
            strings = self.sections[self.sections[section["link"]]["link"]]["offset"]
            table = self.data[section["offset"]:section["offset"] + section["size"] // 24 * 24]
            for where, info, _ in struct.iter_unpack("<QQq", table):
                kind, symbol = info & 0xFFFFFFFF, info >> 32
                if kind == R_IRELATIVE:
                    self.slots[where] = ""
                elif kind in (R_GLOB_DAT, R_JUMP_SLOT, R_64) and names and symbol < len(names):
                    self.slots[where] = self._text(strings + names[symbol]).split("@")[0]

    def function_of(self, address):
        """(begin, end) of the function that the address is in, by its own range; None: nobody
        says."""
        i = bisect.bisect_right(self.begins, address) - 1
        if i >= 0 and address < self.functions[i][1]:
            return self.functions[i]
        return None

    def gap_of(self, address):
        """Code that belongs to no function that is known: from the one before it to the next."""
        i = bisect.bisect_right(self.begins, address) - 1
        begin = self.functions[i][1] if i >= 0 else max(address - OPEN_END, 0)
        end = self.begins[i + 1] if i + 1 < len(self.begins) else address + OPEN_END
        return max(begin, address - OPEN_END), min(end, address + OPEN_END)

    def name_of(self, address):
        function = self.function_of(address) or self.gap_of(address)
        names = self.names_at.get(function[0])
        return min(names) if names else f"fn_{function[0]:x}"


def _without_overlaps(functions):
    """Ascending and apart: of two that overlap the later one ends the earlier one."""
    result = []
    for begin, end in sorted(set(functions), key=lambda f: (f[0], -f[1])):
        if result and begin == result[-1][0]:
            continue
        if result and begin < result[-1][1]:
            result[-1] = (result[-1][0], begin)
        result.append((begin, end))
    return result
