"""An agent that makes reports, and what lies in them: for the tests of reports."""

import json
import os
import subprocess
import time

import agent_case
import stackray_command

# Reads more than its memory again and again: its pages come back from the disk each time.
THRASH = """
import mmap, sys
with open(sys.argv[1], 'rb') as file:
    pages = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    while True:
        sum(pages[at] for at in range(0, len(pages), 4096))
"""


class ReportCase(agent_case.AgentCase):
    def setUp(self):
        super().setUp()
        self.trigger = self.path("now")

    def begin(self, *lines, profile="1s", arguments=()):
        config = self.path("stackray.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write("\n".join(("reports:", f"  profile: {profile}", "  free-space: 1MiB", *lines)) + "\n")
        agent = self.agent("--config", config, "--seal-interval", "1s",
                           *arguments)
        self.wait_until_sampling(agent, 60)
        agent.find_page()
        return agent

    def report(self, *arguments, **options):
        return stackray_command.run("report", *arguments, "--state-dir", self.state,
                                    env=agent_case.clean_environment(), timeout=180, **options)

    def archives(self):
        folder = os.path.join(self.state, "reports")
        return sorted(name for name in os.listdir(folder) if name.endswith(".tar.zst"))

    def until(self, condition, seconds=90):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return True
            time.sleep(0.1)
        return False

    def wait_until_large(self, pid):
        def is_large():
            with open(f"/proc/{pid}/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") > 900 << 20
        self.assertTrue(self.until(is_large))

    def unpack(self, path):
        """The report's files by their names."""
        folder = self.path("unpacked-" + str(time.monotonic_ns()))
        os.makedirs(folder)
        subprocess.run(["tar", "--zstd", "-xf", path, "-C", folder], check=True)
        found = {}
        for root, _, files in os.walk(folder):
            for file in files:
                with open(os.path.join(root, file), "rb") as content:
                    found[os.path.relpath(os.path.join(root, file), folder)] = content.read()
        return found

    def only(self):
        self.assertTrue(self.until(self.archives), os.listdir(os.path.join(self.state, "reports")))
        [name] = self.archives()
        files = self.unpack(os.path.join(self.state, "reports", name))
        return files, json.loads(files["manifest.json"])

    def make_cgroup(self, root):
        if not os.path.isdir(root):
            self.skipTest(f"there is no {root}")
        folder = os.path.join(root, f"stackray-reports-{os.getpid()}")
        try:
            os.mkdir(folder)
        except OSError as error:
            self.skipTest(f"{folder}: {error.strerror}")
        self.addCleanup(self.until, lambda: self.removed(folder), 10)
        return folder

    @staticmethod
    def removed(folder):
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def large_file(self):
        """For THRASH. Not in memory: whoever reads it first pays for its pages."""
        path = self.path("large")
        with open(path, "wb") as file:
            for _ in range(256):
                file.write(os.urandom(1 << 20))
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return path
