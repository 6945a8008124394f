#!/usr/bin/env python3
"""A recording of several sample types, sent through a real Collector: what the Collector wrote,
read with OpenTelemetry's own Python classes, has the sums that `convert`'s pprof file has for Go.

Usage: sample_types_test.py STACKRAY EXPORT_BATCHES PROGRAM WORK_DIRECTORY
Exit: 0 equal - 1 not - 77 it cannot be done here (the reason is printed).
"""
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "reporter")]
import run_collector_test  # noqa: E402
import second_opinion  # noqa: E402

SKIPPED = 77
TYPES = ("samples", "off_cpu", "page_faults")
FRAME_HEAD_BYTES = 4


def batches_of(path):
    """Each a message behind its length, as the Collector's file exporter writes them."""
    left = path.read_bytes()
    while left:
        end = FRAME_HEAD_BYTES + int.from_bytes(left[:FRAME_HEAD_BYTES], "big")
        yield left[FRAME_HEAD_BYTES:end]
        left = left[end:]


def sums_of_profile(dictionary, profile):
    """One row for its type, and one for its CPU time, as a pprof file has both."""
    name = dictionary.string_table[profile.sample_type.type_strindex]
    value = sum(sum(sample.values) or len(sample.timestamps_unix_nano)
                for sample in profile.samples)
    yield name, value
    if name == "samples":
        yield "cpu", value * profile.period


def print_sums(path):
    """In the environment that has OpenTelemetry's classes."""
    from opentelemetry.proto.profiles.v1development import profiles_pb2

    sums = collections.Counter()
    for message in batches_of(path):
        data = profiles_pb2.ProfilesData.FromString(message)
        for resource in data.resource_profiles:
            for profile in (p for scope in resource.scope_profiles for p in scope.profiles):
                for name, value in sums_of_profile(data.dictionary, profile):
                    sums[name] += value
    for name, value in sorted(sums.items()):
        print(name, value)


def sums_of_collected(python, path):
    answer = subprocess.run([python, __file__, "--sums", str(path)], capture_output=True, text=True,
                            timeout=300, check=True)
    return {name: int(value) for name, value in map(str.split, answer.stdout.splitlines())}


def sums_of_pprof(path):
    """As `go tool pprof` reads it."""
    answer = subprocess.run(["go", "tool", "pprof", "-raw", str(path)], capture_output=True,
                            text=True, timeout=300, check=True)
    lines = iter(answer.stdout.splitlines())
    for line in lines:
        if line == "Samples:":
            break
    names = [word.split("/")[0] for word in next(lines).split()]
    sums = collections.Counter()
    for line in lines:
        if line == "Locations":
            break
        row = re.match(r"^((?: *-?[0-9]+)+):", line)
        if row:
            for name, value in zip(names, row.group(1).split()):
                sums[name] += int(value)
    return {name: value for name, value in sums.items() if value}


def record(stackray, program, path):
    """None, or why there is no recording. The program waits until it is stopped."""
    sleepers = subprocess.Popen([program, "sleepers"], stdout=subprocess.DEVNULL)
    try:
        answer = subprocess.run([stackray, "record", "--type", "cpu,off-cpu,page-faults", "-d", "4",
                                 "-F", "199", "-o", str(path), "-p", str(sleepers.pid)],
                                capture_output=True, text=True, timeout=120)
    finally:
        sleepers.kill()
        sleepers.wait()
    return None if path.exists() else answer.stderr.strip()


def run(stackray, export_batches, program, binary, python, directory):
    recorded = directory / "recorded.otlp"
    why_not = record(stackray, program, recorded)
    if why_not:
        print(f"skipped: {why_not}")
        return SKIPPED
    collector = run_collector_test.Collector(binary, directory)
    try:
        if not collector.start():
            print(collector.log.read_text(errors="replace")[-3000:], file=sys.stderr)
            return 1
        sent = subprocess.run([export_batches, "forward", "grpc",
                               f"http://127.0.0.1:{collector.grpc_port}", "gzip", str(recorded)],
                              timeout=300)
    finally:
        collector.stop()
    pprof = directory / "recorded.pb.gz"
    subprocess.run([stackray, "convert", str(recorded), str(pprof)], check=True, timeout=300)
    collected, expected = sums_of_collected(python, collector.output), sums_of_pprof(pprof)
    print(f"collected {collected}\npprof     {expected}")
    whole = sent.returncode == 0 and all(expected.get(name, 0) > 0 for name in TYPES)
    return 0 if whole and collected == expected else 1


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--sums":
        print_sums(pathlib.Path(sys.argv[2]))
        return 0
    if len(sys.argv) != 5:
        print(__doc__, file=sys.stderr)
        return 2
    work = pathlib.Path(sys.argv[4])
    built = subprocess.run([str(HERE / "build_collector.sh"), str(work)], stdout=subprocess.PIPE,
                           text=True)
    if built.returncode != 0:
        return built.returncode
    python, reason = second_opinion.python_with_package(work)
    if python is None:
        print(f"skipped: {reason}")
        return SKIPPED
    directory = pathlib.Path(tempfile.mkdtemp(prefix="stackray-types-"))
    code = run(*sys.argv[1:4], built.stdout.strip().splitlines()[-1], python, directory)
    if code == 1:
        print(f"failed (files kept in {directory})", file=sys.stderr)
    else:
        shutil.rmtree(directory)
    return code


if __name__ == "__main__":
    sys.exit(main())
