#!/usr/bin/env python3
"""stackray on another kernel: a Debian suite's, in QEMU without KVM.

    kernels_test.py SUITE MAJOR.MINOR|newest     one boot, judged
    kernels_test.py --table                      the verifier's counts of all kernels seen so far

Kernels, root file system and transcripts: $STACKRAY_KERNELS_DIR (the build's kernels/ otherwise).
Exit: 77 with the reason when there is no QEMU, no busybox, no such kernel or no network.
"""

import codecs
import glob
import os
import platform
import shutil
import subprocess
import sys
import time

import debian_kernel
import guest
import judgement
import verifier_table
from guest_root import GuestRoot

SKIPPED = 77  # As ctest knows it.
HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("STACKRAY_BUILD", "build")
FOLDER = os.path.abspath(
    os.environ.get("STACKRAY_KERNELS_DIR") or os.path.join(BUILD, "kernels"))
JDK_IMAGE = os.path.join(FOLDER, "jdk-image")
PYTHON = os.path.realpath(sys.executable)
TOOLS = ("readelf", "c++filt", "nice", "chrt")  # The tests' oracles, and what busybox lacks.
SHAPES = ("Dynamic", "Static", "StaticPie", "Stripped", "LibraryOpenedWhileRunning",
          "ExecutableDeletedWhileRunning", "FramePointersWithoutTables", "SignalHandler", "Vdso",
          "ReturnAddressInRegister", "ThreadsThatNeverReturn", "ForkWithoutExec")


def tool(name):
    return os.path.join(os.path.abspath(BUILD), name)


def live_program(name):
    return tool(os.path.join("live_programs", name))


def our_objects():
    """The BPF objects that the binary embeds."""
    sources = glob.glob(os.path.join(HERE, "..", "..", "bpf", "*.bpf.c"))
    objects = (tool(f"bpf/{os.path.basename(source)[:-2]}.o") for source in sources)
    return sorted(path for path in objects if os.path.exists(path))


def record(output, command):
    return f"{tool('stackray')} record -o {output} {command} && cat {output}"


def for_seconds(seconds, program):
    """CMD that ends by itself with code 0: `record` waits for it and has its code."""
    return f"/bin/busybox sh -c 'timeout {seconds} {program}; true'"


def googletest(name, cases):
    """A test ahead of its target programs, which start at nice 0: else the one CPU is half theirs
    while the verifier works."""
    return f"nice -n -15 chrt --reset-on-fork --other 0 {tool(name)} --gtest_filter={cases}"


def context_command():
    """Counts of what a file of batches says: samples, links, and each route."""
    writer = for_seconds(12, f"{live_program('context_writer')} 11 /log 1")
    return (f"{tool('stackray')} record -F 199 -d 10 --context-labels http.route -o /c.json -- {writer}; "
            "for word in stackIndex linkIndex; do echo $word $(grep -o \\\"$word\\\" /c.json | wc -l); done; "
            "echo routes $(grep -o '\"stringValue\":\"/item/[0-9/]*\"' /c.json | sort -u | wc -l)")


def java_home():
    """A JDK of this machine that can make a small image of itself, or None."""
    homes = [home for home in sorted(glob.glob("/usr/lib/jvm/*")) if os.path.exists(f"{home}/bin/jlink")
             and os.path.isdir(f"{home}/jmods") and not os.path.islink(home)]
    return homes[-1] if homes else None


def java_command():
    java = f"{JDK_IMAGE}/bin/java -Xmx64m -cp {tool('live_programs/java')}"
    lives = "; ".join(f"{java} {flags} Brief" for flags in ("", "-XX:TieredStopAtLevel=1", "-Xint"))
    return record("java.folded", f"-F 199 -- /bin/busybox sh -c '{lives}; true'")


