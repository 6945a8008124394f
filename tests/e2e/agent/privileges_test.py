"""What an agent keeps of its rights, in each of its tasks, and that its helper ends with it."""

import os
import signal
import time
import unittest

from agent_case import AgentCase
from stackray_command import SPIN, started

# Numbers of linux/capability.h.
SAMPLING = {"DAC_READ_SEARCH": 2, "SYS_PTRACE": 19, "SYSLOG": 34, "PERFMON": 38, "BPF": 39,
            "CHECKPOINT_RESTORE": 40}
SYS_ADMIN = 21


def status_of(path):
    """The lines of a status file by their names."""
    with open(path, encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def paranoid():
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
        return int(file.read())


def held_here():
    return int(status_of("/proc/self/status")["CapPrm"], 16)


class Privileges(AgentCase):
    def kept(self):
        """The sets that an agent of ours may have."""
        bits = sum(1 << number for number in SAMPLING.values()) & held_here()
        return {bits, bits | 1 << SYS_ADMIN} if paranoid() > 2 else {bits}

    def assert_tasks(self, pid, seccomp="2"):
        tasks = os.listdir(f"/proc/{pid}/task")
        for task in tasks:
            status = status_of(f"/proc/{pid}/task/{task}/status")
            said = (status["Name"], status)
            for name in ("CapEff", "CapPrm"):
                self.assertIn(int(status[name], 16), self.kept(), said)
            self.assertEqual(int(status["CapBnd"], 16), int(status["CapPrm"], 16), said)
            for name in ("CapInh", "CapAmb"):
                self.assertEqual(int(status[name], 16), 0, said)
            self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", seccomp), said)
        return len(tasks)

    def test_every_task_keeps_what_sampling_needs_and_nothing_else(self):
        with started("sh", "-c", SPIN):
            agent = self.agent("--page", "--endpoint", "http://127.0.0.1:9", "-F", "99")
            self.wait_until_sampling(agent)
            time.sleep(2)
            self.assertGreater(self.assert_tasks(agent.process.pid), 4)
            privileges = agent.status_document(self.state)["privileges"]
            self.assertIn("CAP_BPF", privileges["capabilities"])
            self.assertEqual(privileges["bounding"], privileges["capabilities"])
            self.assertEqual((privileges["no_new_privs"], privileges["seccomp"]), (True, "filter"))
            # What a reload starts anew is bound as well.
            before = set(os.listdir(f"/proc/{agent.process.pid}/task"))
            agent.process.send_signal(signal.SIGHUP)
            self.assertIsNotNone(agent.wait_for_log("settings reloaded"), agent.log())
            self.assert_tasks(agent.process.pid)
            self.assertTrue(before & set(os.listdir(f"/proc/{agent.process.pid}/task")))
            self.assertEqual(agent.end(), 0)

    @staticmethod
    def children_of(pid, name):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = [int(child) for child in file.read().split()]
        return [child for child in children if status_of(f"/proc/{child}/status")["Name"] == name]

    def helper_of(self, agent):
        return self.children_of(agent.process.pid, "stackray-helper")

    def test_readers_may_read_and_end_with_the_agent(self):
        agent = self.agent()
        self.wait_until_sampling(agent)
        (parent,) = self.children_of(agent.process.pid, "stackray-files")
        readers = self.children_of(parent, "stackray-reader")
        self.assertTrue(readers)
        needed = sum(1 << SAMPLING[name]
                     for name in ("DAC_READ_SEARCH", "SYS_PTRACE", "CHECKPOINT_RESTORE"))
        for pid in (parent, *readers):
            status = status_of(f"/proc/{pid}/status")
            for name in ("CapEff", "CapPrm", "CapBnd"):
                self.assertEqual(int(status[name], 16), needed & held_here(), status)
            self.assertEqual(status["NoNewPrivs"], "1")
            self.assertEqual(status["Seccomp"], "0" if pid == parent else "2")
            self.assertEqual(len(os.listdir(f"/proc/{pid}/fd")), 3 + (25 if pid == parent else 1))
        agent.process.kill()
        agent.process.wait()
        for _ in range(200):
            if not any(os.path.exists(f"/proc/{pid}") and
                       not status_of(f"/proc/{pid}/status")["State"].startswith("Z")
                       for pid in (parent, *readers)):
                return
            time.sleep(0.02)
        self.fail("readers outlive the agent")

    def test_the_helper_has_no_filter_and_ends_with_the_agent(self):
        agent = self.agent()
        self.wait_until_sampling(agent)
        (helper,) = self.helper_of(agent)
        status = status_of(f"/proc/{helper}/status")
        self.assertEqual((status["Name"], status["Seccomp"]), ("stackray-helper", "0"))
        self.assertEqual(int(status["CapPrm"], 16) & ~(1 << 6 | 1 << 7 | 1 << 23), 0)
        os.kill(helper, signal.SIGTERM)  # As a service's stop does, to all: it waits for the agent.
        agent.process.kill()
        agent.process.wait()
        for _ in range(100):
            if not os.path.exists(f"/proc/{helper}") or (
                    status_of(f"/proc/{helper}/status")["State"].startswith("Z")):
                return
            time.sleep(0.02)
        self.fail("the helper outlives the agent")

    def test_an_agent_without_its_helper_goes_on(self):
        agent = self.agent(environment={"STACKRAY_SANDBOX": "on"}.items())
        self.wait_until_sampling(agent)
        (helper,) = self.helper_of(agent)
        os.kill(helper, signal.SIGKILL)
        time.sleep(1)
        self.assert_tasks(agent.process.pid)
        self.assertEqual(agent.end(), 0, agent.log())

    def test_without_a_sandbox_all_stays(self):
        agent = self.agent("--sandbox", "off")
        self.wait_until_sampling(agent)
        status = status_of(f"/proc/{agent.process.pid}/status")
        self.assertEqual(int(status["CapEff"], 16), held_here())
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("0", "0"))


if __name__ == "__main__":
    unittest.main()
