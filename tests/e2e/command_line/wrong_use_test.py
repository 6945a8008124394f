"""Wrong use that needs no sampling: each ends with 2 and says what to do."""

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
        self.assert_failed(run("record", "-o", "out.xyz"), 2, "out.xyz", ".html")

    def test_two_targets(self):
        self.assert_failed(run("record", "-a", "-p", "1"), 2)

    def test_help_and_version_work(self):
        for flags in (["--help"], ["record", "--help"], ["--version"]):
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
