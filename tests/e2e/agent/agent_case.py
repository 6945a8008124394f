"""What the agent's tests share: an agent of their own, its page, its metrics, and files of
batches."""

import glob
import http.client
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import threading
import time
import unittest
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "command_line"))
import stackray_command  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
SKIPPED = 77  # As ctest knows it.
SETTINGS = ("OTEL_", "STACKRAY_")
METRIC = re.compile(r"^stackray_samples_(\w+?)(?:_total)?(?:\{(.*)\})? (\S+)$")


def clean_environment():
    """Without settings that the caller of the test may have."""
    keep = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    keep.pop("STATE_DIRECTORY", None)
    keep["STACKRAY_SANDBOX"] = os.environ["STACKRAY_SANDBOX"]
    return keep


class Agent:
    """A running agent. Its log is in `log_path`, its page at `url` once page() is true."""

    def __init__(self, folder, *arguments, environment=(), preexec_fn=None):
        self.log_path = os.path.join(folder, f"agent-{time.monotonic_ns()}.log")
        self.output_path = self.log_path + ".out"
        self.began = time.monotonic()
        with open(self.log_path, "wb") as log, open(self.output_path, "wb") as output:
            self.process = subprocess.Popen(
                [stackray_command.STACKRAY, "agent", *arguments], stdin=subprocess.DEVNULL,
                stdout=output, stderr=log, env={**clean_environment(), **dict(environment)},
                preexec_fn=preexec_fn)
        self.url, self.token = None, ""

    def output(self):
        """What it has printed so far."""
        with open(self.output_path, encoding="utf-8") as file:
            return file.read()

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_for_log(self, words, seconds=15):
        """Seconds from the start until the log held the words; None when it never did."""
        while words not in self.log():
            if time.monotonic() - self.began > seconds or self.process.poll() is not None:
                return None if words not in self.log() else time.monotonic() - self.began
            time.sleep(0.01)
        return time.monotonic() - self.began

    def find_page(self):
        """The address printed last; without a page the log has one, of the metrics."""
        with open(self.output_path, encoding="utf-8") as file:
            said = file.read() + "".join(re.findall(r"metrics at \S+", self.log()))
        found = re.findall(r"(?:this host|metrics) at (http://[\d.:]+/)(?:\?token=(\S+))?", said)
        self.url, self.token = found[-1] if found else (None, "")
        return self.url

    def get(self, path, host=None, headers=()):
        """(status, text) of a request to the page's server, with the printed token unless there are
        headers."""
        address = urllib.parse.urlparse(self.url)
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=20)
        if not headers and self.token:
            headers = {"Authorization": "Bearer " + self.token}
        try:
            connection.request("GET", path, headers={"Host": host or address.netloc, **dict(headers)})
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        finally:
            connection.close()

    def samples(self):
        """The metrics of samples: {"produced": n, "due": {receiver: n}, "delivered": {…}, "lost":
        {…}, …}."""
        found = {"produced": 0, "due": {}, "delivered": {}, "lost": {}, "in_flight": {}}
        for line in self.get("/metrics")[1].splitlines():
            match = METRIC.match(line)
            if not match or match.group(1) not in found:
                continue
            name, labels, value = match.group(1), match.group(2) or "", int(float(match.group(3)))
            if name == "produced":
                found[name] = value
                continue
            receiver = re.search(r'receiver="([^"]+)"', labels).group(1)
            found[name][receiver] = found[name].get(receiver, 0) + value
        return found

    def status(self):
        return json.loads(self.get("/api/status")[1])

    def end(self, seconds=30):
        """SIGTERM; the exit code."""
        self.process.terminate()
        return self.process.wait(seconds)

    def totals(self):
        """Samples (produced, delivered, lost), as the agent's last words have them, where none is
        kept."""
        *totals, kept = self.totals_of("otlp")
        assert kept == 0, self.log()
        return tuple(totals)

    def totals_of(self, receiver):
        """(produced, delivered, lost, kept on disk) of one receiver."""
        found = re.search(rf"receiver {receiver}: (\d+) samples produced, (\d+) delivered, (\d+) lost, "
                          r"(\d+) kept", self.log())
        return tuple(int(number) for number in found.groups()) if found else None

    def status_document(self, state):
        """What `agent --status` prints."""
        answer = stackray_command.run("agent", "--status", "--state-dir", state,
                                      env=clean_environment())
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout)


