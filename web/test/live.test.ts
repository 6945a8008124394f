import assert from "node:assert/strict";
import { test } from "node:test";
import { parseText } from "../src/data/decode";
import { Poller, rangeToAsk, parseStatus } from "../src/live/poller";
import { withoutToken } from "../src/live/token";
import { Aim } from "../src/view/aim";
import { documentOf } from "./helpers";

// A server of the documented answers, and a poller on a clock of ours.
class Setup {
  now = 50_000;
  held = false;
  aimed = false;
  newestMs = 1_000_000;
  failure = "";
  costMs = 0;
  asked: string[] = [];
  log: string[] = [];
  readonly poller = new Poller({
    now: () => this.now,
    hold: () => this.held,
    aiming: () => this.aimed,
    fetchAnswer: async (url) => ({ text: await this.answer(url), costMs: this.costMs }),
    onStatus: (status) => this.log.push(`status ${status.newestMs}`),
    load: async (fromMs, toMs) => {
      const profile = parseText(await this.answer(`/api/profile?from_ms=${fromMs}&to_ms=${toMs}`));
      return { costMs: this.costMs, show: () => this.log.push(`profile ${profile.sums[0]}`),
               drop: () => this.log.push("dropped") };
    },
    onFailure: (reason, since) => this.log.push(`failure ${reason} ${since}`),
    onReachable: () => this.log.push("reachable"),
  });

  captures: unknown;

  async answer(url: string): Promise<string> {
    this.asked.push(url);
    if (this.failure !== "") throw new Error(this.failure);
    if (url === "/api/status") {
      return JSON.stringify({ version: "1", host: "h", frequency_hz: 20, oldest_ms: 0,
        newest_ms: this.newestMs, samples_total: 4, lost_total: 0, captures: this.captures });
    }
    return JSON.stringify(documentOf([{ pid: 1, command: "a", stack: ["main"], count: 4 }]));
  }
}

test("a new newest sample loads a profile; without one only the status is asked", async () => {
  const setup = new Setup();
  await setup.poller.poll();
  assert.deepEqual(setup.log, ["status 1000000", "profile 4", "reachable"]);
  setup.now += 2000;
  await setup.poller.poll();
  assert.equal(setup.asked.filter((url) => url.includes("profile")).length, 1);
  setup.newestMs += 2000;
  setup.now += 2000;
  await setup.poller.poll();
  assert.equal(setup.asked.filter((url) => url.includes("profile")).length, 2);
});

test("a capture is shown with all its time, and a finished one is loaded once", async () => {
  const setup = new Setup();
  const asked = () => setup.asked.filter((url) => url.includes("profile")).map((url) =>
    url.replace("/api/profile?", ""));
  setup.poller.capture = "slow";
  await setup.poller.poll();
  assert.deepEqual(asked(), []); // there is none
  setup.captures = [{ name: "slow", running: true, started_ms: 900_500, ended_ms: 0, target: "user x",
                      frequency_hz: 499 }, { name: 7 }, null];
  await setup.poller.poll();
  setup.captures = [{ name: "slow", running: false, started_ms: 900_500, ended_ms: 960_200 }];
  for (let i = 0; i < 3; i++, setup.now += 2000, setup.newestMs += 2000) await setup.poller.poll();
  assert.deepEqual(asked(), ["from_ms=900000&to_ms=1001000", "from_ms=900000&to_ms=961000"]);
  setup.poller.capture = "";
  await setup.poller.refresh();
  assert.equal(asked().length, 3);
});

test("what costs the server much is asked for seldom", async () => {
  const setup = new Setup();
  const profiles = () => setup.asked.filter((url) => url.includes("profile")).length;
  setup.costMs = 100; // 1 % of 10 s
  for (let i = 0; i <= 20; i++, setup.now += 2000, setup.newestMs += 2000) await setup.poller.poll();
  assert.equal(profiles(), 5); // at 0, 10, 20, 30 and 40 s
  assert.equal(setup.poller.refreshMs, 10_000);
  setup.costMs = 10_000_000;
  await setup.poller.refresh(); // the user asked: at once
  assert.equal(profiles(), 6);
  assert.equal(setup.poller.refreshMs, 1_800_000);
});

test("nothing is loaded while the page is held, and refresh loads at once afterwards", async () => {
  const setup = new Setup();
  setup.held = true;
  await setup.poller.poll();
  assert.deepEqual(setup.log, ["status 1000000", "reachable"]);
  assert.deepEqual(setup.asked, ["/api/status"]);
  setup.held = false;
  await setup.poller.refresh();
  assert.ok(setup.log.includes("profile 4"));
});

test("while the user aims nothing new is loaded or shown, but another time that was asked for", async () => {
  const setup = new Setup();
  const profiles = () => setup.asked.filter((url) => url.includes("profile")).length;
  const round = async () => {
    setup.newestMs += 2000;
    setup.now += 2000;
    await setup.poller.poll();
  };
  setup.aimed = true;
  await round();
  assert.equal(setup.log.at(-2), "profile 4"); // the first one
  await round();
  assert.equal(profiles(), 1);
  setup.poller.rangeMs = 300_000;
  await setup.poller.refresh();
  assert.equal(setup.log.filter((line) => line === "profile 4").length, 2);
  setup.aimed = false;
  const answer = setup.answer.bind(setup);
  setup.answer = async (url) => {
    const text = await answer(url);
    setup.aimed = url.includes("profile"); // the pointer comes while the answer is on its way
    return text;
  };
  await round();
  assert.equal(profiles(), 3);
  assert.equal(setup.log.at(-2), "dropped");
  setup.answer = answer;
  setup.aimed = false;
  await round();
  assert.equal(setup.log.at(-2), "profile 4");
});