def add_java(root):
    if not os.path.exists(f"{JDK_IMAGE}/bin/java"):
        subprocess.run([f"{java_home()}/bin/jlink", "--add-modules", "java.base", "--no-man-pages", "--no-header-files",
                        "--output", JDK_IMAGE], check=True)
    for folder, _, files in os.walk(JDK_IMAGE):
        for place in (os.path.join(folder, name) for name in files):
            # The others' libraries are these and their own, which ldd does not find.
            if os.path.basename(place) in ("java", "libjvm.so"):
                root.add_program(place)
            else:
                root.add_file(place, place)
    for program in glob.glob(tool("live_programs/java/Brief*.class")):
        root.add_file(program, program)


def make_context_writer():
    source = os.path.join(HERE, "..", "live", "programs", "context")
    subprocess.run(["gcc", "-O1", "-g", "-static", "-o", live_program("context_writer"), f"{source}/writer.c",
                    f"{source}/slot.c", "-pthread"], check=True)


def all_steps():
    """NAME → (command in the guest, judge)."""
    stackray = tool("stackray")
    children = "; ".join(f"timeout 2 {live_program(name)}" for name in ("spin", "spin_static"))
    return {
        "doctor": (f"{stackray} doctor", judgement.judge_doctor),
        "verifier": (f"{tool('verifier_report')} {' '.join(our_objects())}",
                     judgement.judge_verifier),
        "record": (record("deep.folded", f"-d 5 -- {for_seconds(6, live_program('qsort_deep'))}"),
                   judgement.judge_record),
        "names": (record("names.folded", f"-- /bin/busybox sh -c '{children}; true'"),
                  judgement.judge_names),
        "deep": (record("levels.folded", "-d 6 -- " + for_seconds(
            8, f"{live_program('recursion')} {judgement.DEEP_LEVELS}")), judgement.judge_deep),
        "python": (record("python.folded", "-d 6 -- " + for_seconds(
            8, f"{PYTHON} -I -S /callbacks.py")), judgement.judge_python),
        "completeness": (googletest("completeness_test", "*qsort_deep"),
                         judgement.judge_googletest),
        "shapes": (googletest("stack_shapes_test", ":".join(f"*.{name}" for name in SHAPES)),
                   judgement.judge_googletest),
        "lost": (googletest("lost_stacks_test", "-*IoUring*"), judgement.judge_googletest),
        "io_uring": (googletest("lost_stacks_test", "*IoUring*"), judgement.judge_io_uring),
        "context": (context_command(), judgement.judge_context),
        **({"java": (java_command(), judgement.judge_java)} if java_home() else {}),
        "kernel_log": ("dmesg", judgement.judge_kernel_log),
    }


def build_root(path, steps):
    make_context_writer()
    root = GuestRoot()
    root.add_program(shutil.which("busybox"), "/bin/busybox")
    root.add_bytes("/etc/passwd", b"root:x:0:0::/root:/bin/sh\n", 0o644)
    with open(os.path.join(HERE, "guest_init.sh"), "rb") as file:
        root.add_bytes("/init", file.read())
    root.add_bytes("/steps", "".join(
        f"{name}\t{command}\n" for name, (command, _) in steps.items()).encode(), 0o644)
    for name in TOOLS:
        root.add_program(shutil.which(name), f"/usr/bin/{name}")
    root.add_program(PYTHON)
    for file in glob.glob(os.path.join(os.path.dirname(codecs.__file__), "encodings", "*.py")):
        with open(file, "rb") as source:
            root.add_bytes(file, source.read(), 0o644)
    if java_home():
        add_java(root)
    root.add_file("/callbacks.py", os.path.join(HERE, "loads", "callbacks.py"))
    for name in ("stackray", "verifier_report", "completeness_test", "stack_shapes_test",
                 "lost_stacks_test"):
        root.add_program(tool(name))
    for program in sorted(filter(os.path.isfile, glob.glob(live_program("*")))):
        root.add_program(program)
    for path_of_object in our_objects():
        with open(path_of_object, "rb") as file:
            root.add_bytes(path_of_object, file.read(), 0o644)
    root.write(path)


