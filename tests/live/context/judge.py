"""Compares what samples say of requests with what the program that served them has logged.

A log has a line for each time in which a thread surely worked on one request, or surely on none:
"tid begin end trace span [route]", times of CLOCK_REALTIME in nanoseconds, ids in hexadecimal
digits, "-" where there was none. What lies between two such times is not judged: the thread was
attaching or detaching then. The moment of a wait is its end, and a thread that waits changes
nothing.
"""

import base64
import bisect
import collections
import dataclasses
import json

MARGIN_NS = 50_000  # Clocks are read one after the other.


@dataclasses.dataclass
class Request:
    tid: int
    begin: int
    end: int
    trace: str
    span: str
    route: str = ""


@dataclasses.dataclass
class Sample:
    tid: int
    time: int
    trace: str
    span: str
    labels: dict
    sample_type: str
    functions: list


def read_log(path):
    """{tid: [Request]}, each list by time."""
    requests = collections.defaultdict(list)
    with open(path, encoding="utf-8", errors="replace") as log:
        for line in log:
            words = line.split()
            if len(words) < 5:
                continue  # The last one, where the program was killed.
            request = Request(int(words[0]), int(words[1]), int(words[2]), words[3], words[4],
                              words[5] if len(words) > 5 else "")
            requests[request.tid].append(request)
    for of_thread in requests.values():
        of_thread.sort(key=lambda request: request.begin)
    return requests


def identifier(text):
    """Of OTLP's JSON: hexadecimal digits; protobuf's own mapping would have base64."""
    if not text:
        return ""
    try:
        return bytes.fromhex(text).hex()
    except ValueError:
        return base64.b64decode(text).hex()


def value_of(value):
    for key in ("stringValue", "intValue", "boolValue", "doubleValue"):
        if key in value:
            return value[key]
    return None


def samples_of(path, pid):
    """Every event of the process in a .json file of batches."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield from samples_of_batch(json.loads(line), pid)


def function_names(dictionary):
    """A function that answers the names of a stack's functions."""
    strings, functions = dictionary["stringTable"], dictionary["functionTable"]
    of_location = [[strings[int(functions[int(line.get("functionIndex", 0))].get("nameStrindex", 0))]
                    for line in location.get("lines", [])] for location in dictionary["locationTable"]]
    of_stack = [[name for index in stack.get("locationIndices", []) for name in of_location[int(index)]]
                for stack in dictionary["stackTable"]]
    return of_stack.__getitem__


def samples_of_batch(batch, pid):
    dictionary = batch["dictionary"]
    strings, links = dictionary["stringTable"], dictionary.get("linkTable", [{}])
    attributes = [(strings[int(entry.get("keyStrindex", 0))], value_of(entry.get("value", {})))
                  for entry in dictionary["attributeTable"]]
    names = function_names(dictionary)
    for resource in batch["resourceProfiles"]:
        # A Collector writes a resource's keys as indices.
        own = {entry.get("key") or strings[int(entry["keyStrindex"])]: value_of(entry["value"])
               for entry in resource["resource"]["attributes"]}
        if int(own.get("process.pid", 0)) != pid:
            continue
        for scope in resource["scopeProfiles"]:
            for profile in scope["profiles"]:
                kind = strings[int(profile["sampleType"].get("typeStrindex", 0))]
                for sample in profile["samples"]:
                    said = dict(attributes[int(index)] for index in sample.get("attributeIndices", []))
                    link = links[int(sample.get("linkIndex", 0))]
                    functions = names(int(sample.get("stackIndex", 0)))
                    for time in sample.get("timestampsUnixNano", []):
                        yield Sample(int(said.get("thread.id", 0)), int(time), identifier(link.get("traceId")),
                                     identifier(link.get("spanId")), said, kind, functions)


@dataclasses.dataclass
class Verdict:
    right: int = 0
    missing: int = 0    # In a request, and no ids.
    # Ids of something else, or ids of nothing, or a label that the request has not.
    wrong: int = 0
    idle: int = 0       # Between two requests, and no ids.
    at_border: int = 0
    labels_right: int = 0
    examples: list = dataclasses.field(default_factory=list)

    def share(self):
        return 100 * self.right / max(self.right + self.missing + self.wrong, 1)

    def add_example(self, what, sample, request=""):
        short = dataclasses.replace(sample, functions=sample.functions[:2])
        self.examples.append(f"{what}: {short} {request}")

    def text(self):
        text = (f"right {self.right}, missing {self.missing}, wrong {self.wrong}, idle {self.idle}, "
                f"at a border {self.at_border}, labels right {self.labels_right}, {self.share():.2f} %")
        return text + "".join(f"\n    {example}" for example in self.examples[:5])


def judge(samples, requests, route_label=None, since=0, within=None):
    """`route_label`: the attribute whose value is to be the request's route. `within`: a function
    that does the request's work, where the thread does other things meanwhile (Go's scheduler)."""
    verdict = Verdict()
    begins = {tid: [request.begin for request in of_thread] for tid, of_thread in requests.items()}
    for sample in samples:
        if sample.tid not in requests or sample.time < since:
            continue
        if not sample.trace and within and within not in sample.functions:
            continue
        judge_one(sample, requests[sample.tid], begins[sample.tid], route_label, verdict)
    return verdict


def judge_one(sample, of_thread, begins, route_label, verdict):
    at = bisect.bisect_right(begins, sample.time - MARGIN_NS) - 1
    request = of_thread[at] if at >= 0 else None
    if request is None or sample.time + MARGIN_NS > request.end:
        verdict.at_border += 1
        return
    if request.trace == "-":
        if sample.trace or sample.span:
            verdict.wrong += 1
            verdict.add_example("working on nothing", sample)
        else:
            verdict.idle += 1
        return
    if not sample.trace and not sample.span:
        verdict.missing += 1
        verdict.add_example("missing", sample, request)
        return
    is_right = (sample.trace, sample.span) == (request.trace, request.span)
    if is_right and route_label is not None:
        is_right = sample.labels.get(route_label) == request.route
        verdict.labels_right += is_right
    verdict.right += is_right
    verdict.wrong += not is_right
    if not is_right:
        verdict.add_example("wrong", sample, request)
