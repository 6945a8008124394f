"""Boots a kernel in QEMU without KVM and reads what the guest's serial port says.

The emulated machine itself crashes now and then. A crash is told apart from a failed test by its
own words and booted again, unless the kernel's trace goes through a BPF program: that one is ours.
"""

import re
import resource
import subprocess
import time
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Machine:
    """An emulated machine: its QEMU with what it has, and where its kernel writes."""
    qemu: str
    arguments: tuple
    console: str


# Without cx16 and with one CPU, because that emulation crashes least. The guest's clock counts its
# instructions (4 ns each), so that a busy host makes the run longer and changes nothing in it.
COMMON = ("-smp", "1", "-icount", "shift=2,sleep=off", "-m", "1G", "-nodefaults", "-no-user-config",
          "-display", "none", "-no-reboot", "-serial", "stdio")
X86_64 = Machine("qemu-system-x86_64", ("-machine", "q35", "-cpu", "max,-cx16", *COMMON), "ttyS0")
# With signed return addresses, whose usual algorithm takes QEMU longer than all the rest.
ARM64 = Machine("qemu-system-aarch64",
                ("-machine", "virt", "-cpu", "max,pauth-impdef=on", *COMMON), "ttyAMA0")
KERNEL_ARGUMENTS = "quiet panic=-1 oops=panic psi=1 rdinit=/init"
BOOTS = 3
MOST_CPU_S = 2400   # Of the host, a boot: some 25 loads of the sampler, each some 16 s on 5.10.
MOST_WALL_S = 7000  # On a host that has other things to do.
CRASH = re.compile(
    r"^.*(?:Kernel panic|Oops[: ]|BUG: |general protection fault|double fault|watchdog: BUG|"
    r"invalid opcode|stall on CPU|self-detected stall|Unable to handle).*$", re.MULTILINE)
BPF_IN_TRACE = re.compile(r"^.*\bbpf_prog_[0-9a-f]{16}_\w+.*$", re.MULTILINE)


@dataclass
class Step:
    output: str
    code: int
    seconds: float


@dataclass
class Transcript:
    release: str = ""
    boot_seconds: float = 0
    steps: dict = field(default_factory=dict)
    finished: bool = False
    crash: str = ""         # The line that says so; "" when nothing crashed.
    bpf_in_crash: str = ""  # The line of its trace that names a BPF program.


def parse(text):
    """The transcript of a guest_init.sh run, of whatever there is of it."""
    transcript = Transcript()
    text = text.replace("\r", "")
    booted = re.search(r"^@@ booted (\S+) (\S+)$", text, re.MULTILINE)
    if booted:
        transcript.release, transcript.boot_seconds = booted.group(1), float(booted.group(2))
    steps = re.compile(r"^@@ begin (\S+)\n(.*?)^@@ end \1 (\d+) ([\d.]+) ([\d.]+)$",
                       re.MULTILINE | re.DOTALL)
    for name, output, code, began, ended in steps.findall(text):
        transcript.steps[name] = Step(output, int(code), float(ended) - float(began))
    transcript.finished = re.search(r"^@@ finished$", text, re.MULTILINE) is not None
    crash = CRASH.search(text)
    if crash and not transcript.finished:
        transcript.crash = crash.group().strip()
        ours = BPF_IN_TRACE.search(text, crash.start())
        transcript.bpf_in_crash = ours.group().strip() if ours else ""
    return transcript


def limit_cpu():
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S))


def boot_once(vmlinuz, root, machine=X86_64):
    """What the serial port said until the guest switched off, or the time was over."""
    command = ["nice", "-n", "10", machine.qemu, *machine.arguments, "-kernel", vmlinuz, "-initrd", root,
               "-append", f"console={machine.console} {KERNEL_ARGUMENTS}"]
    try:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, timeout=MOST_WALL_S, check=False,
                                preexec_fn=limit_cpu)
        output = result.stdout
        if result.returncode != 0:
            output += b"\n(%s ended with %d)\n" % (machine.qemu.encode(), result.returncode)
    except subprocess.TimeoutExpired as expired:
        output = (expired.stdout or b"") + b"\n(no end: the time is over)\n"
    return output.decode("utf-8", "replace")


def boot(vmlinuz, root, say, keep, boot_one=boot_once, machine=X86_64):
    """Boots until a run finishes, at most BOOTS times. Returns the last one's transcript.

    `say` hears of every boot that did not finish; `keep` gets each boot's number and text.
    """
    for attempt in range(1, BOOTS + 1):
        began = time.monotonic()
        text = boot_one(vmlinuz, root, machine)
        keep(attempt, text)
        transcript = parse(text)
        if transcript.finished or transcript.bpf_in_crash:
            break
        last = [line for line in text.splitlines() if line.strip()][-1:] or ["no output at all"]
        say(f"boot {attempt} of {BOOTS} did not finish after {time.monotonic() - began:.0f} s: "
            f"{transcript.crash or last[0][:200]}")
    return transcript
