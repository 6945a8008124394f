#!/usr/bin/env python3
"""Programs that make functions, call them and drop them all the time: the agent's memory stays
flat, and names stay right.

What is here of Python, Ruby, PHP and Perl, side by side at 999 Hz. Every sampled function is new,
so each of them is read, named, sent and forgotten.
"""

import os
import re
import shutil
import time

import agent_case
import stackray_command
from otlp_receiver import OtlpReceiver

PROGRAMS = os.path.join(agent_case.ROOT, "tests", "live", "programs")
SECONDS = int(os.environ.get("STACKRAY_NEW_CODE_SECONDS", "60"))
FREQUENCY_HZ = 999
# (program, source, what its functions are called). Subs and closures without a name have one name
# for all.
LANGUAGES = (("python3", "python/new_code.py", re.compile(r"made_\d+$")),
             ("ruby", "ruby/new_code.rb", re.compile(r"made_\d+$")),
             ("php", "php/new_code.php", re.compile(r"\{closure")),
             ("perl", "perl/new_code.pl", re.compile(r"__ANON__$|::method_\d+$")))
MEMORY = re.compile(r'^stackray_memory_bytes\{owner="([^"]+)"\} (\S+)$', re.MULTILINE)
MARKERS = ("[stale]", "[gone]")
MOST_GROWTH = 1.05    # Of the last third's maximum over the second third's.
# All that is kept of names, full: native ones, lines, code that was read, code that was sent.
MOST_CACHES = 24 << 20
MOST_MARKERS = 0.001  # Of each program's frames.


class NewCode(agent_case.AgentCase):
    def judge_flat(self, rows):
        """Caches fill up to their bounds, for minutes; all else is what it was."""
        caches = [row["symbol caches"] for row in rows]
        others = [row["anonymous"] - row["symbol caches"] for row in rows]
        third = len(rows) // 3
        for what, series in (("caches", caches), ("other anonymous", others),
                             ("resident", [row["resident"] for row in rows])):
            print(f"measured: {what}, MiB: "
                  f"{' '.join(f'{n / (1 << 20):.1f}' for n in series[::max(1, third // 4)])}", flush=True)
        middle, last = max(others[third:2 * third]), max(others[2 * third:])
        self.assertLessEqual(last, MOST_GROWTH * middle, "memory grows")
        self.assertLessEqual(max(caches), MOST_CACHES)

    def frames_of(self, path):
        """By process: {frame: samples that have it, each of its frames counted}."""
        answer = stackray_command.run("convert", path, path + ".folded")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        frames = {}
        with open(path + ".folded", encoding="utf-8") as file:
            for line in file:
                stack, count = line.rsplit(" ", 1)
                process, *names = stack.split(";")
                of_process = frames.setdefault(process, {})
                for name in names:
                    of_process[name] = of_process.get(name, 0) + int(count)
        return frames

    def test_memory_is_flat_and_names_are_right(self):
        here = [language for language in LANGUAGES if shutil.which(language[0])]
        self.assertTrue(here)
        pids = [self.spin(program, os.path.join(PROGRAMS, source)) for program, source, _ in here]
        receiver = OtlpReceiver()
        self.addCleanup(receiver.down)
        receiver.up()
        agent = self.agent("-F", str(FREQUENCY_HZ), "-p", ",".join(map(str, pids)), "--seal-interval", "2s",
                           "--protocol", "http/protobuf", "--endpoint", receiver.endpoint)
        self.wait_until_sampling(agent, 60)
        self.assertIsNotNone(agent.find_page(), agent.log())
        until, rows = time.monotonic() + SECONDS, []
        while time.monotonic() < until:
            time.sleep(1)
            rows.append({owner: int(float(value)) for owner, value in MEMORY.findall(agent.get("/metrics")[1])})
        self.assertEqual(agent.end(), 0, agent.log())
        path = self.path("received.otlp")
        self.assertGreater(len(receiver.batches), SECONDS // 4)
        receiver.write(path)
        frames = self.frames_of(path)
        for program, _, made in here:
            name = os.path.basename(os.path.realpath(shutil.which(program)))
            self.judge_names(program, frames.get(name) or frames.get(program, {}), made)
        self.judge_flat(rows)

    def judge_names(self, program, frames, made):
        every = sum(frames.values())
        markers = sum(frames.get(marker, 0) for marker in MARKERS)
        names = [name for name in frames if made.search(name)]
        print(f"measured: {program}: {every} frames, {markers} [stale] or [gone], {len(names)} functions that "
              f"were made, in {sum(frames[name] for name in names)} frames", flush=True)
        self.assertGreater(sum(frames[name] for name in names), SECONDS, sorted(frames)[:50])
        self.assertLess(markers, MOST_MARKERS * every)


if __name__ == "__main__":
    agent_case.main()
