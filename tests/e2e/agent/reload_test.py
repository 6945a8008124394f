#!/usr/bin/env python3
"""SIGHUP: right settings replace the old ones, wrong ones are said and change nothing."""

import json
import signal
import socket
import time

import agent_case
from otlp_receiver import OtlpReceiver


class Reload(agent_case.AgentCase):
    def setUp(self):
        super().setUp()
        self.config = self.path("agent.yaml")

    def configure(self, **settings):
        with open(self.config, "w", encoding="utf-8") as file:
            for name, value in settings.items():
                file.write(f"{name.replace('_', '-')}: {value}\n")

    def begin(self):
        agent = self.agent("--config", self.config)
        self.wait_until_sampling(agent)
        agent.find_page()
        return agent

    def reload(self, agent, words):
        agent.process.send_signal(signal.SIGHUP)
        self.assertIsNotNone(self.wait_for(agent, words), agent.log())

    def wait_for(self, agent, words):
        agent.began = time.monotonic()
        return agent.wait_for_log(words, 20)

    def assert_still_samples(self, agent):
        before = agent.samples()["produced"]
        until = time.monotonic() + 10
        while agent.samples()["produced"] == before and time.monotonic() < until:
            time.sleep(0.1)
        self.assertGreater(agent.samples()["produced"], before)
        self.assertEqual(agent.get("/healthz")[0], 200)

    def sampling_began(self, agent):
        return agent.log().count("info: sampling ")

    def test_wrong_settings_change_nothing(self):
        self.spin()
        self.configure(frequency=49, seal_interval="200ms")
        agent = self.begin()
        url = agent.url
        for settings, words in (
                ({"frequenzy": 9}, "did you mean frequency?"),
                ({"frequency": "many"}, "is not allowed"),
                ({"endpoint": "ftp://collector:1"}, 'scheme "ftp"'),
                ({"endpoint": "https://collector:1", "certificate": self.path("no.pem")}, "no.pem"),
                ({"frequency": 99, "cgroup": self.path("no-cgroup")}, "no-cgroup")):
            with self.subTest(settings=settings):
                self.configure(seal_interval="200ms", **settings)
                self.reload(agent, words)
                self.assertIn("the old ones stay", agent.log())
                self.assertEqual(agent.find_page(), url)
                self.assert_still_samples(agent)
                self.assertEqual(agent.status()["frequency_hz"], 49)
        self.assertEqual(self.sampling_began(agent), 1)
        self.assertEqual(agent.end(), 0)

    def ask(self, name):
        """What the agent answers to a request over its socket."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(20)
            client.connect(f"{self.state}/agent/control.sock")
            client.sendall(json.dumps({"stackray": 1, "request": name}).encode() + b"\n")
            with client.makefile("rb") as answers:
                return json.loads(answers.readline())

    def test_a_request_is_told_how_its_reload_went(self):
        self.configure(frequency=49, seal_interval="200ms")
        agent = self.begin()
        self.configure(frequenzy=9)
        refused = self.ask("reload")
        self.assertIs(refused["ok"], False)
        self.assertIn("did you mean frequency?", refused["error"])
        self.configure(frequency=97, seal_interval="200ms")
        self.assertIs(self.ask("reload")["ok"], True)
        self.assertEqual(agent.status()["frequency_hz"], 97)
        self.assertEqual(self.ask("dance")["code"], "INVALID_ARGUMENT")
        self.assertEqual(agent.end(), 0)

    def test_another_frequency_is_taken_and_nothing_is_lost_on_the_way(self):
        self.spin()
        receiver = OtlpReceiver()
        self.addCleanup(receiver.down)
        receiver.up()
        settings = {"seal_interval": "200ms", "page": "true", "endpoint": receiver.endpoint,
                    "protocol": "http/protobuf"}
        self.configure(frequency=49, **settings)
        agent = self.begin()
        accountant = self.account(agent)
        self.assertTrue(receiver.wait_for(3, 15))
        before = agent.samples()["produced"]
        self.configure(frequency=99, **settings)
        self.reload(agent, "settings reloaded")
        self.assertEqual(self.sampling_began(agent), 2)
        self.assertIn("at 99 Hz", agent.log())
        self.assertEqual(agent.status()["frequency_hz"], 99)  # At the same address.
        self.assertGreaterEqual(agent.samples()["produced"], before)  # Counts go on.
        self.assertTrue(receiver.wait_for(len(receiver.batches) + 3, 15))
        accountant.end()
        self.assertEqual(agent.end(), 0)
        self.assertEqual(accountant.wrong, [])
        produced, delivered, lost = agent.totals()
        self.assertEqual(produced, delivered + lost)
        # The history holds what both have sealed, and so does the receiver.
        self.assertEqual(self.write_history(self.path("kept.otlp")), receiver.batches)
        self.assertEqual(self.count_one_by_one(receiver.batches), (delivered, lost))

    def test_an_absent_receiver_keeps_its_queue_and_a_new_address_gets_it(self):
        """Without a spool: all that waits is in memory."""
        self.spin()
        absent, there = OtlpReceiver(), OtlpReceiver()
        self.addCleanup(there.down)
        there.up()
        settings = {"frequency": 199, "seal_interval": "200ms", "page": "true", "spool_size": 0,
                    "protocol": "http/protobuf"}
        self.configure(endpoint=absent.endpoint, **settings)
        agent = self.begin()
        accountant = self.account(agent)
        self.assertIsNotNone(self.wait_for(agent, "does not take a batch"))
        self.configure(endpoint=absent.endpoint, history_size="8MiB", **settings)
        self.reload(agent, "settings reloaded")
        self.assertEqual(self.sampling_began(agent), 1)
        end = time.monotonic() + 20
        while (waiting := agent.samples()["in_flight"]["otlp"]) <= 50 and time.monotonic() < end:
            time.sleep(0.1)
        self.assertGreater(waiting, 50)
        self.configure(endpoint=there.endpoint, history_size="8MiB", **settings)
        agent.process.send_signal(signal.SIGHUP)
        self.assertTrue(there.wait_for(5, 20))
        accountant.end()
        self.assertEqual(agent.end(), 0)
        self.assertEqual(accountant.wrong, [])
        self.assertEqual(self.sampling_began(agent), 1)
        produced, delivered, lost = agent.totals()
        self.assertEqual(produced, delivered + lost)
        there.write(self.path("received.otlp"))
        self.assertEqual(self.count(self.path("received.otlp")), (delivered, lost))
        self.assertEqual(self.write_history(self.path("kept.otlp")), there.batches)

    def test_a_receiver_that_comes_later_owes_nothing_for_before(self):
        self.spin()
        receiver = OtlpReceiver()
        self.addCleanup(receiver.down)
        receiver.up()
        settings = {"frequency": 199, "seal_interval": "200ms", "page": "true"}
        self.configure(**settings)
        agent = self.begin()
        accountant = self.account(agent, from_the_start=False)
        self.assert_still_samples(agent)
        # What is in the open batch when the receiver comes is owed to it: one has to be sealed
        # before.
        end = time.monotonic() + 20
        while agent.samples()["delivered"].get("history", 0) == 0 and time.monotonic() < end:
            time.sleep(0.1)
        self.configure(endpoint=receiver.endpoint, protocol="http/protobuf", **settings)
        self.reload(agent, "settings reloaded")
        self.assertTrue(receiver.wait_for(5, 15))
        now = agent.samples()
        self.assertLess(now["due"]["otlp"], now["produced"])
        self.configure(**settings)  # And it goes again.
        agent.process.send_signal(signal.SIGHUP)
        self.assertIsNotNone(self.wait_for(agent, "receiver otlp is configured no longer"))
        self.assert_still_samples(agent)
        self.assertNotIn("otlp", agent.samples()["due"])
        accountant.end()
        self.assertEqual(agent.end(), 0)
        self.assertEqual(accountant.wrong, [])
        batches = self.write_history(self.path("kept.otlp"))
        first = batches.index(receiver.batches[0])
        self.assertEqual(batches[first:first + len(receiver.batches)], receiver.batches)


if __name__ == "__main__":
    agent_case.main()
