"""What each capability that an agent keeps is worth: samples without it, beside what `doctor` says
of it.

Programs of other users run meanwhile: one that everybody may read, one that its user alone may
read, Python, one that is mostly in the kernel. Prints one table row a capability, and fails where
one that is kept costs nothing, where sampling needs one that is not kept, or where doctor's words
say something else.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

STACKRAY, PROGRAMS = sys.argv[1:3]
NOBODY = 65534
SKIPPED = 77
KEPT = ("bpf", "perfmon", "sys_ptrace", "checkpoint_restore", "dac_read_search", "syslog")
PYTHON = "def leaf():\n  sum(range(200))\ndef middle():\n  leaf()\nwhile True:\n  middle()\n"
LOADS = ("open", "private", "deleted", "python", "kernel")


def without(*missing):
    """The command line that runs a program with what an agent keeps, but not with these."""
    held = ["-all", *(f"+{name}" for name in (*KEPT, "chown", "kill") if name not in missing)]
    return ["setpriv", "--bounding-set", ",".join(held), "--inh-caps", "-all"]


def as_nobody(*command):
    return ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", *command]


class Loads:
    """The programs, by the names that their samples have."""

    def __init__(self, folder):
        spin = os.path.join(PROGRAMS, "spin")
        for name, mode in (("open", 0o755), ("private", 0o700), ("deleted", 0o755)):
            path = os.path.join(folder, name)
            shutil.copy(spin, path)
            os.chown(path, NOBODY, NOBODY)
            os.chmod(path, mode)
        commands = {
            "open": [os.path.join(folder, "open")],
            "private": [os.path.join(folder, "private")],
            # Started by the loader, so that /proc/PID/exe does not lead to it.
            "deleted": [glob.glob("/lib*/ld-linux-*.so.?")[0], os.path.join(folder, "deleted")],
            "python": [sys.executable, "-c", PYTHON],
            "kernel": ["dd", "if=/dev/zero", "of=/dev/null", "bs=64k"]}
        self.processes = {
            name: subprocess.Popen(as_nobody(*commands[name]), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for name in LOADS}
        time.sleep(1)
        os.unlink(os.path.join(folder, "deleted"))

    def end(self):
        for process in self.processes.values():
            process.kill()
            process.wait()


def facts_of(path):
    """(complete, named leaves, kernel leaves named, Python functions), each in percent of its
    stacks."""
    stacks = complete = named = kernel = kernel_named = python = 0
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            stack, text = line.rstrip("\n").rsplit(" ", 1)
            frames, count = stack.split(";")[1:], int(text)
            user = [frame for frame in frames if not frame.endswith("_[k]")]
            if user:
                stacks += count
                complete += 0 if any(frame.startswith("[truncated") for frame in user) else count
                named += 0 if user[-1].startswith("[") else count
                python += count if any(frame in ("leaf", "middle") for frame in user) else 0
            if frames and frames[-1].endswith("_[k]"):
                kernel += count
                kernel_named += 0 if frames[-1].startswith("[") else count
    def percent(part, whole):
        return 100.0 * part / whole if whole else 0.0
    return {"stacks": stacks, "complete": percent(complete, stacks), "named": percent(named, stacks),
            "kernel": percent(kernel_named, kernel), "python": percent(python, stacks)}


def sample(folder, loads, missing):
    """What each load's samples show without a capability; None where nothing can be sampled."""
    results = {}
    for name, process in loads.processes.items():
        out = os.path.join(folder, f"{name}.folded")
        done = subprocess.run([*without(*missing), STACKRAY, "record", "--sandbox", "off", "-p",
                               str(process.pid), "-d", "2", "-o", out], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            return None
        results[name] = facts_of(out)
    return results


def words_of_doctor(missing):
    """The findings on capabilities, as text."""
    done = subprocess.run([*without(*missing), STACKRAY, "doctor"], capture_output=True, text=True,
                          check=False)
    return done.stdout


# What must be lost, and with which of doctor's words.
def lost(results, load, what):
    return results is not None and results[load][what] < 50


EXPECTED = {
    "bpf": (lambda r: r is None, "no BPF program can be loaded"),
    "perfmon": (lambda r: r is None, "no CPU can be sampled"),
    "sys_ptrace": (lambda r: lost(r, "open", "named") and lost(r, "python", "python"),
                   "other users' programs"),
    "checkpoint_restore": (lambda r: lost(r, "deleted", "named"), "deleted"),
    "dac_read_search": (lambda r: lost(r, "private", "named"), "made unreadable"),
    "syslog": (lambda r: lost(r, "kernel", "kernel"), "kernel frames have no names"),
}


def row(name, results):
    if results is None:
        return f"| {name} | nothing is sampled |"
    cells = [f"{load}: complete {facts['complete']:.0f} %, named {facts['named']:.0f} %"
             for load, facts in results.items()]
    cells.append(f"Python functions {results['python']['python']:.0f} %, "
                 f"kernel {results['kernel']['kernel']:.0f} %")
    return f"| {name} | {' | '.join(cells)} |"


def main():
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        print("skipped: needs root and setpriv")
        return SKIPPED
    wrong = []
    with tempfile.TemporaryDirectory(prefix="stackray-") as folder:
        os.chmod(folder, 0o755)
        loads = Loads(folder)
        try:
            whole = sample(folder, loads, ())
            print(row("none missing", whole), flush=True)
            if whole is None or min(whole["open"]["named"], whole["private"]["named"]) < 90:
                wrong.append("with all that is kept, names are missing")
            for name, (is_lost, words) in EXPECTED.items():
                results = sample(folder, loads, (name,))
                print(row(name, results), flush=True)
                if not is_lost(results):
                    wrong.append(f"{name}: not what is expected")
                if not re.search(words, words_of_doctor((name,))):
                    wrong.append(f"{name}: doctor does not say: {words}")
        finally:
            loads.end()
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
