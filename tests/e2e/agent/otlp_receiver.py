"""A receiver of OTLP profiles, of the agent's own traces and of log records about its reports, over
HTTP that comes and goes, and says what it has taken.

It takes a batch exactly when it answers 200: what it refuses, or cuts off, it does not keep, so
that sender and receiver can be compared without "perhaps". Only lose_reply leaves the sender in
doubt.
"""

import gzip
import http.server
import socket
import struct
import threading
import time

PATH = "/v1development/profiles"
TRACES_PATH = "/v1/traces"
LOGS_PATH = "/v1/logs"
# The agent's question at its start whether it is here: a dictionary of seven zero elements, and no
# profiles.
EMPTY = bytes.fromhex("120e0a0012001a0022002a0032003a00")


class OtlpReceiver:
    """Absent until up(); keeps its port while it is down()."""

    def __init__(self):
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self.batches = []       # Bodies as sent, decompressed, in the order of their arrival.
        self.encodings = set()  # Content-Encoding of the requests.
        self.mistakes = []      # Requests that were none.
        self.refused = 0        # Answered 413.
        self.limit = None       # Larger bodies are refused, decompressed.
        self.name_limit = False  # In the answer, as gRPC's servers write it.
        self.lose_reply = False  # Once: take the next batch, and cut the connection.
        self.traceparents = []  # One for each batch: the header, or None.
        self.traces = []        # Bodies of requests of traces, decompressed.
        self.traces_status = 200  # The answer to these; None: none for a long time.
        self.logs = []          # Bodies of requests of logs, decompressed.
        self.echo = False  # Refusals repeat the request's headers, as some servers do.
        self.heads = []         # All headers of all requests, as text.
        self.changed = threading.Condition()
        self._server = None
        self._thread = None
        self._connections = set()

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}"

    def up(self):
        self._server = Server(("127.0.0.1", self.port), Handler)
        self._server.receiver = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def down(self):
        """Refuses connections from now on, and cuts those that are open."""
        if self._server is None:
            return
        server, self._server = self._server, None
        with self.changed:
            for connection in self._connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # The other side was faster.
        server.shutdown()
        server.server_close()
        self._thread.join()

    def wait_for(self, batches, seconds):
        """True when that many batches, counted from the first, are here in time."""
        with self.changed:
            return self.changed.wait_for(lambda: len(self.batches) >= batches, seconds)

    def take(self, body, answer, traceparent=None):
        """Keeps the body if `answer(status, text)` could be given; all at once, for down(). False:
        no answer was given."""
        with self.changed:
            if self._server is None:
                return False
            if body == EMPTY:
                answer(200, "")
                return True
            if self.too_large(body):
                self.refused += 1
                answer(413, f"received message larger than max ({len(body)} vs. {self.limit})"
                       if self.name_limit else "request body too large")
                return True
            lost, self.lose_reply = self.lose_reply, False
            if not lost:
                answer(200, "")
            self.batches.append(body)
            self.traceparents.append(traceparent)
            self.changed.notify_all()
            return not lost

    def take_traces(self, body, answer, headers):
        if self.traces_status is None:
            time.sleep(30)
            return False
        answer(self.traces_status, f"refused: {headers.get('api-key')}" if self.echo else "")
        with self.changed:
            if self.traces_status == 200:
                self.traces.append(body)
                self.changed.notify_all()
        return True

    def take_logs(self, body, answer):
        answer(200, "")
        with self.changed:
            self.logs.append(body)
            self.changed.notify_all()

    def too_large(self, body):
        return self.limit is not None and len(body) > self.limit

    def write(self, path):
        with open(path, "wb") as file:
            for batch in self.batches:
                file.write(struct.pack(">I", len(batch)) + batch)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True  # Cut connections end by themselves.


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # Connections stay open, as with real receivers.

    def setup(self):
        super().setup()
        with self.server.receiver.changed:
            self.server.receiver._connections.add(self.connection)

    def finish(self):
        with self.server.receiver.changed:
            self.server.receiver._connections.discard(self.connection)
        super().finish()

    def do_POST(self):
        receiver = self.server.receiver
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if len(body) < int(self.headers["Content-Length"]):
            return  # Cut off.
        encoding = self.headers.get("Content-Encoding", "")
        receiver.heads.append(f"{self.path}\n{self.headers}")
        if self.path.partition("?")[0] == TRACES_PATH:
            content = gzip.decompress(body) if encoding == "gzip" else body
            self.close_connection |= not receiver.take_traces(content, self.answer,
                                                             dict(self.headers))
            return
        if self.path == LOGS_PATH:
            receiver.take_logs(gzip.decompress(body) if encoding == "gzip" else body, self.answer)
            return
        if body != EMPTY:
            receiver.encodings.add(encoding)
        if self.path != PATH or self.headers["Content-Type"] != "application/x-protobuf":
            receiver.mistakes.append(f"{self.path} {self.headers['Content-Type']}")
        content = gzip.decompress(body) if encoding == "gzip" else body
        self.close_connection |= not receiver.take(content, self.answer,
                                                  self.headers.get("traceparent"))

    def answer(self, status, text):
        self.send_response(status)
        content = text.encode()
        self.send_header("Content-Type", "text/plain" if text else "application/x-protobuf")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def log_message(self, *_):
        pass
