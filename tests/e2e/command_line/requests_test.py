#!/usr/bin/env python3
"""Requests of a file: convert, view and check of one trace, span or label, and groups as frames.
The recording is of a program that says what its threads work on (context/writer.c)."""

import collections
import json
import os
import re
import subprocess
import unittest

from stackray_command import SamplingCase, run, started

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "..", "..", "live", "programs", "context")
ROUTE = "process.context.label.http.route"
NO_TRACE = "0123456789abcdef0123456789abcdef"


def samples_of(path):
    """(trace, span, route, events) of each sample of a .json file, in the order of the file."""
    with open(path, encoding="utf-8") as file:
        for batch in map(json.loads, file):
            dictionary = batch["dictionary"]
            strings, links = dictionary["stringTable"], dictionary.get("linkTable", [{}])
            attributes = [(strings[int(entry.get("keyStrindex", 0))], entry.get("value", {}).get("stringValue"))
                          for entry in dictionary["attributeTable"]]
            for resource in batch["resourceProfiles"]:
                for scope in resource["scopeProfiles"]:
                    for sample in (one for profile in scope["profiles"] for one in profile["samples"]):
                        link = links[int(sample.get("linkIndex", 0))]
                        said = dict(attributes[int(index)] for index in sample.get("attributeIndices", []))
                        yield (link.get("traceId", ""), link.get("spanId", ""), said.get(ROUTE),
                               len(sample.get("timestampsUnixNano", [])))


def sums(samples, part):
    found = collections.Counter()
    for sample in samples:
        found[sample[part]] += sample[3]
    return found


class Requests(SamplingCase):
    def recorded(self):
        """A .otlp file, and what all of its samples say."""
        program = self.path("writer")
        done = subprocess.run(["gcc", "-O1", "-g", "-rdynamic", "-o", program, f"{SOURCES}/writer.c",
                               f"{SOURCES}/slot.c", "-pthread", "-ldl"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        otlp, everything = self.path("all.otlp"), self.path("all.json")
        with started(program, "60", self.path("log"), "1") as process:
            answer = run("record", "-F", "499", "-p", str(process.pid), "-d", "6", "--group-by", "label:http.route",
                         "-o", otlp)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("by http.route: ", answer.stderr)
        self.assertEqual(run("convert", otlp, everything).returncode, 0)
        samples = list(samples_of(everything))
        self.assertGreater(len(sums(samples, 0)), 20)
        self.assertGreater(len(sums(samples, 2)), 2)
        return otlp, samples

    def chosen(self, otlp, *flags):
        part = self.path("part.json")
        answer = run("convert", otlp, part, *flags)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return list(samples_of(part))

    def test_parts_and_groups(self):
        otlp, samples = self.recorded()
        trace = next(one for one, _ in sums(samples, 0).most_common() if one)
        of_trace = [sample for sample in samples if sample[0] == trace]
        self.assertEqual(sums(self.chosen(otlp, "--trace", trace.upper()), 1), sums(of_trace, 1))
        span = of_trace[0][1]
        self.assertEqual(sums(self.chosen(otlp, "--trace", trace, "--span", span), 1), {span: sums(samples, 1)[span]})
        routes = sums(samples, 2)
        route = next(one for one, _ in routes.most_common() if one)
        self.assertEqual(sums(self.chosen(otlp, "--label", f"http.route={route}"), 2), {route: routes[route]})
        self.compare_check(otlp, route, routes[route])
        self.compare_groups(otlp, routes)
        self.refuse_what_is_not_there(otlp)

    def compare_check(self, otlp, route, events):
        answer = run("check", otlp, "--label", f"http.route={route}")
        self.assertEqual(answer.returncode, 0, answer.stdout)
        self.assertEqual(int(re.match(r"([\d,]+) sample", answer.stdout).group(1).replace(",", "")), events)

    def compare_groups(self, otlp, routes):
        answer = run("convert", otlp, "-", "--group-by", "label:http.route")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        seen = collections.Counter()
        for line in answer.stdout.splitlines():
            stack, _, count = line.rpartition(" ")
            seen[stack.split(";")[1]] += int(count)
        wanted = collections.Counter({f"http.route={route}" if route else "[no http.route]": events
                                      for route, events in routes.items()})
        self.assertEqual(seen, wanted)

    def refuse_what_is_not_there(self, otlp):
        part = self.path("none.html")
        self.assert_failed(run("convert", otlp, part, "--trace", NO_TRACE), 1, "has no sample of", NO_TRACE)
        self.assertFalse(os.path.exists(part))
        self.assert_failed(run("view", otlp, "--label", "http.route=nowhere"), 1, "has no sample of http.route=nowhere")


if __name__ == "__main__":
    unittest.main()
