#!/usr/bin/env python3
"""Reports of a running agent: asked for, by triggers, within their limits, over a kill."""

import json
import os
import signal
import subprocess
import time

import agent_case
import stackray_command

# More than a compiler has, which may run beside this test.
HOG = "a = b'x' * (900 << 20)\nimport time\ntime.sleep(1000)\n"
CRASH = "import ctypes\nctypes.string_at(0)\n"


class Reports(agent_case.AgentCase):
    def setUp(self):
        super().setUp()
        self.trigger = self.path("now")

    def begin(self, *lines):
        config = self.path("stackray.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write("\n".join(("reports:", "  profile: 1s", "  free-space: 1MiB", *lines)) + "\n")
        agent = self.agent("--config", config, "--seal-interval", "1s")
        self.wait_until_sampling(agent)
        agent.find_page()
        return agent

    def report(self, *arguments, **options):
        return stackray_command.run("report", *arguments, "--state-dir", self.state,
                                    env=agent_case.clean_environment(), timeout=180, **options)

    def archives(self):
        folder = os.path.join(self.state, "reports")
        return sorted(name for name in os.listdir(folder) if name.endswith(".tar.zst"))

    def until(self, condition, seconds=90):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return True
            time.sleep(0.1)
        return False

    def wait_until_large(self, pid):
        def is_large():
            with open(f"/proc/{pid}/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") > 900 << 20
        self.assertTrue(self.until(is_large))

    def unpack(self, path):
        """The report's files by their names."""
        folder = self.path("unpacked-" + str(time.monotonic_ns()))
        os.makedirs(folder)
        subprocess.run(["tar", "--zstd", "-xf", path, "-C", folder], check=True)
        found = {}
        for root, _, files in os.walk(folder):
            for file in files:
                with open(os.path.join(root, file), "rb") as content:
                    found[os.path.relpath(os.path.join(root, file), folder)] = content.read()
        return found

    def only(self):
        self.assertTrue(self.until(self.archives), os.listdir(os.path.join(self.state, "reports")))
        [name] = self.archives()
        files = self.unpack(os.path.join(self.state, "reports", name))
        return files, json.loads(files["manifest.json"])

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
        self.assertEqual(agent.status_document(self.state)["reports"]["made_total"], 1)
        self.assertIn("stackray_reports_made_total 1", agent.get("/metrics")[1])

    def test_the_heaviest_processes_name_the_culprit(self):
        self.begin()
        pid = self.spin("python3", "-c", HOG)
        self.wait_until_large(pid)
        answer = self.report()
        self.assertEqual(answer.returncode, 0, answer.stderr)
        manifest = json.loads(self.unpack(answer.stdout.strip())["manifest.json"])
        self.assertIn(pid, [process["pid"] for process in manifest["processes"]])

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
