#!/usr/bin/env python3
"""Every interpreter that can be had, against its own answer and under load: one row a build.

    every_version.py BUILD [--roots FOLDER] [--stops N] [--samples N] [--languages A,B] [--only
    TEXT]

BUILD has the test programs. What runs: the interpreters that those find on this machine (Debian's,
pyenv's, what a STACKRAY_PYTHON_3_13T names), those of Debian's other suites, each in a root folder
of its own with its own libc, and two that are built from Debian's sources: Python without its lock
and PHP with threads. The folders are made by mmdebstrap in FOLDER (BUILD/debian-roots otherwise; 5
of them, 2 GB) and used again. Needs root and, the first time, the network. Of each build: N stops
of each kind equal to the runtime's own answer (100), and under load N samples (5,000) of which 99.8
% are whole and at most 0.1 % of the runtime's frames stale. Then each root as a container: programs
that live for 300 ms. Exit: 77 with the reason when nothing can be run, 1 when a test failed, else
0.
"""

import argparse
import glob
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TREE, "tests", "kernels"))
from debian_kernel import Unavailable, machine_mirror  # pylint: disable=wrong-import-position

SKIPPED = 77
OUTER_NAMESPACE = "STACKRAY_MOUNTS_ARE_PRIVATE"
# Folder, suites, packages.
SUITES = (
    ("bullseye", ("bullseye",), ("python3", "ruby", "perl", "php7.4-cli", "php7.4-opcache")),
    ("trixie", ("trixie",), ("python3", "ruby", "perl", "php8.4-cli")),
    ("sid", ("sid",), ("python3.13", "python3.14", "python3.15", "perl", "php8.4-cli")),
    ("experimental", ("sid", "experimental"), ("ruby3.4", "php8.5-cli", "php8.6-cli")),
    ("sources", ("trixie",), ()),
)
# Of the suite "sources": what build_from_source.sh makes there. (name, language, version's word,
# program)
FROM_SOURCE = (("python3.13t", "python", "3_13t", "bin/python3.13t"), ("php8.4-zts", "php", "8_4_zts", "bin/php"))
LANGUAGES = ("python", "ruby", "php", "perl")
PROGRAM = {"python": r"python3\.(\d+)", "ruby": r"ruby(\d+)\.(\d+)", "php": r"php(\d+)\.(\d+)"}
MEASURED = re.compile(r"^measured: (.*)$", re.MULTILINE)
REASON = re.compile(r"Skipped\n(.*)$", re.MULTILINE)
AGREE = re.compile(r"(\d+) of (\d+) stops agree")
LOAD = re.compile(r"under load: (\d+) of (\d+) whole")
STALE = (re.compile(r"come and go.*?: (\d+) frames.*?(\d+) \[stale\]"), re.compile(r"comes and goes: (\d+) frames.*?(\d+) \[stale\]"))
FAILED = re.compile(r"^\[  FAILED  \] (\S+/\S+?),? ", re.MULTILINE)


class Build:
    """One interpreter. `word` is its version in names of tests and of variables; no `command`:
    where the tests find it."""

    def __init__(self, language, word, place, command=""):
        self.language, self.word, self.place, self.command = language, word, place, command

    def name(self):
        return f"{self.language} {self.word.replace('_', '.')} ({self.place})"

    def environment(self):
        return {f"STACKRAY_{self.language.upper()}_{self.word.upper()}": self.command} if self.command else {}


def is_wanted(build, options):
    return build.language in options.languages.split(",") and options.only in build.name()


def make_root(folder, name, suites, packages):
    """Makes the root once. Raises Unavailable."""
    root = os.path.join(folder, name)
    stamp = root + ".packages"
    if os.path.exists(stamp):
        return root
    sources = root + ".list"  # Another ending would mean another format.
    with open(sources, "w", encoding="ascii") as file:
        file.writelines(f"deb {machine_mirror()} {suite} main\n" for suite in suites)
    subprocess.run(["rm", "-rf", "--one-file-system", root], check=True)
    made = subprocess.run(["mmdebstrap", "--variant=minbase", '--aptopt=Acquire::Check-Valid-Until "false"',
                           *([f"--include={','.join(packages)}"] if packages else []), suites[0], root, sources],
                          capture_output=True, text=True, check=False)
    if made.returncode != 0:
        errors = [line for line in made.stderr.splitlines() if line.startswith("E: ")]
        raise Unavailable(f"mmdebstrap: {errors[0] if errors else 'failed'}")
    with open(stamp, "w", encoding="ascii") as file:
        file.write(" ".join(packages) + "\n")
    return root


