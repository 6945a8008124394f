#!/usr/bin/env python3
"""Who may read the page of a running agent, and clients that are slow."""

import json
import os
import socket
import stat
import time
import urllib.error
import urllib.parse
import urllib.request

import agent_case

NOBODY = 65534


def ask(base, state):
    """What the page's server and the state directory give to whoever this process is."""
    said = []
    for path in ("", "?token=", "api/profile", "api/status", "metrics", "healthz"):
        try:
            with urllib.request.urlopen(base + path, timeout=20) as answer:
                said.append(answer.status)
        except urllib.error.HTTPError as refused:
            refused.close()
            said.append(refused.code)
    with socket.socket(socket.AF_UNIX) as client:
        for attempt in (lambda: os.close(os.open(state + "/agent/page-token", os.O_RDONLY)),
                        lambda: client.connect(state + "/agent/control.sock")):
            try:
                attempt()
                said.append("reached")
            except OSError:
                said.append("refused")
    return said


def as_nobody(function, *arguments):
    """The function's result, as JSON has it, of a child that is another user."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        os.write(writing, json.dumps(function(*arguments)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        said = file.read()
    os.waitpid(child, 0)
    return json.loads(said)


SLOW_CLIENTS = 200
LIMIT_SECONDS = 1


class PageAccess(agent_case.AgentCase):
    def begin(self, *arguments, **options):
        agent = self.agent(*arguments, **options)
        self.wait_until_sampling(agent, 60)
        self.assertIsNotNone(agent.find_page(), agent.log())
        return agent

    def test_nobody_cannot_read_the_page_and_the_printed_address_opens_it(self):
        if os.geteuid() != 0:
            self.skipTest("becoming another user needs root")
        agent = self.begin()
        self.assertRegex(agent.token, r"^[A-Za-z0-9_-]{32}$")
        os.chmod(self.folder, 0o755)
        # As root first: Python loads modules, which others may not be able to.
        self.assertEqual(ask(agent.url, self.state), [401, 401, 401, 401, 200, 200, "reached", "reached"])
        self.assertEqual(as_nobody(ask, agent.url, self.state),
                         [401, 401, 401, 401, 200, 200, "refused", "refused"])
        for path in ("cmdline", "environ"):
            with open(f"/proc/{agent.process.pid}/{path}", "rb") as file:
                self.assertNotIn(agent.token.encode(), file.read())

        status, page = agent.get("/?token=" + agent.token, headers={"X": "1"})
        self.assertEqual(status, 200)
        self.assertIn("<html", page)
        self.assertNotIn(agent.token, page)
        name, session = self.begin_session(agent)
        self.assertNotEqual(session, agent.token)
        cookie = {"Cookie": f"{name}={session}"}
        self.assertEqual(agent.get("/api/profile", headers=cookie)[0], 200)
        self.assertEqual(agent.status_document(self.state)["page_url"],
                         f"{agent.url}?token={agent.token}")
        self.assertNotIn(agent.token, agent.get("/metrics")[1] + agent.get("/api/status")[1] + agent.log())
        self.assertEqual(agent.end(), 0)

    def test_a_restart_keeps_the_address(self):
        first = self.begin()
        path = os.path.join(self.state, "agent", "page-token")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual(first.end(), 0)
        second = self.begin()
        self.assertEqual(second.token, first.token)
        self.assertEqual(second.end(), 0)
        os.chmod(path, 0o644)  # Others may have read it.
        third = self.begin()
        self.assertNotEqual(third.token, first.token)
        self.assertEqual(third.get("/api/status")[0], 200)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual(third.end(), 0)

    def begin_session(self, agent):
        """Name and value of the one cookie that the printed address sets."""
        with urllib.request.urlopen(f"{agent.url}?token={agent.token}", timeout=20) as answer:
            cookies = answer.headers.get_all("Set-Cookie")
        self.assertEqual(len(cookies), 1)
        name, _, rest = cookies[0].partition("=")
        self.assertIn("; HttpOnly; SameSite=Strict", rest)
        return name, rest.partition(";")[0]

    def listen_as_nobody(self, port):
        """A child that listens there as another user, and a pipe with what each client sends it."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            listener = socket.create_server(("127.0.0.1", port))
            os.write(writing, b"listening\n")
            while True:
                client, _ = listener.accept()
                with client:
                    os.write(writing, client.recv(65536))
                    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        os.close(writing)
        self.addCleanup(os.close, reading)
        self.assertEqual(os.read(reading, 100), b"listening\n")
        return child, reading

    def test_who_takes_the_port_meanwhile_gets_nothing_of_worth(self):
        if os.geteuid() != 0:
            self.skipTest("becoming another user needs root")
        first = self.begin()
        token, port = first.token, urllib.parse.urlparse(first.url).port
        name, session = self.begin_session(first)
        self.assertEqual(first.end(), 0)
        child, reading = self.listen_as_nobody(port)
        try:
            # What a tab that is still open sends.
            request = urllib.request.Request(f"{first.url}api/status",
                                             headers={"Cookie": f"{name}={session}"})
            with urllib.request.urlopen(request, timeout=20) as answer:
                self.assertEqual(answer.status, 200)
            stolen = os.read(reading, 65536).decode()
            self.assertIn(session, stolen)
            self.assertNotIn(token, stolen)

            second = self.begin("--listen", f"127.0.0.1:{port}")
            self.assertNotEqual(urllib.parse.urlparse(second.url).port, port)
            with open("/proc/self/comm", encoding="utf-8") as file:
                command = file.read().strip()
            said = f"port {port} is held by {command}"
            self.assertIn(f"WARNING: {said}", second.output())
            for where in (second.output(), second.log()):
                self.assertIn(f"(process {child}, user nobody)", where)
            self.assertIn(said, second.log())
            self.assertEqual(second.status_document(self.state)["page_port_held_by"],
                             {"port": port, "foreign": True, "user": "nobody", "pid": child,
                              "command": command})
            self.assertNotIn("page_port_held_by", second.get("/api/status")[1])
            self.assertEqual(second.end(), 0)
        finally:
            os.kill(child, 9)
            os.waitpid(child, 0)
        third = self.begin("--listen", f"127.0.0.1:{port}")
        self.assertEqual((urllib.parse.urlparse(third.url).port, third.token), (port, token))
        self.assertIsNone(third.status_document(self.state)["page_port_held_by"])
        for cookie in (f"{name}={session}", f"stackray-{port}={token}"):
            for path in ("/api/status", "/api/profile", "/"):
                self.assertEqual(third.get(path, headers={"Cookie": cookie})[0], 401, path)
        self.assertIn("session has ended", third.get("/", headers={"Cookie": "x=y"})[1])
        self.assertEqual(third.end(), 0)

    def test_the_old_way_and_its_limits(self):
        agent = self.begin("--page-access", "open")
        self.assertEqual(agent.token, "")
        for path in ("/", "/api/status", "/api/profile"):
            self.assertEqual(agent.get(path, headers={"X": "1"})[0], 200)
        self.assertEqual(agent.end(), 0)
        refused = self.agent("--page-access", "open", "--listen", "0.0.0.0:0")
        self.assertEqual(refused.process.wait(60), 2)
        self.assertIn("choose page-access token", refused.log())

    def test_a_reload_changes_who_may_read(self):
        config = self.path("agent.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write("page-access: open\n")
        agent = self.begin("--config", config)
        self.assertEqual(agent.get("/")[0], 200)
        with open(config, "w", encoding="utf-8") as file:
            file.write("page-access: token\n")
        agent.process.send_signal(1)
        self.assertIsNotNone(agent.wait_for_log("settings reloaded", 90))
        before = agent.url
        agent.find_page()
        self.assertEqual(agent.url, before)
        self.assertEqual(agent.get("/", headers={"X": "1"})[0], 401)
        self.assertEqual(agent.get("/")[0], 200)
        self.assertEqual(agent.end(), 0)

    def test_other_hosts_reach_it_with_the_token(self):
        agent = self.begin("--listen", "0.0.0.0:0")
        for host in ("build-host.example:7171", "10.0.0.1"):
            self.assertEqual(agent.get("/api/profile", host, {"X": "1"})[0], 401)
            self.assertEqual(agent.get("/api/profile", host)[0], 200)
        with open(agent.output_path, encoding="utf-8") as file:
            self.assertIn("from another machine, in clear text: http://", file.read())
        self.assertEqual(agent.end(), 0)

    def test_a_journal_does_not_get_the_token(self):
        agent = self.begin(environment={"JOURNAL_STREAM": "8:1"})
        with open(agent.output_path, encoding="utf-8") as file:
            said = file.read()
        with open(os.path.join(self.state, "agent", "page-token"), encoding="ascii") as file:
            self.assertNotIn(file.read().strip(), said + agent.log())
        self.assertIn("agent --status", said)
        self.assertEqual(agent.end(), 0)

    def test_slow_clients_do_not_starve_health_and_metrics(self):
        agent = self.begin("--metrics-listen", "127.0.0.1:0")
        ports = {urllib.parse.urlparse(agent.url).port, self.metrics_port(agent)}
        self.assertEqual(len(ports), 2)
        clients = [socket.create_connection(("127.0.0.1", port)) for port in ports
                   for _ in range(SLOW_CLIENTS)]
        slowest = 0
        for byte in b"GET /api/pro":
            for client in clients:
                client.send(bytes([byte]))
            for port in ports:
                agent.url = f"http://127.0.0.1:{port}/"
                for path in ("/healthz", "/metrics"):
                    began = time.monotonic()
                    self.assertEqual(agent.get(path)[0], 200)
                    slowest = max(slowest, time.monotonic() - began)
            time.sleep(0.2)
        self.assertLess(slowest, LIMIT_SECONDS)
        for client in clients:
            client.close()
        self.assertEqual(agent.end(), 0)

    def metrics_port(self, agent):
        """Of its listening sockets, the one that is not the page's."""
        inodes = set()
        for link in os.listdir(f"/proc/{agent.process.pid}/fd"):
            inodes.add(os.readlink(f"/proc/{agent.process.pid}/fd/{link}"))
        with open("/proc/net/tcp", encoding="ascii") as file:
            rows = [line.split() for line in file][1:]
        ports = {int(row[1].split(":")[1], 16) for row in rows
                 if row[3] == "0A" and f"socket:[{row[9]}]" in inodes}
        ports.discard(urllib.parse.urlparse(agent.url).port)
        self.assertEqual(len(ports), 1)
        return ports.pop()


if __name__ == "__main__":
    agent_case.main()
