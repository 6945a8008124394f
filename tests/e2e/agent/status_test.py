#!/usr/bin/env python3
"""`agent --status`, /metrics and the batches tell the same; and the next agent says how long nobody
sampled."""

import os
import random
import re
import shutil
import signal
import struct
import subprocess
import time
import urllib.request

import agent_case
import stackray_command
from otlp_receiver import OtlpReceiver

MOMENTS = 25


def metrics_of(text):
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
            for line in text.splitlines() if line and not line.startswith("#")}


class Status(agent_case.AgentCase):
    def begin(self, *arguments, **options):
        self.spin()
        agent = self.agent(*arguments, **options)
        self.wait_until_sampling(agent)
        agent.find_page()
        return agent

    def read(self, path):
        with open(path, "rb") as file:
            return file.read()

    def wait_for(self, condition, seconds=20):
        until = time.monotonic() + seconds
        while not condition() and time.monotonic() < until:
            time.sleep(0.05)
        return condition()

    def both(self, agent):
        """The status and the metrics of one and the same snapshot."""
        for _ in range(50):
            status = agent.status_document(self.state)
            metrics = metrics_of(agent.get("/metrics")[1])
            if metrics["stackray_snapshot_sequence"] == status["sequence"]:
                return status, metrics
        return self.fail("never the same sequence number")

    def samples_of(self, batch):
        """Samples of one batch without markers, as `stackray convert` reads it."""
        path = self.path("one.otlp")
        with open(path, "wb") as file:
            file.write(struct.pack(">I", len(batch)) + batch)
        answer = stackray_command.run("convert", path, path + ".folded")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return agent_case.sum_of_folded(path + ".folded")[0]

    def test_the_three_places_agree_at_random_moments(self):
        receiver = OtlpReceiver()
        self.addCleanup(receiver.down)
        receiver.up()
        agent = self.begin("--page", "--seal-interval", "300ms", "-F", "199", "--protocol",
                           "http/protobuf", "--endpoint", receiver.endpoint)
        chance = random.Random(4)
        moments = []
        while len(moments) < MOMENTS:
            time.sleep(chance.uniform(0, 0.25))
            before = len(receiver.batches)
            status, metrics = self.both(agent)
            moments.append((before, status, metrics))
        self.assertEqual(agent.end(), 0)
        sums = [0]
        for batch in receiver.batches:
            sums.append(sums[-1] + self.samples_of(batch))
        for _, status, metrics in moments:
            self.assertEqual(metrics["stackray_samples_produced_total"], status["sampling"]["produced"])
            self.assertEqual([taker["name"] for taker in status["receivers"]], ["history", "otlp"])
            for taker in status["receivers"]:
                label = f'{{receiver="{taker["name"]}"}}'
                for name in ("due", "delivered"):
                    self.assertEqual(metrics[f"stackray_samples_{name}_total{label}"], taker[name])
                self.assertEqual(metrics[f"stackray_samples_in_flight{label}"], taker["in_flight"])
                lost = sum(value for name, value in metrics.items()
                           if name.startswith(f"stackray_samples_lost_total{label[:-1]}"))
                self.assertEqual(lost, sum(taker["lost"].values()))
                self.assertEqual(taker["due"],
                                 taker["delivered"] + sum(taker["lost"].values()) + taker["in_flight"])
                # What it has delivered are whole batches, the first so many of those that arrived.
                self.assertIn(taker["delivered"], sums)
        delivered = [status["receivers"][1]["delivered"] for _, status, _ in moments]
        self.assertEqual(delivered, sorted(delivered))
        self.assertGreater(len(set(delivered)), 5)
        # Nothing is delivered that was not there: a snapshot is at most as new as the answer.
        self.assertEqual(agent.totals()[1], sums[-1])
        print(f"{len(moments)} moments, {len(receiver.batches)} batches, {sums[-1]} samples", flush=True)

    def test_what_it_says(self):
        agent = self.begin("-F", "49", environment={"OTEL_RESOURCE_ATTRIBUTES": "k8s.node.name=n1"})
        status = agent.status_document(self.state)
        self.assertEqual(status["format"], "stackray-status/1")
        self.assertEqual(status["pid"], agent.process.pid)
        self.assertEqual(status["sampling"]["frequency_hz"], 49)
        self.assertIsNone(status["unclean_stop_before"])
        self.assertGreater(status["costs"]["memory_bytes"]["bpf maps"], 0)
        self.assertGreater(status["costs"]["memory_bytes"]["resident"],
                           status["costs"]["memory_bytes"]["anonymous"])
        self.assertGreater(status["costs"]["cpu_seconds"], 0)
        self.assertTrue(status["costs"]["bpf"])
        settings = {setting["key"]: setting for setting in status["settings"]}
        self.assertEqual(settings["frequency"]["origin"], "--frequency")
        self.assertEqual(settings["resource-attributes"]["origin"], "OTEL_RESOURCE_ATTRIBUTES")
        self.assertEqual(settings["history-size"]["origin"], "default")
        self.assertTrue(self.wait_for(lambda: agent.samples()["produced"] > 20))
        self.assertEqual(agent.end(), 0)
        attributes = self.attributes_of_resources()
        self.assertIn("k8s.node.name", attributes)

    def attributes_of_resources(self):
        """As protobuf's own compiler reads the batches of the history; or as text, without it."""
        batches = self.write_history(self.path("kept.otlp"))
        self.assertTrue(batches)
        return b"".join(batches).decode("utf-8", "replace")

    def test_without_an_agent(self):
        answer = stackray_command.run("agent", "--status", "--state-dir", self.state,
                                      env=agent_case.clean_environment())
        self.assert_failed(answer, 1, f"no agent runs whose state is in {self.state}", "--state-dir")
        agent = self.begin()
        self.assertEqual(agent.end(), 0)
        answer = stackray_command.run("agent", "--status", "--state-dir", self.state,
                                      env=agent_case.clean_environment())
        self.assert_failed(answer, 1, "no agent runs")

    def test_the_gap_after_a_kill(self):
        first = self.begin("--seal-interval", "200ms")
        heartbeat = os.path.join(self.state, "agent", "heartbeat")
        self.assertTrue(self.wait_for(lambda: b" running " in self.read(heartbeat)))
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
        killed = time.monotonic()
        time.sleep(3)
        second = self.begin("--seal-interval", "200ms")
        gap = time.monotonic() - killed
        said = re.search(rf"agent before this one \(pid {first.process.pid}\) did not stop in order: "
                         r"nothing was sampled for ([\d.]+) s", second.log())
        self.assertIsNotNone(said, second.log())
        # The last sign is two seconds old at most, where this host lets the agent run.
        self.assertGreaterEqual(float(said.group(1)), 3)  # Said with one decimal.
        self.assertLess(float(said.group(1)), gap + 30)
        status, metrics = self.both(second)
        self.assertAlmostEqual(status["unclean_stop_before"]["gap_seconds"], float(said.group(1)),
                               delta=0.1)
        self.assertEqual(metrics["stackray_unclean_stop_gap_seconds"],
                         status["unclean_stop_before"]["gap_seconds"])
        self.assertEqual(second.end(), 0)
        third = self.begin()
        self.assertNotIn("did not stop in order", third.log())
        self.assertIsNone(third.status_document(self.state)["unclean_stop_before"])
        self.assertNotIn("unclean_stop", third.get("/metrics")[1])
        self.assertEqual(third.end(), 0)

    def test_metrics_without_a_page_and_for_other_hosts(self):
        receiver = OtlpReceiver()
        agent = self.begin("--endpoint", receiver.endpoint, "--metrics-listen", "0.0.0.0:0")
        self.assertEqual(agent.get("/metrics")[0], 200)
        self.assertEqual(agent.get("/healthz"), (200, "ok\n"))
        self.assertEqual(agent.get("/")[0], 404)
        self.assertEqual(agent.get("/api/profile")[0], 503)
        self.assertFalse(os.path.exists(os.path.join(self.state, "history")))
        port = self.open_port(agent)
        address = f"http://127.0.0.1:{port}"
        request = urllib.request.Request(address + "/metrics", headers={"Host": "prometheus.example"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            self.assertIn(b"stackray_samples_produced_total", answer.read())
        for path in ("/", "/api/status", "/api/profile"):
            with self.subTest(path=path), self.assertRaises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(address + path, timeout=20)
            refused.exception.close()
            self.assertEqual(refused.exception.code, 404)
        self.assertEqual(agent.end(), 0)

    def open_port(self, agent):
        """Of the socket that listens on every address."""
        sockets = set()
        for link in os.listdir(f"/proc/{agent.process.pid}/fd"):
            try:
                target = os.readlink(f"/proc/{agent.process.pid}/fd/{link}")
            except FileNotFoundError:  # Closed meanwhile.
                continue
            sockets.update(re.findall(r"socket:\[(\d+)\]", target))
        with open("/proc/net/tcp", encoding="ascii") as file:
            rows = [line.split() for line in file][1:]
        ports = [int(row[1].split(":")[1], 16) for row in rows
                 if row[3] == "0A" and row[9] in sockets and row[1].startswith("00000000:")]
        self.assertEqual(len(ports), 1)
        return ports[0]


class Promtool(agent_case.AgentCase):
    def test_promtool_accepts_the_metrics(self):
        promtool = shutil.which("promtool")
        if promtool is None:
            self.skipTest("no promtool here (Debian package prometheus)")
        self.spin()
        agent = self.agent("--page", "--seal-interval", "200ms", "--endpoint", "http://127.0.0.1:9")
        self.wait_until_sampling(agent)
        agent.find_page()
        time.sleep(1)
        text = agent.get("/metrics")[1]
        self.assertEqual(agent.end(), 0)
        self.assertGreater(len(metrics_of(text)), 50)
        answer = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True,
                                text=True, check=False, timeout=60)
        self.assertEqual((answer.returncode, answer.stdout, answer.stderr), (0, "", ""))


if __name__ == "__main__":
    agent_case.main()