def mount_into(root):
    """What a test and its target share: /tmp, this tree, devices, processes. All of it ends with
    this script's namespace."""
    shared = [(["-t", "proc"], "proc", "/proc"), (["--rbind"], "/dev", "/dev"), (["--bind"], "/tmp", "/tmp")]
    if not TREE.startswith("/tmp/"):
        shared.append((["--bind"], TREE, TREE))  # The root may lie in it.
    for options, source, place in shared:
        os.makedirs(root + place, exist_ok=True)
        subprocess.run(["mount", *options, source, root + place], check=True)


def builds_from_source(root, options):
    """Those that are wanted, made once, in a quarter of an hour."""
    builds = []
    for name, language, word, program in FROM_SOURCE:
        build = Build(language, word, "sources", f"chroot {root} /opt/{name}/{program}")
        if not is_wanted(build, options):
            continue
        with open(os.path.join(options.logs, f"make_{name}.log"), "w", encoding="utf-8") as log:
            made = subprocess.run(["chroot", root, "sh", f"{HERE}/build_from_source.sh", name], stdout=log, stderr=log, check=False)
        if made.returncode == 0:
            builds.append(build)
        else:
            print(f"skipped: {name}: build_from_source.sh ended with {made.returncode}: {log.name}", flush=True)
    return builds


def builds_of_root(name, root):
    builds = []
    for language, pattern in PROGRAM.items():
        for path in sorted(glob.glob(f"{root}/usr/bin/{language}*")):
            match = re.fullmatch(pattern, os.path.basename(path))
            if match:
                word = "_".join(("3", match.group(1)) if language == "python" else match.groups())
                builds.append(Build(language, word, name, f"chroot {root} {path[len(root):]}"))
    if os.path.exists(f"{root}/usr/bin/perl"):
        said = subprocess.run(["chroot", root, "/usr/bin/perl", "-e", "print $]"], capture_output=True, text=True, check=True)
        if glob.glob(f"{root}/usr/share/perl/5.*/perl5db.pl"):  # All of Perl, not perl-base.
            builds.append(Build("perl", f"5_{int(said.stdout[2:5])}", name, f"chroot {root} /usr/bin/perl"))
    return builds


