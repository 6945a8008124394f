#!/usr/bin/env python3
"""Reports of a running agent: asked for, by triggers, within their limits, over a kill."""

import json
import os
import signal
import subprocess
import time

import agent_case
import report_case
import stackray_command

# More than a compiler has, which may run beside this test.
HOG = "a = b'x' * (900 << 20)\nimport time\ntime.sleep(1000)\n"
CRASH = "import ctypes\nctypes.string_at(0)\n"


class Reports(report_case.ReportCase):
    def test_asked_for(self):
        agent = self.begin()
        pid = self.spin("python3", "-c", HOG)
        self.wait_until_large(pid)
        answer = self.report(str(pid), "--trigger-name", "slow-login")
        self.assertEqual(answer.returncode, 0, answer.stderr + agent.log())
        path = answer.stdout.strip()
        self.assertIn("-slow-login.tar.zst", path)
        files = self.unpack(path)
        manifest = json.loads(files["manifest.json"])
        self.assertEqual(manifest["asked"]["pid"], pid)
        self.assertEqual({entry["name"] for entry in manifest["entries"]},
                         set(files) - {"manifest.json"})
        [folder] = {name.split("/")[1] for name in files if name.startswith("processes/")}
        self.assertIn(b"sleep", files[f"processes/{folder}/threads.txt"])
        self.assertGreater(manifest["processes"][0]["resident_bytes"], 900 << 20)
        # Nothing secret: no command line, no environment.
        everything = b"".join(files[name] for name in files if not name.startswith("profile"))
        self.assertNotIn(b"bytearray", everything)
        # A process that sleeps has no samples of now where waits were left out.
        for name in {"profile-before.otlp", "profile-now.otlp"} & set(files):
            otlp = self.path(name)
            with open(otlp, "wb") as file:
                file.write(files[name])
            self.assertEqual(stackray_command.run("check", otlp).returncode, 0)
        self.assertIn(b'id="stackray-data"', files["profile-before.html"])
        name = os.path.basename(path)[:-len(".tar.zst")]
        self.assertIn(name, self.report("list").stdout)
        copy = self.path("copy.tar.zst")
        self.assertEqual(self.report("get", name, "--report-output", copy).returncode, 0)
        self.assertEqual(os.path.getsize(copy), os.path.getsize(path))
        self.assertEqual(self.report("delete", name).returncode, 0)
        self.assertEqual(self.archives(), [])
        # Counted at the agent's next turn.
        self.assertTrue(self.until(
            lambda: agent.status_document(self.state)["reports"]["made_total"] == 1))
        self.assertTrue(self.until(
            lambda: "stackray_reports_made_total 1" in agent.get("/metrics")[1]))

    def test_the_heaviest_processes_name_the_culprit(self):
        self.begin()
        pid = self.spin("python3", "-c", HOG)
        self.wait_until_large(pid)
        answer = self.report()
        self.assertEqual(answer.returncode, 0, answer.stderr)
        manifest = json.loads(self.unpack(answer.stdout.strip())["manifest.json"])
        self.assertIn(pid, [process["pid"] for process in manifest["processes"]])

    def test_the_summary_names_who_writes_beside_an_innocent_giant(self):
        self.begin()
        giant = self.spin("python3", "-c", HOG)
        self.wait_until_large(giant)
        self.spin("sh", "-c", f"while :; do dd if=/dev/zero of={self.path('much')} bs=1M "
                              "count=512 oflag=dsync 2>/dev/null; done")
        answer = self.report()
        self.assertEqual(answer.returncode, 0, answer.stderr)
        manifest = json.loads(self.unpack(answer.stdout.strip())["manifest.json"])
        self.assertIn(f"most memory: python3 ({giant})", manifest["summary"])
        self.assertRegex(manifest["summary"], r"most I/O: (dd|sh) \(\d+\), \d+\.\d MiB/s")
        self.assertNotIn(f"most I/O: python3 ({giant})", manifest["summary"])

    def test_twenty_triggers_make_one_report(self):
        lines = ["  triggers:"]
        for i in range(20):
            lines.append(f"    - {{kind: file, name: t{i}, path: {self.trigger}}}")
        agent = self.begin(*lines)
        with open(self.trigger, "w", encoding="utf-8"):
            pass
        _, manifest = self.only()
        self.assertIn("is there", manifest["asked"]["reason"])
        status = agent.status_document(self.state)["reports"]
        self.assertEqual((status["made_total"] + (1 if status["running"] else 0),
                          status["suppressed_total"]), (1, 19))

    def test_a_timer(self):
        self.begin("  triggers:", "    - {kind: timer, every: 2s}")
        _, manifest = self.only()
        self.assertEqual(manifest["asked"], {"trigger": "timer", "reason": "every 2 s"})

    def test_pressure_of_a_cgroup_of_version_2(self):
        """Version 2 keeps the pressure; where memory is version 1's, that one has the limit."""
        unified = "/sys/fs/cgroup/unified" if os.path.isdir("/sys/fs/cgroup/unified") else "/sys/fs/cgroup"
        folder = self.make_cgroup(unified)
        if not os.path.exists(os.path.join(folder, "memory.pressure")):
            self.skipTest("this kernel keeps no pressure of cgroups")
        limits = folder
        if not os.path.exists(os.path.join(folder, "memory.max")):
            limits = self.make_cgroup("/sys/fs/cgroup/memory")
        limit = "memory.max" if limits == folder else "memory.limit_in_bytes"
        with open(os.path.join(limits, limit), "w", encoding="ascii") as file:
            file.write(str(48 << 20))
        large = self.large_file()
        self.begin("  triggers:", "    - {kind: memory-pressure, name: hog, above: 5%, window: 2s, "
                   f"cgroup: {folder}}}")
        join = "".join(f"echo $$ > {place}/cgroup.procs && " for place in {folder, limits})
        pid = self.spin("sh", "-c", f'{join} exec python3 -c "$0" {large}', report_case.THRASH)
        _, manifest = self.only()
        self.assertIn(f"memory-pressure of {folder} was", manifest["asked"]["reason"])
        self.assertEqual(manifest["asked"]["trigger"], "hog")
        self.assertEqual([process["pid"] for process in manifest["processes"]], [pid])
        print(manifest["summary"], pid, flush=True)

    def test_a_signal_that_ends_a_process(self):
        self.begin("  triggers:", "    - {kind: signal, command: python3}")
        process = subprocess.run(["python3", "-c", CRASH], check=False)
        self.assertEqual(process.returncode, -signal.SIGSEGV)
        _, manifest = self.only()
        self.assertIn("python3 ends by SIGSEGV", manifest["asked"]["reason"])

    def test_a_kill_leaves_no_half_file(self):
        agent = self.begin()
        self.assertEqual(self.report("--no-wait").returncode, 0)
        folder = os.path.join(self.state, "reports")
        self.assertTrue(self.until(lambda: any(name.endswith(".part")
                                               for name in os.listdir(folder)), 10))
        agent.process.kill()
        agent.process.wait()
        self.assertEqual(self.archives(), [])
        self.begin()
        self.assertEqual([name for name in os.listdir(folder) if name.endswith(".part")], [])

    def test_kills_at_every_moment(self):
        """Ten kills over the time that a report takes: what was complete stays, no half file."""
        agent = self.begin()
        began = time.monotonic()
        answer = self.report()
        took = time.monotonic() - began
        self.assertEqual(answer.returncode, 0, answer.stderr)
        first = self.archives()
        folder = os.path.join(self.state, "reports")
        for i in range(10):
            asked = self.report("--no-wait", "--trigger-name", f"kill-{i}")
            self.assertEqual(asked.returncode, 0, asked.stderr)
            time.sleep(took * (i + 0.5) / 10)
            agent.process.kill()
            agent.process.wait()
            for name in self.archives():
                self.assertIn("manifest.json", self.unpack(os.path.join(folder, name)), name)
            self.assertLessEqual(set(first), set(self.archives()))
            agent = self.begin()
            self.assertEqual([name for name in os.listdir(folder) if name.endswith(".part")], [])
            self.assertEqual(os.listdir(os.path.join(folder, "work")), [])
        self.assertEqual(self.report().returncode, 0)

    def test_ten_on_a_full_disk(self):
        small = self.path("small")
        os.mkdir(small)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", small],
                                 check=False, capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("no file system can be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", small], check=False)
        self.state = small
        agent = self.begin("  free-space: 1KiB")
        first = self.report(str(os.getpid()))
        complete = self.archives()
        with open(os.path.join(small, "other"), "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass
            # Enough to begin a report, and not to end it.
            file.truncate(max(file.tell() - (64 << 10), 0))
        for _ in range(10):
            self.assertNotEqual(self.report().returncode, 0)
        folder = os.path.join(small, "reports")
        self.assertEqual(self.archives(), complete, first.stderr)
        self.assertEqual([name for name in os.listdir(folder) if name.endswith(".part")], [])
        self.assertIsNone(agent.process.poll(), agent.log())
        for name in complete:
            self.assertIn("manifest.json", self.unpack(os.path.join(folder, name)))

    def test_a_process_that_ends_meanwhile(self):
        self.begin()
        with stackray_command.started("sleep", "1000") as process:
            answer = self.report(str(process.pid), "--no-wait")
            self.assertEqual(answer.returncode, 0, answer.stderr)
        _, manifest = self.only()
        self.assertTrue(manifest["missing"])

    def test_without_free_space_there_is_none(self):
        agent = self.begin("  max-bytes: 1MiB", "  free-space: 1TiB")
        answer = self.report()
        self.assertEqual(answer.returncode, 1)
        self.assertIn("less than the", answer.stderr)
        self.assertEqual(agent.status_document(self.state)["reports"]["suppressed_total"], 1)
        self.assertIsNone(agent.process.poll())


if __name__ == "__main__":
    agent_case.main()
