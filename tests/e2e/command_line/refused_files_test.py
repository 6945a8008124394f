"""Programs on a file system that serves its user alone and refuses root: FUSE without
allow_root."""

import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from stackray_command import SamplingCase, run

NOBODY = 65534
PROGRAM = """
#include <stdint.h>
volatile uint64_t sum;
__attribute__((noinline)) void leaf_of_refused(void) { for (int i = 0; i < 1000000; i++) sum += i; }
__attribute__((noinline)) void middle_of_refused(void) { leaf_of_refused(); sum++; }
int main(void) { for (;;) { middle_of_refused(); sum++; } }
"""


def as_nobody(*command):
    return ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", *command]


class RefusedFiles(SamplingCase):
    """bindfs in a mount namespace of its own, with a /dev/fuse that users may open."""

    def setUp(self):
        super().setUp()
        for tool in ("bindfs", "fusermount3", "setpriv", "unshare", "cc"):
            if not shutil.which(tool):
                self.skipTest(f"{tool} is not here")
        if not os.path.exists("/dev/fuse"):
            self.skipTest("no /dev/fuse here")
        os.chmod(self.folder, 0o755)
        for name in ("real", "mounted"):
            os.mkdir(self.path(name))
            os.chown(self.path(name), NOBODY, NOBODY)
        subprocess.run(["cc", "-O1", "-fno-omit-frame-pointer", "-x", "c", "-", "-o",
                        self.path("real/refused")], input=PROGRAM.encode(), check=True)
        os.chmod(self.path("real/refused"), 0o755)
        self.bindfs = self.start(
            "unshare", "--mount", "sh", "-c",
            f"mknod -m 666 {self.path('fuse')} c 10 229 && mount --bind {self.path('fuse')} /dev/fuse "
            f"&& exec {' '.join(as_nobody('bindfs', '-f', '--no-allow-other', self.path('real'), self.path('mounted')))}")
        inside = f"/proc/{self.bindfs.pid}/root{self.path('mounted')}"
        self.wait_for(lambda: os.path.ismount(inside) or self.is_refused(inside), "the mount")
        self.program = self.start(
            "nsenter", "--mount", f"--target={self.bindfs.pid}",
            *as_nobody(self.path("mounted/refused")))
        self.wait_for(lambda: self.command() == "refused", "the program")

    def start(self, *command):
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()

    @staticmethod
    def is_refused(path):
        try:
            os.stat(path)
        except PermissionError:
            return True
        return False

    def command(self):
        with open(f"/proc/{self.program.pid}/comm", encoding="utf-8") as file:
            return file.read().strip()

    def wait_for(self, happens, what):
        for _ in range(250):
            if happens():
                return
            time.sleep(0.02)
        self.skipTest(f"bindfs does not work here: {what}")

    def record(self, *arguments):
        """(stacks of the program, those with all its functions)"""
        out = self.path("out.folded")
        answer = run("record", "-p", str(self.program.pid), "-d", "2", "-o", out, *arguments)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        whole = all_stacks = 0
        with open(out, encoding="utf-8") as file:
            for line in file:
                stack, count = line.rsplit(" ", 1)
                all_stacks += int(count)
                if re.search(r"main;middle_of_refused(;leaf_of_refused)?(;|$)", stack):
                    whole += int(count)
        return all_stacks, whole, answer.stderr

    def test_root_is_refused(self):
        """Otherwise the other tests say nothing."""
        with self.assertRaises(PermissionError):
            os.stat(f"/proc/{self.program.pid}/root{self.path('mounted/refused')}")

    def test_stacks_are_whole_and_named(self):
        stacks, whole, _ = self.record()
        self.assertGreater(stacks, 5)
        self.assertGreaterEqual(whole, stacks * 0.98)

    def test_explain_says_whose_file_it_was(self):
        answer = run("explain", str(self.program.pid), "-d", "2")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        complete = float(re.search(r"complete \(([\d.]+) %\)", answer.stdout).group(1))
        self.assertGreaterEqual(complete, 98)
        self.assertNotIn("that are gone", answer.stdout)

    def test_a_file_system_that_does_not_answer_holds_nothing_up_and_is_named(self):
        self.bindfs.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        stacks, _, _ = self.record()
        self.assertLess(time.monotonic() - began, 60)
        self.assertGreater(stacks, 5)
        answer = run("explain", str(self.program.pid), "-d", "2")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("refused cannot be read: root may not read it", answer.stdout)
        self.assertNotIn("--raw-slices", answer.stdout)


if __name__ == "__main__":
    unittest.main()
