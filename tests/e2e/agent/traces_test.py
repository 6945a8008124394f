#!/usr/bin/env python3
"""The agent's own traces: one span for each batch, over an outage, a SIGKILL and a restart, with
its children; captures, start and reload; and profiles that no receiver of traces disturbs."""

import os
import signal
import time

import agent_case
import stackray_command
from otlp_receiver import OtlpReceiver
from otlp_spans import named, resources_of, spans_of, start_of_batch


class TracesCase(agent_case.AgentCase):
    def setUp(self):
        super().setUp()
        self.receiver = OtlpReceiver()
        self.addCleanup(self.receiver.down)
        self.spin()

    def begin(self, *arguments, environment=()):
        agent = self.agent("--page", "--seal-interval", "500ms", "-F", "49", *arguments, environment={
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.receiver.endpoint,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", "OTEL_TRACES_EXPORTER": "otlp",
            **dict(environment)})
        self.wait_until_sampling(agent, 30)
        agent.find_page()
        return agent

    def spans(self):
        return spans_of(self.receiver.traces)

    def until(self, condition, seconds=20):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def spooled(self):
        folder = os.path.join(self.state, "spool")
        return sum(name.endswith(".batch") for _, _, names in os.walk(folder) for name in names)

    def batch_spans(self):
        """The one span of each batch that was delivered, by the batch's number."""
        spans = self.spans()
        by_id = {}
        for span in spans:
            self.assertNotIn(span.span, by_id, "a span came twice")
            by_id[span.span] = span
        found = {}
        for number, header in enumerate(self.receiver.traceparents):
            version, trace, attempt, flags = header.split("-")
            self.assertEqual((version, flags), ("00", "01"))
            ours = [span for span in named(spans, "batch") if span.trace == trace]
            self.assertEqual(len(ours), 1, f"batch {number} has {len(ours)} spans")
            self.assertEqual(by_id[attempt].name, "attempt")
            self.assertEqual(by_id[attempt].parent, ours[0].span)
            found[number] = ours[0]
        self.assertEqual(len({span.trace for span in found.values()}), len(found))
        # And none besides: each batch that was delivered is one that arrived.
        self.assertEqual(sorted(span.span for span in found.values()),
                         sorted(span.span for span in named(spans, "batch")
                                if span.attributes["stackray.batch.result"] == "delivered"))
        return found

    def judge_times(self, found):
        """Spans lie in their parents, and begin where the batch's window does."""
        spans = self.spans()
        by_id = {span.span: span for span in spans}
        for span in spans:
            self.assertLessEqual(span.start, span.end)
            if span.parent in by_id:
                parent = by_id[span.parent]
                self.assertEqual(span.trace, parent.trace)
                self.assertGreaterEqual(span.start, parent.start, (span, parent))
                self.assertLessEqual(span.end, parent.end, (span, parent))
        for number, span in found.items():
            self.assertEqual(span.start, start_of_batch(self.receiver.batches[number]))
            self.assertEqual(span.parent, "")


