#!/usr/bin/env python3
"""A host for the ten tasks (TASKS.md): a shop in C++, a ranking job in Python and compilers, under
an agent whose page keeps all of it.   sudo tests/e2e/page/tasks_host.py [STACKRAY [PORT]]

Prints the page's address once the job has changed what it does, and runs until Ctrl-C or for an
hour. Everything lives in a temporary folder; the load takes one CPU and a half.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
SECONDS = 3600
CHANGE_AFTER = 120  # Seconds: from then on the job checks for duplicates, too.

SHOP = r"""
#include <pthread.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

std::mutex stock;
char shelf[1 << 20], basket[1 << 20];

__attribute__((noinline)) void CopyItems(size_t bytes) {
  for (int i = 0; i < 4; ++i) {
    memcpy(basket, shelf, bytes);
    asm volatile("" ::: "memory");
  }
}
__attribute__((noinline)) void FillBasket() { CopyItems(sizeof(shelf)); }
__attribute__((noinline)) void PrintReceipt() { CopyItems(sizeof(shelf) / 8); }
__attribute__((noinline)) void CountStock() {
  const std::lock_guard lock(stock);
  usleep(40'000);
}
__attribute__((noinline)) void TakeFromStock() {
  const std::lock_guard lock(stock);
  shelf[0]++;
}
void Sell() {
  pthread_setname_np(pthread_self(), "cashier");
  for (;;) {
    FillBasket();
    PrintReceipt();
    TakeFromStock();
    usleep(3'000);
  }
}
void Count() {
  pthread_setname_np(pthread_self(), "stock-keeper");
  for (;;) {
    CountStock();
    usleep(20'000);
  }
}
// The main thread keeps its name, which is the process's.
int main() {
  std::thread count(Count), sell(Sell);
  sell.join();
}
"""

RANK = """
import sys
import time

CHANGE_AT = float(sys.argv[1])


def score(words):
    total = 0
    for word in words:
        total += len(word) * hash(word) % 97
        total ^= sum(ord(letter) for letter in word)
    return total


def find_duplicates(words):
    seen = []
    for word in words:
        if word in seen:
            continue
        seen.append(word)
    return seen


def rank(rows):
    return sorted(rows, key=score)


def main():
    rows = [[f"word{i * k % 101}" for k in range(20)] for i in range(60)]
    while True:
        rank(rows)
        if time.time() > CHANGE_AT:
            find_duplicates([word for row in rows for word in row])
        # It stands still for three of every fifteen seconds.
        if time.time() % 15 > 12:
            time.sleep(1)


main()
"""

COMPILED = "#include <algorithm>\n#include <map>\n#include <regex>\n" + "".join(
    f"int f{i}() {{ std::map<int, std::regex> m; return (int)m.size() + {i}; }}\n"
    for i in range(40))


def in_group(name):
    """Puts the calling process into a control group, where there are some that can be made."""
    for base in ("/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup"):
        folder = pathlib.Path(base) / name
        try:
            folder.mkdir(exist_ok=True)
            (folder / "cgroup.procs").write_text(str(os.getpid()))
            return
        except OSError:
            continue


def main():
    stackray = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "build/stackray"
    port = sys.argv[2] if len(sys.argv) > 2 else "7171"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stackray-tasks-"))
    folder.chmod(0o755)
    for name, text in (("shop.cc", SHOP), ("rank.py", RANK), ("compiled.cc", COMPILED)):
        (folder / name).write_text(text)
        os.utime(folder / name, (1000000000, 1000000000))  # Older than what runs them.
    subprocess.run(["g++", "-g", "-O1", "-std=c++20", "-pthread", "-o", folder / "shop",
                    folder / "shop.cc"], check=True)
    change_at = time.time() + CHANGE_AFTER
    compile_forever = "while :; do g++ -O1 -c -o /dev/null compiled.cc; sleep 1; done"
    started = []

    def start(command, group=None, **more):
        started.append(subprocess.Popen(
            command, cwd=folder, start_new_session=True,
            preexec_fn=(lambda: in_group(group)) if group else None, **more))

    try:
        start([stackray, "agent", "--state-dir", folder / "state", "--listen",
               f"127.0.0.1:{port}", "--type", "cpu,off-cpu", "-F", "49", "--page-access", "open",
               "--page-source"], stdout=subprocess.DEVNULL,
              stderr=open(folder / "agent.log", "w"))
        start([folder / "shop"], group="shop")
        start(["python3", folder / "rank.py", str(change_at)], group="ranking")
        start(["sh", "-c", compile_forever], group="builds")
        print(f"Collecting for {CHANGE_AFTER + 60} s …", flush=True)
        time.sleep(CHANGE_AFTER + 60)
        print(f"http://127.0.0.1:{port}/   (the change was at {time.strftime('%H:%M:%S', time.localtime(change_at))})",
              flush=True)
        time.sleep(SECONDS)
    except KeyboardInterrupt:
        pass
    finally:
        for process in started:
            try:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait(20)
            except (OSError, subprocess.TimeoutExpired):
                os.killpg(process.pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
