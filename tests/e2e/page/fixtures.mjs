// Two profiles: a small one whose sums can be checked by hand, and one as large as a busy host's.
import { PageData } from "./page_data.mjs";

export const HOSTILE = "<script>alert(1)</script>";
export const START_MS = 1_790_000_000_000;

// 100 samples in ten buckets of a second:
//   web (pid 100)   70: main > serve > parse 40 (buckets 0-4, 8 each), main > serve > write > [k]
//                       30 (buckets 5-9, 6 each)
//   hostile (pid 7) 20: start > hostile frame, 2 in each bucket
//   python (pid 9)  10: main > run (cpython) > [truncated: depth], all in bucket 9
export function smallProfile(startMs = START_MS) {
  return smallData(startMs).data.document();
}

// The small one's samples, and of the same threads
//   off-CPU 2.53 s: main > serve > lock blocked 200 ms in each bucket, main > serve > write in the
//                   run queue 500 ms in bucket 5, python's main > run preempted 30 ms in bucket 9
//   40 page faults: hostile's start, in bucket 0
export function typedProfile(startMs = START_MS) {
  const { data, worker, writer, bad, main } = smallData(startMs, { cpus: 2, other_types: [
    { type: "off_cpu", unit: "nanoseconds", summary: { samples: 12, lost: 1 } },
    { type: "page_faults", unit: "count", summary: { samples: 1 } }] });
  const serve = [["main", "native", "web"], ["serve", "native", "web", "/src/web.cc", 30]];
  for (let bucket = 0; bucket < 10; bucket++) {
    data.sample(worker, bucket, [...serve, ["lock", "native", "libc.so.6"], ["futex_wait", "kernel", "vmlinux"]], 2e8, 1, "blocked");
  }
  data.sample(writer, 5, [...serve, ["write", "native", "libc.so.6"]], 5e8, 1, "run_queue");
  data.sample(main, 9, [["main", "native", "python3"], ["run", "cpython", "app.py:3"]], 3e7, 1, "preempted");
  data.sample(bad, 0, [["start", "native", "x"]], 40, 2);
  return data.document();
}

export const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";

function smallData(startMs, head = {}) {
  const data = new PageData({ ...head,
    title: "record of test-host", host: "test-host", frequency_hz: 10, start_ms: startMs,
    end_ms: startMs + 10_000, bucket_ms: 1000,
    summary: { samples: 100, complete: 90, through_unknown: 6, user_stacks: 100, named_frames: 99, frames: 100, lost: 3,
      unnamed: `Unnamed: 1.0 % of the frames are code made at run time (${HOSTILE}).` },
  });
  const web = data.process(100, "web", "/usr/bin/web", "c0ffee",
                           { cgroup: "/system.slice/web.service", user: "www-data" });
  const hostile = data.process(7, HOSTILE, `/opt/${HOSTILE}`);
  const python = data.process(9, "python3", "/usr/bin/python3");
  const worker = data.thread(web, 101, "worker", { trace_id: TRACE, route: "/checkout" });
  const writer = data.thread(web, 102, "writer");
  const bad = data.thread(hostile, 7, `<img src=x onerror="alert(2)">`);
  const main = data.thread(python, 9, "python3");
  const serve = [["main", "native", "web"], ["serve", "native", "web", "/src/web.cc", 12]];
  for (let bucket = 0; bucket < 10; bucket++) {
    if (bucket < 5) {
      data.sample(worker, bucket, [...serve, ["parse", "native+inline", `parse.cc:${10 + bucket}`]], 8);
    } else {
      data.sample(writer, bucket, [...serve, ["write", "native", "libc.so.6"], ["ksys_write", "kernel", "vmlinux"]], 6);
    }
    data.sample(bad, bucket, [["start", "native", "x"], [`${HOSTILE}<b>bold</b>`, "native", HOSTILE]], 2);
  }
  data.sample(main, 9, [["main", "native", "python3"], ["run", "cpython", "app.py:3"],
                        ["[truncated: depth]", "abort-marker", ""]], 10);
  return { data, worker, writer, bad, main };
}

// Always the same numbers in [0, 1).
function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const COMMANDS = ["nginx", "postgres", "java", "python3", "node", "envoy", "redis-server", "containerd",
  "kubelet", "dockerd", "ruby", "php-fpm", "clickhouse-serv", "prometheus", "systemd-journal", "sshd", "cc1plus",
  "ld.lld", "rsync", "etcd"];
const RUNTIME = { python3: ["cpython", "app.py"], java: ["jvm", "Service.java"], node: ["v8js", "server.js"],
  ruby: ["ruby", "worker.rb"], "php-fpm": ["php", "index.php"] };
const WORDS = ["read", "parse", "handle", "flush", "encode", "lookup", "insert", "merge", "hash", "copy", "dispatch",
  "schedule", "compress", "evaluate", "resolve", "allocate", "commit", "scan", "sort", "render"];
