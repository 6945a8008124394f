"""Threads that serve requests in spans of dd-trace: python_writer.py SECONDS LOG (judge.py)."""

import sys
import threading
import time

from ddtrace.trace import tracer

REQUEST_S, GAP_S = 0.006, 0.002
END = time.time() + float(sys.argv[1])
lines = []


def burn(seconds):
    end, number = time.perf_counter() + seconds, 1
    while time.perf_counter() < end:
        for _ in range(200):
            number = number * 31 % 1000003
    return number


def serve():
    with tracer.trace("request") as span:
        begin = time.time_ns()
        burn(REQUEST_S)
        end = time.time_ns()
        lines.append(f"{threading.get_native_id()} {begin} {end} {span.trace_id:032x} {span.span_id:016x}\n")


def work():
    while time.time() < END:
        serve()
        begin = time.time_ns()
        burn(GAP_S)
        lines.append(f"{threading.get_native_id()} {begin} {time.time_ns()} - -\n")


threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
with open(sys.argv[2], "w", encoding="utf-8") as log:
    log.writelines(lines)
