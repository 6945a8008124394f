"""Wrong use that needs no sampling: each ends with 2 and says what to do."""

import json
import os
import shutil
import subprocess
import unittest

from stackray_command import STACKRAY, Case, run


class WrongUse(Case):
    def test_unknown_flag(self):
        self.assert_failed(run("record", "--frequncy", "99"), 2, "--frequncy", "--frequency")

    def test_unknown_verb(self):
        self.assert_failed(run("recrod"), 2, "recrod", "record")

    def test_bad_value(self):
        for flag, value in (("-F", "fast"), ("-F", "0"), ("-d", "-1"), ("-p", "x"), ("-p", "0")):
            with self.subTest(flag=flag, value=value):
                self.assert_failed(run("record", flag, value), 2, value)

    def test_unknown_ending(self):
        self.assert_failed(run("record", "-o", "out.xyz"), 2, "out.xyz", ".html", "ending .xyz")
        self.assert_failed(run("record", "-o", "/tmp"), 2, "/tmp is a directory")

    def test_the_name_stands_once_before_a_message(self):
        for arguments in (["record", "--wrong"], ["agent", "--", "ls"], ["check"], ["convert", "a"]):
            with self.subTest(arguments=arguments):
                self.assertEqual(run(*arguments).stderr.split(" (see")[0].count("stackray: "), 1)

    def test_files_that_hold_no_batches(self):
        files = {"page.html": ("<!DOCTYPE html><html></html>", "HTML"),
                 "stacks.folded": ("a;b;c 12\n", "folded stacks"),
                 "batches.json": ('{"resourceProfiles":[]}\n', "JSON"),
                 "out.pb.gz": (b"\x1f\x8b\x08\x00" + bytes(20), "gzip"),
                 "empty.otlp": ("", "is empty")}
        for name, (content, looks) in files.items():
            path = self.path(name)
            with open(path, "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
            kept = self.path("kept.folded")
            with open(kept, "w", encoding="utf-8") as file:
                file.write("precious")
            for arguments in (["check", path], ["convert", path, kept]):
                with self.subTest(arguments=arguments):
                    self.assert_failed(run(*arguments), 1, path, looks)
            with open(kept, encoding="utf-8") as file:
                self.assertEqual(file.read(), "precious")
        self.assert_failed(run("check", self.folder), 1, "is a directory")
        self.assert_failed(run("check", self.path("none")), 1, "No such file")

    def test_standard_input(self):
        for arguments in (["check", "-"], ["convert", "-", "-"]):
            answer = subprocess.run([STACKRAY, *arguments], input=b"<html>", capture_output=True,
                                    check=False)
            self.assertEqual(answer.returncode, 1)
            self.assertIn(b"standard input is no .otlp file (it looks like HTML)", answer.stderr)

    def test_json_is_every_line(self):
        for arguments in (["record", "--log-format=json", "--wrong"],
                          ["record", "--log-format", "json", "--", "no-such-command-anywhere"],
                          ["check", "--log-format=json", self.path("none")],
                          ["agent", "--log-format=json", "--endpoint=ftp://x"]):
            with self.subTest(arguments=arguments):
                answer = run(*arguments)
                self.assertNotEqual(answer.returncode, 0)
                lines = answer.stderr.splitlines()
                self.assertTrue(lines)
                for line in lines:
                    self.assertEqual(set(json.loads(line)), {"time", "level", "message"})

    def test_two_targets(self):
        self.assert_failed(run("record", "-a", "-p", "1"), 2)

    def test_help_and_version_work(self):
        for flags in ([], ["--help"], ["record", "--help"], ["--version"], ["-V"], ["version"]):
            with self.subTest(flags=flags):
                answer = run(*flags)
                self.assertEqual(answer.returncode, 0, answer.stderr)
                self.assertTrue(answer.stdout)


class WithoutRights(Case):
    """As a user who may not load BPF programs: 1, and the message names the way out."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("needs root, to give rights up")
        if not shutil.which("setpriv"):
            self.skipTest("needs setpriv")

    def check(self, *setpriv):
        prefix = ("setpriv", *setpriv)
        reach = [*prefix, "test", "-x", os.path.abspath(STACKRAY)]
        if subprocess.run(reach, check=False).returncode:
            self.skipTest("the unprivileged user cannot reach the build folder")
        answer = run("record", "-d", "1", "-o", self.path("x.folded"), prefix=prefix)
        self.assert_failed(answer, 1, "root", "CAP_BPF")
        self.assertLess(len(answer.stderr), 600, answer.stderr)

    def test_not_root(self):
        os.chmod(self.folder, 0o777)
        self.check("--reuid=65534", "--regid=65534", "--clear-groups")

    def test_root_without_capabilities(self):
        drop = "-bpf,-sys_admin,-perfmon"
        self.check(f"--bounding-set={drop}", f"--inh-caps={drop}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