class Accountant(threading.Thread):
    """Reads an agent's metrics again and again, and keeps the moments whose sums do not agree."""

    def __init__(self, agent, from_the_start=True):
        super().__init__()
        self.agent, self.wrong, self.moments = agent, [], []
        self.from_the_start = from_the_start  # No receiver comes later, and no spool is found.
        self.most_in_flight = {}
        self._stop_asked = threading.Event()

    def run(self):
        while not self._stop_asked.wait(0.13):
            try:
                now = self.agent.samples()
            except OSError:
                continue  # The agent has not begun, or has ended.
            if not now["delivered"]:
                continue
            self.moments.append(now)
            for receiver, delivered in now["delivered"].items():
                in_flight = now["in_flight"][receiver]
                due = now["due"][receiver]
                if due != delivered + now["lost"][receiver] + in_flight or (
                        self.from_the_start and due != now["produced"]):
                    self.wrong.append((receiver, now))
                self.most_in_flight[receiver] = max(self.most_in_flight.get(receiver, 0), in_flight)

    def end(self):
        self._stop_asked.set()
        self.join()


def sum_of_folded(path):
    """(samples, markers of lost samples) of a .folded file."""
    samples = markers = 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            stack, count = line.rsplit(" ", 1)
            if "[lost: " in stack:
                markers += int(count)
            else:
                samples += int(count)
    return samples, markers


def sum_by_protoc(batch):
    """Samples of one batch, markers included, as protobuf's own compiler decodes it."""
    answer = subprocess.run(
        ["protoc", "-I", ROOT, "--decode=opentelemetry.proto.profiles.v1development.ProfilesData",
         os.path.join(ROOT, "reporter/proto/profiles.proto")],
        input=batch, capture_output=True, check=True)
    return sum(int(n) for n in re.findall(rb"^ +values: (\d+)$", answer.stdout, re.MULTILINE))


class AgentCase(stackray_command.SamplingCase):
    """A test with agents, state directories and spinning programs of its own."""

    def setUp(self):
        super().setUp()
        self.state = self.path("state")

    def agent(self, *arguments, **options):
        """Starts an agent; a page is at any free port unless the arguments say otherwise."""
        if "--listen" not in arguments:
            arguments = (*arguments, "--listen", "0")
        agent = Agent(self.folder, *arguments, "--state-dir", self.state, **options)
        self.addCleanup(stackray_command.end_process, agent.process)
        return agent

    def spin(self, *command):
        """Runs a program until the test ends; its pid."""
        program = stackray_command.started(*(command or ("sh", "-c", stackray_command.SPIN)))
        process = program.__enter__()
        self.addCleanup(program.__exit__, None, None, None)
        return process.pid

    def wait_until_sampling(self, agent, seconds=15):
        took = agent.wait_for_log("info: sampling ", seconds)
        self.assertIsNotNone(took, agent.log())
        return took

    def account(self, agent, **options):
        agent.find_page()
        accountant = Accountant(agent, **options)
        accountant.start()
        self.addCleanup(accountant.end)
        return accountant

    def write_history(self, path):
        """All that the local history holds, as one .otlp file; its batches."""
        batches = []
        with open(path, "wb") as out:
            for segment in sorted(glob.glob(os.path.join(self.state, "history", "*.otlp"))):
                with open(segment, "rb") as file:
                    content = file.read()
                out.write(content)
                at = 0
                while at < len(content):
                    size = struct.unpack_from(">I", content, at)[0]
                    batches.append(content[at + 4:at + 4 + size])
                    at += 4 + size
        return batches

    def count(self, otlp):
        """(samples, markers) of an .otlp file, all of whose batches are valid."""
        check = stackray_command.run("check", otlp)
        self.assertEqual(check.returncode, 0, check.stdout[:2000] + check.stderr)
        self.assertIn(" 0 break a rule", check.stdout)
        folded = otlp + ".folded"
        convert = stackray_command.run("convert", otlp, folded)
        self.assertEqual(convert.returncode, 0, convert.stderr)
        return sum_of_folded(folded)

    def count_one_by_one(self, batches):
        """Counts batches of different sampling rates: together in one file they would be
        weighed."""
        sums = [0, 0]
        path = self.path("one.otlp")
        for batch in batches:
            with open(path, "wb") as file:
                file.write(struct.pack(">I", len(batch)) + batch)
            sums = [a + b for a, b in zip(sums, self.count(path))]
        return tuple(sums)

    def assert_protoc_agrees(self, batches, samples_and_markers):
        """Counts with a decoder that is not ours."""
        if shutil.which("protoc") is None:
            self.skipTest("the counts agree, but there is no protoc to count again with")
        self.assertEqual(sum(map(sum_by_protoc, batches)), sum(samples_and_markers))


def main():
    """Runs a file's tests; ends with 77 when none of them could run."""
    result = unittest.main(verbosity=2, exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if result.skipped and result.testsRun <= len(result.skipped) else 0)
