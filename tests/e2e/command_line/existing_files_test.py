"""A file that is there already is replaced by a whole result or not at all."""

import os
import subprocess
import time
import unittest

from stackray_command import SPIN, SamplingCase, interrupt, run, started

OLD = "precious\n"
ENDINGS = ("folded", "html", "pb.gz", "otlp", "json", "speedscope.json")


class ExistingFiles(SamplingCase):
    def old(self, name):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(OLD)
        return self.path(name)

    def read(self, path):
        with open(path, "rb") as file:
            return file.read()

    def assert_untouched(self, paths):
        for path in paths:
            self.assertEqual(self.read(path), OLD.encode(), path)
        # A file system without O_TMPFILE has a hidden name meanwhile.
        names = [name for name in os.listdir(self.folder) if not name.startswith(".")]
        self.assertEqual(sorted(names), sorted(os.path.basename(path) for path in paths))

    def test_nothing_happens_where_nothing_is_recorded(self):
        paths = [self.old("x." + ending) for ending in ENDINGS]
        outputs = [flag for path in paths for flag in ("-o", path)]
        with started("true") as gone:
            gone.wait()
            for target in (["--", "no-such-command-anywhere"], ["-p", str(gone.pid)],
                           ["--cgroup", "/sys/fs/cgroup/no-such"], ["--", self.folder]):
                with self.subTest(target=target):
                    answer = run("record", "-d", "1", *outputs, *target)
                    self.assertNotEqual(answer.returncode, 0)
                    self.assert_untouched(paths)

    def test_they_stay_until_the_recording_is_over(self):
        paths = [self.old("x." + ending) for ending in ENDINGS]
        outputs = [flag for path in paths for flag in ("-o", path)]
        with started("sh", "-c", SPIN) as target:
            process = self.begin("record", "-p", str(target.pid), *outputs)
            time.sleep(1.5)
            self.assert_untouched(paths)
            process.kill()
            process.wait()
            self.assert_untouched(paths)
            process = self.begin("record", "-p", str(target.pid), *outputs)
            interrupt(process)
            _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, errors)
        for path in paths:
            self.assertNotEqual(self.read(path), OLD.encode(), path)
        self.assertEqual(sorted(os.listdir(self.folder)),
                         sorted(os.path.basename(path) for path in paths))

    def test_a_batch_file_that_is_cut_short(self):
        good, torn = self.path("good.otlp"), self.path("torn.otlp")
        with started("sh", "-c", SPIN) as target:
            answer = run("record", "-d", "2.5", "-p", str(target.pid), "-o", good)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        with open(torn, "wb") as file:
            file.write(self.read(good)[:-10])
        old, new = self.old("old.folded"), self.path("new.folded")
        answer = run("convert", torn, "-o", old, "-o", new)
        self.assert_failed(answer, 1, "torn.otlp", "old.folded stays as it was")
        self.assertEqual(self.read(old), OLD.encode())
        self.assertTrue(self.read(new).startswith(b"sh;"))
        with open(good, "rb") as file:
            answer = subprocess.run([os.environ.get("STACKRAY_BINARY", "build/stackray"), "convert",
                                     "-", old], stdin=file, capture_output=True, check=False)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertTrue(self.read(old).startswith(b"sh;"))

    def test_a_full_disk(self):
        small = self.path("small")
        os.mkdir(small)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small],
                                 capture_output=True, check=False)
        if mounted.returncode != 0:
            self.skipTest("cannot mount a tmpfs: " + mounted.stderr.decode().strip())
        self.addCleanup(subprocess.run, ["umount", small], check=False)
        page = os.path.join(small, "x.html")
        with open(page, "w", encoding="utf-8") as file:
            file.write(OLD)
        with started("sh", "-c", SPIN) as target:
            answer = run("record", "-d", "1", "-p", str(target.pid), "-o", page)
        self.assert_failed_with(answer, page)
        self.assertEqual(self.read(page), OLD.encode())
        self.assertEqual(os.listdir(small), ["x.html"])

    def assert_failed_with(self, answer, path):
        self.assertEqual(answer.returncode, 1, answer.stderr)
        self.assertIn(f"{path}: the disk is full", answer.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
