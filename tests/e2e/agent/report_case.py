"""An agent that makes reports, and what lies in them: for the tests of reports."""

import json
import os
import subprocess
import time

import agent_case
import stackray_command


class ReportCase(agent_case.AgentCase):
    def setUp(self):
        super().setUp()
        self.trigger = self.path("now")

    def begin(self, *lines, arguments=()):
        config = self.path("stackray.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write("\n".join(("reports:", "  profile: 1s", "  free-space: 1MiB", *lines)) + "\n")
        agent = self.agent("--config", config, "--seal-interval", "1s",
                           *arguments)
        self.wait_until_sampling(agent)
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
