"""What the command line's tests share: running the built program, and others for it to see."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

STACKRAY = os.environ.get("STACKRAY_BINARY", "build/stackray")
# A system call outside the list ends the program: agent/privileges/system_calls.cc.
os.environ.setdefault("STACKRAY_SANDBOX", "strict")
SPIN = "while :; do :; done"
EVENT_HOOKS = 4


def run(*arguments, prefix=(), timeout=60, **options):
    """Runs stackray to its end; stdout and stderr are text."""
    return subprocess.run([*prefix, STACKRAY, *arguments], capture_output=True, timeout=timeout,
                          text=True, errors="replace", stdin=subprocess.DEVNULL, check=False,
                          **options)


def why_no_bpf():
    """None where sampling works; else what stackray says."""
    if os.geteuid() != 0:
        return "needs root"
    answer = run("record", "-o", "/dev/null", "--", "true")
    if answer.returncode != 0 and ("BPF" in answer.stderr or "BTF" in answer.stderr):
        return answer.stderr.strip()
    return None


@contextlib.contextmanager
def started(*command, **options):
    """A program that runs meanwhile, by its own process id."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="stackray-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def assert_failed(self, answer, code, *words):
        """The exit code, one short message on stderr with the words, and no sign of a crash."""
        self.assertEqual(answer.returncode, code, answer.stderr)
        self.assertTrue(answer.stderr.startswith("stackray: "), answer.stderr)
        for word in words:
            self.assertIn(word, answer.stderr)
        self.assertNotIn("terminate called", answer.stderr)


class SamplingCase(Case):
    """A test that samples; skipped by name where that is not possible."""

    reason = None

    @classmethod
    def setUpClass(cls):
        cls.reason = why_no_bpf()
        if cls.reason:
            raise unittest.SkipTest(f"no BPF here: {cls.reason}")

    def begin(self, *arguments, **options):
        """Starts stackray and waits until it samples; the caller ends it."""
        process = subprocess.Popen([STACKRAY, *arguments], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   **options)
        self.addCleanup(end_process, process)
        wait_until_sampling(process)
        return process


def end_process(process):
    if process.poll() is None:
        process.kill()
    process.communicate()


def wait_until_sampling(process, seconds=15):
    """The hooks of fork, exec, exit and cgroups are attached right before the clocks run."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError):
            links = os.listdir(f"/proc/{process.pid}/fd")
            names = []
            for link in links:
                with contextlib.suppress(OSError):
                    names.append(os.readlink(f"/proc/{process.pid}/fd/{link}"))
            if sum("bpf_link" in name for name in names) >= EVENT_HOOKS:
                time.sleep(0.3)
                return
        time.sleep(0.02)


def interrupt(process):
    process.send_signal(signal.SIGINT)
