#!/usr/bin/env python3
"""A receiver that answers 413 to what is too large: the agent sends halves, and loses nothing.

The agent's own history holds the batches as they were before; in sum, every sample of every stack
is the same there and at the receiver.
"""

import os
import subprocess

import agent_case
from otlp_receiver import OtlpReceiver

EXPORT_BATCHES = os.environ.get("STACKRAY_EXPORT_BATCHES", "")


def sorted_lines(path):
    with open(path, encoding="utf-8") as file:
        return sorted(file)


class SizeLimit(agent_case.AgentCase):
    def setUp(self):
        super().setUp()
        self.receiver = OtlpReceiver()
        self.addCleanup(self.receiver.down)
        self.receiver.up()
        # Many short programs: batches with many stacks and processes. Nobody else's: one sample of
        # a deep stack may be larger than a limit, and cannot be halved.
        short = "while :; do ls -lR /usr/include/linux >/dev/null; done"
        self.pids = [self.spin(), self.spin("sh", "-c", short), self.spin("sh", "-c", short)]

    def begin(self, *arguments):
        agent = self.agent("--page", "--seal-interval", "500ms", "-F", "499", "--protocol",
                           "http/protobuf", "--endpoint", self.receiver.endpoint,
                           "-p", ",".join(map(str, self.pids)), *arguments)
        self.wait_until_sampling(agent)
        return agent

    def learn_size(self):
        """The largest body of some batches that are taken whole."""
        self.assertTrue(self.receiver.wait_for(6, 30))
        return max(map(len, self.receiver.batches))

    def judge(self, agent, accountant):
        accountant.end()
        self.assertEqual(agent.end(), 0)
        self.assertEqual(accountant.wrong, [])
        produced, delivered, lost = agent.totals()
        self.assertEqual(produced, delivered + lost)
        self.assertNotIn("does not take a batch: ", agent.log())
        self.assertGreater(self.receiver.refused, 0)
        received, kept = self.path("received.otlp"), self.path("kept.otlp")
        self.receiver.write(received)
        whole = self.write_history(kept)
        self.assertEqual(self.count(received), (delivered, lost))
        self.assertEqual(self.count(kept), (delivered, lost))
        self.assertGreater(len(self.receiver.batches), len(whole))
        self.assertEqual(sorted_lines(received + ".folded"), sorted_lines(kept + ".folded"))
        if os.path.exists(EXPORT_BATCHES):  # Not only stacks, but every attribute of every sample.
            compared = subprocess.run([EXPORT_BATCHES, "compare", kept, received], timeout=120,
                                      capture_output=True, text=True, check=False)
            self.assertEqual(compared.returncode, 0, compared.stdout + compared.stderr)
        print(f"{self.receiver.refused} refused, {len(whole)} batches arrived as "
              f"{len(self.receiver.batches)}, {delivered} samples delivered, {lost} lost; largest "
              f"{max(map(len, whole))} bytes, limit {self.receiver.limit}", flush=True)

    def test_a_limit_that_is_not_named_is_found(self):
        agent = self.begin()
        accountant = self.account(agent)
        self.receiver.limit = self.learn_size() // 3
        self.assertTrue(self.receiver.wait_for(60, 60))
        self.judge(agent, accountant)
        self.assertLess(self.receiver.refused, len(self.receiver.batches) // 2)

    def test_a_named_limit_is_met_by_as_many_halvings_as_it_takes(self):
        self.receiver.name_limit = True
        agent = self.begin("--compression", "none")
        accountant = self.account(agent)
        self.receiver.limit = self.learn_size() // 4
        self.assertTrue(self.receiver.wait_for(60, 60))
        self.judge(agent, accountant)
        # The limit is learned: later batches are halved before they are sent.
        self.assertLess(self.receiver.refused, len(self.receiver.batches) // 4)

    def test_what_stays_too_large_is_lost_and_said_so(self):
        self.receiver.limit = 100
        agent = self.begin()
        accountant = self.account(agent)
        agent.wait_for_log("does not take a batch", 20)
        self.receiver.limit = None
        self.assertTrue(self.receiver.wait_for(4, 30))
        accountant.end()
        self.assertEqual(agent.end(), 0)
        self.assertEqual(accountant.wrong, [])
        produced, delivered, lost = agent.totals()
        self.assertEqual(produced, delivered + lost)
        self.assertGreater(lost, 0)
        self.receiver.write(self.path("received.otlp"))
        self.assertEqual(self.count(self.path("received.otlp")), (delivered, lost))
        with open(self.path("received.otlp.folded"), encoding="utf-8") as file:
            self.assertIn("[lost: too large]", file.read())


if __name__ == "__main__":
    agent_case.main()
