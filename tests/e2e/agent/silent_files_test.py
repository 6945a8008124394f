#!/usr/bin/env python3
"""Processes of an ordinary user whose memory and files never answer (silent_files.c): nobody else's
samples, names, page or end wait for them."""

import math
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import unittest

import agent_case
import stackray_command

HERE = os.path.dirname(os.path.abspath(__file__))
NOBODY = 65534
HERTZ = 99
WAYS = ("program", "context", "names")


def cpu_seconds(pid):
    """User and system time of a process, by the kernel."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class SilentFiles(agent_case.AgentCase):
    def setUp(self):
        super().setUp()
        for tool in ("unshare", "setpriv", "cc", "mknod"):
            if not shutil.which(tool):
                self.skipTest(f"{tool} is not here")
        if not os.path.exists("/dev/fuse"):
            self.skipTest("no /dev/fuse here")
        os.chmod(self.folder, 0o755)
        for name, flags in (("silent_files", ()), ("burner", ("-static",))):
            subprocess.run(["cc", "-O1", "-fno-omit-frame-pointer", *flags, "-o", self.path(name),
                            os.path.join(HERE, name + ".c")], check=True)
        # Somebody else's program, whose samples must all be there.
        self.victim = subprocess.Popen([self.path("burner"), "300"])
        self.addCleanup(self.end, self.victim)
        self.started = 0

    @staticmethod
    def end(process):
        process.send_signal(signal.SIGKILL)
        process.wait()

    def start_silent(self, how):
        """One more process that does not answer, as nobody, in namespaces of its own."""
        self.started += 1
        folder = self.path(f"silent{self.started}")
        os.mkdir(folder)
        device = folder + ".fuse"
        user = ""
        if how != "context":  # As fusermount3, root mounts it for the user.
            os.chown(folder, NOBODY, NOBODY)
            user = f"setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups"
        process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c",
             f"mknod -m 666 {device} c 10 229 && mount --bind {device} /dev/fuse && "
             f"exec {user} {self.path('silent_files')} {how} 300 {folder} {self.path('burner')}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True)
        self.addCleanup(self.end_silent, process)
        said = process.stdout.readline()
        if not said:
            self.skipTest(f"no silent file system here ({how})")
        return int(said)

    @staticmethod
    def end_silent(process):
        os.killpg(process.pid, signal.SIGKILL)  # The server too, and with it every wait for it.
        process.stdout.close()
        process.wait()

    def check_victim(self, lines, seconds_of_cpu, hertz=HERTZ):
        """All of its samples, whole and with their names."""
        def samples(pattern):
            return sum(int(line.rsplit(" ", 1)[1]) for line in lines if re.search(pattern, line))

        found = samples(r"^burner;")
        self.assertGreaterEqual(samples(r"^burner;.*main;burner_work"), 0.97 * found - 3)
        # Where it shares its CPU, how many ticks fall into its turns is chance.
        expected = seconds_of_cpu * hertz
        self.assertGreaterEqual(found, 0.97 * expected - 3 * math.sqrt(expected))
        self.assertFalse([line for line in lines if line.startswith("[lost")])

    def record(self, seconds):
        """(lines of the profile, CPU seconds of the victim meanwhile, seconds that it took)"""
        out = self.path("out.folded")
        before, began = cpu_seconds(self.victim.pid), time.monotonic()
        answer = stackray_command.run("record", "-a", "-F", str(HERTZ), "-d", str(seconds), "-o", out)
        took = time.monotonic() - began
        self.assertEqual(answer.returncode, 0, answer.stderr)
        with open(out, encoding="utf-8") as file:
            lines = file.read().splitlines()
        # The recording lasts a little shorter than the command.
        return lines, (cpu_seconds(self.victim.pid) - before) * seconds / took, took

    def test_record_ends_and_has_the_others(self):
        for how in WAYS:
            self.start_silent(how)
        lines, cpu, took = self.record(6)
        self.assertLess(took, 6 + 6)
        self.check_victim(lines, cpu)

    def watch_health(self, agent, until):
        """The answers of /healthz, and how long the slowest took."""
        answers, slowest = set(), 0
        while time.monotonic() < until:
            began = time.monotonic()
            answers.add(agent.get("/healthz")[0])
            slowest = max(slowest, time.monotonic() - began)
            time.sleep(0.2)
        return answers, slowest

    def profile_of_history(self):
        """The lines of what the agent has kept."""
        self.write_history(self.path("kept.otlp"))
        convert = stackray_command.run("convert", self.path("kept.otlp"), self.path("kept.folded"))
        self.assertEqual(convert.returncode, 0, convert.stderr)
        with open(self.path("kept.folded"), encoding="utf-8") as file:
            return file.read().splitlines()

    def run_agent(self, seconds, processes):
        """An agent beside silent processes; what they cost it."""
        agent = self.agent("-F", str(HERTZ), "--page")
        self.wait_until_sampling(agent)
        agent.find_page()
        before, began = cpu_seconds(self.victim.pid), time.monotonic()
        for i in range(processes):
            self.start_silent(WAYS[i % len(WAYS)])
        answers, slowest = self.watch_health(agent, began + seconds)
        self.assertEqual(answers, {200})
        self.assertLess(slowest, 2)
        left_alone = agent.status_document(self.state)["left_alone"]
        self.assertGreaterEqual(left_alone["reads_hung"], 2)
        self.assertLessEqual(left_alone["readers_hanging"], 24)
        cpu = cpu_seconds(self.victim.pid) - before
        began = time.monotonic()
        self.assertEqual(agent.end(10), 0)
        self.assertLess(time.monotonic() - began, 3)
        self.check_victim(self.profile_of_history(), cpu)
        self.assertIn("did not return, so it is left alone", agent.log())
        print(f"{processes} silent processes, {seconds} s: {left_alone}, slowest /healthz "
              f"{slowest:.2f} s", flush=True)

    def test_an_agent_goes_on_and_ends(self):
        self.run_agent(10, 3)

    def test_the_end_comes_while_a_read_hangs(self):
        agent = self.agent("-F", str(HERTZ))
        self.wait_until_sampling(agent)
        for how in WAYS:
            self.start_silent(how)
        time.sleep(0.7)
        began = time.monotonic()
        self.assertEqual(agent.end(10), 0)
        self.assertLess(time.monotonic() - began, 3)


class SilentFilesLong(SilentFiles):
    """As the issue of a busy host has it: ten at once for a minute, and two agents."""

    def test_ten_for_a_minute(self):
        self.run_agent(60, 10)

    def test_two_agents(self):
        others = []

        def run_other():
            out = self.path("other.folded")
            others.append(stackray_command.run("record", "-a", "-F", str(HERTZ), "-d", "20", "-o", out,
                                               timeout=90))

        other = threading.Thread(target=run_other)
        other.start()
        self.run_agent(20, 10)
        other.join()
        self.assertEqual(others[0].returncode, 0, others[0].stderr)


if __name__ == "__main__":
    agent_case.main()
