#!/usr/bin/env python3
"""Libraries of other makers that say what threads work on, against what the profiler says.

    real_writers.py STACKRAY FOLDER [--only NAME,…] [--seconds N] [--samples N]

FOLDER keeps what is installed from PyPI, npm, Maven, cargo's registry and the Go proxy. A writer
whose language or library is not to be had is left out by name; Elastic's, which no registry has as
a library of its own, is a small one by its published layout. Exit 1: a sample has another request's
ids, more than one in 200 of those in a request has none, or there are too few; 77: nothing could be
run.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import judge  # pylint: disable=wrong-import-position

SKIPPED = 77
HERE = os.path.dirname(os.path.abspath(__file__))
FREQUENCY_HZ = 997
WARM_UP_S = 8
LEAST_SHARE = 99.5
FOUND_WITHIN_NS = 1_000_000_000
QUIET = {"DD_TRACE_AGENT_URL": "http://127.0.0.1:9", "DD_INSTRUMENTATION_TELEMETRY_ENABLED": "false",
         "DD_REMOTE_CONFIGURATION_ENABLED": "false", "DD_TRACE_STARTUP_LOGS": "false",
         "DD_TRACE_OTEL_CTX_ENABLED": "true"}
DDTRACE, DD_TRACE_JS, DD_JAVA_AGENT = "4.16.0", "6.21.0", "1.68.1"
GO_VERSIONS = ("1.20.14", "1.23.12", "1.24.11", "1.25.4", "1.26.8")


class LeftOut(Exception):
    """Why a writer cannot be run here."""


def call(command, **arguments):
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=900, **arguments).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise LeftOut(f"{' '.join(command[:4])}: {getattr(error, 'stderr', None) or error}".strip()[-300:]) from error


def python_writer(folder):
    place = f"{folder}/ddtrace-{DDTRACE}"
    if not os.path.exists(f"{place}/done"):
        call([sys.executable, "-m", "venv", place])
        call([f"{place}/bin/pip", "install", "-q", f"ddtrace=={DDTRACE}"])
        open(f"{place}/done", "w", encoding="utf-8").close()
    return [f"{place}/bin/python", f"{HERE}/writers/python_writer.py"], QUIET


def node_writer(folder, version):
    place = f"{folder}/dd-trace-{DD_TRACE_JS}-node-{version}"
    if shutil.which("npm") is None:
        raise LeftOut("no npm")
    if not os.path.exists(f"{place}/done"):
        os.makedirs(place, exist_ok=True)
        call(["npm", "i", "--silent", f"dd-trace@{DD_TRACE_JS}", f"node@{version}"], cwd=place)
        open(f"{place}/done", "w", encoding="utf-8").close()
    shutil.copy(f"{HERE}/writers/node_writer.js", place)
    return [f"{place}/node_modules/.bin/node", f"{place}/node_writer.js"], QUIET


def java_writer(folder):
    jar = f"{folder}/dd-java-agent-{DD_JAVA_AGENT}.jar"
    for tool in ("java", "javac", "mvn"):
        if shutil.which(tool) is None:
            raise LeftOut(f"no {tool}")
    if not os.path.exists(jar):
        call(["mvn", "-q", "dependency:copy", f"-Dartifact=com.datadoghq:dd-java-agent:{DD_JAVA_AGENT}",
              f"-DoutputDirectory={folder}"])
    call(["javac", "-d", folder, f"{HERE}/writers/Writer.java"])
    return ["java", f"-javaagent:{jar}", "-Ddd.trace.methods=Writer[serve]", "-Ddd.profiling.enabled=true",
            "-cp", folder, "Writer"], QUIET


def go_writer(folder, version):
    place = f"{folder}/go-{version}"
    if shutil.which("go") is None:
        raise LeftOut("no go")
    if not os.path.exists(f"{place}/writer"):
        os.makedirs(place, exist_ok=True)
        shutil.copy(f"{HERE}/writers/go/writer.go", place)
        with open(f"{place}/go.mod", "w", encoding="utf-8") as module:
            module.write("module writer\n\ngo 1.18\n")
        call(["go", "build", "-o", "writer", "."], cwd=place, env={**os.environ, "GOTOOLCHAIN": f"go{version}"})
    return [f"{place}/writer"], {}


def rust_writer(folder, name):
    place = f"{folder}/rust"
    if shutil.which("cargo") is None:
        raise LeftOut("no cargo")
    shutil.copytree(f"{HERE}/writers/rust", place, dirs_exist_ok=True)
    call(["cargo", "build", "--release", "-q", "-j1"], cwd=place)
    return [f"{place}/target/release/{name}"], {}


def elastic_writer(folder):
    place, source = f"{folder}/elastic", f"{HERE}/writers/elastic_writer.c"
    os.makedirs(place, exist_ok=True)
    library = f"{place}/elastic-jvmti-linux-x64.so"
    gcc = ["gcc", "-O1", "-g", "-mtls-dialect=gnu2"]
    call([*gcc, "-shared", "-fPIC", "-DLIBRARY", "-o", library, source])
    call([*gcc, "-o", f"{place}/writer", source, library, "-pthread", f"-Wl,-rpath,{place}"])
    return [f"{place}/writer"], {}


def writers():
    """{name: (a function that installs it, the attribute with the request's route, the function
    that does the work where it is not all that the thread does)}"""
    found = {"python": (python_writer, None, None), "java": (java_writer, None, None),
             "elastic": (elastic_writer, None, None)}
    for name, program in (("rust", "otel"), ("custom-labels", "labels")):
        found[name] = (lambda folder, program=program: rust_writer(folder, program),
                       "process.context.label.route", None)
    for version in ("24", "26"):
        found[f"node-{version}"] = (lambda folder, version=version: node_writer(folder, version), None, None)
    for version in GO_VERSIONS:
        found[f"go-{version}"] = (lambda folder, version=version: go_writer(folder, version),
                                  "process.context.label.route", "main.burn")
    return found


def run(name, install, route, within, options):
    command, environment = install(options.folder)
    with tempfile.TemporaryDirectory(prefix="stackray-writer-") as folder:
        log, output = f"{folder}/log", f"{folder}/out.json"
        lasting = WARM_UP_S + options.seconds + 4
        with subprocess.Popen([*command, str(lasting), log], env={**os.environ, **environment},
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as writer:
            time.sleep(WARM_UP_S - 3)
            call([options.stackray, "record", "-F", str(FREQUENCY_HZ), "-d", str(options.seconds + 3), "-p",
                  str(writer.pid), "--context-labels", "*", "-o", output],
                 env={**os.environ, "STACKRAY_SANDBOX": "strict"})
            writer.wait(timeout=lasting + 60)
        if not os.path.exists(log):
            raise LeftOut(f"the program left no log (exit {writer.returncode})")
        samples = list(judge.samples_of(output, writer.pid))
        # A process that has run for a while is looked at when it is first sampled.
        begin = min((sample.time for sample in samples), default=0) + FOUND_WITHIN_NS
        verdict = judge.judge(samples, judge.read_log(log), route, begin, within)
        is_good = verdict.wrong == 0 and verdict.share() >= LEAST_SHARE and verdict.right >= options.samples
        print(f"{'ok   ' if is_good else 'WRONG'} {name}: {verdict.text()}", flush=True)
        return is_good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stackray")
    parser.add_argument("folder")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=int, default=12)
    parser.add_argument("--samples", type=int, default=5000)
    options = parser.parse_args()
    options.folder = os.path.abspath(options.folder)
    if os.geteuid() != 0:
        print("skipped: needs root")
        return SKIPPED
    os.makedirs(options.folder, exist_ok=True)
    wanted, results = [word for word in options.only.split(",") if word], []
    for name, (install, route, within) in writers().items():
        if wanted and not any(name.startswith(word) for word in wanted):
            continue
        try:
            results.append(run(name, install, route, within, options))
        except LeftOut as error:
            print(f"left out: {name}: {error}", flush=True)
    if not results:
        return SKIPPED
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
