"""`record -- CMD`: who gets which signal, who waits for whom, and whose exit code it is."""

import os
import re
import signal
import subprocess
import time
import unittest

from stackray_command import STACKRAY, SPIN, SamplingCase, run, wait_until_sampling

# Counts its signals, cleans up for a while and ends with 7; a signal that comes while it cleans up
# is counted too.
JOB = """
import os, signal, sys, time
got = []
def note(number, frame):
    got.append(number)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, note)
open("started", "w").close()
end = time.monotonic() + 60
while not got and time.monotonic() < end:
    pass
time.sleep(0.6)
open("got", "w").write(" ".join(str(int(number)) for number in got))
sys.exit(7)
"""


class RecordProgram(SamplingCase):
    def start_job(self, *command, **options):
        """In a process group of its own, as a shell starts it."""
        self.out = self.path("x.folded")
        process = subprocess.Popen([os.path.abspath(STACKRAY), "record", "-o", self.out, *command],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, cwd=self.folder,
                                   start_new_session=True,
                                   preexec_fn=lambda: [signal.signal(number, signal.SIG_DFL)
                                                       for number in (signal.SIGINT,
                                                                      signal.SIGTERM)],
                                   **options)
        self.addCleanup(self.end_group, process)
        wait_until_sampling(process)
        return process

    def end_group(self, process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except OSError:
            pass
        process.communicate()

    def wait_for(self, name, seconds=20):
        until = time.monotonic() + seconds
        while not os.path.exists(self.path(name)) and time.monotonic() < until:
            time.sleep(0.02)
        self.assertTrue(os.path.exists(self.path(name)), name)

    def check_job(self, send, number):
        process = self.start_job("--", "python3", "-c", JOB)
        self.wait_for("started")
        send(process)
        _, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 7, errors)
        with open(self.path("got"), encoding="utf-8") as file:
            self.assertEqual(file.read(), str(int(number)))
        self.assertGreater(os.path.getsize(self.out), 0)

    def test_a_signal_to_the_whole_group_reaches_the_command_once(self):
        self.check_job(lambda process: os.killpg(process.pid, signal.SIGINT), signal.SIGINT)

    def test_a_signal_to_stackray_alone_is_handed_on(self):
        self.check_job(lambda process: process.send_signal(signal.SIGINT), signal.SIGINT)

    def test_sigterm_is_handed_on(self):
        self.check_job(lambda process: process.send_signal(signal.SIGTERM), signal.SIGTERM)

    def test_sigterm_to_the_group(self):
        self.check_job(lambda process: os.killpg(process.pid, signal.SIGTERM), signal.SIGTERM)

    def test_hang_up_ends_and_writes(self):
        process = self.start_job("--", "sh", "-c", SPIN)
        time.sleep(0.5)
        process.send_signal(signal.SIGHUP)
        _, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 128 + signal.SIGHUP, errors)
        self.assertGreater(os.path.getsize(self.out), 0)

    def test_hang_up_without_a_command(self):
        process = self.begin("record", "-a", "-o", self.path("x.folded"))
        process.send_signal(signal.SIGHUP)
        _, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0, errors)
        self.assertGreater(os.path.getsize(self.path("x.folded")), 0)

    def test_a_command_that_ignores_signals_is_left_by_the_second(self):
        process = self.start_job("--", "python3", "-c",
                                 "import os, signal\n"
                                 "for n in (2, 15, 1): signal.signal(n, signal.SIG_IGN)\n"
                                 "open('started', 'w').write(str(os.getpid()))\n"
                                 "while True: pass")
        self.wait_for("started")
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        until = time.monotonic() + 20
        while os.path.getsize(self.out) == 0 and time.monotonic() < until:
            time.sleep(0.05)
        self.assertGreater(os.path.getsize(self.out), 0)  # Written while it waits.
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=10), 130)
        with open(self.path("started"), encoding="utf-8") as file:
            pid = int(file.read())
        os.kill(pid, signal.SIGKILL)  # It was left running, with our pipes.
        _, errors = process.communicate(timeout=10)
        self.assertIn(f"python3 (pid {pid}) still runs\n", errors)

    def test_a_time_that_is_over_before_the_command(self):
        begun = time.monotonic()
        process = self.start_job("-d", "0.5", "--", "sh", "-c", "sleep 4; exit 9")
        _, errors = process.communicate(timeout=30)
        self.assertGreaterEqual(time.monotonic() - begun, 4)
        self.assertEqual(process.returncode, 9, errors)
        self.assertLess(float(re.search(r" in ([\d.]+) s", errors).group(1)), 3)
        self.assertIn("waiting for its end", errors)

    def test_nohup_is_respected(self):
        process = subprocess.Popen(["nohup", STACKRAY, "record", "-d", "3", "-o",
                                    self.path("x.folded"), "--", "sh", "-c",
                                    "sleep 3; kill -HUP $$; exit 5"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        wait_until_sampling(process)
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.wait(timeout=30), 5)


class EmptyRecordings(SamplingCase):
    def record(self, *target):
        answer = run("record", "-o", self.path("x.html"), "-o", self.path("x.folded"), *target)
        return answer.stderr

    def test_a_command_shorter_than_a_period(self):
        said = self.record("-F", "1", "--", "true")
        self.assertRegex(said, r"nothing was sampled: true ended after \d+ ms, and a sample is "
                               r"taken every 1000 ms")
        self.assertIn("-F 999", said)

    def test_a_command_that_waits(self):
        self.assertIn("nothing was sampled: sleep was not on a CPU",
                      self.record("-F", "19", "--", "sleep", "1"))

    def test_a_name_that_no_process_has(self):
        self.assertIn("no process is named no-such-name",
                      self.record("-d", "0.5", "--command", "no-such-name"))

    def test_something_that_was_sampled_explains_nothing(self):
        self.assertNotIn("nothing was sampled", self.record("--", "timeout", "0.5", "sh", "-c", SPIN))


if __name__ == "__main__":
    unittest.main(verbosity=2)
