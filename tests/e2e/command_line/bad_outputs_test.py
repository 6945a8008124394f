"""Results that cannot be written: 1, a message with the file's name and what to do, and whatever
else was asked for is there."""

import os
import subprocess
import unittest

from stackray_command import SPIN, SamplingCase, run, started


class BadOutputs(SamplingCase):
    def record(self, *outputs, seconds="1"):
        flags = [flag for output in outputs for flag in ("-o", output)]
        with started("sh", "-c", SPIN) as target:
            return run("record", "-F", "199", "-d", seconds, "-p", str(target.pid), *flags)

    def test_folder_does_not_exist(self):
        self.assert_failed(self.record("/no/such/folder/x.folded"), 1, "/no/such/folder/x.folded",
                           "-o FILE")

    def test_read_only_place(self):
        self.assert_failed(self.record("/proc/x.html"), 1, "/proc/x.html", "-o FILE")

    def test_a_folder_is_in_the_way(self):
        os.mkdir(self.path("x.html"))
        self.assert_failed(self.record(self.path("x.html")), 1, self.path("x.html"))

    def test_disk_full_from_the_first_byte(self):
        full = [self.path("full." + ending)
                for ending in ("folded", "html", "pb.gz", "otlp", "json", "speedscope.json")]
        for file in full:
            os.symlink("/dev/full", file)
        good = self.path("good.folded")
        answer = self.record(*full, good)
        self.assertEqual(answer.returncode, 1, answer.stderr)
        for file in full:
            explained = [line for line in answer.stderr.splitlines() if file in line]
            self.assertEqual(len(explained), 1, answer.stderr)
            self.assertIn("full", explained[0].replace(file, ""))
        self.assertGreater(os.path.getsize(good), 0)
        self.assertEqual(answer.stderr.splitlines()[-1], good)

    def test_disk_full_half_way(self):
        """The batches that fitted stay readable."""
        small = self.path("small")
        os.mkdir(small)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", small],
                                 capture_output=True, check=False)
        if mounted.returncode != 0:
            self.skipTest("cannot mount a tmpfs: " + mounted.stderr.decode().strip())
        self.addCleanup(subprocess.run, ["umount", small], check=False)
        file = os.path.join(small, "x.otlp")
        flags = ("-F", "199", "-d", "6", "--seal-interval", "100ms", "-o", file)
        with started("sh", "-c", SPIN) as target:
            answer = run("record", "-p", str(target.pid), *flags)
        self.assertEqual(answer.returncode, 1, answer.stderr)
        self.assertIn(file, answer.stderr)
        self.assertIn("full", answer.stderr)
        self.assertGreater(os.path.getsize(file), 0)
        checked = run("check", file)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
