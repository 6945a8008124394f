#!/usr/bin/env python3
"""A container's root looks for what is the host's while the agent's collectors run in the
container: it finds nothing, even where a collector's command is `#!/proc/self/exe`.

Usage: STACKRAY_REACH_WATCHER=PROGRAM collector_reach_test.py
"""

import os
import shutil
import signal
import subprocess

import agent_case
import report_case

WATCHER = os.environ["STACKRAY_REACH_WATCHER"]
REPORTS = 3


class CollectorReach(report_case.ReportCase):
    def start_container(self):
        """The watcher outside, and the number of the one inside."""
        files, root = self.path("files"), self.path("root")
        for folder in (root, *(os.path.join(files, name) for name in ("bin", "old", "proc"))):
            os.makedirs(folder)
        shutil.copy(WATCHER, os.path.join(files, "watcher"))
        script = os.path.join(files, "bin", "jcmd")
        with open(script, "w", encoding="ascii") as file:
            file.write("#!/proc/self/exe\n")
        os.chmod(script, 0o755)
        outside = subprocess.Popen([WATCHER, files, root], stdout=subprocess.PIPE, text=True)
        self.addCleanup(outside.stdout.close)
        self.addCleanup(outside.wait)
        self.addCleanup(outside.kill)
        first = outside.stdout.readline().split()
        if first[:1] != ["pid"]:
            self.skipTest("no namespaces here")
        self.assertEqual(outside.stdout.readline(), "watching\n")
        return outside, int(first[1])

    def test_nothing_of_the_host_is_in_reach(self):
        outside, inside = self.start_container()
        self.begin("  distance: 0s", "  collectors:",
                   "    - {name: own, exec: [/watcher, command], command: watcher}",
                   '    - {name: itself, exec: [/bin/jcmd, "{pid}"], command: watcher}')
        for _ in range(REPORTS):
            answer = self.report(str(inside))
            self.assertEqual(answer.returncode, 0, answer.stderr)
            files = self.unpack(answer.stdout.strip())
            self.assertEqual(files[f"processes/{inside}-watcher/collector-own.txt"], b"0\n1\n2\n")
        os.kill(inside, signal.SIGKILL)
        said = outside.stdout.read()
        self.assertNotIn("foreign", said)
        self.assertIn("seen entry", said)
        self.assertIn("seen command", said)


if __name__ == "__main__":
    agent_case.main()
