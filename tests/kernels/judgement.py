"""What must be true of a guest's run.

Each function returns the problems it sees, as texts; none: all is well.
"""

import re

LEAST_SAMPLES = 100
LEAST_PERCENT = 99.0
MOST_GONE_PERCENT = 15
DEEP_LEVELS = 1000
# The verifier stops at a million a program. Far below, so that there is room for other kernels.
MOST_INSTRUCTIONS = 750_000
MTIME_SPELLINGS = ("inode.i_mtime", "inode.__i_mtime", "inode.i_mtime_sec")


def version_of(release):
    found = re.match(r"(\d+)\.(\d+)", release)
    return (int(found.group(1)), int(found.group(2))) if found else (0, 0)


def folded_stacks(output):
    """(frames, count) of the folded lines in a step's output."""
    stacks = []
    for line in output.splitlines():
        text, _, count = line.rpartition(" ")
        if ";" in text and count.isdigit():
            stacks.append((text.split(";"), int(count)))
    return stacks


def completeness(output):
    """(complete, all) user stacks as record's summary has them, or None."""
    found = re.search(r"user stacks: ([\d,]+) of ([\d,]+) complete", output)
    return tuple(int(number.replace(",", "")) for number in found.groups()) if found else None


def judge_doctor(step, _version):
    if step.code != 0 or "Sampling is possible" not in step.output:
        return [f"doctor says that sampling is not possible (exit code {step.code})"]
    return []


def judge_record(step, _version):
    if step.code != 0:
        return [f"record ended with {step.code}"]
    counts = completeness(step.output)
    if counts is None:
        return ["record printed no summary"]
    problems = []
    complete, samples = counts
    if samples < LEAST_SAMPLES:
        problems.append(f"{samples} samples with a user stack, fewer than {LEAST_SAMPLES}")
    elif 100 * complete < LEAST_PERCENT * samples:
        problems.append(f"{complete} of {samples} user stacks are complete")
    # From qsort's callback to _start, by name: what the summary calls complete really is.
    sorting = [(frames, n) for frames, n in folded_stacks(step.output)
               if frames[0] == "qsort_deep" and "main" in frames]
    good = sum(n for frames, n in sorting if frames[1] == "_start")
    if sum(n for _, n in sorting) < LEAST_SAMPLES // 2:
        problems.append("hardly any stack shows main()")
    elif 100 * good < LEAST_PERCENT * sum(n for _, n in sorting):
        problems.append(f"only {good} stacks with main() begin at _start")
    return problems


def judge_names(step, _version):
    """A shell's children under their own names: exec was heard of."""
    problems = [] if step.code == 0 else [f"record ended with {step.code}"]
    stacks = folded_stacks(step.output)
    for name in ("spin", "spin_static"):
        samples = sum(n for frames, n in stacks if frames[0] == name and "SpinLeaf" in frames)
        if samples < LEAST_SAMPLES // 5:
            problems.append(f"{samples} samples of the child {name}")
    return problems


def judge_deep(step, _version):
    """A recursion of many frames, whole."""
    if step.code != 0:
        return [f"record ended with {step.code}"]
    stacks = [(frames, n) for frames, n in folded_stacks(step.output) if "RecursionLevel" in frames]
    samples = sum(n for _, n in stacks)
    good = sum(n for frames, n in stacks
               if frames[1] == "_start" and frames.count("RecursionLevel") == DEEP_LEVELS)
    if samples < LEAST_SAMPLES:
        return [f"{samples} samples of the recursion, fewer than {LEAST_SAMPLES}"]
    if 100 * good < LEAST_PERCENT * samples:
        return [f"{good} of {samples} stacks have all {DEEP_LEVELS} frames"]
    return []


def judge_callbacks(names, caller=None):
    """A judge of loads/callbacks.*: the functions by their names in their order, from _start, with
    the native sort between them; `names`: outermost, callback, innermost; `caller`: what stands
    right before the outermost one, where it is known."""
    outermost, callback, innermost = names

    def is_whole(frames):
        at = frames.index(outermost)
        # A stripped program has no _start; then the summary says that its start was reached.
        if frames[1] != "_start" and not frames[1].startswith(
                (f"[{frames[0]}+0x", f"[{frames[0]}·fn_")):
            return False
        if caller is not None and frames[at - 1] != caller:
            return False
        if callback not in frames:
            return innermost not in frames
        behind = frames.index(callback)
        return behind > at + 1 and innermost not in frames[:behind]

    def judge_load(step, _version):
        counts = completeness(step.output)
        if step.code != 0 or counts is None:
            return [f"record ended with {step.code} and {counts}"]
        stacks = [(frames, n) for frames, n in folded_stacks(step.output) if outermost in frames]
        samples = sum(n for _, n in stacks)
        if samples < LEAST_SAMPLES:
            return [f"{samples} samples with {outermost}, fewer than {LEAST_SAMPLES}"]
        problems = []
        if 100 * counts[0] < LEAST_PERCENT * counts[1]:
            problems.append(f"{counts[0]} of {counts[1]} user stacks are complete")
        deep = sum(n for frames, n in stacks if innermost in frames)
        good = sum(n for frames, n in stacks if is_whole(frames))
        if 2 * deep < samples:
            problems.append(f"{deep} of {samples} stacks have {innermost}")
        if 100 * good < LEAST_PERCENT * samples:
            problems.append(f"{good} of {samples} stacks are whole and in order")
        return problems
    return judge_load