def missing_here():
    if platform.machine() != "x86_64":
        return f"the guests are x86_64, this is {platform.machine()}"
    lacking = [name for name in (guest.X86_64.qemu, "busybox", *TOOLS)
               if not shutil.which(name)]
    return f"missing: {', '.join(lacking)} (cmake/setup/packages.sh kernels)" if lacking else ""


def judge(transcript, steps):
    version = judgement.version_of(transcript.release)
    problems = []
    for name, (_, judge_step) in steps.items():
        step = transcript.steps.get(name)
        found = judge_step(step, version) if step else ["did not come to its end"]
        for problem in found:
            problems.append(f"{name}: {problem}")
        if found and step:
            lines = [line for line in step.output.splitlines() if ";" not in line]
            print("\n".join(f"  {name} | {line[:300]}" for line in lines[-60:]))
    return problems


def measured(transcript, wall_seconds):
    parts = [f"Linux {transcript.release}"]
    record_step = transcript.steps.get("record")
    counts = judgement.completeness(record_step.output) if record_step else None
    if counts:
        parts.append(f"{counts[0]} of {counts[1]} stacks complete")
    parts += [f"{step}: {line}" for step, line in shape_summary(transcript).items()]
    parts.append(f"booted in {transcript.boot_seconds:.0f} s")
    parts.append(", ".join(f"{name} {step.seconds:.0f} s"
                           for name, step in transcript.steps.items() if step.seconds >= 1))
    return "; ".join(part for part in parts if part) + f"; {wall_seconds:.0f} s in all"


def shape_summary(transcript):
    """How many GoogleTest cases passed, a step."""
    return {name: f"{step.output.count('[       OK ]')} cases passed"
            for name, step in transcript.steps.items() if "[       OK ]" in step.output}


def keep_console(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def run_kernel(suite, expected):
    began = time.monotonic()
    reason = missing_here()
    if reason:
        print(reason)
        return SKIPPED
    try:
        vmlinuz, release = debian_kernel.fetch(FOLDER, suite)
    except (debian_kernel.Unavailable, OSError, subprocess.TimeoutExpired) as error:
        print(f"no kernel of {suite}: {error}")
        return SKIPPED
    version = judgement.version_of(release)
    if expected != "newest" and ".".join(map(str, version)) != expected:
        print(f"{suite} has Linux {release} by now, not {expected}")
        return 1
    steps = all_steps()
    root = os.path.join(FOLDER, suite, "root.cpio")
    build_root(root, steps)
    try:
        transcript = guest.boot(vmlinuz, root, print, lambda boot, text: keep_console(
            os.path.join(FOLDER, suite, f"console-{boot}.txt"), text))
    finally:
        os.remove(root)
    if transcript.bpf_in_crash:
        print(f"crashed in a BPF program: {transcript.crash}\n{transcript.bpf_in_crash}")
        return 1
    problems = judge(transcript, steps)
    if "verifier" in transcript.steps:
        verifier_table.keep(FOLDER, transcript.release, transcript.steps["verifier"].output,
                            our_objects())
    if judgement.version_of(transcript.release) != version:
        problems.append(f"booted '{transcript.release}' instead of {release}")
    for problem in problems:
        print(f"problem: {problem}")
    print(f"measured: {measured(transcript, time.monotonic() - began)}")
    return 1 if problems else 0


def report_here():
    """What verifier_report says on the running kernel; nothing much where BPF is not allowed."""
    return subprocess.run([tool("verifier_report"), *our_objects()], capture_output=True, text=True,
                          timeout=120, check=False).stdout


def main():
    if sys.argv[1:] == ["--table"]:
        return verifier_table.show(FOLDER, report_here(), our_objects())
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    return run_kernel(sys.argv[1], sys.argv[2])


if __name__ == "__main__":
    sys.exit(main())
