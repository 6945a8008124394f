#!/usr/bin/env python3
"""A disk that others have filled: the history goes on in memory, and comes back to the disk."""

import json
import os
import subprocess
import sys
import time

import agent_case

# In a mount namespace of its own, if that can be had.
NAMESPACE = "STACKRAY_TEST_MOUNTS"


class FullDisk(agent_case.AgentCase):
    def setUp(self):
        super().setUp()
        os.mkdir(self.state)
        if NAMESPACE not in os.environ or subprocess.run(
                ["mount", "-t", "tmpfs", "-o", "size=5m", "tmpfs", self.state], check=False,
                capture_output=True).returncode != 0:
            self.skipTest("no file system can be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", self.state], check=False)

    def fill(self):
        """Somebody else takes what is left."""
        with open(os.path.join(self.state, "other"), "ab", buffering=0) as file:
            for size in (1 << 16, 4096):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    pass

    def shown(self, agent, seconds):
        """Samples on the page of the last seconds."""
        now = int(time.time() * 1000)
        code, text = agent.get(f"/api/profile?from_ms={now - 1000 * seconds}&to_ms={now}")
        self.assertEqual(code, 200, text)
        return sum(json.loads(text)["samples"]["count"])

    def history(self, agent):
        return next(taker for taker in agent.status_document(self.state)["receivers"]
                    if taker["name"] == "history")

    def test_the_newest_stays(self):
        self.spin()
        # A spool beside it, of a receiver that is away.
        agent = self.agent("--page", "--endpoint", "http://127.0.0.1:9", "--seal-interval", "200ms", "-F",
                           "199", "--timestamps", "--spool-size", "8MiB")
        self.wait_until_sampling(agent, 60)
        accountant = self.account(agent)
        time.sleep(2)
        for _ in range(4):
            self.fill()
            time.sleep(1)
        self.assertIsNotNone(agent.wait_for_log("the newest batches stay in memory", 90), agent.log())
        document = self.history(agent)
        self.assertIn("No space left", document["failing_with"])
        self.assertEqual(document["lost"]["not stored"], 0)
        self.assertEqual(agent.status()["lost_total"], document["lost_in_all"])
        self.assertGreater(self.shown(agent, 3), 100)
        self.assertGreater(self.shown(agent, 60), self.shown(agent, 3))

        os.remove(os.path.join(self.state, "other"))
        self.assertIsNotNone(agent.wait_for_log("all of it is on disk again", 120), agent.log())
        accountant.end()
        self.assertEqual(accountant.wrong, [])
        self.assertIsNone(self.history(agent)["failing_with"])
        stored = agent.samples()["delivered"]["history"]
        agent.process.kill()
        agent.process.wait()
        self.write_history(self.path("kept.otlp"))
        self.assertGreaterEqual(self.count(self.path("kept.otlp"))[0], stored)


if __name__ == "__main__":
    if NAMESPACE not in os.environ and os.geteuid() == 0:
        os.environ[NAMESPACE] = "1"
        if subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode == 0:
            os.execvp("unshare", ["unshare", "-m", sys.executable, *sys.argv])
        del os.environ[NAMESPACE]
    agent_case.main()
