#!/usr/bin/env python3
"""Links and labels through a real OpenTelemetry Collector: what its file exporter wrote says of
each sample which request it belongs to, as the program itself has logged it.

Usage: context_collector_test.py COLLECTOR_DIRECTORY (built there on the first run)
Exit: 77 when there is no BPF here, or no Collector can be built; the reason is printed.
"""

import os
import pathlib
import re
import struct
import subprocess
import sys

import agent_case
import collector_case
import stackray_command

HERE = pathlib.Path(__file__).resolve().parent
LIVE = HERE.parent.parent / "live"
sys.path[:0] = [str(HERE.parent / "collector"), str(LIVE / "context")]
import judge  # noqa: E402
import run_collector_test  # noqa: E402
from sample_types_test import batches_of  # noqa: E402

ROUTE = "process.context.label.http.route"
SECONDS = 24
LEAST_RIGHT = 200


class ContextToCollector(agent_case.AgentCase):
    binary = None

    def start_writer(self):
        source, program = LIVE / "programs" / "context", self.path("writer")
        subprocess.run(["gcc", "-O2", "-o", program, str(source / "writer.c"), str(source / "slot.c"), "-ldl",
                        "-pthread"], check=True)
        return subprocess.Popen([program, str(SECONDS), self.path("log"), "1"])

    def collected(self, name):
        """The Collector's batches as a .json file of stackray's, checked for links and labels."""
        otlp, output = self.path(name + ".otlp"), self.path(name + ".json")
        with open(otlp, "wb") as file:
            for message in batches_of(pathlib.Path(self.folder) / "collected.otlp"):
                file.write(struct.pack(">I", len(message)) + message)
        # It writes resources' keys as indices, which other rules do not allow in what we send.
        checked = stackray_command.run("check", otlp)
        broken = set(re.findall(r"^batch \d+: ([\w-]+): ", checked.stdout, re.MULTILINE))
        self.assertFalse(broken & {"link", "context-labels"}, checked.stdout[-2000:])
        converted = stackray_command.run("convert", otlp, output)
        self.assertEqual(converted.returncode, 0, converted.stderr)
        return output

    def send(self, protocol):
        collector = run_collector_test.Collector(self.binary, pathlib.Path(self.folder))
        self.addCleanup(collector.stop)
        self.assertTrue(collector.start(), collector.log.read_text(errors="replace")[-2000:])
        port = collector.grpc_port if protocol == "grpc" else collector.http_port
        agent = self.agent("--seal-interval", "1s", "-F", "97", "--timestamps", "--attributes", "full",
                           "--context-labels", "http.route", environment={
                               "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
                               "OTEL_EXPORTER_OTLP_PROTOCOL": protocol})
        self.wait_until_sampling(agent, 60)
        writer = self.start_writer()
        self.addCleanup(writer.kill)
        writer.wait(timeout=120)
        self.assertEqual(agent.end(120), 0)
        collector.stop()
        samples = list(judge.samples_of(self.collected(protocol.split("/")[0]), writer.pid))
        # How soon it is found depends on what else the machine does.
        begin = min((sample.time for sample in samples if sample.trace), default=0)
        verdict = judge.judge(samples, judge.read_log(self.path("log")), ROUTE, begin)
        print(f"{protocol}: {verdict.text()}", flush=True)
        self.assertEqual((verdict.wrong, verdict.missing), (0, 0), verdict.text())
        self.assertGreater(verdict.right, LEAST_RIGHT, verdict.text())
        self.assertEqual(verdict.labels_right, verdict.right)
        os.remove(collector.output)

    def test_grpc(self):
        self.send("grpc")

    def test_http(self):
        self.send("http/protobuf")


if __name__ == "__main__":
    sys.exit(collector_case.main(ContextToCollector))
