#!/usr/bin/env python3
"""How reports reach people and whom they are about: log records, the page's server, targets,
collectors."""

import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request

import agent_case
import otlp_receiver
import otlp_spans
import report_case

# LogsData {1 resource_logs {1 resource, 2 scope_logs {2 log_records}}}, LogRecord {5 body,
# 6 attributes, 12 event_name}, of opentelemetry-proto 1.10.
RECORDS = (1, 2, 2)


def text_attributes(record):
    """Those whose value is text, and those whose value is a number."""
    found = {}
    for attribute in otlp_spans.each(record, 6):
        value = otlp_spans.first(attribute, 2)
        text = otlp_spans.first(value, 1)
        number = otlp_spans.first(value, 3)
        found[otlp_spans.first(attribute, 1).decode()] = (
            text.decode() if text is not None else number)
    return found


class ReportWays(report_case.ReportCase):
    def test_a_log_record_to_the_receivers(self):
        receiver = otlp_receiver.OtlpReceiver()
        receiver.up()
        self.addCleanup(receiver.down)
        agent = self.begin("  send: true", arguments=("--page", "--endpoint", receiver.endpoint,
                                                      "--protocol", "http/protobuf"))
        pid = self.spin()
        answer = self.report(str(pid), "--trigger-name", "slow")
        self.assertEqual(answer.returncode, 0, answer.stderr + agent.log())
        self.assertTrue(self.until(lambda: receiver.logs, 20), agent.log())
        [body] = receiver.logs
        [record] = otlp_spans.each(body, *RECORDS)
        name = os.path.basename(answer.stdout.strip())[:-len(".tar.zst")]
        attributes = text_attributes(record)
        manifest = json.loads(self.unpack(answer.stdout.strip())["manifest.json"])
        self.assertEqual(json.loads(otlp_spans.first(record, 5, 1)), manifest)
        self.assertEqual(otlp_spans.first(record, 12), b"stackray.report")
        self.assertEqual(attributes["stackray.report.name"], name)
        self.assertEqual(attributes["stackray.report.summary"], manifest["summary"])
        self.assertEqual(attributes["stackray.report.pid"], pid)
        # The batches of its profile have come too, and are found by the same name.
        self.assertEqual(attributes["stackray.capture.name"], name)
        linked = [batch for batch in receiver.batches if name.encode() in batch]
        self.assertTrue(linked)
        self.assertTrue(all(f"(capture {name})".encode() in batch for batch in linked))
        self.assertEqual(receiver.mistakes, [])
        self.assertTrue(self.until(
            lambda: "stackray_report_logs_delivered_total 1" in agent.get("/metrics")[1], 20))

    def test_without_the_switch_nothing_is_sent(self):
        receiver = otlp_receiver.OtlpReceiver()
        receiver.up()
        self.addCleanup(receiver.down)
        self.begin(arguments=("--page", "--endpoint", receiver.endpoint, "--protocol",
                              "http/protobuf"))
        answer = self.report(str(self.spin()))
        self.assertEqual(answer.returncode, 0, answer.stderr)
        name = os.path.basename(answer.stdout.strip())[:-len(".tar.zst")]
        self.assertEqual(receiver.logs, [])
        self.assertFalse([batch for batch in receiver.batches if name.encode() in batch])

    def fetch(self, agent, path, token=True):
        request = urllib.request.Request(agent.url.rstrip("/") + path)
        if token:
            request.add_header("Authorization", "Bearer " + agent.token)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read(), answer.headers

    def test_over_the_pages_server(self):
        agent = self.begin()
        answer = self.report(str(self.spin()))
        self.assertEqual(answer.returncode, 0, answer.stderr)
        path = answer.stdout.strip()
        name = os.path.basename(path)[:-len(".tar.zst")]
        listed, _ = self.fetch(agent, "/api/reports")
        [report] = json.loads(listed)["reports"]
        self.assertEqual((report["name"], report["bytes"]), (name, os.path.getsize(path)))
        self.assertIn(f"/api/report?name={name}", self.fetch(agent, "/reports")[0].decode())
        archive, headers = self.fetch(agent, f"/api/report?name={name}")
        with open(path, "rb") as file:
            self.assertEqual(archive, file.read())
        self.assertIn(name + ".tar.zst", headers["Content-Disposition"])
        page, headers = self.fetch(agent, f"/reports/page?name={name}")
        self.assertIn(b'id="stackray-data"', page)
        self.assertIn("script-src 'sha256-", headers["Content-Security-Policy"])
        for wrong in ("/api/report?name=report-x", "/api/report?name=../agent/page-token",
                      "/reports/page?name=%2e%2e%2fhistory", "/api/report"):
            with self.assertRaises(urllib.error.HTTPError, msg=wrong) as error:
                self.fetch(agent, wrong)
            self.assertEqual(error.exception.code, 404)
        for closed in ("/reports", "/api/reports", f"/api/report?name={name}",
                       f"/reports/page?name={name}"):
            with self.assertRaises(urllib.error.HTTPError, msg=closed) as error:
                self.fetch(agent, closed, token=False)
            self.assertEqual(error.exception.code, 401)

    def pids_of(self, *target):
        answer = self.report(*target)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        manifest = json.loads(self.unpack(answer.stdout.strip())["manifest.json"])
        return manifest, {process["pid"] for process in manifest["processes"]}

    def test_targets(self):
        agent = self.begin()
        sleep = shutil.copy("/bin/sleep", self.path("target-of-mine"))
        mine = {self.spin(sleep, "1000"), self.spin(sleep, "1000")}
        other = self.spin("sleep", "1000")
        manifest, pids = self.pids_of("--command", "target-of-mine")
        self.assertEqual(pids, mine)
        self.assertIn("target-of-mine", manifest["asked"]["target"])
        self.assertEqual(self.pids_of("--service", "target-of-mine")[1], mine)
        self.assertEqual(self.pids_of("-p", str(other))[1], {other})
        with open("/proc/self/cgroup", encoding="ascii") as file:
            own = [line.strip().split(":", 2) for line in file]
        for _, controllers, path in own:
            folder = "/sys/fs/cgroup/" + controllers.removeprefix("name=") + path
            if os.path.isdir(folder) and path != "/":
                self.assertIn(agent.process.pid, set(cgroup_pids(folder)))
                self.pids_of("--cgroup", folder)
                break
        refused = self.report("--command", "no-such-command")
        self.assertEqual(refused.returncode, 0, refused.stderr)
        both = self.report(str(other), "--command", "sleep")
        self.assertEqual(both.returncode, 2)
        self.assertIn("two targets", both.stderr)

    def test_collectors(self):
        agent = self.begin(
            "  collectors:",
            '    - {name: own, exec: [sh, -c, "id -u; cat /proc/$0/comm", "{pid}"], command: sleep}',
            '    - {name: slow, exec: [sleep, "61616"], command: sleep, timeout: 300ms}',
            '    - {name: missing, exec: [/no/such/program], command: sleep}',
            '    - {name: other, exec: [id], command: nobody-has-this}')
        sleeper = self.spin("setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups",
                            "sleep", "1000")
        self.assertTrue(self.until(lambda: comm_of(sleeper) == "sleep"))
        answer = self.report(str(sleeper))
        self.assertEqual(answer.returncode, 0, answer.stderr)
        files = self.unpack(answer.stdout.strip())
        folder = f"processes/{sleeper}-sleep/"
        self.assertEqual(files[folder + "collector-own.txt"], b"54321\nsleep\n")
        lacks = {lack["name"]: lack["why"] for lack in json.loads(files["manifest.json"])["missing"]}
        self.assertIn("its time was over", lacks[folder + "collector-slow.txt"])
        self.assertIn("No such file", lacks[folder + "collector-missing.txt"])
        self.assertNotIn(folder + "collector-other.txt", set(files) | set(lacks))
        self.assertEqual(subprocess.run(["pgrep", "-f", "sleep 61616"], check=False,
                                        stdout=subprocess.DEVNULL).returncode, 1)
        for figure in ("collectors_total 3", "collector_failures_total 2"):
            self.assertTrue(self.until(
                lambda: f"stackray_report_{figure}" in agent.get("/metrics")[1]), figure)

    def test_a_collector_asks_a_jvm(self):
        if shutil.which("javac") is None or shutil.which("jcmd") is None:
            self.skipTest("a JDK is missing")
        with open(self.path("Waits.java"), "w", encoding="utf-8") as file:
            file.write("class Waits { public static void main(String[] w) throws Exception {"
                       "Thread.sleep(1000000); } }")
        subprocess.run(["javac", "Waits.java"], cwd=self.folder, check=True)
        self.begin("  collectors:",
                   '    - {name: heap, exec: [jcmd, "{pid}", GC.heap_info], command: java,'
                   " timeout: 60s, memory: 1GiB}")
        pid = self.spin("java", "-cp", self.folder, "Waits")
        self.assertTrue(self.until(lambda: os.path.exists(f"/tmp/hsperfdata_root/{pid}")))
        answer = self.report(str(pid))
        self.assertEqual(answer.returncode, 0, answer.stderr)
        files = self.unpack(answer.stdout.strip())
        text = files.get(f"processes/{pid}-java/collector-heap.txt", files["manifest.json"]).decode()
        self.assertIn("heap", text.lower())
        self.assertIn("used", text)


def comm_of(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii") as file:
        return file.read().strip()


def cgroup_pids(folder):
    with open(folder + "/cgroup.procs", encoding="ascii") as file:
        yield from map(int, file.read().split())


if __name__ == "__main__":
    agent_case.main()
