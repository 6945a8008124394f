"""The guest's root file system: an archive in memory for the kernel to unpack (cpio, "newc").

Files lie where they lie here, with the shared libraries that they need; busybox is the rest.
"""

import os
import re
import stat
import subprocess

FOLDERS = ("proc", "sys", "dev", "tmp", "run", "root", "etc", "var/lib")


def shared_libraries(path):
    """What ldd names for a program: [] for a static one or a script."""
    result = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
    if "not found" in result.stdout:
        raise FileNotFoundError(f"{path} lacks a library:\n{result.stdout}")
    return sorted(set(re.findall(r"(/\S+)(?: \(0x[0-9a-f]+\))", result.stdout)))


class GuestRoot:
    def __init__(self):
        self._folders = set()
        self._records = []
        self._names = set()
        for folder in FOLDERS:
            self._add_folder(folder)

    def _add_folder(self, name):
        name = name.strip("/")
        if not name or name in self._folders:
            return
        self._add_folder(os.path.dirname(name))
        self._folders.add(name)
        self._add_record(name, stat.S_IFDIR | 0o755, b"")

    def _add_record(self, name, mode, data):
        """One file: 13 numbers in hex, the name, the bytes; both padded to four."""
        encoded = name.encode() + b"\0"
        links = 2 if stat.S_ISDIR(mode) else 1
        numbers = (len(self._records) + 1, mode, 0, 0, links, 0, len(data), 0, 0, 0, 0,
                   len(encoded), 0)
        header = b"070701" + b"".join(b"%08X" % number for number in numbers) + encoded
        self._records.append(header + b"\0" * (-len(header) % 4) + data + b"\0" * (-len(data) % 4))

    def add_bytes(self, name, data, mode=0o755):
        name = name.strip("/")
        if name in self._names:
            return
        self._names.add(name)
        self._add_folder(os.path.dirname(name))
        self._add_record(name, stat.S_IFREG | mode, data)

    def add_file(self, name, path):
        with open(path, "rb") as source:
            self.add_bytes(name, source.read(), 0o755 if os.access(path, os.X_OK) else 0o644)

    def add_program(self, path, name=None):
        """A program of this machine with its libraries; `name`: where, if elsewhere."""
        for file in [path, *shared_libraries(path)]:
            with open(file, "rb") as source:
                self.add_bytes(name if file == path and name else file, source.read())

    def write(self, path):
        with open(path, "wb") as file:
            for record in self._records:
                file.write(record)
            self._add_record("TRAILER!!!", 0, b"")
            file.write(self._records.pop())
