#!/usr/bin/env python3
"""A capture of everything that works on one kind of request: its label is compared in the
kernel."""

import os
import subprocess
import sys

import agent_case
import stackray_command

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "live")
sys.path.insert(0, os.path.join(SOURCE, "context"))
import judge  # pylint: disable=wrong-import-position

WANTED = "/item/1/3"
ROUTE = "process.context.label.http.route"


class LabelCapture(agent_case.AgentCase):
    def capture(self, *arguments):
        return stackray_command.run("capture", *arguments, "--state-dir", self.state,
                                    env=agent_case.clean_environment())

    def start_writer(self, seconds):
        source, program, self.log = f"{SOURCE}/programs/context", self.path("writer"), self.path("log")
        subprocess.run(["gcc", "-O2", "-o", program, f"{source}/writer.c", f"{source}/slot.c", "-ldl", "-pthread"],
                       check=True)
        return subprocess.Popen([program, str(seconds), self.log, "1"])

    def test_context_captures(self):
        writer = self.start_writer(9)
        self.addCleanup(writer.kill)
        agent = self.agent("--seal-interval", "1s", "--context-labels", "http.route")
        self.wait_until_sampling(agent)
        agent.find_page()
        # The process is looked at when it is a second old.
        subprocess.run(["sleep", "3"], check=True)
        output = self.path("one.json")
        answer = self.capture("--label", f"http.route={WANTED}", "-F", "997", "-d", "3s", "-o", output)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        nothing = self.capture("--label", "http.route=/other", "-F", "997", "-d", "1s", "-o", self.path("none.json"))
        writer.wait(timeout=60)
        samples, requests = list(judge.samples_of(output, writer.pid)), judge.read_log(self.log)
        verdict = judge.judge(samples, requests, ROUTE)
        self.assertEqual((verdict.wrong, verdict.missing, verdict.idle), (0, 0, 0), verdict.text())
        self.assertGreater(verdict.right, 20, verdict.text())
        self.assertEqual({sample.labels.get(ROUTE) for sample in samples}, {WANTED})
        self.assertIn("stackray_context_processes{state=\"read\"}", agent.get("/metrics")[1])
        self.assertEqual(nothing.returncode, 0, nothing.stderr)
        self.assertEqual([] if not os.path.exists(self.path("none.json")) else
                         list(judge.samples_of(self.path("none.json"), writer.pid)), [])

    def test_context_off_refuses_a_label(self):
        agent = self.agent("--context", "off")
        self.wait_until_sampling(agent)
        answer = self.capture("--label", "http.route=/a", "-d", "1s", "-o", self.path("x.json"))
        self.assertNotEqual(answer.returncode, 0)
        self.assertIn("context", answer.stderr)


if __name__ == "__main__":
    agent_case.main()