const NOUNS = ["Request", "Buffer", "Tuple", "Index", "Header", "Page", "Queue", "Block", "Event", "Session", "Token",
  "Segment", "Cache", "Row", "Plan", "Frame"];
const KERNEL = [["entry_SYSCALL_64_after_hwframe", "do_syscall_64"], ["ksys_read", "ksys_write", "__x64_sys_futex",
  "__x64_sys_epoll_wait", "do_sys_openat2"], ["vfs_read", "vfs_write", "futex_wait", "ep_poll", "path_openat"],
  ["ext4_file_read_iter", "tcp_sendmsg", "schedule", "copy_page_to_iter", "link_path_walk"],
  ["finish_task_switch.isra.0", "_raw_spin_unlock_irqrestore", "clear_page_erms", "copy_user_generic"]];

// One process's call tree as nested choices, so that stacks share their outer frames.
function growTree(random, command, depth, prefix) {
  const runtime = RUNTIME[command];
  const pick = (list) => list[Math.floor(random() * list.length)];
  const name = `${pick(WORDS)}${pick(NOUNS)}`;
  const inlined = random() < 0.18;
  const interpreted = runtime !== undefined && depth > 2 && random() < 0.6;
  const native = random() < 0.25
    ? `std::vector<${command}::${name}Entry, std::allocator<${command}::${name}Entry>>::emplace_back(${name}Entry&&)`
    : `${prefix}${name}(${pick(["", "int", "char const*, unsigned long", "Context&"])})`;
  const frame = interpreted ? [name, runtime[0], `${runtime[1]}:${Math.floor(random() * 400)}`]
    : [native, inlined ? "native+inline" : "native", random() < 0.15 ? "libc.so.6" : command];
  const width = depth > 22 ? 0 : Math.floor(random() * 3.3);
  const children = Array.from({ length: width }, () => growTree(random, command, depth + 1, prefix));
  return { frame, children, weight: random() ** 3 + 0.002 };
}

function randomStack(random, roots) {
  const stack = [];
  let choices = roots;
  while (choices.length > 0 && (stack.length < 3 || random() > 0.04)) {
    let at = random() * choices.reduce((sum, choice) => sum + choice.weight, 0);
    const chosen = choices.find((choice) => (at -= choice.weight) <= 0) ?? choices[0];
    stack.push(chosen.frame);
    choices = chosen.children;
  }
  return stack;
}

function kernelStack(random) {
  const depth = 2 + Math.floor(random() * 4);
  return KERNEL.slice(0, depth).flatMap((level, i) =>
    i === 0 ? level.map((name) => [name, "kernel", "vmlinux"])
            : [[level[Math.floor(random() * level.length)], "kernel", "vmlinux"]]);
}

export function largeProfile(startMs = START_MS, processCount = 60, samplesPerBucket = 480) {
  const random = randomNumbers(20_260_101);
  const data = new PageData({
    title: "record of build-host-07", host: "build-host-07", frequency_hz: 99, start_ms: startMs,
    end_ms: startMs + 120_000, bucket_ms: 1000,
    summary: { samples: 0, complete: 28_391, user_stacks: 28_610, named_frames: 611_204, frames: 618_977, lost: 12 },
  });
  const programs = Array.from({ length: processCount }, (_, i) => {
    const command = COMMANDS[Math.floor(random() ** 1.6 * COMMANDS.length)];
    const process = data.process(1000 + i * 37, command, `/usr/bin/${command}`, i % 3 === 0 ? "4f2a9c71d0be" : "");
    const threads = Array.from({ length: 1 + Math.floor(random() * 6) }, (_, t) =>
      data.thread(process, 1000 + i * 37 + t, t === 0 ? command : `${command.slice(0, 8)}-w${t}`));
    const roots = Array.from({ length: 3 }, () => growTree(random, command, 2, `${command}::`));
    return { threads, weight: random() ** 3 + 0.01, phase: random() * 6.3,
             roots: [{ frame: ["main", "native", command], children: roots, weight: 1 }] };
  });
  for (let bucket = 0; bucket < 120; bucket++) {
    const load = 0.55 + 0.35 * Math.sin(bucket / 14) + (bucket > 70 && bucket < 84 ? 0.5 : 0);
    for (let i = 0; i < samplesPerBucket * load; i++) {
      const at = random() * random() * programs.length;
      const program = programs[Math.floor(at)];
      if (random() > 0.5 + 0.5 * Math.sin(bucket / 9 + program.phase)) continue;
      const stack = [["_start", "native", "ld.so"], ["__libc_start_main", "native", "libc.so.6"],
                     ...randomStack(random, program.roots)];
      const end = random();
      if (end < 0.16) stack.push(...kernelStack(random));
      else if (end < 0.17) stack.unshift(["[truncated: no unwind table]", "abort-marker", ""]);
      data.sample(program.threads[Math.floor(random() * program.threads.length)], bucket, stack);
    }
  }
  const document = data.document();
  document.summary.samples = document.samples.count.reduce((sum, count) => sum + count, 0);
  return document;
}
