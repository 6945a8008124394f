#!/usr/bin/env python3
"""The local history over restarts, the page's server, and two agents on one host."""

import json
import os
import socket
import time

import agent_case

PORTS = range(7171, 7200)


def samples_of(document):
    """Samples of a page document, lost ones left out."""
    lost = {i for i, name in enumerate(document["frames"]["name"])
            if document["strings"][name].startswith("[lost: ")}
    return sum(count for node, count in zip(document["samples"]["node"], document["samples"]["count"])
               if document["nodes"]["frame"][node] not in lost)


def names_of(document):
    return {document["strings"][name] for name in document["frames"]["name"]}


class LocalHistory(agent_case.AgentCase):
    def begin(self, *arguments):
        agent = self.agent(*arguments)
        self.wait_until_sampling(agent)
        self.assertIsNotNone(agent.find_page(), agent.log())
        return agent

    def profile(self, agent, from_ms, to_ms):
        code, text = agent.get(f"/api/profile?from_ms={from_ms}&to_ms={to_ms}")
        self.assertEqual(code, 200, text)
        return json.loads(text)

    def wait_for_data(self, agent, seconds=20):
        until = time.monotonic() + seconds
        while agent.status()["newest_ms"] == 0 and time.monotonic() < until:
            time.sleep(0.1)
        return agent.status()

    def test_what_one_agent_kept_the_next_one_serves(self):
        self.spin()
        first = self.begin("--seal-interval", "500ms")
        accountant = self.account(first)
        self.wait_for_data(first)
        time.sleep(2)
        accountant.end()
        self.assertEqual(accountant.wrong, [])
        self.assertEqual(first.end(), 0)
        kept = self.write_history(self.path("first.otlp"))
        samples, _ = self.count(self.path("first.otlp"))
        self.assertGreater(samples, 40)
        self.assert_protoc_agrees(kept, self.count(self.path("first.otlp")))

        second = self.begin("--seal-interval", "500ms")
        old = second.status()
        began_ms, ended_ms = old["oldest_ms"], int(time.time() * 1000)
        self.assertGreater(began_ms, 0)
        time.sleep(2)
        self.assertEqual(samples_of(self.profile(second, 0, began_ms)), 0)
        before = self.profile(second, began_ms, old["newest_ms"] + 1)
        self.assertEqual(samples_of(before), samples)
        everything = self.profile(second, began_ms, ended_ms + 60_000)
        self.assertGreater(samples_of(everything), samples)
        self.assertTrue(names_of(before) <= names_of(everything))
        self.assertEqual(second.end(), 0)
        self.assertEqual(self.write_history(self.path("both.otlp"))[:len(kept)], kept)

    def test_samples_in_the_open_batch_are_in_flight(self):
        self.spin()
        agent = self.begin("--seal-interval", "1m")
        accountant = self.account(agent)
        time.sleep(6)
        accountant.end()
        self.assertEqual(accountant.wrong, [])
        last = accountant.moments[-1]
        self.assertGreater(last["produced"], 40)
        self.assertEqual(last["in_flight"]["history"], last["produced"] - last["lost"]["history"])
        self.assertEqual(agent.end(), 0)

    def test_after_a_kill_every_batch_that_was_stored_is_there(self):
        self.spin()
        first = self.begin("--seal-interval", "200ms")
        self.wait_for_data(first)
        time.sleep(2)
        stored = first.samples()["delivered"]["history"]
        first.process.kill()
        first.process.wait()
        self.write_history(self.path("killed.otlp"))
        self.assertGreaterEqual(self.count(self.path("killed.otlp"))[0], stored)
        second = self.begin()
        self.assertGreater(second.status()["oldest_ms"], 0)
        self.assertEqual(second.end(), 0)

    def test_two_agents_do_not_share_a_history(self):
        first = self.begin()
        second = self.agent()
        self.assertEqual(second.process.wait(15), 1)
        self.assertIn(f"another stackray agent (pid {first.process.pid}) uses {self.state}; stop it",
                      second.log())
        self.assertIn("--state-dir", second.log())
        self.assertNotIn("sampling", second.log())
        self.assertEqual(first.get("/healthz")[0], 200)
        self.assertEqual(first.end(), 0)

    def test_a_busy_port_is_passed_over(self):
        taken = None
        for port in PORTS:  # The first one that is free; others may be busy already.
            try:
                taken = socket.create_server(("127.0.0.1", port))
                break
            except OSError:
                continue
        self.assertIsNotNone(taken)
        with taken:
            agent = self.begin("--listen", str(taken.getsockname()[1]))
            port = int(agent.url.rstrip("/").rsplit(":", 1)[1])
            self.assertGreater(port, taken.getsockname()[1])
            self.assertIn(port, PORTS)
            self.assertEqual(agent.get("/healthz")[0], 200)
            with open(agent.output_path, encoding="utf-8") as file:
                self.assertIn(f"ssh -L {port}:127.0.0.1:{port}", file.read())
            self.assertEqual(agent.end(), 0)

    def test_the_server_answers_this_host_alone(self):
        agent = self.begin()
        self.assertEqual(agent.get("/healthz")[0], 200)
        for host in ("evil.example:7171", "169.254.169.254:80", "127.0.0.1.evil.example:80", "localhost"):
            with self.subTest(host=host):
                for path in ("/", "/api/profile", "/api/status", "/metrics", "/healthz"):
                    self.assertEqual(agent.get(path, host)[0], 403)
        self.assertEqual(agent.get("/", "localhost:8080")[0], 200)  # A tunnel.
        port = int(agent.url.rstrip("/").rsplit(":", 1)[1])
        with open("/proc/net/tcp", encoding="ascii") as file:
            listening = [line.split()[1] for line in file if line.split()[3] == "0A"]
        self.assertEqual([at for at in listening if at.endswith(f":{port:04X}")], [f"0100007F:{port:04X}"])
        self.assertEqual(agent.end(), 0)

    def test_a_state_directory_that_cannot_be_made_costs_only_the_disk(self):
        blocker = self.path("file")
        with open(blocker, "w", encoding="utf-8"):
            pass
        self.state = os.path.join(blocker, "state")
        self.spin()
        agent = self.begin("--seal-interval", "200ms")
        self.assertIn("kept in memory only", agent.log())
        self.assertGreater(self.wait_for_data(agent)["newest_ms"], 0)
        self.assertEqual(agent.end(), 0)


if __name__ == "__main__":
    agent_case.main()
