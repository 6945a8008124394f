#!/usr/bin/env python3
"""Several receivers at once: a slow one holds up nobody, each has its own account, and what one has
lost is told to that one alone."""

import os
import time

import agent_case
import stackray_command
from otlp_receiver import OtlpReceiver


class Receivers(agent_case.AgentCase):
    def setUp(self):
        super().setUp()
        self.good, self.other = OtlpReceiver(), OtlpReceiver()
        self.addCleanup(self.good.down)
        self.addCleanup(self.other.down)
        self.good.up()

    def begin(self, *arguments):
        config = self.path("agent.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"""frequency: 199
seal-interval: 200ms
receivers:
  - name: good
    endpoint: {self.good.endpoint}
    protocol: http/protobuf
  - name: other
    endpoint: {self.other.endpoint}
    protocol: http/protobuf
    compression: none
""")
        self.spin()
        agent = self.agent("--config", config, "--page", *arguments)
        self.wait_until_sampling(agent)
        return agent

    def received(self, receiver, name):
        path = self.path(f"{name}.otlp")
        receiver.write(path)
        return self.count(path)

    def test_one_that_is_absent_holds_up_nobody(self):
        agent = self.begin()
        accountant = self.account(agent)
        self.assertTrue(self.good.wait_for(20, 30))
        self.other.up()
        self.assertTrue(self.other.wait_for(20, 40))
        accountant.end()
        self.assertEqual(agent.end(), 0)
        self.assertEqual(accountant.wrong, [])
        self.assertEqual(self.good.encodings, {"gzip"})
        self.assertEqual(self.other.encodings, {""})
        self.assertEqual(self.good.batches, self.other.batches)
        for name, receiver in (("good", self.good), ("other", self.other)):
            produced, delivered, lost, kept = agent.totals_of(name)
            self.assertEqual((produced, kept), (delivered + lost, 0))
            self.assertEqual(self.received(receiver, name), (delivered, lost))

    def test_what_one_has_lost_is_told_to_that_one(self):
        self.other.limit = 100  # Takes nothing, for its size.
        self.other.up()
        agent = self.begin()
        self.assertIsNotNone(agent.wait_for_log("other: the receiver does not take a batch", 20))
        self.assertTrue(self.good.wait_for(10, 20))
        self.other.limit = None
        self.assertTrue(self.other.wait_for(10, 30))
        self.assertEqual(agent.end(), 0)
        _, delivered, lost, _ = agent.totals_of("other")
        _, good_delivered, good_lost, _ = agent.totals_of("good")
        self.assertGreater(lost, good_lost)
        self.assertEqual(self.received(self.other, "other"), (delivered, lost))
        self.assertEqual(self.received(self.good, "good"), (good_delivered, good_lost))
        # The local history and the others know nothing of it.
        self.assertEqual(self.write_history(self.path("kept.otlp")), self.good.batches)

    def test_each_has_a_spool_of_its_own(self):
        agent = self.begin()
        self.assertTrue(self.good.wait_for(10, 20))
        earlier = set(self.good.batches[:-1])
        agent.process.kill()
        agent.process.wait()
        with_batches = [folder for folder, _, files in os.walk(os.path.join(self.state, "spool"))
                        if any(name.endswith(".batch") for name in files)]
        self.assertGreaterEqual(len(with_batches), 1)
        self.other.up()
        second = self.begin()
        self.assertTrue(self.other.wait_for(len(self.good.batches), 40))
        self.assertEqual(second.end(), 0)
        # After a kill a batch may come twice to one that had it just then. The batch that the kill
        # found between the two spools can have come to the first receiver alone; no other is
        # missing.
        missing = set(self.good.batches) - set(self.other.batches)
        self.assertLessEqual(len(missing), 1)
        self.assertEqual(missing & earlier, set())
        self.assertEqual(set(self.other.batches) - set(self.good.batches), set())


if __name__ == "__main__":
    agent_case.main()
