#!/usr/bin/env python3
"""A receiver that is absent at start, comes, goes and comes back: nothing is lost, and agent and
receiver agree on every sample.

STACKRAY_OUTAGE_BATCHES asks for the long proof: 20 s of absence, and so many batches in all.
"""

import os
import time

import agent_case
from otlp_receiver import OtlpReceiver

BATCHES = int(os.environ.get("STACKRAY_OUTAGE_BATCHES", "0"))
LONG = BATCHES > 0
ABSENT_S, DOWN_S = (20, 20) if LONG else (2, 6)
START_LIMIT_S = 9  # Less than one attempt may take; a busy machine needs some seconds to load BPF.
# The next attempt is at most 30 s away, once one has failed often; here it failed a few times.
BACK_LIMIT_S = 60


class Outage(agent_case.AgentCase):
    def setUp(self):
        super().setUp()
        self.receiver = OtlpReceiver()
        self.addCleanup(self.receiver.down)

    def begin(self, *arguments):
        self.spin()
        agent = self.agent("--page", "--seal-interval", "100ms", "-F", "199", *arguments, environment={
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.receiver.endpoint,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"})
        self.assertLess(self.wait_until_sampling(agent), START_LIMIT_S)
        return agent

    def wait_until_back(self):
        self.assertTrue(self.receiver.wait_for(len(self.receiver.batches) + 20, BACK_LIMIT_S))

    def test_nothing_is_lost_and_the_counts_agree(self):
        agent = self.begin()
        accountant = self.account(agent)
        time.sleep(ABSENT_S)
        self.receiver.up()
        self.wait_until_back()
        time.sleep(1)
        self.receiver.down()
        taken = len(self.receiver.batches)
        time.sleep(DOWN_S)
        self.assertEqual(len(self.receiver.batches), taken)
        waiting = agent.samples()["in_flight"]["otlp"]
        self.assertGreater(waiting, 100)  # The outage was one.
        self.receiver.up()
        self.wait_until_back()
        if LONG:
            self.assertTrue(self.receiver.wait_for(BATCHES, 300))
        accountant.end()
        self.assertEqual(agent.end(), 0)
        self.judge(agent, accountant, waiting)

    def judge(self, agent, accountant, waiting):
        self.assertEqual(accountant.wrong, [])
        self.assertGreater(len(accountant.moments), 30)
        self.assertGreater(accountant.most_in_flight["otlp"], 100)
        produced, delivered, lost = agent.totals()
        self.assertEqual(produced, delivered + lost)
        batches = self.receiver.batches
        self.assertEqual(len(batches), len(set(batches)), "a batch came twice")
        self.assertEqual(self.receiver.encodings, {"gzip"})
        self.assertEqual(self.receiver.mistakes, [])
        self.receiver.write(self.path("received.otlp"))
        samples, markers = self.count(self.path("received.otlp"))
        self.assertEqual((samples, markers), (delivered, lost))
        # Lost were at most samples for which the ring had no room, on a host that is very busy.
        for moment in accountant.moments:
            self.assertEqual(moment["lost"]["otlp"], moment["lost"]["history"])
        # The agent's own history holds the very same bytes, in the order they were sent.
        self.assertEqual(self.write_history(self.path("history.otlp")), batches)
        self.assertGreaterEqual(len(batches), BATCHES if LONG else 30)
        self.assertIn("the receiver takes batches again", agent.log())
        self.assert_protoc_agrees(batches, (samples, markers))
        print(f"{len(batches)} batches, {produced} samples produced, {delivered} delivered, {lost} "
              f"lost; {waiting} waited at the outage's end; {len(accountant.moments)} moments agreed",
              flush=True)

    def test_after_a_lost_reply_the_same_bytes_come_again(self):
        """Then the sender cannot know better, but the receiver can."""
        self.receiver.up()
        agent = self.begin()
        self.assertTrue(self.receiver.wait_for(5, 10))
        self.receiver.lose_reply = True
        before = len(self.receiver.batches)
        self.assertTrue(self.receiver.wait_for(before + 10, 15))
        self.assertEqual(agent.end(), 0)
        batches = self.receiver.batches
        once = list(dict.fromkeys(batches))
        self.assertEqual(len(once), len(batches) - 1)
        self.assertEqual(self.write_history(self.path("history.otlp")), once)
        produced, delivered, lost = agent.totals()
        self.assertEqual(produced, delivered + lost)
        self.assertEqual(self.count(self.path("history.otlp")), (delivered, lost))

    def test_without_a_spool_what_cannot_be_delivered_at_the_end_is_lost(self):
        agent = self.begin("--spool-size", "0")
        time.sleep(1)
        agent.process.terminate()
        self.assertEqual(agent.process.wait(15), 0)
        produced, delivered, lost = agent.totals()
        self.assertGreater(produced, 50)
        self.assertEqual((delivered, lost), (0, produced))

    def test_with_one_the_next_start_delivers_it(self):
        first = self.begin()
        time.sleep(1)
        self.assertEqual(first.end(), 0)
        produced, delivered, lost, kept = first.totals_of("otlp")
        self.assertGreater(kept, 50)
        self.assertEqual((produced, delivered), (kept + lost, 0))
        self.receiver.up()
        second = self.begin()
        accountant = self.account(second, from_the_start=False)
        self.wait_until_back()
        accountant.end()
        self.assertEqual(second.end(), 0)
        self.assertEqual(accountant.wrong, [])
        due, delivered, lost, left = second.totals_of("otlp")
        self.assertEqual((due, left), (delivered + lost, 0))
        self.receiver.write(self.path("received.otlp"))
        self.assertEqual(self.count(self.path("received.otlp"))[0], delivered)
        # Every batch of both runs, in order: the local history has the same.
        self.assertEqual(self.write_history(self.path("history.otlp")), self.receiver.batches)

    def test_the_end_delivers_at_once_what_waits(self):
        """A backoff of 5 s is cut short."""
        agent = self.begin()
        time.sleep(1)  # An attempt has failed.
        self.receiver.up()
        began = time.monotonic()
        self.assertEqual(agent.end(), 0)
        self.assertLess(time.monotonic() - began, 3)
        produced, delivered, lost = agent.totals()
        self.assertEqual(produced, delivered + lost)
        self.receiver.write(self.path("received.otlp"))
        self.assertEqual(self.count(self.path("received.otlp")), (delivered, lost))
        self.assertGreater(delivered, 50)


if __name__ == "__main__":
    agent_case.main()