class Traces(TracesCase):
    def test_each_batch_is_one_span_with_its_children(self):
        self.receiver.up()
        agent = self.begin()
        self.assertTrue(self.receiver.wait_for(4, 30))
        agent.process.send_signal(signal.SIGHUP)
        self.assertIsNotNone(agent.wait_for_log("settings reloaded", 30), agent.log())
        self.assertTrue(self.receiver.wait_for(len(self.receiver.batches) + 2, 30))
        self.assertEqual(agent.end(), 0)
        found = self.batch_spans()
        self.judge_times(found)
        spans = self.spans()
        for span in found.values():
            children = [child for child in spans if child.parent == span.span]
            if not span.attributes["stackray.batch.samples"]:
                continue  # Markers alone, of what a busy machine lost: nothing was sealed.
            self.assertEqual(sorted(child.name for child in children), ["attempt", "seal", "spool"])
            self.assertFalse(any(child.is_error for child in children))
            self.assertEqual(span.attributes["stackray.receiver.name"], "otlp")
            self.assertEqual(span.attributes["stackray.batch.attempts"], 1)
            self.assertFalse(span.attributes["stackray.batch.recovered"])
            attempt = named(children, "attempt")[0]
            self.assertEqual(attempt.kind, 3)
            self.assertEqual(attempt.attributes["http.response.status_code"], 200)
            self.assertEqual(attempt.attributes["server.port"], self.receiver.port)
        starts, reloads = named(spans, "start"), named(spans, "reload")
        self.assertEqual((len(starts), len(reloads)), (1, 1))
        self.assertEqual([child.name for child in spans if child.parent == starts[0].span],
                         ["load", "list", "first sample"])
        self.assertFalse(reloads[0].is_error)
        for resource in resources_of(self.receiver.traces):
            self.assertEqual(resource["service.name"], "stackray")
            self.assertEqual(resource["process.pid"], agent.process.pid)
        samples = sum(span.attributes["stackray.batch.samples"] for span in found.values())
        self.assertEqual(samples, agent.totals()[1])

    def test_an_outage_a_kill_and_a_restart_are_one_span(self):
        first = self.begin()  # Nobody is there.
        self.assertIsNotNone(first.wait_for_log("does not take a batch", 60), first.log())
        self.assertTrue(self.until(lambda: self.spooled() >= 4, 60))
        time.sleep(3)  # Ended spans go to disk each second.
        first.process.kill()
        first.process.wait()
        killed_ns = time.time_ns()
        kept = self.spooled()
        self.receiver.up()
        up_ns = time.time_ns()
        second = self.begin()
        self.assertTrue(self.receiver.wait_for(kept + 2, 60))
        self.assertEqual(second.end(), 0)
        found = self.batch_spans()
        self.judge_times(found)
        old = {number: span for number, span in found.items()
               if span.attributes["stackray.batch.recovered"]}
        self.assertEqual(sorted(old), list(range(kept)))  # They went first.
        for span in old.values():
            self.assertLess(span.start, killed_ns)  # Its window was the first agent's,
            self.assertGreater(span.end, up_ns)     # and its end the second one's.
        failed = [span for span in named(self.spans(), "attempt") if span.is_error]
        self.assertGreater(len(failed), 0)  # Of the first agent, kept on disk over the kill.
        for span in failed:
            self.assertIn(span.parent, {batch.span for batch in old.values()})
            self.assertEqual(span.attributes["error.type"], "no answer")
            self.assertLess(span.end, killed_ns)
        print(f"{len(found)} batches, {len(old)} over the kill; {len(failed)} failed attempts",
              flush=True)

    def test_a_capture_is_a_span_and_its_batches_point_to_it(self):
        self.receiver.up()
        agent = self.begin()
        answer = stackray_command.run(
            "capture", "look", "-a", "-d", "2", "-F", "99", "--send", "-o", self.path("look.otlp"),
            "--state-dir", self.state, env=agent_case.clean_environment())
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual(agent.end(), 0)
        captures = named(self.spans(), "capture")
        self.assertEqual(len(captures), 1)
        self.assertEqual(captures[0].attributes["stackray.capture.name"], "look")
        self.assertEqual(captures[0].attributes["stackray.capture.end"], "finished")
        self.assertAlmostEqual((captures[0].end - captures[0].start) / 1e9, 2, delta=3)
        linked = [span for span in named(self.spans(), "batch") if span.links]
        self.assertGreater(len(linked), 0)
        for span in linked:
            self.assertEqual(span.links, [(captures[0].trace, captures[0].span)])
        self.assertEqual(sum(span.attributes["stackray.batch.samples"] for span in linked),
                         captures[0].attributes["stackray.capture.samples"])

    def test_off_by_default_and_by_its_switch(self):
        self.receiver.up()
        for environment in ({"OTEL_TRACES_EXPORTER": ""}, {"OTEL_SDK_DISABLED": "True"},
                            {"OTEL_TRACES_SAMPLER": "always_off"}):
            agent = self.begin(environment=environment)
            before = len(self.receiver.batches)
            self.assertTrue(self.receiver.wait_for(before + 2, 30))
            self.assertEqual(agent.end(), 0)
            self.assertEqual(self.spans(), [], environment)
            flags = {header and header[-2:] for header in self.receiver.traceparents[before:]}
            self.assertEqual(flags, {"00"} if "OTEL_TRACES_SAMPLER" in environment else {None})


class Disturbed(TracesCase):
    """A receiver of traces that is absent, hangs or refuses."""

    def judge(self, traces):
        self.receiver.up()
        agent = self.begin(environment={
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"http://127.0.0.1:{traces.port}/v1/traces"})
        accountant = self.account(agent)
        self.assertTrue(self.receiver.wait_for(8, 60))
        status = agent.status_document(self.state)["traces"]
        accountant.end()
        began = time.monotonic()
        self.assertEqual(agent.end(), 0)
        self.assertLess(time.monotonic() - began, 10)
        produced, delivered, lost = agent.totals()
        self.assertEqual((produced, accountant.wrong), (delivered + lost, []))
        self.receiver.write(self.path("received.otlp"))
        self.assertEqual(self.count(self.path("received.otlp")), (delivered, lost))
        self.assertEqual(status["delivered"], 0)
        self.assertEqual(status["spans"], status["in_flight"] + sum(status["lost"].values()))
        self.assertGreater(status["spans"], 10)
        return status

    def test_absent(self):
        self.judge(OtlpReceiver())

    def test_hangs(self):
        traces = OtlpReceiver()
        self.addCleanup(traces.down)
        traces.traces_status = None
        traces.up()
        self.judge(traces)

    def test_refuses(self):
        traces = OtlpReceiver()
        self.addCleanup(traces.down)
        traces.traces_status = 400
        traces.up()
        self.assertGreater(self.judge(traces)["lost"]["rejected"], 0)


if __name__ == "__main__":
    agent_case.main()
