#!/usr/bin/env python3
"""Captures of a running agent: asked for by the command, by flags in files, over a kill, by
others."""

import json
import os
import signal
import struct
import subprocess
import time

import agent_case
import stackray_command
from otlp_receiver import OtlpReceiver


class Captures(agent_case.AgentCase):
    def setUp(self):
        super().setUp()
        self.flags = self.path("captures.d")

    def begin(self, *arguments):
        agent = self.agent("--captures-dir", self.flags, "--seal-interval", "1s", *arguments)
        self.wait_until_sampling(agent)
        agent.find_page()
        return agent

    def capture(self, *arguments, **options):
        return stackray_command.run("capture", *arguments, "--state-dir", self.state,
                                    env=agent_case.clean_environment(), **options)

    def records(self):
        found = {}
        folder = os.path.join(self.state, "captures")
        for name in os.listdir(folder):
            if name.endswith(".json") and not name.startswith("."):  # One that is being written.
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    record = json.load(file)
                found[record["capture"]["name"]] = record
        return found

    def until(self, condition, seconds=10):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def until_state(self, name, state, seconds=10):
        self.assertTrue(
            self.until(lambda: self.records().get(name, {}).get("state") == state, seconds),
            f"{name} is not {state}: {self.records()}")
        return self.records()[name]

    def put_flag(self, file, text):
        os.makedirs(self.flags, exist_ok=True)
        path = os.path.join(self.flags, file)
        with open(path + ".new", "w", encoding="utf-8") as out:
            out.write(text)
        os.rename(path + ".new", path)
        return path

    def test_asked_for_by_the_command(self):
        agent = self.begin()
        pid = self.spin()
        folded = self.path("one.folded")
        answer = self.capture("one", "-p", str(pid), "-F", "199", "-d", "2s", "-o", folded)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        samples, markers = agent_case.sum_of_folded(folded)
        self.assertGreater(samples, 40)
        with open(folded, encoding="utf-8") as file:
            self.assertTrue(all(line.startswith("sh;") for line in file if "[lost" not in line))
        record = self.records()["one"]
        self.assertEqual(record["samples"], samples)
        self.assertEqual(sum(record["lost"].values()), markers)
        self.assertEqual(record["capture"]["asked_by"], f"uid {os.getuid()}")
        status = agent.status_document(self.state)["captures"]
        self.assertEqual((status["running"], status["started_total"]), ([], 1))
        self.assertIn("stackray_captures_started_total 1", agent.get("/metrics")[1])
        self.assertIn("capture one ended (finished)", agent.log())
        # The name is taken; another capture runs until it is stopped.
        answer = self.capture("one", "-p", str(pid), "--no-wait")
        self.assert_failed(answer, 1, "one")
        answer = self.capture("two", "-a", "--no-wait")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("two", self.capture("list").stdout)
        self.assertEqual(self.capture("stop", "two").returncode, 0)
        self.assertEqual(self.records()["two"]["reason"], "stopped")
        answer = self.capture("get", "two", "-o", self.path("two.folded"))
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assert_failed(self.capture("stop", "three"), 1, "three")
        self.assertEqual(agent.end(), 0)

    def test_flags_in_files(self):
        agent = self.begin()
        # A directory that did not exist, a file put into it, changed, broken, removed.
        self.put_flag("web.yaml", "- {name: web, target: {user: 0}, rate: 97, for: 10m}\n")
        record = self.until_state("web", "running", 4)
        self.assertEqual(record["capture"]["frequency_hz"], 97)
        self.put_flag("web.yaml", "- {name: web, target: {user: 0}, rate: 49, for: 10m}\n")
        self.until_state("web", "finished", 4)
        self.assertEqual(self.until_state("web-2", "running", 4)["capture"]["frequency_hz"], 49)
        self.put_flag("web.yaml", "- {name: web, target")
        self.assertTrue(self.until(lambda: "web.yaml" in agent.log()))
        self.assertTrue(self.until(
            lambda: agent.status_document(self.state)["captures"]["flag_problems"] != []))
        self.assertEqual(self.records()["web-2"]["state"], "running")
        self.put_flag("old.yaml",
                      "- {name: old, target: {host: true}, until: '2020-01-01T00:00:00Z'}\n")
        self.assertTrue(self.until(lambda: "the time of capture old is over" in agent.log()))
        self.assertNotIn("old", self.records())
        os.unlink(os.path.join(self.flags, "web.yaml"))
        self.until_state("web-2", "finished", 4)
        self.put_flag("other.yaml",
                      "- {name: other, target: {host: true}, hosts: [not-this-*], for: 1m}\n"
                      "- {name: mine, target: {host: true}, rate: 11, for: 1m}\n")
        self.until_state("mine", "running", 4)
        self.assertNotIn("other", self.records())
        os.rename(self.flags, self.flags + ".gone")
        self.until_state("mine", "finished", 15)
        self.assertEqual(agent.end(), 0)

    def kill(self, agent):
        agent.process.send_signal(signal.SIGKILL)
        agent.process.wait()

    def test_flags_keep_their_captures_over_a_restart(self):
        """Two of one file that differ in name and rate alone; one goes while nobody looks."""
        slow = "- {name: zz-slow, target: {host: true}, rate: 10, for: 10m}\n"
        fast = "- {name: aa-fast, target: {host: true}, rate: 97, for: 10m}\n"
        self.put_flag("both.yaml", slow + fast)
        agent = self.begin()
        self.until_state("zz-slow", "running", 4)
        self.until_state("aa-fast", "running", 4)
        self.kill(agent)
        self.put_flag("both.yaml", fast)
        agent = self.begin()
        self.assertEqual(self.until_state("zz-slow", "finished", 6)["reason"], "flag removed")
        self.assertEqual(self.records()["aa-fast"]["state"], "running")
        self.assertEqual(agent.end(), 0)

    def test_a_flag_that_came_between_two_agents_begins(self):
        self.put_flag("one.yaml", "- {name: hh-one, target: {host: true}, rate: 11, for: 1s}\n")
        agent = self.begin()
        self.until_state("hh-one", "finished", 8)
        self.assertEqual(agent.end(), 0)
        self.put_flag("one.yaml", "- {name: hh-two, target: {host: true}, rate: 11, for: 1s}\n")
        agent = self.begin()
        self.until_state("hh-two", "finished", 8)
        self.assertEqual(agent.end(), 0)
        # What lies there is not begun anew.
        agent = self.begin()
        time.sleep(1.5)
        self.assertEqual(sorted(self.records()), ["hh-one", "hh-two"])
        self.assertEqual(agent.end(), 0)

    def test_flags_beyond_the_limit_wait_for_their_turn(self):
        agent = self.begin()
        self.put_flag("many.yaml", "".join(
            f"- {{name: s{i:02}, target: {{user: {i}}}, rate: 1, for: {3 if i < 3 else 60}s}}\n"
            for i in range(17)))
        self.until_state("s14", "running", 6)
        self.assertTrue(self.until(lambda: len(
            agent.status_document(self.state)["captures"]["flag_problems"]) == 2, 3))
        self.until_state("s15", "running", 8)
        self.until_state("s16", "running", 8)
        self.assertTrue(self.until(
            lambda: agent.status_document(self.state)["captures"]["flag_problems"] == [], 3))
        self.assertEqual(agent.log().count("refused"), 2)
        self.assertEqual(agent.end(), 0)

    def test_a_swapped_link_as_of_a_config_map(self):
        for version in ("1", "2"):
            os.makedirs(os.path.join(self.flags, ".." + version))
            with open(os.path.join(self.flags, ".." + version, "map.yaml"), "w",
                      encoding="utf-8") as file:
                file.write(f"- {{name: map{version}, target: {{host: true}}, rate: 11, for: 5m}}\n")
        os.symlink("..1", os.path.join(self.flags, "..data"))
        os.symlink("..data/map.yaml", os.path.join(self.flags, "map.yaml"))
        agent = self.begin()
        self.until_state("map1", "running", 4)
        os.symlink("..2", os.path.join(self.flags, "..tmp"))
        os.rename(os.path.join(self.flags, "..tmp"), os.path.join(self.flags, "..data"))
        self.until_state("map2", "running", 4)
        self.until_state("map1", "finished", 4)
        self.assertEqual(agent.end(), 0)

    def test_goes_on_after_a_kill_and_a_reload(self):
        config = self.path("stackray.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write("frequency: 19\n")
        agent = self.begin("--config", config)
        pid = self.spin()
        self.assertEqual(
            self.capture("long", "-p", str(pid), "-F", "97", "-d", "5m", "--no-wait").returncode, 0)
        self.assertTrue(self.until(lambda: self.records()["long"]["batches"] >= 2, 15))
        self.kill(agent)
        second = self.begin("--config", config)
        self.assertTrue(self.until(lambda: len(self.records()["long"]["gaps"]) == 1))
        # Another frequency is another session; the capture pauses meanwhile.
        with open(config, "w", encoding="utf-8") as file:
            file.write("frequency: 23\n")
        second.process.send_signal(signal.SIGHUP)
        self.assertTrue(self.until(lambda: len(self.records()["long"]["gaps"]) == 2, 20))
        before = self.records()["long"]["samples"]
        self.assertTrue(self.until(lambda: self.records()["long"]["samples"] > before, 15))
        self.assertEqual(self.capture("stop", "long").returncode, 0)
        otlp = os.path.join(self.state, "captures", "long.otlp")
        samples, _ = self.count(otlp)
        self.assertEqual(samples, self.records()["long"]["samples"])
        self.assertEqual(second.end(), 0)

    def test_sent_ones_do_not_double_the_profile(self):
        receiver = OtlpReceiver()
        self.addCleanup(receiver.down)
        receiver.up()
        agent = self.begin("--endpoint", receiver.endpoint, "--protocol", "http/protobuf", "--page")
        pid = self.spin()
        answer = self.capture("sent", "-p", str(pid), "-F", "199", "-d", "2s", "--send", "-o",
                              self.path("sent.folded"))
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual(agent.end(), 0)
        own = [batch for batch in receiver.batches if b"(capture sent)" not in batch]
        captured = [batch for batch in receiver.batches if b"(capture sent)" in batch]
        self.assertTrue(captured)
        self.assertTrue(all(b"stackray.capture.name" in batch for batch in captured))
        sums = {}
        for what, batches in (("own", own), ("captured", captured)):
            path = self.path(what + ".otlp")
            with open(path, "wb") as file:
                for batch in batches:
                    file.write(struct.pack(">I", len(batch)) + batch)
            sums[what] = self.count(path)
        self.assertEqual(sums["captured"][0], agent_case.sum_of_folded(self.path("sent.folded"))[0])
        # The receiver was due both; the history has the profile alone.
        produced, delivered, lost, kept = agent.totals_of("otlp")
        self.assertEqual(delivered, sums["own"][0] + sums["captured"][0])
        self.assertEqual(produced, delivered + lost + kept)

    def test_others_are_refused(self):
        if os.getuid() != 0:
            self.skipTest("only root can become another user")
        agent = self.begin("--no-allow-captures")
        answer = self.capture("one", "-a")
        self.assert_failed(answer, 1, "allow-captures")
        path = os.path.join(self.state, "agent", "control.sock")

        def become_nobody():
            os.setgroups([])
            os.setresuid(65534, 65534, 65534)

        code = (f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({path!r}); "
                "s.sendall(b'{\"stackray\":1,\"request\":\"capture-list\"}\\n'); "
                "print(s.recv(4096).decode())")
        said = subprocess.run(["python3", "-c", code], preexec_fn=become_nobody,
                              capture_output=True, text=True, check=False)
        self.assertTrue("PERMISSION_DENIED" in said.stdout or "Permission" in said.stderr,
                        said.stdout + said.stderr)
        self.assertEqual(agent.end(), 0)


if __name__ == "__main__":
    agent_case.main()
