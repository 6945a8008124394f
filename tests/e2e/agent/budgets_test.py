#!/usr/bin/env python3
"""An agent with budgets that are too small for it: it does without, says so everywhere, and its
batches stay right."""

import json
import os
import signal
import time

import agent_case
import stackray_command

MIB = 1 << 20
GIVEN_UP = 'stackray_given_up_level{what="%s"}'


class Budgets(agent_case.AgentCase):
    def config(self, text):
        path = self.path("agent.yaml")
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(path + ".new", path)
        return path

    def wait_for(self, agent, condition, seconds=90):
        """The first status of which the condition holds; fails when there was none."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            status = agent.status_document(self.state)
            if condition(status["budgets"]):
                return status
            time.sleep(0.3)
        return self.fail(f"{json.dumps(status['budgets'])}\n{agent.log()}")

    def test_it_does_without_and_says_so(self):
        self.spin()
        path = self.config("memory-budget: 16MiB\nbpf-memory-budget: 8MiB\ncpu-budget: 0.1%\n")
        agent = self.agent("--config", path, "-F", "400", "--seal-interval", "500ms")
        self.wait_until_sampling(agent)
        agent.find_page()
        # How far the frequency has to go is this host's affair.
        memory = {"unwind tables": 3, "frame pointers": 1, "name caches": 1, "history": 0}
        status = self.wait_for(agent, lambda budgets: {**budgets["given_up"], **memory}
                               == budgets["given_up"] and budgets["given_up"]["frequency"] > 0
                               and budgets["exhausted"])
        budgets = status["budgets"]
        level = budgets["given_up"]["frequency"]
        self.assertEqual((budgets["memory_bytes"], budgets["bpf_memory_bytes"]), (16 * MIB, 8 * MIB))
        self.assertEqual(budgets["cpus"], 0.001)
        self.assertEqual(budgets["frequency_hz"], 400 / 2 ** level)
        self.assertEqual(budgets["unwind_tables_bytes"], 2 * MIB)
        self.assertGreaterEqual(budgets["given_up_total"], 4)
        metrics = agent.get("/metrics")[1]
        for what, far in memory.items():
            self.assertIn(f"{GIVEN_UP % what} {far}\n", metrics)
        self.assertNotIn(f"{GIVEN_UP % 'frequency'} 0\n", metrics)
        self.assertIn('stackray_budget_bytes{of="resident"} 16777216\n', metrics)
        self.assertIn("stackray_budget_cpus 0.001\n", metrics)
        self.assertNotIn("stackray_sampling_frequency_hz 400\n", metrics)
        self.assertIn("stackray_budget_exhausted 1\n", metrics)
        log = agent.log()
        for words in ("warning: resident memory is near its budget", "warning: CPU is near its budget",
                      " Hz instead of 400", "nothing is left to be given up"):
            self.assertIn(words, log)

        # Enough of everything: at once nothing is short any more, and the sums go on.
        self.config("memory-budget: 2GiB\nbpf-memory-budget: 0\ncpu-budget: 0\nlog-format: json\n")
        agent.process.send_signal(signal.SIGHUP)
        self.wait_for(agent, lambda budgets: budgets["memory_bytes"] == 2048 * MIB
                      and not budgets["exhausted"])
        self.assertIn('"message":"settings reloaded"}', agent.log(), "log settings are reloaded, too")
        self.assertNotIn("stackray_budget_cpus", agent.get("/metrics")[1])
        self.assertEqual(agent.end(), 0)
        self.write_history(self.path("kept.otlp"))
        self.assertGreater(self.count(self.path("kept.otlp"))[0], 0)
        self.assert_time_of_samples(self.path("kept.otlp"))

    def assert_time_of_samples(self, otlp):
        """Batches of several periods; in pprof, whose samples have a time, they weigh what they
        stand for."""
        answer = stackray_command.run("convert", otlp, self.path("kept.json"))
        self.assertEqual(answer.returncode, 0, answer.stderr)
        by_period = {}
        with open(self.path("kept.json"), encoding="utf-8") as file:
            for line in file:
                for resource in json.loads(line)["resourceProfiles"]:
                    for scope in resource["scopeProfiles"]:
                        for profile in scope["profiles"]:
                            count = sum(int(value) for sample in profile["samples"]
                                        for value in sample.get("values", ["1"]))
                            period = int(profile["period"])
                            by_period[period] = by_period.get(period, 0) + count
        self.assertEqual(min(by_period), 2_500_000)
        self.assertGreaterEqual(max(by_period), 5_000_000)
        weighed = sum(count * period // 2_500_000 for period, count in by_period.items())
        answer = stackray_command.run("convert", otlp, self.path("kept.folded"))
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual(sum(agent_case.sum_of_folded(self.path("kept.folded"))), weighed)


if __name__ == "__main__":
    agent_case.main()
