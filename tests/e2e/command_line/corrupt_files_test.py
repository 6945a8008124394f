"""Libraries whose bytes are damaged under a running process (the kernel protects only the
executable itself): no crash, and samples are delivered all the same."""

import os
import random
import shutil
import subprocess
import time
import unittest

from stackray_command import SamplingCase, interrupt, run, started

PROGRAMS = os.environ.get("STACKRAY_LIVE_PROGRAMS", "build/live_programs")
HOST = os.path.join(PROGRAMS, "plugin_host")
LIBRARY = os.path.join(PROGRAMS, "libplugin.so")


def sections(path):
    """Name → (offset, size), as readelf has them."""
    readelf = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True)
    found = {}
    for line in readelf.stdout.splitlines():
        fields = line.partition("]")[2].split()
        if len(fields) > 5 and fields[0].startswith("."):
            found[fields[0]] = (int(fields[3], 16), int(fields[4], 16))
    return found


def overwrite(path, offset, data):
    with open(path, "r+b", buffering=0) as file:
        os.pwrite(file.fileno(), data, offset)


def samples(folded):
    """Samples of the host, and of these the ones that show the library, by name or by file."""
    lines = [line for line in folded.splitlines() if line.startswith("plugin_host;")]
    counts = [(int(line.rsplit(" ", 1)[1]), "Plugin" in line or "libdamaged" in line)
              for line in lines]
    return sum(n for n, _ in counts), sum(n for n, inside in counts if inside)


class CorruptFiles(SamplingCase):
    def setUp(self):
        super().setUp()
        if not (os.path.exists(HOST) and os.path.exists(LIBRARY)):
            self.skipTest("tests/live/programs are not built")
        self.parts = sections(LIBRARY)

    def record_damaged(self, damage, while_recording):
        """Damages the library before the recording begins or during it; returns the folded text."""
        library, out = self.path("libdamaged.so"), self.path("x.folded")
        shutil.copy(LIBRARY, library)
        with started(HOST, library) as target:
            time.sleep(0.3)
            if not while_recording:
                damage(library)
            process = self.begin("record", "-F", "199", "-p", str(target.pid), "-o", out, "-o",
                                 self.path("x.otlp"))
            if while_recording:
                damage(library)
            time.sleep(2.4)
            self.assertIsNone(target.poll(), "the damage hit the program itself")
            interrupt(process)
            _, errors = process.communicate(timeout=60)
        os.unlink(library)
        self.assertEqual(process.returncode, 0, errors)
        checked = run("check", self.path("x.otlp"))
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        with open(out, encoding="utf-8") as file:
            return file.read()

    def check(self, damage, during=False):
        """Damage before the recording; with `during` also in its middle."""
        for while_recording in (False, True) if during else (False,):
            with self.subTest(while_recording=while_recording):
                whole, inside = samples(self.record_damaged(damage, while_recording))
                when = "during" if while_recording else "before"
                print(f"measured: {self.id().rpartition('.')[2]}, {when} the recording: "
                      f"{whole} samples, {inside} of them show the library")
                self.assertGreater(whole, 30)
                self.assertGreater(inside, 30)

    def random_section(self, name, during=False):
        offset, size = self.parts[name]
        self.check(lambda path: overwrite(path, offset, random.Random(1).randbytes(size)), during)

    def test_elf_header(self):
        self.check(lambda path: overwrite(path, 0, b"\xff" * 64), during=True)

    def test_program_headers(self):
        self.check(lambda path: overwrite(path, 64, b"\xff" * 56 * 8))

    def test_unwind_index(self):
        self.random_section(".eh_frame_hdr")

    def test_unwind_rules(self):
        self.random_section(".eh_frame", during=True)

    def test_symbols(self):
        self.random_section(".symtab")

    def test_symbol_names(self):
        self.random_section(".strtab")

    def test_cut_short(self):
        offset, _ = self.parts[".symtab"]
        self.check(lambda path: os.truncate(path, offset + 100), during=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
