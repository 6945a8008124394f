"""Reads stackray's batches with OpenTelemetry's own Python classes and compares what they see with
what was put in (second_opinion_batch.cc).

    second_opinion.py FOLDER

FOLDER holds *.batch and *.json; a virtual environment with the package opentelemetry-proto is made
there. Exit codes: 0 equal, 1 different, 77 skipped because the package cannot be installed.
"""

import json
import pathlib
import subprocess
import sys
import venv
from collections import Counter

PACKAGE = "opentelemetry-proto>=1.45"
SKIPPED = 77


def python_with_package(folder):
    """The environment's interpreter, made when missing; None and a reason when it cannot be."""
    environment = folder / "environment"
    python = environment / "bin" / "python"
    done = environment / "complete"
    if not done.exists():
        try:
            venv.create(environment, with_pip=True, clear=True)
        except (OSError, subprocess.CalledProcessError) as error:
            return None, f"no virtual environment: {error}"
        install = [python, "-m", "pip", "install", "--quiet", "--retries", "1", PACKAGE]
        try:
            result = subprocess.run(install, capture_output=True, text=True, timeout=90)
        except subprocess.TimeoutExpired:
            return None, f"{PACKAGE} does not install within 90 s"
        if result.returncode != 0:
            reason = result.stderr.strip().splitlines() or ["pip failed"]
            return None, f"{PACKAGE} cannot be installed: {reason[-1]}"
        done.touch()
    return python, ""


def text(hexadecimal):
    return bytes.fromhex(hexadecimal).decode("utf-8", "replace")


def attribute(dictionary, indices, key):
    for index in indices:
        entry = dictionary.attribute_table[index]
        if dictionary.string_table[entry.key_strindex] == key:
            return getattr(entry.value, entry.value.WhichOneof("value"))
    return None


def seen_lines(dictionary, location):
    strings = dictionary.string_table
    lines = []
    for line in location.lines:
        function = dictionary.function_table[line.function_index]
        name, file = strings[function.name_strindex], strings[function.filename_strindex]
        lines.append((name, file, line.line))
    return lines


def compare_frames(expected, dictionary, errors):
    strings = dictionary.string_table
    for frame in expected:
        location = dictionary.location_table[frame["location"]]
        wanted = [(text(l["function"]), text(l["file"]), l["line"]) for l in frame["lines"]]
        seen = seen_lines(dictionary, location)
        if seen != wanted:
            errors.append(f"location {frame['location']}: {seen} != {wanted}")
        path = strings[dictionary.mapping_table[location.mapping_index].filename_strindex]
        kind = attribute(dictionary, location.attribute_indices, "profile.frame.type")
        if (path, kind, location.address) != (frame["file"], frame["type"], frame["address"]):
            errors.append(f"location {frame['location']}: {path} {kind} {location.address:#x}")
    if len(dictionary.location_table) != 1 + len({f["location"] for f in expected}):
        errors.append(f"{len(dictionary.location_table)} locations for {len(expected)} frames")


def seen_samples(data):
    """(pid, tid, frames) -> count, from all profiles."""
    counts = Counter()
    dictionary = data.dictionary
    for resource in data.resource_profiles:
        pid = {a.key: a.value.int_value for a in resource.resource.attributes}["process.pid"]
        for profile in (p for scope in resource.scope_profiles for p in scope.profiles):
            for sample in profile.samples:
                tid = attribute(dictionary, sample.attribute_indices, "thread.id")
                frames = tuple(dictionary.stack_table[sample.stack_index].location_indices)
                counts[pid, tid, frames] += sum(sample.values) or len(sample.timestamps_unix_nano)
    return counts


def compare(path, errors):
    from google.protobuf import unknown_fields
    from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2
    from opentelemetry.proto.profiles.v1development import profiles_pb2

    message = path.read_bytes()
    expected = json.loads(path.with_suffix(".json").read_text())
    data = profiles_pb2.ProfilesData.FromString(message)
    request = profiles_service_pb2.ExportProfilesServiceRequest.FromString(message)
    if request.SerializeToString() != data.SerializeToString():
        errors.append("request and ProfilesData differ")
    if any(len(unknown_fields.UnknownFieldSet(part)) for part in (data, data.dictionary)):
        errors.append("unknown fields")
    compare_frames(expected["frames"], data.dictionary, errors)
    wanted = {(s["pid"], s["tid"], tuple(s["frames"])): s["count"] for s in expected["samples"]}
    if dict(seen_samples(data)) != wanted:
        errors.append(f"{len(seen_samples(data))} samples differ from {len(wanted)} wanted")
    counts = f"{len(expected['frames'])} frames, {len(wanted)} samples"
    print(f"{path.name}: {len(message)} bytes, {counts}")


def main():
    folder = pathlib.Path(sys.argv[1])
    if "--inside" not in sys.argv:
        python, reason = python_with_package(folder)
        if python is None:
            print(f"skipped: {reason}")
            return SKIPPED
        return subprocess.run([python, __file__, str(folder), "--inside"]).returncode
    errors = []
    batches = sorted(folder.glob("*.batch"))
    for path in batches:
        compare(path, errors)
    for error in errors[:20]:
        print(error)
    return 1 if errors or len(batches) != 2 else 0


if __name__ == "__main__":
    sys.exit(main())
