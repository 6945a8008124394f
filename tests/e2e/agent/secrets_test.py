#!/usr/bin/env python3
"""Secrets in every place they could come from: none in what is sent, logged, counted or shown.

A header's value goes to its receiver and nowhere else. Names of executables and symbols are what a
profile is about, so they are in profiles, and in nothing else.
"""

import os
import resource
import shutil
import signal
import subprocess
import time

import agent_case
import stackray_command
from otlp_receiver import OtlpReceiver

PROGRAM = """#include <fcntl.h>
#include <sys/mman.h>
__attribute__((noinline)) void %(symbol)s(void) { for (volatile long i = 0; i < 1000000; ++i) {} }
int main(int argc, char** argv) {
  int fd = open(argv[1], O_RDWR);
  char* data = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  for (;;) { %(symbol)s(); if (data != MAP_FAILED) data[0]++; }
}
"""


def unlimited_cores():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def look_without_ptrace_right(pid):
    """Whether a root without CAP_SYS_PTRACE, but with all other rights, may look at the process:
    then its program's path."""
    answer = subprocess.run(
        ["setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace", "readlink",
         f"/proc/{pid}/exe"], capture_output=True, text=True, check=False)
    return answer.stdout


class Secrets(agent_case.AgentCase):
    def secret(self, place):
        """A word that is nowhere else."""
        word = f"s3cr3t{place}{os.getpid():x}q"
        self.secrets[place] = word
        return word

    def setUp(self):
        super().setUp()
        self.secrets = {}
        self.profiles, self.traces = OtlpReceiver(), OtlpReceiver()
        self.addCleanup(self.profiles.down)
        self.addCleanup(self.traces.down)

    def run_secret_program(self):
        """With one in its command line, environment, files, symbols and its own name."""
        if shutil.which("cc") is None:
            self.skipTest("no C compiler")
        source, data = self.path("p.c"), self.path(self.secret("datafile"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM % {"symbol": self.secret("symbol")})
        with open(data, "w", encoding="utf-8") as file:
            file.write(self.secret("content") * 400)
        program = self.path(self.secret("exe"))
        subprocess.run(["cc", "-O1", "-o", program, source], check=True)
        process = subprocess.Popen(
            [program, data, self.secret("argument")], stdin=subprocess.DEVNULL,
            env={**os.environ, "PASSWORD": self.secret("environment")})
        self.addCleanup(stackray_command.end_process, process)

    def test_no_core_and_no_look_into_the_memory(self):
        agent = self.agent("--page", "--seal-interval", "500ms", preexec_fn=unlimited_cores)
        self.wait_until_sampling(agent)
        forked = [agent.process.pid, *children_of(agent.process.pid)]
        self.assertGreaterEqual(len(forked), 2, "no helper process")
        for pid in forked:
            with self.subTest(pid=pid):
                self.assertEqual(look_without_ptrace_right(pid), "")
                with open(f"/proc/{pid}/limits", encoding="ascii") as file:
                    [line] = [line for line in file if line.startswith("Max core file size")]
                self.assertEqual(line.split()[4], "0")
        os.kill(agent.process.pid, signal.SIGABRT)
        ended = os.waitid(os.P_PID, agent.process.pid, os.WEXITED | os.WNOWAIT)
        self.assertEqual((ended.si_code, ended.si_status), (os.CLD_KILLED, signal.SIGABRT))

    def begin(self):
        agent = self.agent("--page", "--seal-interval", "500ms", "-F", "99", environment={
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.profiles.endpoint,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_EXPORTER_OTLP_PROFILES_HEADERS":
                f"authorization=Bearer%20{self.secret('token')},x-id={self.secret('header')}",
            "OTEL_TRACES_EXPORTER": "otlp",
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT":
                f"{self.traces.endpoint}/v1/traces?key={self.secret('query')}",
            "OTEL_EXPORTER_OTLP_TRACES_HEADERS": f"api-key={self.secret('traceheader')}",
            "AGENT_PASSWORD": self.secret("agentenvironment")})
        self.wait_until_sampling(agent, 30)
        agent.find_page()
        return agent

    def assert_none(self, where, content, allowed=()):
        content = content if isinstance(content, bytes) else content.encode()
        for place, word in self.secrets.items():
            if place not in allowed:
                self.assertNotIn(word.encode(), content, f"the {place} is in {where}")

    def test_no_secret_leaves_its_place(self):
        self.run_secret_program()
        self.traces.echo, self.traces.traces_status = True, 503
        self.profiles.up()
        self.traces.up()
        agent = self.begin()
        self.assertTrue(self.profiles.wait_for(3, 30))
        self.assertIsNotNone(agent.wait_for_log("refused: ", 60), agent.log())
        shown = [agent.get("/metrics")[1], agent.get("/api/status")[1],  # The page's.
                 repr(agent.status_document(self.state))]
        self.traces.traces_status = 200
        self.assertEqual(agent.end(), 0)
        # Names are a profile's own business.
        self.assertGreater(len(self.profiles.batches), 2)
        joined = b"".join(self.profiles.batches)
        for place in ("symbol", "exe"):
            self.assertIn(self.secrets[place].encode(), joined)
        self.assert_none("profiles", joined, ("symbol", "exe"))
        self.assertGreater(len(self.traces.traces), 0)
        self.assert_none("traces", b"".join(self.traces.traces))
        for text in shown:
            self.assert_none("metrics or status", text)
        self.assert_none("the log", agent.log())
        with open(agent.output_path, "rb") as file:
            self.assert_none("the output", file.read())
        # Headers are where they belong.
        profiles, traces = "\n".join(self.profiles.heads), "\n".join(self.traces.heads)
        for place in ("token", "header"):
            self.assertIn(self.secrets[place], profiles)
        for place in ("traceheader", "query"):
            self.assertIn(self.secrets[place], traces)
        self.assert_none("requests of profiles", profiles, ("token", "header"))
        self.assert_none("requests of traces", traces, ("traceheader", "query"))
        self.assert_none_on_disk()
        print(f"{len(self.secrets)} secrets; {len(joined)} bytes of profiles, "
              f"{sum(map(len, self.traces.traces))} of traces, {len(agent.log())} of log", flush=True)

    def assert_none_on_disk(self):
        for folder, _, names in os.walk(self.state):
            for name in names:
                path = os.path.join(folder, name)
                if not os.path.isfile(path):
                    continue
                with open(path, "rb") as file:
                    self.assert_none(path, file.read(), ("symbol", "exe"))

    def test_addresses_with_a_password_are_refused_without_it(self):
        user, word = self.secret("user"), self.secret("password")
        for url in (f"http://{user}:{word}@host:4317", f"ftp://{user}:{word}@host:4317",
                    f"http://{user}:{word}@host:99999", f"{user}:{word}@host", f"http://{word}@",
                    f"http://{user}:{word}@host:4317/path", f"http://h:1/p?{word}",
                    f"http://{user}:{word}/@host:1"):
            for flag in ("--endpoint", "--traces-endpoint"):
                for extra in ((), ("--check-config",), ("--traces-exporter", "otlp")):
                    if not extra and flag == "--traces-endpoint":
                        continue  # Traces are off: nobody looks at it, and the agent would run.
                    arguments = (flag, url, *extra)
                    answer = stackray_command.run(
                        "agent", *arguments, "--state-dir", self.state,
                        env=agent_case.clean_environment())
                    self.assert_none(f"the answer to {flag} {extra}",
                                     answer.stdout + answer.stderr)
                    if flag == "--endpoint" or "otlp" in extra:
                        self.assertEqual(answer.returncode, 2, (url, arguments, answer.stderr))


if __name__ == "__main__":
    agent_case.main()
