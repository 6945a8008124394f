"""How `record` ends: with its command's own exit code, with its target, at Ctrl-C, and when its
target or its command is not there."""

import os
import re
import signal
import subprocess
import time
import unittest

from stackray_command import SPIN, SamplingCase, interrupt, run, started


class RecordEnds(SamplingCase):
    def folded(self, name="x.folded"):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def test_exit_code_of_the_command_is_passed_through(self):
        for code in (0, 1, 7, 42):
            with self.subTest(code=code):
                answer = run("record", "-o", self.path("x.folded"), "--", "sh", "-c",
                             f"exit {code}")
                self.assertEqual(answer.returncode, code, answer.stderr)
                self.assertTrue(os.path.exists(self.path("x.folded")))

    def test_command_killed_by_a_signal(self):
        answer = run("record", "-o", self.path("x.folded"), "--", "sh", "-c", "kill -TERM $$")
        self.assertEqual(answer.returncode, 128 + signal.SIGTERM, answer.stderr)

    def test_command_not_found(self):
        answer = run("record", "-o", self.path("x.folded"), "--", "no-such-command-anywhere")
        self.assert_failed(answer, 127, "no-such-command-anywhere", "not found")
        self.assertFalse(os.path.exists(self.path("x.folded")))

    def test_command_not_executable(self):
        with open(self.path("data"), "w", encoding="utf-8") as file:
            file.write("text")
        answer = run("record", "-o", self.path("x.folded"), "--", self.path("data"))
        self.assert_failed(answer, 126, "data")
        # What only exec() itself can tell.
        with open(self.path("script"), "w", encoding="utf-8") as file:
            file.write("#!/no/such/interpreter\n")
        os.chmod(self.path("script"), 0o755)
        answer = run("record", "-o", self.path("x.folded"), "--", self.path("script"))
        self.assert_failed(answer, 127, "script", "interpreter")
        self.assertFalse(os.path.exists(self.path("x.folded")))

    def test_no_such_process(self):
        with started("true") as gone:
            gone.wait()
            answer = run("record", "-d", "1", "-p", str(gone.pid), "-o", self.path("x.folded"))
        self.assert_failed(answer, 2, f"no process {gone.pid}", "ps")

    def test_no_such_cgroup(self):
        answer = run("record", "-d", "1", "--cgroup", "/sys/fs/cgroup/no-such", "-o",
                     self.path("x.folded"))
        self.assert_failed(answer, 2, "no-such")

    def test_the_summary_says_how_long_it_recorded(self):
        """Also where hardly a sample came."""
        with started("sleep", "60") as idle:
            begun = time.monotonic()
            answer = run("record", "-d", "2", "-p", str(idle.pid), "-o", self.path("x.folded"))
            took = time.monotonic() - begun
        self.assertEqual(answer.returncode, 0, answer.stderr)
        said = float(re.search(r" in ([\d.]+) s", answer.stderr).group(1))
        self.assertGreaterEqual(said, 2)
        self.assertLessEqual(said, took)

    def test_target_that_ends_ends_the_recording(self):
        with started("sh", "-c", "sleep 2") as target:
            begun = time.monotonic()
            process = self.begin("record", "-d", "60", "-p", str(target.pid), "-o",
                                 self.path("x.folded"))
            target.wait()
            process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0)
        self.assertLess(time.monotonic() - begun, 30)

    def test_first_interrupt_ends_and_writes(self):
        with started("sh", "-c", SPIN) as target:
            process = self.begin("record", "-p", str(target.pid), "-o", self.path("x.folded"))
            time.sleep(1)
            interrupt(process)
            _, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0, errors)
        self.assertTrue(self.folded().startswith("sh;"), self.folded()[:200])
        self.assertEqual(errors.strip().splitlines()[-1], self.path("x.folded"))

    def test_second_interrupt_ends_at_once_with_130(self):
        page = self.path("x.html")  # Larger than a pipe holds: writing it waits for a reader.
        os.mkfifo(page)
        reader = os.open(page, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        with started("sh", "-c", SPIN) as target:
            process = self.begin("record", "-p", str(target.pid), "-o", page)
            interrupt(process)
            with self.assertRaises(subprocess.TimeoutExpired):
                process.wait(timeout=2)
            interrupt(process)
            process.communicate(timeout=10)
        self.assertEqual(process.returncode, 130)

    def test_results_of_a_run_as_pipe(self):
        with started("sh", "-c", SPIN) as target:
            answer = run("record", "-d", "1", "-p", str(target.pid), "-o", "-")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertTrue(answer.stdout.startswith("sh;"), answer.stdout[:200])

    def test_reader_of_the_pipe_is_gone(self):
        page = self.path("x.html")
        os.mkfifo(page)
        reader = os.open(page, os.O_RDONLY | os.O_NONBLOCK)
        with started("sh", "-c", SPIN) as target:
            process = self.begin("record", "-d", "1", "-p", str(target.pid), "-o", page)
            os.close(reader)
            _, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 1, errors)
        self.assertIn(page, errors)


if __name__ == "__main__":
    unittest.main(verbosity=2)
