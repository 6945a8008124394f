"""Spans of OTLP requests, and what belongs to a span of a batch: read without the agent's own code.

Field numbers are those of opentelemetry-proto 1.10.
"""

import collections
import struct

Span = collections.namedtuple(
    "Span", "trace span parent name kind start end attributes links problem is_error")


def fields(message):
    """(number, value) of each field; messages and texts are bytes, all else is a number."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = varint()
        kind = tag & 7
        if kind == 0:
            value = varint()
        elif kind == 2:
            size = varint()
            value = message[at:at + size]
            assert len(value) == size, "cut off"
            at += size
        else:
            size = {1: 8, 5: 4}[kind]
            value = struct.unpack("<Q" if size == 8 else "<I", message[at:at + size])[0]
            at += size
        yield tag >> 3, value


def each(message, *path):
    """What lies at the end of a path of field numbers, as often as it is there."""
    for number, value in fields(message):
        if number != path[0]:
            continue
        if len(path) == 1:
            yield value
        else:
            yield from each(value, *path[1:])


def first(message, *path, default=None):
    return next(each(message, *path), default)


def attributes_of(messages):
    found = {}
    for message in messages:
        key = first(message, 1).decode()
        number, value = next(fields(first(message, 2)))
        found[key] = value.decode() if number == 1 else bool(value) if number == 2 else value
    return found


def span_of(message):
    return Span(
        trace=first(message, 1).hex(), span=first(message, 2).hex(),
        parent=first(message, 4, default=b"").hex(), name=first(message, 5).decode(),
        kind=first(message, 6), start=first(message, 7), end=first(message, 8),
        attributes=attributes_of(each(message, 9)),
        links=[(first(link, 1).hex(), first(link, 2).hex()) for link in each(message, 13)],
        problem=first(message, 15, 2, default=b"").decode(), is_error=first(message, 15, 3) == 2)


def spans_of(requests):
    """Of ExportTraceServiceRequests."""
    return [span_of(span) for request in requests for span in each(request, 1, 2, 2)]


def resources_of(requests):
    return [attributes_of(each(request, 1, 1, 1)) for request in requests]


def start_of_batch(batch):
    """Profile.time_unix_nano, which all profiles of a batch share."""
    times = set(each(batch, 1, 2, 2, 3))
    assert len(times) == 1, times
    return times.pop()


def named(spans, name):
    return [span for span in spans if span.name == name]
