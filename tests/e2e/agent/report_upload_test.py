#!/usr/bin/env python3
"""Reports go to an S3 server that nobody here wrote: versitygw, which checks signatures.

Usage: report_upload_test.py S3_DIRECTORY (built there on the first run)
Exit: 77 when there is no BPF here, or no server can be built; the reason is printed.
"""

import os
import pathlib
import socket
import subprocess
import sys
import time

import agent_case
import report_case
import stackray_command

BUILD = pathlib.Path(__file__).resolve().parent.parent / "s3" / "build_s3_server.sh"
ROOT = ("root-key", "root-secret-of-this-test")


class ReportUpload(report_case.ReportCase):
    binary = None

    def setUp(self):
        super().setUp()
        self.objects = self.path("objects")
        self.users = self.path("users")
        self.credentials = self.path("credentials")
        os.makedirs(os.path.join(self.objects, "incidents"))
        os.makedirs(self.users)
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self.server = None
        self.start_server()
        self.addCleanup(self.stop_server)

    def start_server(self):
        log = open(self.path("server.log"), "ab")
        self.addCleanup(log.close)
        self.server = subprocess.Popen(
            [self.binary, "--access", ROOT[0], "--secret", ROOT[1], "--port",
             f"127.0.0.1:{self.port}", "--iam-dir", self.users, "posix", self.objects],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.assertTrue(self.until(self.answers, 30), "the server does not answer")

    def answers(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop_server(self):
        if self.server is not None:
            stackray_command.end_process(self.server)
            self.server = None

    def admin(self, *words):
        answer = subprocess.run(
            [self.binary, "admin", "--access", ROOT[0], "--secret", ROOT[1], "--endpoint-url",
             f"http://127.0.0.1:{self.port}", *words], capture_output=True, text=True, check=False,
            timeout=60)
        self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)

    def write_credentials(self, key, secret):
        with open(self.credentials + ".new", "w", encoding="utf-8") as file:
            file.write(f"AWS_ACCESS_KEY_ID={key}\nAWS_SECRET_ACCESS_KEY={secret}\n"
                       f"AWS_REGION=us-east-1\nAWS_ENDPOINT_URL=http://127.0.0.1:{self.port}\n")
        os.rename(self.credentials + ".new", self.credentials)

    def begin_with_upload(self):
        return self.begin("  upload: s3://incidents/hosts",
                          f"  upload-credentials: {self.credentials}")

    def make(self):
        answer = self.report()
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return answer.stdout.strip()

    def is_there(self, path):
        """The very bytes, under the name."""
        there = os.path.join(self.objects, "incidents", "hosts", os.path.basename(path))
        if not os.path.exists(there):
            return False
        with open(there, "rb") as one, open(path, "rb") as other:
            return one.read() == other.read()

    def counts(self, agent):
        reports = agent.status_document(self.state)["reports"]
        return reports["uploaded_total"], reports["upload_failures_total"]

    def words_of_failure(self, agent):
        return agent.status_document(self.state)["reports"]["last_upload_failure"]

    def test_right_credentials(self):
        self.write_credentials(*ROOT)
        agent = self.begin_with_upload()
        path = self.make()
        self.assertTrue(self.until(lambda: self.is_there(path), 30), self.words_of_failure(agent))
        self.assertTrue(self.until(lambda: self.counts(agent) == (1, 0), 10))
        self.assertFalse(os.path.exists(path[:-len(".tar.zst")] + ".upload"))

    def test_wrong_credentials_until_they_are_right(self):
        for key, secret, words in ((ROOT[0], "wrong", "SignatureDoesNotMatch"),
                                   ("nobody", "x", "InvalidAccessKeyId")):
            with self.subTest(words):
                self.write_credentials(key, secret)
                agent = self.begin_with_upload()
                path = self.make()
                self.assertTrue(self.until(lambda: self.counts(agent)[1] >= 1, 30))
                self.assertIn(words, self.words_of_failure(agent))
                self.assertFalse(self.is_there(path))
                self.write_credentials(*ROOT)
                self.assertTrue(self.until(lambda: self.is_there(path), 60))
                self.assertEqual(agent.end(), 0)

    def test_credentials_that_expire(self):
        """Keys that were good and are withdrawn; then new ones come."""
        user = ("user-key", "user-secret-of-this-test")
        self.admin("create-user", "--access", user[0], "--secret", user[1], "--role", "admin")
        self.write_credentials(*user)
        agent = self.begin_with_upload()
        first = self.make()
        self.assertTrue(self.until(lambda: self.is_there(first), 30), self.words_of_failure(agent))
        self.admin("delete-user", "--access", user[0])
        second = self.make()
        self.assertTrue(self.until(lambda: self.counts(agent)[1] >= 1, 60))
        self.assertIn("InvalidAccessKeyId", self.words_of_failure(agent))
        self.write_credentials(*ROOT)
        self.assertTrue(self.until(lambda: self.is_there(second), 90))

    def test_away_for_30_seconds(self):
        self.write_credentials(*ROOT)
        agent = self.begin_with_upload()
        self.stop_server()
        path = self.make()
        time.sleep(30)
        self.assertGreaterEqual(self.counts(agent)[1], 3)
        self.start_server()
        self.assertTrue(self.until(lambda: self.is_there(path), 90), self.words_of_failure(agent))
        self.assertEqual(self.counts(agent)[0], 1)


def main():
    reason = stackray_command.why_no_bpf()
    if reason:
        print(f"skipped: no BPF here: {reason}", file=sys.stderr)
        return agent_case.SKIPPED
    built = subprocess.run([str(BUILD), sys.argv.pop(1)], stdout=subprocess.PIPE, text=True,
                           check=False)
    if built.returncode != 0:
        return built.returncode
    ReportUpload.binary = built.stdout.strip().splitlines()[-1]
    return agent_case.main()


if __name__ == "__main__":
    sys.exit(main())
