#!/usr/bin/env python3
"""An agent that samples, and a real OpenTelemetry Collector: what the Collector has understood and
written is, sample by sample, what the agent keeps in its own history.

Usage: collector_test.py COLLECTOR_DIRECTORY (built there on the first run)
Exit: 77 when there is no BPF here, or no Collector can be built; the reason is printed.
"""

import os
import pathlib
import subprocess
import sys
import time

import agent_case
import collector_case

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "collector"))
import run_collector_test  # noqa: E402

EXPORT_BATCHES = os.environ.get("STACKRAY_EXPORT_BATCHES", "build/export_batches")
BATCHES = 12


class AgentToCollector(agent_case.AgentCase):
    binary = None

    def setUp(self):
        super().setUp()
        self.collector = run_collector_test.Collector(self.binary, pathlib.Path(self.folder))
        self.addCleanup(self.collector.stop)
        self.assertTrue(self.collector.start(), self.collector.log.read_text(errors="replace"))
        self.spin()
        self.spin("sh", "-c", "while :; do ls -lR /usr/include >/dev/null; done")

    def send(self, protocol, port, compression):
        agent = self.agent("--page", "--seal-interval", "500ms", "-F", "199", "--timestamps",
                           "--endpoint", f"http://127.0.0.1:{port}", "--protocol", protocol,
                           "--compression", compression)
        self.wait_until_sampling(agent)
        accountant = self.account(agent)
        while len(self.write_history(self.path("kept.otlp"))) < BATCHES and agent.process.poll() is None:
            time.sleep(0.2)
        accountant.end()
        self.assertEqual(agent.end(), 0)
        self.collector.stop()
        self.assertEqual(accountant.wrong, [])
        produced, delivered, lost = agent.totals()
        self.assertEqual(produced, delivered + lost)
        kept, collected = self.path("kept.otlp"), str(self.collector.output)
        self.assertGreaterEqual(len(self.write_history(kept)), BATCHES)
        self.assertEqual(self.count(kept), (delivered, lost))
        # The Collector writes resources' keys as indices, which our own rules do not allow in what
        # we send; so its file is not checked by them, but read and compared.
        compared = subprocess.run([EXPORT_BATCHES, "compare", kept, collected], timeout=300,
                                  capture_output=True, text=True, check=False)
        self.assertEqual(compared.returncode, 0, compared.stdout + compared.stderr)
        print(f"{protocol}, {compression}: {delivered} samples delivered, {lost} lost; "
              f"{compared.stdout.strip()}", flush=True)

    def test_grpc_gzip(self):
        self.send("grpc", self.collector.grpc_port, "gzip")

    def test_grpc_plain(self):
        self.send("grpc", self.collector.grpc_port, "none")

    def test_http_gzip(self):
        self.send("http/protobuf", self.collector.http_port, "gzip")

    def test_http_plain(self):
        self.send("http/protobuf", self.collector.http_port, "none")

    def test_http_zstd(self):
        self.send("http/protobuf", self.collector.http_port, "zstd")


if __name__ == "__main__":
    sys.exit(collector_case.main(AgentToCollector))
