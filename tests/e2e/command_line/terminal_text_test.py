"""Names from hostile processes and files drive no terminal."""

import os
import shutil
import unittest

from stackray_command import SPIN, SamplingCase, run, started

EVIL = "\x1b]0;owned\x07\x1b[2J\u009b31m"
# Of a command, which has 15 bytes: a line of its own in folded stacks, and markup.
MARKUP = "</script>\n<b> 9"


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
            dumped = run("dump", str(target.pid))
        self.assertIn("sh\ufffd]0", answer.stdout)
        texts = {"-": answer.stdout, "stderr": answer.stderr, "explain": explained.stdout,
                 "dump": dumped.stdout}
        for name in ("x.folded", "x.json", "x.speedscope.json"):
            with open(self.path(name), encoding="utf-8") as file:
                texts[name] = file.read()
        texts["check"] = run("check", self.path("x.otlp")).stdout
        for name, text in texts.items():
            with self.subTest(text=name):
                self.assertTrue(text)
                self.assertEqual(controls(text), [])

    def test_a_command_is_one_word_of_a_line_and_no_markup(self):
        program = self.path("a" + MARKUP.replace("/", ""))
        shutil.copy("/bin/sh", program)
        with started(program, "-c", SPIN) as target:
            answer = run("record", "-d", "1", "-p", str(target.pid), "-o", self.path("x.folded"),
                         "-o", self.path("x.html"), "-o", self.path("x.otlp"))
            self.assertEqual(answer.returncode, 0, answer.stderr)
        with open(self.path("x.folded"), encoding="utf-8") as file:
            for line in file.read().splitlines():
                self.assertRegex(line, r"^a<script>[ \ufffd]<b>.*;.* \d+$")
        with open(self.path("x.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertEqual(page.count("<script"), 2)  # Its data, and its own.
        self.assertNotIn("<b>", page.partition("<script>")[0])

    def test_a_link_in_a_folder_of_all_is_not_followed(self):
        with open("/proc/sys/fs/protected_symlinks", encoding="ascii") as file:
            if os.geteuid() != 0 or file.read().strip() != "1":
                self.skipTest("needs root, and a kernel that protects symbolic links")
        shared, victim = self.path("shared"), self.path("victim")
        os.mkdir(shared)
        os.chmod(shared, 0o1777)
        os.chmod(self.folder, 0o755)
        link = os.path.join(shared, "out.folded")
        os.symlink(victim, link)
        os.lchown(link, 65534, 65534)
        answer = run("record", "-d", "1", "-o", link)
        self.assertEqual(answer.returncode, 1, answer.stderr)
        self.assertIn("Permission denied", answer.stderr)
        self.assertFalse(os.path.exists(victim))

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
