"""Interpreters of a Debian suite, for a guest of another architecture: their packages with what
they need, unpacked into a folder and never installed. In the guest they are a root of their own, as
a container's is, with that suite's C library.
"""

import os
import re
import subprocess

from debian_kernel import Apt, machine_mirror, place_of

ROOT = "/runtimes"  # In the guest.
HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY_FOLDERS = ("lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu", "lib", "usr/lib")
LOADER = "lib/ld-linux-aarch64.so.1"


class Runtime:
    """One interpreter: its package, its program, the folders that it reads, and how it runs a
    program.

    `names`: of the load's functions as they are shown, the outermost one first.
    """

    def __init__(self, package, program, options, suffix, folders=(), names=()):
        self.package, self.program, self.folders = package, program, folders
        self.load = f"callbacks.{suffix}"
        self.command = f"chroot {ROOT} /{program} {options} /{self.load}"
        self.names = names or ("outermost", "callback", "innermost")


RUBY_NAMES = ("Object#outermost", "Object#callback", "Object#innermost")

# Packages of the same name in each suite.
PERL = Runtime("perl", "usr/bin/perl", "", "pl", names=("main::outermost", "main::callback", "main::innermost"))
LUA = Runtime("lua5.4", "usr/bin/lua5.4", "", "lua",
              names=tuple(f"function </callbacks.lua:{line}>" for line in (14, 10, 2)))


def php(version, options=""):
    return Runtime(f"php{version}-cli", f"usr/bin/php{version}", f"-n {options}", "php",
                   ("usr/lib/php",))


JIT = ("-d zend_extension=opcache.so -d opcache.enable_cli=1 -d opcache.lockfile_path=/ "
       "-d opcache.jit_buffer_size=16M -d opcache.jit=")
SUITES = {
    "bookworm": {
        "python": Runtime("python3.11", "usr/bin/python3.11", "-I -S", "py", ("usr/lib/python3.11",)),
        "perl": PERL,
        "ruby": Runtime("ruby3.1", "usr/bin/ruby3.1", "--disable-gems", "rb",
                        ("usr/lib/aarch64-linux-gnu/ruby/3.1.0/enc",), RUBY_NAMES),
        "php": php("8.2"),
        "php_jit": php("8.2", JIT + "function"),
        "lua": LUA,
    },
    "trixie": {
        "python": Runtime("python3.13", "usr/bin/python3.13", "-I -S", "py", ("usr/lib/python3.13",)),
        "perl": PERL,
        "ruby": Runtime("ruby3.3", "usr/bin/ruby3.3", "--disable-gems", "rb",
                        ("usr/lib/aarch64-linux-gnu/ruby/3.3.0/enc",), RUBY_NAMES),
        "php": php("8.4"),
        "lua": LUA,
    },
}


def fetch(folder, suite, architecture):
    """The folder with the suite's interpreters, from the cache or else the mirror. Raises
    Unavailable."""
    kept = os.path.join(folder, place_of(suite, architecture), "runtimes")
    stamp = kept + ".packages"
    packages = sorted({runtime.package for runtime in SUITES[suite].values()})
    if os.path.exists(stamp):
        with open(stamp, encoding="utf-8") as file:
            if file.read().split() == packages:
                return kept
    os.makedirs(kept, exist_ok=True)
    apt = Apt(folder, machine_mirror(), suite, architecture)
    apt.run("apt-get", "update", "-q")
    apt.run("apt-get", "install", "-y", "-q", "--no-install-recommends", "--download-only", *packages)
    state = os.path.join(folder, "apt", place_of(suite, architecture), "cache", "archives")
    for archive in sorted(os.listdir(state)):
        if archive.endswith(".deb"):
            subprocess.run(["dpkg", "-x", os.path.join(state, archive), kept], check=True)
    with open(stamp, "w", encoding="utf-8") as file:
        file.write("\n".join(packages) + "\n")
    return kept


def resolve(folder, path):
    """The file that a path of the folder leads to, links of the folder being followed inside of
    it."""
    for _ in range(8):
        here = os.path.join(folder, path)
        if not os.path.islink(here):
            return here
        target = os.readlink(here)
        path = target.lstrip("/") if target.startswith("/") else os.path.normpath(
            os.path.join(os.path.dirname(path), target))
    raise FileNotFoundError(f"{path}: too many links")


def needed_libraries(folder, path):
    """{name: file} of the libraries that a file needs, and those need, but the loader."""
    found, wanted = {}, [path]
    while wanted:
        shown = subprocess.run(["readelf", "--dynamic", "--wide", wanted.pop()], capture_output=True,
                               text=True, check=True).stdout
        for name in re.findall(r"\(NEEDED\).*\[(.+)\]", shown):
            if name in found or name == os.path.basename(LOADER):
                continue
            places = [os.path.join(below, name) for below in LIBRARY_FOLDERS
                      if os.path.lexists(os.path.join(folder, below, name))]
            if not places:
                raise FileNotFoundError(f"{path} needs {name}, which {folder} lacks")
            found[name] = resolve(folder, places[0])
            wanted.append(found[name])
    return found


def loader_of(folder):
    """The file that LOADER is in the guest."""
    places = [os.path.join(below, os.path.basename(LOADER)) for below in LIBRARY_FOLDERS]
    return resolve(folder, next(place for place in places if os.path.lexists(os.path.join(folder, place))))


def add(root, folder, suite):
    """Puts them into a GuestRoot."""
    libraries = {}
    for runtime in SUITES[suite].values():
        program = resolve(folder, runtime.program)
        libraries.update(needed_libraries(folder, program))
        root.add_file(f"{ROOT}/{runtime.program}", program)
        root.add_file(f"{ROOT}/{runtime.load}", os.path.join(HERE, "loads", runtime.load))
        for below in runtime.folders:
            for place, _, names in os.walk(os.path.join(folder, below)):
                for name in names:
                    file = os.path.join(place, name)
                    if os.path.isfile(file) and not os.path.islink(file):
                        root.add_file(f"{ROOT}/{os.path.relpath(file, folder)}", file)
    for name, file in libraries.items():
        root.add_file(f"{ROOT}/{LIBRARY_FOLDERS[0]}/{name}", file)
    root.add_file(f"{ROOT}/{LOADER}", loader_of(folder))
