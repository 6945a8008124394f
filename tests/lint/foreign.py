"""What belongs to another process is read by a foreign reader (kernel/foreign/), as a read of it
may never return. Found is what would read it from the agent's own threads."""

import re

from repository import CPP_SUFFIXES, Problem

FOLDERS = ("agent/", "interpreters/", "kernel/", "symbolizer/")
# The readers themselves, and files whose functions of this kind run in one.
IN_READERS = ("kernel/foreign/", "agent/sampling/context_reader.cc", "interpreters/jit/jit_file_job.cc",
              "symbolizer/rooted_files_job.cc", "agent/daemon/source_texts_job.cc")
MEMORY = re.compile(r"\bprocess_vm_readv\b")
# Names below /proc/PID that take the lock of the process's memory, or lead to its files.
NAMES = ("auxv", "cmdline", "cwd", "environ", "map_files", "maps", "mem", "numa_maps", "pagemap", "root",
         "smaps", "smaps_rollup")
PROCESS_FILE = re.compile(r'"/proc/\{\}/(?:' + "|".join(NAMES) + r')\b')
SHOWN = "// Shown, not opened."


def check(repository):
    problems = []
    for name in repository.files:
        if not name.startswith(FOLDERS) or not name.endswith(CPP_SUFFIXES) or name.startswith(IN_READERS):
            continue
        for number, line in repository.lines(name):
            why = wrong(line)
            if why:
                problems.append(Problem(name, number, f"{why} outside of a foreign reader"))
    return problems


def wrong(line):
    if SHOWN in line:
        return None
    code = line.split(" // ", 1)[0]
    if code.lstrip().startswith("//"):
        return None
    if MEMORY.search(code) and '"process_vm_readv"' not in code:
        return "another process's memory is read"
    found = PROCESS_FILE.search(code)
    return f"a file that may never answer, {found.group()[1:]}, is read" if found else None
