#!/usr/bin/env python3
"""Reports as log records through a real OpenTelemetry Collector: its file has the manifest, its
attributes, and the profile's batches under the same name.

Usage: report_collector_test.py COLLECTOR_DIRECTORY (built there on the first run)
Exit: 77 when there is no BPF here, or no Collector can be built; the reason is printed.
"""

import json
import os
import pathlib
import sys

import collector_case
import otlp_spans
import report_case
from report_ways_test import RECORDS, text_attributes

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "collector"))
import run_collector_test  # noqa: E402
from sample_types_test import batches_of  # noqa: E402

WARN, INFO = 13, 9  # LogRecord's severity_number.


class ReportToCollector(report_case.ReportCase):
    binary = None

    def send(self, protocol):
        collector = run_collector_test.Collector(self.binary, pathlib.Path(self.folder),
                                                 "traces.yaml")
        self.addCleanup(collector.stop)
        self.assertTrue(collector.start(), collector.log.read_text(errors="replace")[-2000:])
        port = collector.grpc_port if protocol == "grpc" else collector.http_port
        agent = self.begin("  send: true", "  triggers:",
                           f"    - {{kind: file, name: asked, path: {self.trigger}}}",
                           arguments=("--page", "--endpoint", f"http://127.0.0.1:{port}",
                                      "--protocol", protocol))
        answer = self.report(str(self.spin()), "--trigger-name", "slow")
        self.assertEqual(answer.returncode, 0, answer.stderr + agent.log())
        with open(self.trigger, "w", encoding="utf-8"):
            pass
        self.assertTrue(self.until(lambda: len(self.archives()) == 2), agent.log())
        self.assertTrue(self.until(lambda: os.path.exists(collector.logs_output)))
        self.assertEqual(agent.end(), 0)
        collector.stop()
        records = [record for message in batches_of(collector.logs_output)
                   for record in otlp_spans.each(message, *RECORDS)]
        self.assertEqual(len(records), 2)
        profiles = list(batches_of(collector.output))
        for record in records:
            self.judge(record, profiles)
        print(f"{protocol}: 2 records, {len(profiles)} batches of profiles", flush=True)

    def judge(self, record, profiles):
        attributes = text_attributes(record)
        name = attributes["stackray.report.name"]
        path = os.path.join(self.state, "reports", name + ".tar.zst")
        manifest = json.loads(self.unpack(path)["manifest.json"])
        self.assertEqual(json.loads(otlp_spans.first(record, 5, 1)), manifest)
        self.assertEqual(otlp_spans.first(record, 12), b"stackray.report")
        self.assertEqual(attributes["stackray.report.bytes"], os.path.getsize(path))
        self.assertEqual(attributes["stackray.report.summary"], manifest["summary"])
        is_asked = attributes["stackray.report.trigger"] == "slow"
        self.assertEqual(otlp_spans.first(record, 2), INFO if is_asked else WARN)
        linked = [batch for batch in profiles if f"(capture {name})".encode() in batch]
        self.assertTrue(linked, name)

    def test_grpc(self):
        self.send("grpc")

    def test_http(self):
        self.send("http/protobuf")


if __name__ == "__main__":
    sys.exit(collector_case.main(ReportToCollector))
