// The agent's side of the live page (docs/page-data.md), with samples and failures as a test wants.
import { createServer } from "node:http";
import { smallProfile } from "./fixtures.mjs";
import { viewOf } from "./view_data.mjs";

export class LiveServer {
  constructor(html) {
    this.html = html;
    this.newestMs = 0;      // 0: no samples yet
    this.refusal = "";      // why questions are refused; "": they are not
    this.failWith = 0;      // an HTTP status for everything below /api
    this.make = smallProfile;
    this.lines = [];        // of the function serve: [file, line, self, total, text]
    this.costMs = 1;        // what the agent says an answer costs it
    this.profileUrls = []; // of what is shown; the one document that is saved is not among them
    this.delayMs = 0;      // before an answer to a question
    this.waiting = new Set(); // what sends those answers
    this.closed = 0;       // questions whose client did not wait for the answer
    this.statusCount = 0;
    this.captures = [];     // as /api/status lists them
    this.answering = { done: 0, all: 0 };
    this.token = "";        // what opens the page; "": it is open
    this.session = "session-1"; // what its cookie holds then; another one ends it
    this.sockets = new Set();
  }

  async start(port = 0) {
    this.server = createServer((request, response) => this.answer(request, response));
    this.server.on("connection", (socket) => {
      this.sockets.add(socket);
      socket.on("close", () => this.sockets.delete(socket));
    });
    await new Promise((done) => this.server.listen(port, "127.0.0.1", done));
    this.port = this.server.address().port;
    return `http://127.0.0.1:${this.port}/`;
  }

  async stop() {
    const closed = new Promise((done) => this.server.close(done));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  answer(request, response) {
    const url = new URL(request.url, "http://127.0.0.1");
    if (this.token && url.searchParams.get("token") === this.token)
      response.setHeader("set-cookie",
        `stackray-session-${this.port}=${this.session}; Path=/; HttpOnly; SameSite=Strict`);
    else if (this.token && !request.headers.cookie?.includes(`=${this.session}`))
      return this.send(response, 401, "text/plain", "no");
    if (url.pathname === "/") return this.send(response, 200, "text/html; charset=utf-8", this.html);
    if (this.failWith) return this.send(response, this.failWith, "text/plain", "no");
    if (url.pathname === "/api/status") {
      this.statusCount++;
      return this.json(response, { version: "0.1.0", host: "live-host", frequency_hz: 10, lost_total: 0,
        oldest_ms: this.newestMs && this.newestMs - 600_000, newest_ms: this.newestMs,
        samples_total: this.newestMs ? 100 : 0, captures: this.captures, answering: this.answering });
    }
    if (url.pathname === "/api/view") {
      this.profileUrls.push(url);
      if (this.refusal) return this.send(response, 413, "application/json", JSON.stringify({ error: this.refusal }));
      const answer = viewOf({ ...this.make(this.newestMs - 10_000), host: "live-host" },
                            url.searchParams, this.lines);
      if (this.delayMs === 0) return this.json(response, answer);
      const send = () => {
        this.waiting.delete(send);
        clearTimeout(timer);
        this.json(response, answer);
      };
      const timer = setTimeout(send, this.delayMs);
      this.waiting.add(send);
      response.on("close", () => {
        if (response.writableEnded) return;
        clearTimeout(timer);
        this.waiting.delete(send);
        this.closed++;
      });
      return undefined;
    }
    if (url.pathname === "/api/profile") {
      return this.json(response, { ...this.make(this.newestMs - 10_000), host: "live-host" });
    }
    return this.send(response, 404, "text/plain", "not found");
  }

  // Sends the answers that wait, at once.
  release() {
    for (const send of [...this.waiting]) send();
  }

  json(response, value) {
    this.send(response, 200, "application/json", JSON.stringify(value));
  }

  send(response, status, type, body) {
    response.writeHead(status, { "content-type": type, "cache-control": "no-store",
      "server-timing": `make;dur=${this.costMs.toFixed(1)}` });
    response.end(body);
  }
}
