#!/usr/bin/env python3
"""stackray view: a file's page on the loopback interface, until Ctrl-C."""

import http.client
import os
import signal
import subprocess
import unittest
import urllib.parse

from stackray_command import STACKRAY, SPIN, SamplingCase, run, started


class View(SamplingCase):
    def serve(self, path):
        process = subprocess.Popen([STACKRAY, "view", path], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, urllib.parse.urlparse(process.stdout.readline().strip())

    def get(self, address, path):
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=20)
        try:
            connection.request("GET", path, headers={"Host": address.netloc})
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        finally:
            connection.close()

    def assert_shown(self, path):
        process, address = self.serve(path)
        self.assertEqual(address.hostname, "127.0.0.1")
        status, page = self.get(address, "/?" + address.query)
        self.assertEqual(status, 200)
        self.assertIn('id="stackray-data"', page)
        self.assertEqual(self.get(address, "/")[0], 401)
        self.assertEqual(self.get(address, "/?token=wrong")[0], 401)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(10), 0, process.stderr.read())

    def test_batches_and_pages(self):
        otlp, page = self.path("a.otlp"), self.path("a.html")
        with started("sh", "-c", SPIN) as process:
            answer = run("record", "-p", str(process.pid), "-d", "1", "-o", otlp, "-o", page)
            self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assert_shown(otlp)
        self.assert_shown(page)

    def test_other_formats(self):
        otlp = self.path("a.otlp")
        others = [self.path("a" + ending) for ending in (".pb.gz", ".folded", ".json")]
        with started("sh", "-c", SPIN) as process:
            answer = run("record", "-p", str(process.pid), "-d", "1", "-o", otlp)
            self.assertEqual(answer.returncode, 0, answer.stderr)
        for path in others:
            self.assertEqual(run("convert", otlp, path).returncode, 0)
            self.assert_shown(path)

    def test_other_files(self):
        text, empty = self.path("a.txt"), self.path("empty")
        foreign, gzip = self.path("foreign.html"), self.path("a.pb.gz")
        for path, content in ((text, b"hello\n"), (empty, b""), (gzip, b"\x1f\x8b\x08"),
                              (foreign, b"<!doctype html><p>hello")):
            with open(path, "wb") as file:
                file.write(content)
        self.assert_failed(run("view", text), 1, "no .otlp file")
        self.assert_failed(run("view", empty), 1, "is empty")
        self.assert_failed(run("view", foreign), 1, "no page of stackray")
        self.assert_failed(run("view", gzip), 1, "a.pb.gz: ")
        self.assert_failed(run("view", self.path("none")), 1, "No such file")
        self.assert_failed(run("view"), 2, "needs FILE")
        self.assertTrue(os.path.isdir(self.folder))


if __name__ == "__main__":
    unittest.main(verbosity=2)
