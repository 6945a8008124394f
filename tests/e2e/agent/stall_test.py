#!/usr/bin/env python3
"""An agent that is stopped for some seconds, as on a host without a CPU to spare: its ring runs
full, and what is lost is counted, travels to the receiver as markers, and adds up exactly."""

import signal
import time

import agent_case
from otlp_receiver import OtlpReceiver

FREQUENCY = "9999"
STALL_S = 8  # The ring holds less than 4 s of small samples at this rate.


class Stall(agent_case.AgentCase):
    def test_samples_that_found_no_room_arrive_as_markers(self):
        receiver = OtlpReceiver()
        self.addCleanup(receiver.down)
        receiver.up()
        self.spin()
        self.spin()
        agent = self.agent("--page", "--seal-interval", "200ms", "-F", FREQUENCY, "--cpu-budget", "0",
                           "--protocol", "http/protobuf", "--endpoint", receiver.endpoint)
        self.wait_until_sampling(agent)
        accountant = self.account(agent)
        self.assertTrue(receiver.wait_for(2, 20))
        agent.process.send_signal(signal.SIGSTOP)
        time.sleep(STALL_S)
        agent.process.send_signal(signal.SIGCONT)
        self.assertTrue(receiver.wait_for(len(receiver.batches) + 5, 60))
        accountant.end()
        self.assertEqual(agent.end(), 0)
        self.assertEqual(accountant.wrong, [])
        self.assertGreater(len(accountant.moments), 2)
        produced, delivered, lost = agent.totals()
        self.assertEqual(produced, delivered + lost)
        self.assertGreater(lost, 1000)
        receiver.write(self.path("received.otlp"))
        self.assertEqual(self.count(self.path("received.otlp")), (delivered, lost))
        with open(self.path("received.otlp.folded"), encoding="utf-8") as file:
            marked = sum(int(line.rsplit(" ", 1)[1]) for line in file if "[lost: ring full]" in line)
        self.assertGreater(marked, 1000)
        print(f"{produced} samples produced, {delivered} delivered, {lost} lost", flush=True)


if __name__ == "__main__":
    agent_case.main()
