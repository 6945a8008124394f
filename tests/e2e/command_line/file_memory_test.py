#!/usr/bin/env python3
"""What view, check and convert take to read files made to take much: at most 64 MiB and four times
the file, in every format; and files of the same formats that are only large are read."""

import base64
import ctypes
import ctypes.util
import gzip
import io
import os
import random
import subprocess
import sys
import tarfile
import unittest
import zlib

from stackray_command import STACKRAY, Case

MIB = 1 << 20


MEASURE = """
import os, sys, time
reading, writing = os.pipe()
pid = os.fork()
if pid == 0:
    os.dup2(writing, 1)
    os.execv(sys.argv[1], sys.argv[1:])
os.close(writing)
if os.read(reading, 100).startswith(b"http"):
    time.sleep(0.2)
    os.kill(pid, 2)
while os.read(reading, 65536):
    pass
_, status, usage = os.wait4(pid, 0)
print(status, usage.ru_maxrss)
"""


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def packed_zeros(head, megabytes, what=b"\0"):
    """gzip of the head and so much of the same."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    part = what * (MIB // len(what))
    return packer.compress(head) + b"".join(packer.compress(part) for _ in range(megabytes)) + packer.flush()


def repeated(part, megabytes):
    return part * (megabytes * MIB // len(part))


def batch(content):
    return len(content).to_bytes(4, "big") + content


def zstd(content, window_log=None):
    name = ctypes.util.find_library("zstd")
    if name is None:
        raise unittest.SkipTest("no libzstd to make a report with")
    library = ctypes.CDLL(name)
    library.ZSTD_createCCtx.restype = ctypes.c_void_p
    library.ZSTD_compressBound.restype = library.ZSTD_compress2.restype = ctypes.c_size_t
    library.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    library.ZSTD_CCtx_setParameter.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
    library.ZSTD_compress2.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                                       ctypes.c_char_p, ctypes.c_size_t]
    context = library.ZSTD_createCCtx()
    if window_log is not None:
        library.ZSTD_CCtx_setParameter(context, 101, window_log)
    library.ZSTD_CCtx_setParameter(context, 200, 0)  # No size in the head, as a stream has it.
    out = ctypes.create_string_buffer(library.ZSTD_compressBound(len(content)))
    size = library.ZSTD_compress2(context, out, len(out), content, len(content))
    return out.raw[:size]


def report(name, content, window_log=None):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return zstd(file.getvalue(), window_log)


def page(data):
    return (b'<!doctype html><script type="application/octet-stream" id="stackray-data">' + data +
            b"</script>")


def large_pprof(samples, functions, seed=1):
    """A profile as a large program has one: its stacks share their outer frames."""
    chance = random.Random(seed)
    texts = [b"", b"samples", b"count"] + [b"namespace::a_class_%d::method_of_it" % i for i in range(functions)]
    out = [field(1, b"\x08\x01\x10\x02")]
    out += [field(6, text) for text in texts]
    for i in range(1, functions + 1):
        out.append(field(5, b"\x08" + varint(i) + b"\x10" + varint(i + 2)))
        out.append(field(4, b"\x08" + varint(i) + field(4, b"\x08" + varint(i) + b"\x10" + varint(i % 900))))
    stack = [1]
    for _ in range(samples):
        del stack[max(1, len(stack) - chance.randrange(1, 12)):]
        while len(stack) < 40:
            stack.append(chance.randrange(1, functions + 1))
        out.append(field(2, field(1, b"".join(varint(frame) for frame in reversed(stack))) + field(2, b"\x01")))
    return b"".join(out)


class FileMemory(Case):
    def peak(self, *arguments):
        """Exit code, standard error and the most MiB that were resident. A page that is served is
        ended. A process's peak includes that of the program it was started from, so a small one
        starts it."""
        answer = subprocess.run([sys.executable, "-S", "-c", MEASURE, STACKRAY, *arguments],
                                capture_output=True, timeout=300, check=True)
        status, kib = map(int, answer.stdout.split()[-2:])
        return (os.waitstatus_to_exitcode(status), answer.stderr.decode("utf-8", "replace"), kib / 1024)

    def bounded(self, name, content, *words, verb="view", more=()):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(content)
        code, errors, used = self.peak(verb, path, *more)
        allowed = 64 + 4 * len(content) / MIB
        print(f"{verb} {name}: {len(content) / MIB:.2f} MiB, {used:.0f} MiB of {allowed:.0f}, "
              f"exit code {code} {errors.strip()[:120]}", flush=True)
        self.assertLessEqual(used, allowed, name)
        self.assertNotIn("terminate called", errors)
        self.assertIn(code, (0, 1), errors)
        if words:
            self.assertEqual(code, 1)
        for word in words:
            self.assertIn(word, errors)
        return code

    def test_gzip(self):
        self.bounded("zeros.pb.gz", packed_zeros(b"", 600), "no pprof profile, or damaged")
        self.bounded("sample.pb.gz", packed_zeros(b"\x12" + varint(600 * MIB), 600), "field of more than 4 MiB")
        self.bounded("text.pb.gz", packed_zeros(b"\x32" + varint(600 * MIB), 600, b"a"),
                     "field of more than 4 MiB")
        self.bounded("texts.pb.gz", packed_zeros(b"", 200, b"\x32\0"), "its tables need more than")
        self.bounded("locations.pb.gz",
                     gzip.compress(b"".join(field(4, b"\x08" + varint(i)) for i in range(2_000_000)), 6),
                     "its tables need more than")
        self.bounded("samples.pb.gz",
                     packed_zeros(b"\x0a\x04\x08\x01\x10\x02\x32\0\x32\x01a\x32\x01b", 100, b"\x12\0"))
        inner = gzip.compress(packed_zeros(b"", 600))
        self.bounded("twice.pb.gz", inner, "no pprof profile")

    def test_json(self):
        for name, content in (("deep", b"[" * 3_000_000), ("objects", b'{"a":' * 1_000_000),
                              ("inside", b'{"dictionary":' * 300_000),
                              ("unknown", b'{"x":' + b"[" * 3_000_000),
                              ("values", b'{"resourceProfiles":[{"resource":{"attributes":[{"value":' +
                               b'{"arrayValue":{"values":[' * 100_000)):
            self.bounded(name + ".json", content, "no OTLP document")
        self.bounded("empty.json", b'{"resourceProfiles":[{}],"dictionary":{"locationTable":[' +
                     b"{}," * 4_000_000 + b"{}]}}")
        self.bounded("resources.json", b'{"dictionary":{},"resourceProfiles":[' + b"{}," * 4_000_000 + b"{}]}")
        self.bounded("numbers.json", b'{"resourceProfiles":[{}],"dictionary":{"stackTable":[{"locationIndices":['
                     + b"0," * 4_000_000 + b"0]}]}}")
        self.bounded("text.json", b'{"resourceProfiles":[{}],"dictionary":{"stringTable":["' +
                     b"a" * 8_000_000 + b'"]}}')

    def test_folded(self):
        self.bounded("frames.folded", b"".join(b"a%d;b%d;c%d 1\n" % (i, i, i) for i in range(200_000)))
        self.bounded("line.folded", b"a;" * 4_000_000 + b"b 1\n", "looks like")
        self.bounded("long.folded", b"a;b 1\n" + b"x" * 20_000_000 + b";y 1\n")
        self.bounded("stacks.folded", b"".join(
            b";".join(b"%x" % (i * 7919 % 251 + j) for j in range(60)) + b" 1\n" for i in range(60_000)))

    def test_batches(self):
        """One batch whose tables have entries of two bytes, or whose samples do."""
        resource = field(1, field(2, field(2, b"")))
        entries = [field(2, repeated(b"\x12\0", 16)), resource + field(2, repeated(b"\x3a\0", 16)),
                   resource + field(2, repeated(b"\x32\0", 16)), repeated(b"\x0a\0", 16),
                   field(1, field(2, field(2, repeated(b"\x12\0", 16)))),
                   field(1, field(2, repeated(b"\x12\0", 16)))]
        for i, content in enumerate(entries):
            for verb, more in (("view", ()), ("check", ()), ("convert", (self.path("out.html"),)),
                               ("convert", (self.path("out.pb.gz"),)), ("convert", (self.path("out.json"),))):
                self.bounded(f"{i}.otlp", batch(content), verb=verb, more=more)
        self.bounded("claim.otlp", b"\x03\xff\xff\xff" + b"a" * 1000, "torn")

    def test_pages(self):
        bomb = base64.b64encode(packed_zeros(b"{", 600))
        self.bounded("bomb.html", page(bomb), "expand to more than 512 MiB")
        self.bounded("small.html", page(base64.b64encode(packed_zeros(b"{", 400))))
        self.bounded("a.html", page(b"A" * 20_000_000), "damaged")
        self.bounded("none.html", b"<!doctype html>" + b" " * 30_000_000, "no page of stackray")

    def test_reports(self):
        zeros = bytes(400 * MIB)
        self.bounded("zeros.tar.zst", report("profile-now.html", zeros), "no page inside")
        self.bounded("other.tar.zst", report("heap.txt", zeros), "no page inside")
        self.bounded("window.tar.zst", report("profile-now.html", zeros, 27), "window.tar.zst: ")
        self.bounded("data.tar.zst", report("profile-now.html", page(b"A" * (200 * MIB))))
        self.bounded("none.tar.zst", zstd(zeros), "no page inside")

    def test_large_files_are_read(self):
        for name, content in (("large.pb.gz", gzip.compress(large_pprof(30_000, 20_000), 6)),
                              ("small.pb.gz", gzip.compress(large_pprof(2_000, 20_000), 6))):
            self.assertEqual(self.bounded(name, content), 0, name)
        chance = random.Random(2)
        lines = b"".join(b";".join(b"a_function_%d" % chance.randrange(30 * depth + 1) for depth in range(30)) +
                         b" 3\n" for _ in range(20_000))
        self.assertEqual(self.bounded("large.folded", lines), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
