"""Names from hostile processes and files drive no terminal."""

import os
import shutil
import unittest

from stackray_command import SPIN, SamplingCase, run, started

EVIL = "\x1b]0;owned\x07\x1b[2J\u009b31m"


def controls(text):
    return sorted({char for char in text
                   if (ord(char) < 0x20 and char != "\n") or 0x7f <= ord(char) < 0xa0})


class TerminalText(SamplingCase):
    def test_names_of_processes_and_files(self):
        program = self.path("sh" + EVIL)
        shutil.copy("/bin/sh", program)
        with started(program, "-c", SPIN) as target:
            answer = run("record", "-d", "1", "-p", str(target.pid), "-o", "-", "-o",
                         self.path("x.folded"), "-o", self.path("x.json"), "-o",
                         self.path("x.speedscope.json"), "-o", self.path("x.otlp"))
            self.assertEqual(answer.returncode, 0, answer.stderr)
            explained = run("explain", str(target.pid), "-d", "0.5")
        self.assertIn("sh\ufffd]0", answer.stdout)
        texts = {"-": answer.stdout, "stderr": answer.stderr, "explain": explained.stdout}
        for name in ("x.folded", "x.json", "x.speedscope.json"):
            with open(self.path(name), encoding="utf-8") as file:
                texts[name] = file.read()
        texts["check"] = run("check", self.path("x.otlp")).stdout
        for name, text in texts.items():
            with self.subTest(text=name):
                self.assertTrue(text)
                self.assertEqual(controls(text), [])

    def test_messages(self):
        for arguments in (["record", "-d", "1", "--", EVIL], ["check", "/" + EVIL],
                          ["record", "--" + EVIL], [EVIL], ["record", "-o", EVIL]):
            with self.subTest(arguments=arguments):
                answer = run(*arguments)
                self.assertNotEqual(answer.returncode, 0)
                self.assertEqual(controls(answer.stderr), [])
        self.assertTrue(os.path.isdir(self.folder))


if __name__ == "__main__":
    unittest.main(verbosity=2)
