#!/usr/bin/env python3
"""A time namespace: each sample has the host's time."""

import json
import os
import shutil
import subprocess
import time

import agent_case
import stackray_command


def numbers_of(document, name):
    """All values of that name, anywhere in a document."""
    if isinstance(document, dict):
        for key, value in document.items():
            if key == name:
                yield from ([int(one) for one in value] if isinstance(value, list) else [int(value)])
            else:
                yield from numbers_of(value, name)
    elif isinstance(document, list):
        for value in document:
            yield from numbers_of(value, name)


class TimeNamespace(agent_case.AgentCase):
    def as_json(self, otlp):
        path = otlp + ".json"
        answer = stackray_command.run("convert", otlp, path)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def test_a_time_namespace(self):
        if shutil.which("unshare") is None or not os.path.exists("/proc/self/ns/time"):
            self.skipTest("no time namespaces, or no unshare")
        for offset in (100_000, -3600):
            otlp = self.path(f"namespace{offset}.otlp")
            began = time.time()
            answer = subprocess.run(
                ["unshare", "-T", "--boottime", str(offset), stackray_command.STACKRAY, "record",
                 "-o", otlp, "--", "sh", "-c", "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done"],
                capture_output=True, text=True, timeout=120, check=False)
            if answer.returncode != 0 and "unshare" in answer.stderr:
                self.skipTest(answer.stderr)
            self.assertEqual(answer.returncode, 0, answer.stderr)
            ended = time.time()
            batches = self.as_json(otlp)
            for name in ("timeUnixNano", "timestampsUnixNano"):
                times = list(numbers_of(batches, name))
                self.assertTrue(times, f"{name}: {str(batches)[:2000]}")
                self.assertGreater(min(times), (began - 1) * 1e9, f"{name}, {offset}")
                self.assertLess(max(times), (ended + 1) * 1e9, f"{name}, {offset}")
            self.assertLess(max(numbers_of(batches, "durationNano")), (ended - began + 1) * 1e9)


if __name__ == "__main__":
    agent_case.main()
