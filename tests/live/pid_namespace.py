"""The profiler in a pid namespace of its own, as a container without the host's pids has it.

Usage: pid_namespace.py STACKRAY PROGRAMS_FOLDER. Exit code 77: skipped, with the reason. Right
values: inside, -p, -- and -a find whole stacks of what is inside, also of a namespace inside that
one; what is outside is named as such; where /proc shows the host's pids, they are the host's; in a
user namespace the refusal says why.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

STACKRAY, PROGRAMS = (os.path.realpath(path) for path in sys.argv[1:3])
SPIN = f"{PROGRAMS}/spin"
WHOLE = ";main;SpinOuter"  # A tick may fall on its own few instructions.
OUTSIDE = "[outside this pid namespace]"
failures = []


def expect(is_right, what):
    print(("ok    " if is_right else "WRONG ") + what, flush=True)
    if not is_right:
        failures.append(what)


def stacks(path):
    """(stack, count) of a folded file."""
    lines = pathlib.Path(path).read_text(errors="replace").splitlines()
    return [(line.rpartition(" ")[0], int(line.rpartition(" ")[2])) for line in lines]


def run_inside(folder, script, *, own_proc=True):
    mount = ["--mount-proc"] if own_proc else []
    return subprocess.run(["unshare", "--fork", "--pid", *mount, "--kill-child", "bash", "-c", script], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False)


def expect_whole(path, what, command="spin"):
    seen = stacks(path) if os.path.exists(path) else []
    of_spin = [(stack, count) for stack, count in seen if stack.startswith(f"{command};") and "SpinOuter" in stack]
    whole = sum(count for stack, count in of_spin if WHOLE in stack and "[truncated" not in stack)
    everything = sum(count for _, count in of_spin)
    expect(whole >= 3 and whole >= 0.99 * everything, f"{what}: {whole} of {everything} samples of the program whole")


def inside(folder):
    script = f"""
      {SPIN} & target=$!
      unshare --fork --pid --mount-proc --kill-child {folder}/nested_spin & outer=$!
      sleep 0.5
      {STACKRAY} record -F 199 -d 1 -p $target,$(pgrep -P $outer) -o pid.folded; echo "exit $?"
      {STACKRAY} record -F 199 -d 1 -a -o all.folded; echo "exit $?"
      kill $target $outer
      {STACKRAY} record -F 199 -o command.folded -- timeout 1 {SPIN}; echo "exit $?"
      {STACKRAY} doctor
    """
    done = run_inside(folder, script)
    if "refused BPF" in done.stdout:
        print(f"skipped: no BPF here: {done.stdout[:200]}")
        sys.exit(77)
    print(done.stdout)
    expect_whole(f"{folder}/pid.folded", "-p inside")
    expect_whole(f"{folder}/pid.folded", "-p of a namespace inside ours", "nested_spin")
    expect_whole(f"{folder}/all.folded", "-a inside")
    expect_whole(f"{folder}/command.folded", "-- inside")
    expect("pid namespace" in done.stdout and "hostPID" in done.stdout, "doctor tells what cannot be seen")
    of_others = [(stack, count) for stack, count in stacks(f"{folder}/all.folded") if OUTSIDE in stack]
    expect(any(stack.startswith("outside_spin;") for stack, _ in of_others), "what is outside has its command, and says where it is")
    expect("outside this pid namespace: " in done.stdout, "the summary counts it apart")
    summary = done.stdout.partition("outside this pid namespace: ")[0].splitlines()[-1]
    percent = float(summary.partition("(")[2].partition(" %")[0] or 0)
    expect(percent >= 95, f"and not as our failure: {summary}")


def with_the_hosts_proc(folder):
    script = f"""{STACKRAY} record -F 199 -o hosts.folded -- timeout 1 {SPIN}; echo "exit $?" """
    print(run_inside(folder, script, own_proc=False).stdout)
    expect_whole(f"{folder}/hosts.folded", "-- inside, with the host's /proc")


def in_a_user_namespace(folder):
    if subprocess.run(["unshare", "-Ur", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        print("no user namespaces here: left out")
        return
    done = subprocess.run(["unshare", "-Ur", STACKRAY, "record", "-d", "1", "-a", "-o", "user.folded"], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
    expect(done.returncode == 1 and "user namespace" in done.stdout, f"root of a user namespace is refused: {done.stdout.strip()}")


def main():
    if os.geteuid() or subprocess.run(["unshare", "--fork", "--pid", "--mount-proc", "true"], stderr=subprocess.DEVNULL,
                                      check=False).returncode:
        print("skipped: pid namespaces may not be made here")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        outside = f"{folder}/outside_spin"
        shutil.copy(SPIN, f"{folder}/nested_spin")
        # A file of its own: what is known inside would be whole outside, too.
        shutil.copy(f"{PROGRAMS}/spin_static", outside)
        other = subprocess.Popen([outside])
        try:
            time.sleep(0.2)
            inside(folder)
            with_the_hosts_proc(folder)
            in_a_user_namespace(folder)
        finally:
            other.send_signal(signal.SIGKILL)
            other.wait()
    sys.exit(1 if failures else 0)


main()
