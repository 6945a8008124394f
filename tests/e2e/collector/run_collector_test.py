#!/usr/bin/env python3
"""Sends batches to a real OpenTelemetry Collector in every way stackray can, and compares what the
Collector wrote with what was sent, sample by sample.

Usage: run_collector_test.py EXPORT_BATCHES WORK_DIRECTORY
Exit: 0 the same - 1 not - 77 no Collector can be built here (the reason is printed).
"""
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
DEADLINE_S = 60


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def wait_for_port(port, process):
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        if process.poll() is not None:
            return False
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return True
        except OSError:
            time.sleep(0.1)
    return False


class Collector:
    """Runs from start() to stop(), which waits until all that arrived is in the file."""

    def __init__(self, binary, directory, config="collector.yaml"):
        self.binary, self.directory, self.config = binary, directory, HERE / config
        self.grpc_port, self.http_port = free_ports(2)
        self.output = directory / "collected.otlp"
        self.traces_output = directory / "collected_traces.otlp"
        self.logs_output = directory / "collected_logs.otlp"
        self.log = directory / "collector.log"
        self.process = None

    def start(self):
        environment = dict(os.environ, GRPC_PORT=str(self.grpc_port), HTTP_PORT=str(self.http_port),
                           OUTPUT_FILE=str(self.output), TRACES_FILE=str(self.traces_output),
                           LOGS_FILE=str(self.logs_output))
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.binary, "--config", str(self.config),
                 "--feature-gates=service.profilesSupport"],
                env=environment, stdout=log, stderr=log)
        return wait_for_port(self.grpc_port, self.process) and wait_for_port(self.http_port, self.process)

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(DEADLINE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def ways(collector):
    """Name, protocol, endpoint, compression, batches, events of a batch."""
    grpc, http = f"http://127.0.0.1:{collector.grpc_port}", f"http://127.0.0.1:{collector.http_port}"
    return [
        ("gRPC, gzip", "grpc", grpc, "gzip", 10, 800),
        ("gRPC, plain", "grpc", grpc, "none", 10, 800),
        ("HTTP, gzip", "http/protobuf", http, "gzip", 10, 800),
        ("HTTP, zstd", "http/protobuf", http, "zstd", 10, 800),
        ("HTTP, plain", "http/protobuf", http, "none", 10, 800),
        ("gRPC at the HTTP port", "grpc", http, "gzip", 4, 200),
        # Over 4 MiB, where the Collector's gRPC ends: arrives in halves.
        ("gRPC, too large", "grpc", grpc, "gzip", 1, 60000),
    ]


def run(export_batches, binary, directory):
    collector = Collector(binary, directory)
    sent = directory / "sent.otlp"
    failures = []
    try:
        if not collector.start():
            print(collector.log.read_text(errors="replace")[-3000:], file=sys.stderr)
            return ["the Collector did not start"]
        for number, (name, protocol, endpoint, compression, batches, events) in enumerate(ways(collector)):
            result = subprocess.run(
                [export_batches, "send", protocol, endpoint, compression, str(1 + 100 * number), str(batches),
                 str(events), str(sent)], capture_output=True, text=True, timeout=300)
            print(f"{name}: {result.stdout.strip()}", flush=True)
            print(result.stderr, end="", file=sys.stderr)
            if result.returncode != 0:
                failures.append(name)
    finally:
        collector.stop()
    result = subprocess.run([export_batches, "compare", str(sent), str(collector.output)], timeout=300)
    if result.returncode != 0:
        failures.append("what was collected is not what was sent")
        print(collector.log.read_text(errors="replace")[-3000:], file=sys.stderr)
    return failures


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    export_batches, work = sys.argv[1], pathlib.Path(sys.argv[2])
    built = subprocess.run([str(HERE / "build_collector.sh"), str(work)], stdout=subprocess.PIPE, text=True)
    if built.returncode != 0:
        return built.returncode
    binary = built.stdout.strip().splitlines()[-1]
    directory = pathlib.Path(tempfile.mkdtemp(prefix="stackray-collector-"))
    failures = run(export_batches, binary, directory)
    if failures:
        print(f"failed: {'; '.join(failures)} (files kept in {directory})", file=sys.stderr)
        return 1
    shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