test("the pointer aims until it has rested for 5 s, or leaves", () => {
  const target = new EventTarget();
  let now = 100_000;
  const aim = new Aim(target, () => now);
  const move = (clientX: number) =>
    target.dispatchEvent(Object.assign(new Event("pointermove"), { clientX, clientY: 7 }));
  assert.equal(aim.isOn, false);
  move(1);
  now += 4999;
  assert.equal(aim.isOn, true);
  now += 1;
  assert.equal(aim.isOn, false);
  move(1); // it stays where it is
  assert.equal(aim.isOn, false);
  move(2);
  assert.equal(aim.isOn, true);
  target.dispatchEvent(new Event("pointerleave"));
  assert.equal(aim.isOn, false);
});

test("a profile that arrives after the user zoomed in is dropped", async () => {
  const setup = new Setup();
  const answer = setup.answer.bind(setup);
  setup.answer = async (url) => {
    const text = await answer(url);
    if (url.includes("profile")) setup.held = true;
    return text;
  };
  await setup.poller.poll();
  assert.deepEqual(setup.log, ["status 1000000", "dropped", "reachable"]);
});

test("a time from the address is loaded once, also while the page is held, and again when it changes", async () => {
  const setup = new Setup();
  const profiles = () => setup.asked.filter((url) => url.includes("profile"));
  setup.held = true;
  setup.poller.fixed = { fromMs: 100, toMs: 900 };
  await setup.poller.poll();
  setup.newestMs += 2000;
  setup.now += 60_000;
  await setup.poller.poll();
  assert.deepEqual(profiles(), ["/api/profile?from_ms=100&to_ms=900"]);
  setup.poller.fixed = { fromMs: 200, toMs: 800 };
  await setup.poller.poll();
  assert.equal(profiles().at(-1), "/api/profile?from_ms=200&to_ms=800");
  setup.poller.fixed = null;
  await setup.poller.poll();
  assert.equal(profiles().length, 2); // held
  setup.held = false;
  await setup.poller.refresh();
  assert.match(profiles().at(-1)!, /from_ms=9/);
});

test("failures tell since when, until the server answers again", async () => {
  const setup = new Setup();
  setup.failure = "no connection";
  await setup.poller.poll();
  setup.now += 2000;
  await setup.poller.poll();
  setup.failure = "";
  setup.now += 2000;
  await setup.poller.poll();
  assert.deepEqual(setup.log, ["failure no connection 50000", "failure no connection 50000",
                               "status 1000000", "profile 4", "reachable"]);
});

test("an answer that is no profile is a failure with its reason", async () => {
  const setup = new Setup();
  setup.answer = async (url) => (url === "/api/status" ? `{"newest_ms": 5}` : `{"format": "x"}`);
  await setup.poller.poll();
  assert.match(setup.log.at(-1)!, /^failure its format is not/);
});

test("no samples yet: no profile is asked for", async () => {
  const setup = new Setup();
  setup.newestMs = 0;
  await setup.poller.poll();
  assert.deepEqual(setup.asked, ["/api/status"]);
});

test("a range chosen during a round is loaded right after it, and the old answer dropped", async () => {
  const setup = new Setup();
  const answer = setup.answer.bind(setup);
  setup.answer = async (url) => {
    const text = await answer(url);
    if (url.includes("profile") && setup.poller.rangeMs === 60_000) {
      setup.poller.rangeMs = 300_000;
      await setup.poller.refresh();
    }
    return text;
  };
  await setup.poller.poll();
  assert.equal(setup.log.filter((line) => line === "profile 4").length, 1);
  assert.match(setup.asked.at(-1)!, /from_ms=700000/);
});

test("ranges follow the server's clock, lie on steps and stop at the oldest sample", () => {
  const status = parseStatus(JSON.stringify({ newest_ms: 10_000_500, oldest_ms: 9_000_000 }));
  assert.deepEqual(rangeToAsk(status, 60_000), { fromMs: 9_940_000, toMs: 10_001_000 });
  assert.deepEqual(rangeToAsk(status, 86_400_000), { fromMs: 8_640_000, toMs: 10_368_000 });
  const young = parseStatus(JSON.stringify({ newest_ms: 10_000_500, oldest_ms: 10_000_000 }));
  assert.equal(rangeToAsk(young, 900_000).fromMs, 9_940_000);
});

test("the token leaves the address, and nothing else does", () => {
  const page = "http://127.0.0.1:7171/";
  assert.equal(withoutToken(`${page}?token=aB3-_x`), page);
  assert.equal(withoutToken(`${page}?a=1&token=x&b=2#c`), `${page}?a=1&b=2#c`);
  assert.equal(withoutToken(page), page);
});