def builds_of_machine(programs):
    """Those that the tests find by themselves, read from the tests' names."""
    builds = []
    for language in LANGUAGES:
        listed = subprocess.run([programs[language][1], "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout
        words = sorted(set(re.findall(rf"/{language}(\d\w*)", listed)), key=lambda word: [int(n) for n in re.findall(r"\d+", word)])
        for word in words:
            asked = os.environ.get(f"STACKRAY_{language.upper()}_{word.upper()}")
            builds.append(Build(language, word, "as asked for" if asked else "machine"))
    return builds


def run(build, programs, options):
    """(rows of numbers, failed tests, seconds, why it was skipped where there are neither rows nor
    failures)."""
    environment = {**os.environ, **build.environment(), f"STACKRAY_{build.language.upper()}_STOPS": str(options.stops),
                   "STACKRAY_LOAD_SAMPLES": str(options.samples)}
    begin, text = time.monotonic(), ""
    for program, names in zip(programs[build.language], (f"*/{build.language}{build.word}_*", f"*/{build.language}{build.word}")):
        # A version's word is the beginning of another's: 8_4 and 8_4_zts.
        filters = names if "zts" in build.word else f"{names}-*zts*"
        done = subprocess.run([program, f"--gtest_filter={filters}"], capture_output=True, text=True, errors="replace",
                              env=environment, timeout=3600, check=False)
        text += done.stdout
        if done.returncode != 0 and "[  FAILED  ]" not in done.stdout:
            text += f"[  FAILED  ] {os.path.basename(program)}/ended_with_{done.returncode} \n"
    failed = sorted(set(FAILED.findall(text)))
    with open(os.path.join(options.logs, build.name().replace(" ", "_") + ".log"), "w", encoding="utf-8") as file:
        file.write(text)
    return MEASURED.findall(text), failed, time.monotonic() - begin, (REASON.findall(text) or ["no test ran"])[0]


def table_row(build, rows):
    """Of all kinds of stops, of all loads, and of code that comes and goes."""
    def sums(*patterns):
        found = [match.groups() for row in rows for pattern in patterns for match in [pattern.search(row)] if match]
        return [sum(int(groups[i]) for groups in found) for i in (0, 1)]
    equal, stops = sums(AGREE)
    whole, samples = sums(LOAD)
    frames, stale = sums(*STALE)
    return f"| {build.name()} | {equal:,} of {stops:,} | {whole:,} of {samples:,} | {stale:,} of {frames:,} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--roots", default="")
    parser.add_argument("--stops", type=int, default=100)
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--languages", default=",".join(LANGUAGES))
    parser.add_argument("--only", default="", help="builds whose name has this in it")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("needs root: it samples, and it makes root folders")
        return SKIPPED
    if OUTER_NAMESPACE not in os.environ:  # All that is mounted is this process's alone.
        os.execvpe("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, *sys.argv], {**os.environ, OUTER_NAMESPACE: "1"})
    options.build = os.path.realpath(options.build)
    options.roots = os.path.realpath(options.roots or os.path.join(options.build, "debian-roots"))
    options.logs = os.path.join(options.build, "every-version")
    for folder in (options.roots, options.logs):
        os.makedirs(folder, exist_ok=True)
    programs = {language: [os.path.join(options.build, f"{language}_{kind}_test") for kind in ("agreement", "load")]
                for language in LANGUAGES}
    missing = [path for pair in programs.values() for path in pair if not os.access(path, os.X_OK)]
    if missing:
        print(f"not built: {missing[0]}")
        return SKIPPED
    builds, roots = builds_of_machine(programs), []
    for name, suites, packages in SUITES:
        try:
            root = make_root(options.roots, name, suites, packages)
        except (Unavailable, FileNotFoundError) as error:
            print(f"skipped: {name}: {error}", flush=True)
            continue
        if not options.only and name != "sources":
            roots.append(root)
        mount_into(root)
        builds += builds_from_source(root, options) if name == "sources" else builds_of_root(name, root)
    builds = [build for build in builds if is_wanted(build, options)]
    if not builds:
        print("no interpreter of that name")
        return SKIPPED
    bad, table = [], []
    for root in roots:
        done = subprocess.run([sys.executable, f"{HERE}/real/container_roots.py", os.path.join(options.build, "stackray"), root],
                              capture_output=True, text=True, check=False)
        print(f"{os.path.basename(root)} as a container, programs of 300 ms: {'passed' if done.returncode == 0 else 'FAILED'}\n{done.stdout}{done.stderr}", flush=True)
        bad += [f"container {root}"] if done.returncode not in (0, SKIPPED) else []
    for build in builds:
        rows, failed, seconds, reason = run(build, programs, options)
        if not rows and not failed:
            print(f"{build.name()}: skipped: {reason}", flush=True)
            continue
        table.append(table_row(build, rows))
        print(f"{build.name()}: {'FAILED ' + ', '.join(failed) if failed else 'passed'}, {seconds:.0f} s", flush=True)
        for row in rows:
            print(f"    {row}", flush=True)
        if failed:
            bad.append(build.name())
    print("| build | stops equal to its own answer | whole under load | frames [stale] of functions that come and go |\n|---|---|---|---|")
    print("\n".join(table))
    print(f"{len(table)} of {len(builds)} builds ran, {len(bad)} with failures{': ' + ', '.join(bad) if bad else ''}; whole outputs in {options.logs}")
    return 1 if bad else 0 if table else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