judge_python = judge_callbacks(("outermost", "callback", "innermost"), caller="<module>")


def judge_context(step, _version):
    """A program works on requests for two thirds of its time, from its second second on."""
    counts = {name: int(count) for name, count in re.findall(r"^(stackIndex|linkIndex|routes) (\d+)$", step.output, re.M)}
    samples, links, routes = (counts.get(name, 0) for name in ("stackIndex", "linkIndex", "routes"))
    if samples < LEAST_SAMPLES:
        return [f"{samples} samples, fewer than {LEAST_SAMPLES}"]
    problems = [] if 3 * links > samples else [f"{links} of {samples} samples have a link"]
    return problems if routes > 5 else [*problems, f"{routes} routes"]


def judge_java(step, _version):
    """Java's methods by their names, in compiled and interpreted code."""
    stacks = [(frames, n) for frames, n in folded_stacks(step.output) if frames[0] == "java"]
    of_java = [(frames, n) for frames, n in stacks if any(frame.startswith("Brief.") for frame in frames)]
    samples = sum(n for _, n in of_java)
    if samples < LEAST_SAMPLES:
        return [f"{samples} samples with Java's methods, fewer than {LEAST_SAMPLES}"]

    def having(pattern):
        return sum(n for frames, n in of_java if any(re.match(pattern, frame) for frame in frames))
    unnamed, gone = having(r"\[(stale|unknown jit|truncated)"), having(r"\[gone\]")
    problems = [f"{unnamed} of {samples} stacks have a frame without its name"] if 100 * unnamed > samples else []
    # A method's name is read from the process. An emulated CPU, which the program has for itself
    # half of the time, needs some 75 ms for it, of a life of 300 ms.
    if 100 * gone > MOST_GONE_PERCENT * samples:
        problems.append(f"{gone} of {samples} were read too late")
    return problems


def judge_googletest(step, _version):
    if "[  SKIPPED ]" in step.output:
        return ["a test was skipped"]
    passed = re.search(r"\[  PASSED  \] (\d+) test", step.output)
    if step.code == 0 and passed and int(passed.group(1)) > 0:
        return []
    failed = re.findall(r"^\[  FAILED  \] (\S+?),? ", step.output, re.MULTILINE)
    return [f"failed: {', '.join(dict.fromkeys(failed)) or 'the program'} (exit code {step.code})"]


def judge_io_uring(step, version):
    """Before 5.12 a process has no such threads."""
    if version < (5, 12) and "[  SKIPPED ]" in step.output:
        return []
    return judge_googletest(step, version)


def programs(output):
    """{program: (instructions, microseconds)} of verifier_report."""
    rows = re.findall(r"^program \S+ (\S+) (\d+) (\d+)$", output, re.MULTILINE)
    return {name: (int(count), int(time)) for name, count, time in rows}


def fields(output):
    return {name: answer == "yes" for name, answer in
            re.findall(r"^field (\S+) (yes|no)$", output, re.MULTILINE)}


def judge_verifier(step, version):
    """Loaded, with room left; and each field that bpf/ asks for is where it must be."""
    problems = [] if step.code == 0 else ["the verifier refused a program"]
    if not programs(step.output):
        problems.append("no program was reported")
    problems += [f"{name}: {count:,} instructions verified, of 1,000,000 at most"
                 for name, (count, _) in programs(step.output).items() if count > MOST_INSTRUCTIONS]
    there = fields(step.output)
    # The release from which on; stable releases before it may have it too (6.12.107 counts).
    since = {"mm_struct.mm_mt": (6, 1), "task_struct.in_execve": (5, 10), "cgroup.ancestors": (6, 1),
             "vm_area_struct.vm_lock_seq": (6, 4), "mm_struct.mm_lock_seq": (6, 4),
             "mm_struct.mm_lock_seq.sequence": (6, 13)}
    problems += [f"{name} is not there" for name, release in since.items()
                 if version >= release and not there.get(name)]
    # bpf/ asks for one of these to know which kind of kernel it is: all of them, or none.
    before_6_1 = ("mm_struct.mm_rb", "mm_struct.mmap", "vm_area_struct.vm_next",
                  "vm_area_struct.vm_rb", "cgroup.ancestor_ids")
    problems += [f"{name} is {'there' if there.get(name) else 'not there'}" for name in before_6_1
                 if there.get(name, False) != (version < (6, 1))]
    spellings = [name for name in MTIME_SPELLINGS if there.get(name)]
    if len(spellings) != 1:
        problems.append(f"the inode's mtime is spelled {spellings}")
    if "range_cache yes" not in step.output:
        problems.append("a VMA's fields lie behind the bytes that the range cache compares")
    return problems


def warnings_about_bpf(log):
    """Warnings in the kernel's log whose trace goes through BPF."""
    return [piece.splitlines()[0] for piece in re.split(r"(?=WARNING: |BUG: )", log)[1:]
            if re.search(r"\bbpf_", piece)]


def judge_kernel_log(step, _version):
    return [f"the kernel's log: {line}" for line in warnings_about_bpf(step.output)]
