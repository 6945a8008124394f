#!/usr/bin/env python3
"""`agent --check-config`: what would hold and where it comes from; what is wrong, and what to
write."""

import os
import subprocess

import agent_case
import stackray_command

PEM = "-----BEGIN CERTIFICATE-----\n"


class CheckConfig(stackray_command.Case):
    def check(self, *arguments, **variables):
        environment = {**agent_case.clean_environment(), **variables}
        return subprocess.run([stackray_command.STACKRAY, "agent", "--check-config", *arguments],
                              capture_output=True, text=True, timeout=30, env=environment,
                              stdin=subprocess.DEVNULL, check=False)

    def config(self, text):
        path = self.path("agent.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_says_what_holds_and_where_it_comes_from(self):
        path = self.config("frequency: 49\nseal-interval: 3s\nqueue-size: 8MiB\n"
                           "endpoint: http://collector:4318\n")
        answer = self.check("--config", path, "-F", "99", STACKRAY_QUEUE_SIZE="16MiB")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual(answer.stderr, "")
        lines = answer.stdout.splitlines()
        self.assertIn(f"seal-interval: 3s  # {path}:2", lines)
        self.assertIn(f"endpoint: http://collector:4318  # {path}:4", lines)
        self.assertTrue(any(line.startswith("frequency: 99  # ") for line in lines), lines)
        self.assertTrue(any(line.startswith("queue-size: 16MiB  # ") for line in lines), lines)
        # What it prints is a configuration itself.
        again = self.check("--config", self.config("\n".join(
            line for line in lines if not line.endswith("# default")) + "\n"))
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("frequency: 99", again.stdout)

    def test_otel_variables_are_named_as_origins(self):
        answer = self.check(OTEL_EXPORTER_OTLP_ENDPOINT="http://collector:4318",
                            OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL="http/protobuf",
                            OTEL_EXPORTER_OTLP_TIMEOUT="2500", OTEL_EXPORTER_OTLP_HEADERS="a=secret",
                            OTEL_SERVICE_NAME="shop")
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        lines = answer.stdout.splitlines()
        self.assertIn("endpoint: http://collector:4318  # OTEL_EXPORTER_OTLP_ENDPOINT", lines)
        self.assertIn("protocol: http/protobuf  # OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL", lines)
        self.assertIn("timeout: 2500ms  # OTEL_EXPORTER_OTLP_TIMEOUT", lines)
        self.assertIn("headers: ***  # OTEL_EXPORTER_OTLP_HEADERS", lines)
        self.assertIn("service-name: shop  # OTEL_SERVICE_NAME", lines)
        self.assertNotIn("secret", answer.stdout)

    def test_resource_attributes_that_cannot_be_read_are_said_and_left_out(self):
        answer = self.check(OTEL_RESOURCE_ATTRIBUTES="a=1,b=%zz")
        self.assertEqual(answer.returncode, 0)
        self.assertIn("warning: OTEL_RESOURCE_ATTRIBUTES is not used", answer.stderr)
        self.assertIn('"%zz"', answer.stderr)

    def test_several_receivers(self):
        path = self.config("receivers:\n  - endpoint: http://one:4317\n  - name: two\n"
                           "    endpoint: ftp://two\n")
        self.assert_failed(self.check("--config", path), 2, "agent.yaml:4: endpoint: ", 'scheme "ftp"')
        path = self.config("receivers:\n  - endpoint: http://one:4317\n  - name: two\n"
                           "    endpoint: http://two\n    headers: {a: 1}\n")
        self.assert_failed(self.check("--config", path), 2, "agent.yaml:5: headers needs a value")
        path = self.config("receivers:\n  - endpoint: http://one:4317\n  - name: two\n"
                           "    endpoint: http://two\n")
        answer = self.check("--config", path)
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        again = self.check("--config", self.config("\n".join(
            line for line in answer.stdout.splitlines() if not line.endswith("# default")) + "\n"))
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("  - name: two", again.stdout)

    def test_doctor_says_where_profiles_would_go(self):
        environment = {**agent_case.clean_environment(),
                       "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4317"}
        answer = stackray_command.run("doctor", env=environment)
        self.assertIn("http://collector:4317 (OTEL_EXPORTER_OTLP_ENDPOINT)", answer.stdout)
        environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = "ftp://collector"
        answer = stackray_command.run("doctor", env=environment)
        self.assertIn("OTEL_EXPORTER_OTLP_ENDPOINT: ", answer.stdout)
        self.assertIn("--check-config", answer.stdout)

    def test_starts_nothing(self):
        state = self.path("state")
        self.assertEqual(self.check("--state-dir", state).returncode, 0)
        self.assertFalse(os.path.exists(state))

    def test_wrong_endpoints(self):
        wrong = {"ftp://collector:4317": 'scheme "ftp"', "http://": "", "http://collector:99999": ""}
        for endpoint, words in wrong.items():
            with self.subTest(endpoint=endpoint):
                for answer in (self.check("--endpoint", endpoint),
                               self.check("--config", self.config(f"endpoint: {endpoint}\n"))):
                    self.assert_failed(answer, 2, "endpoint", words)
                # Named as it was given: the file's line and key, not a flag that nobody wrote.
                self.assertIn("agent.yaml:1: endpoint: ", answer.stderr)
                self.assertNotIn("--endpoint", answer.stderr)
                answer = self.check(OTEL_EXPORTER_OTLP_ENDPOINT=endpoint)
                self.assert_failed(answer, 2, "OTEL_EXPORTER_OTLP_ENDPOINT", words)

    def test_wrong_certificates(self):
        missing, text = self.path("no.pem"), self.config("no certificate")
        good = self.path("good.pem")
        with open(good, "w", encoding="utf-8") as file:
            file.write(PEM)
        to = ("--endpoint", "https://collector:4317")
        self.assert_failed(self.check(*to, "--certificate", missing), 2, "--certificate", missing,
                           "cannot be opened")
        self.assert_failed(self.check(*to, "--certificate", text), 2, text, "not PEM")
        self.assert_failed(self.check(*to, OTEL_EXPORTER_OTLP_CERTIFICATE=missing), 2,
                           "OTEL_EXPORTER_OTLP_CERTIFICATE", missing)
        self.assert_failed(self.check(*to, "--client-certificate", good), 2, "client")
        self.assertEqual(self.check(*to, "--certificate", good).returncode, 0)

    def test_wrong_files(self):
        self.assert_failed(self.check("--config", self.path("none.yaml")), 2, "none.yaml")
        cases = {"frequenzy: 9\n": "did you mean frequency?", "frequency: [1\n": "agent.yaml",
                 "frequency: 20\nfrequency: 30\n": "agent.yaml:2",
                 "listen: 8.8.8.8:80\npage-access: open\n": "page-access token",
                 "seal-interval: 1ms\n": "100ms", "- a\n- b\n": "agent.yaml"}
        for text, words in cases.items():
            with self.subTest(text=text):
                self.assert_failed(self.check("--config", self.config(text)), 2, words)


if __name__ == "__main__":
    agent_case.main()
