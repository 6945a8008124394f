#!/usr/bin/env python3
"""An outage, a SIGKILL and a restart before a real OpenTelemetry Collector: its file exporter holds
exactly one ended span for each batch that it got, with the batch's own time and whole families.

Usage: traces_collector_test.py COLLECTOR_DIRECTORY (built there on the first run)
Exit: 77 when there is no BPF here, or no Collector can be built; the reason is printed.
"""

import collections
import os
import pathlib
import sys
import time

import agent_case
import collector_case
from otlp_spans import named, spans_of, start_of_batch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "collector"))
import run_collector_test  # noqa: E402
from sample_types_test import batches_of  # noqa: E402

MORE_BATCHES = 6


def draw(spans, root):
    """The trace as lines of text, by time: offset, length, name, what is wrong."""
    lines = []

    def add(span, depth):
        wrong = f"  [{span.problem}]" if span.problem else ""
        begins, takes = (span.start - root.start) / 1e9, (span.end - span.start) / 1e9
        lines.append(f"{begins:8.3f} s {takes:8.3f} s  "
                     f"{'  ' * depth}{span.name}{wrong}")
        for child in sorted((s for s in spans if s.parent == span.span), key=lambda s: s.start):
            add(child, depth + 1)

    add(root, 0)
    return "\n".join(lines)


class TracesToCollector(agent_case.AgentCase):
    binary = None

    def setUp(self):
        super().setUp()
        self.collector = run_collector_test.Collector(self.binary, pathlib.Path(self.folder),
                                                      "traces.yaml")
        self.addCleanup(self.collector.stop)
        self.spin()

    def begin(self, protocol, port):
        agent = self.agent("--seal-interval", "1s", "-F", "49", environment={
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
            "OTEL_EXPORTER_OTLP_PROTOCOL": protocol, "OTEL_TRACES_EXPORTER": "otlp"})
        self.wait_until_sampling(agent, 30)
        return agent

    def spooled(self):
        folder = os.path.join(self.state, "spool")
        return sum(name.endswith(".batch") for _, _, names in os.walk(folder) for name in names)

    def outage(self, protocol, port):
        first = self.begin(protocol, port)
        self.assertIsNotNone(first.wait_for_log("does not take a batch", 60), first.log())
        until = time.monotonic() + 60
        while self.spooled() < 4 and time.monotonic() < until:
            time.sleep(0.2)
        time.sleep(3)  # Ended spans go to disk each second.
        first.process.kill()
        first.process.wait()
        killed_ns = time.time_ns()
        kept = self.spooled()
        self.assertGreaterEqual(kept, 4)
        self.assertTrue(self.collector.start(), self.collector.log.read_text(errors="replace"))
        second = self.begin(protocol, port)
        until = time.monotonic() + 60
        while self.spooled() > 0 and time.monotonic() < until:
            time.sleep(0.2)
        time.sleep(MORE_BATCHES)
        self.assertEqual(second.end(), 0)
        self.collector.stop()
        self.judge(kept, killed_ns, protocol)

    def judge(self, kept, killed_ns, protocol):
        batches = list(batches_of(self.collector.output))
        spans = spans_of(batches_of(self.collector.traces_output))
        by_id = {span.span: span for span in spans}
        self.assertEqual(len(by_id), len(spans), "a span came twice")
        ended = [span for span in named(spans, "batch")
                 if span.attributes["stackray.batch.result"] == "delivered"]
        # One for each batch, by the moment that its window was opened.
        self.assertEqual(collections.Counter(map(start_of_batch, batches)),
                         collections.Counter(span.start for span in ended))
        self.assertEqual(len({span.trace for span in ended}), len(ended))
        old = [span for span in ended if span.attributes["stackray.batch.recovered"]]
        self.assertEqual(len(old), kept)
        for span in ended:
            self.assertEqual(span.start < killed_ns, span in old)
            self.assertGreater(span.end, killed_ns)
            delivered = [child for child in spans if child.parent == span.span
                         and child.name == "attempt" and not child.is_error]
            self.assertEqual(len(delivered), 1)
        orphans = 0
        for span in spans:
            self.assertLessEqual(span.start, span.end)
            if not span.parent:
                continue
            parent = by_id.get(span.parent)
            orphans += parent is None
            if parent is not None:
                self.assertEqual(span.trace, parent.trace)
                self.assertLessEqual(parent.start, span.start)
                self.assertLessEqual(span.end, parent.end)
        self.assertEqual(orphans, 0)
        failed = [span for span in named(spans, "attempt") if span.is_error]
        self.assertGreater(len(failed), 0)
        root = by_id[failed[0].parent]
        print(f"{protocol}: {len(batches)} batches, {len(ended)} ended spans, {len(old)} of them of "
              f"the agent that was killed; {len(spans)} spans\n{draw(spans, root)}", flush=True)

    def test_grpc(self):
        self.outage("grpc", self.collector.grpc_port)

    def test_http(self):
        self.outage("http/protobuf", self.collector.http_port)

    def test_grpc_where_http_is_spoken(self):
        self.outage("grpc", self.collector.http_port)


if __name__ == "__main__":
    sys.exit(collector_case.main(TracesToCollector))
