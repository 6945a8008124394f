"""The binaries whose names are compared: of many makers, and built here of one source in many
ways."""

import dataclasses
import glob
import os
import shutil
import subprocess

from elf_file import ElfFile

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
RUST = f"{SOURCE}/tests/fixtures/native/rust_closures/program.rs"
HERE = f"{SOURCE}/tests/oracles/names/programs"


@dataclasses.dataclass
class Binary:
    name: str
    kind: str
    root: str = "/"
    path: str = ""    # In the root.
    # What the oracle is asked about, where that is another file: with the same code at the same
    # addresses.
    oracle: str = ""
    folder: str = ""  # Where split debug information is found.
    is_go: bool = False
    reason: str = ""  # Why it is not compared.

    def file(self):
        return os.path.normpath(f"{self.root}/{self.path}")

    def oracle_file(self):
        return self.oracle or self.file()


# Of packages and of language tools: name, kind, pattern.
SEPARATE, EXPORTS, SYMTAB, OWN = ("C/C++, separate debug file", "stripped, .dynsym alone", ".symtab alone",
                                  "own debug information")
FOUND = (
    ("true", EXPORTS, "usr/bin/true"),
    ("bash", EXPORTS, "usr/bin/bash"),
    ("libc", SEPARATE + " (dwz)", "lib/x86_64-linux-gnu/libc.so.6"),
    ("ld.so", SEPARATE + " (dwz)", "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"),
    ("libstdc++", EXPORTS, "usr/lib/x86_64-linux-gnu/libstdc++.so.6"),
    ("libcrypto", EXPORTS, "usr/lib/x86_64-linux-gnu/libcrypto.so.3"),
    ("uwsgi", SEPARATE, "usr/bin/uwsgi-core"),
    ("libkrb5", SEPARATE, "usr/lib/x86_64-linux-gnu/libkrb5.so.3"),
    ("ld.bfd", SEPARATE, "usr/bin/x86_64-linux-gnu-ld.bfd"),
    ("memcheck", SEPARATE, "usr/libexec/valgrind/memcheck-amd64-linux"),
    ("python-dbg", "C, " + OWN, "usr/bin/python3.11-dbg"),
    ("ceph-osd", SEPARATE + ", LTO", "usr/bin/ceph-osd"),
    ("libjvm", SEPARATE, "usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so"),
    ("vmlinux", "Linux, " + OWN, "usr/lib/debug/boot/vmlinux-*"),
    ("libpython", "C, " + OWN, "root/.pyenv/versions/*/lib/libpython3.1[0-9].so.1.0"),
    ("libLLVM", EXPORTS, "usr/lib/x86_64-linux-gnu/libLLVM-14.so.1"),
    ("chromium", EXPORTS, "usr/lib/chromium/chromium"),
    ("node", SYMTAB, "usr/bin/node"),
    ("rustc_driver", SYMTAB, "root/.rustup/toolchains/*/lib/librustc_driver-*.so"),
    ("Go's compiler", "Go, " + SYMTAB, "usr/local/go/pkg/tool/linux_amd64/compile"),
)

# Built of the project's own sources, as a shared object with whatever is undefined.
PARTS = "symbolizer/symbol_table symbolizer/dwarf/debug_file symbolizer/dwarf/unit symbolizer/cfi/instruction_look"


def shared(compiler, flags, link=""):
    """Compiles PARTS and links them; what split units are called is relative to the folder."""
    return (f"for part in {PARTS}; do {compiler} -std=c++20 -O2 -fPIC -I$SOURCE {flags} -c $SOURCE/$part.cc "
            f"-o $NAME-$(basename $part).o; done; {compiler} -shared {flags} {link} $NAME-*.o -o $NAME")


GCC, CLANG = "g++", "clang++-16"
# Name, kind, tools, script, what the oracle is asked about ("" for the file itself).
BUILT = (
    ("gcc-dwarf2", "C++, gcc, DWARF 2", (GCC,), shared(GCC, "-gdwarf-2"), ""),
    ("gcc-strict2", "C++, gcc, DWARF 2 and no more", (GCC,), shared(GCC, "-gdwarf-2 -gstrict-dwarf"), ""),
    ("gcc-dwarf3", "C++, gcc, DWARF 3", (GCC,), shared(GCC, "-gdwarf-3 -gstrict-dwarf"), ""),
    ("gcc-dwarf4", "C++, gcc, DWARF 4", (GCC,), shared(GCC, "-gdwarf-4"), ""),
    ("gcc-dwarf5", "C++, gcc, DWARF 5", (GCC,), shared(GCC, "-gdwarf-5"), ""),
    ("gcc-dwarf64", "C++, gcc, DWARF 5 of 64 bits", (GCC,), shared(GCC, "-gdwarf-5 -gdwarf64"), ""),
    ("gcc-types", "C++, gcc, type units", (GCC,), shared(GCC, "-g -fdebug-types-section"), ""),
    ("gcc-packed", "C++, gcc, compressed sections", (GCC,), shared(GCC, "-g -gz"), ""),
    ("gcc-split", "C++, gcc, split units (.dwo)", (GCC,), shared(GCC, "-g -gsplit-dwarf"), ""),
    ("gcc-split4", "C++, gcc, split units of DWARF 4", (GCC,), shared(GCC, "-gdwarf-4 -gsplit-dwarf"), ""),
    ("gcc-lto", "C++, gcc, LTO", (GCC,), shared(GCC, "-g -flto"), ""),
    ("gcc-debug", "C++, gcc, -O0", (GCC,), shared(GCC, "-g -O0"), ""),
    ("clang-dwarf4", "C++, clang, DWARF 4", (CLANG,), shared(CLANG, "-gdwarf-4"), ""),
    ("clang-dwarf5", "C++, clang, DWARF 5", (CLANG,), shared(CLANG, "-gdwarf-5"), ""),
    ("clang-types", "C++, clang, type units", (CLANG,), shared(CLANG, "-g -fdebug-types-section"), ""),
    ("clang-split", "C++, clang, split units and .dwp", (CLANG, "llvm-dwp-19"),
     shared(CLANG, "-g -gsplit-dwarf") + " && llvm-dwp-19 -e $NAME -o $NAME.dwp && rm $NAME-*.dwo", ""),
    ("clang-lines", "C++, clang, -gline-tables-only", (CLANG,), shared(CLANG, "-gline-tables-only"), ""),
    ("clang-lto", "C++, clang, thin LTO", (CLANG, "ld.lld-16"), shared(CLANG, "-g -flto=thin", "-fuse-ld=lld-16"), ""),
    ("minidebug", "C++, gcc, .gnu_debugdata", (GCC, "xz"),
     shared(GCC, "-g") + " && cp $NAME $NAME-whole && objcopy --strip-debug $NAME $NAME-kept && "
     "objcopy --only-keep-debug $NAME-kept && xz -kf $NAME-kept && strip $NAME && "
     "objcopy --add-section .gnu_debugdata=$NAME-kept.xz $NAME && strip --strip-debug $NAME-whole", "minidebug-whole"),
    ("musl", "C, static, musl", ("musl-gcc",),
     f"musl-gcc -g -O2 -static -I$SOURCE/tests/fixtures/native {SOURCE}/tests/fixtures/native/musl_static/program.c -o $NAME", ""),
    ("rust-debug", "Rust, debug", ("rustc",), f"rustc -g {RUST} -o $NAME", ""),
    ("rust-release", "Rust, release, legacy names", ("rustc",),
     f"rustc -O -g -C symbol-mangling-version=legacy -Z unstable-options {RUST} -o $NAME || rustc -O -g {RUST} -o $NAME", ""),
    ("rust-lines", "Rust, release, v0, lines alone", ("rustc",),
     f"rustc -O -C debuginfo=1 -C symbol-mangling-version=v0 {RUST} -o $NAME", ""),
    ("rust-split", "Rust, split units", ("rustc",),
     f"rustc -O -g -C split-debuginfo=unpacked -C save-temps {RUST} -o $NAME", ""),
    ("rust-packed", "Rust, .dwp", ("rustc",), f"rustc -O -g -C split-debuginfo=packed {RUST} -o $NAME", ""),
    ("go", "Go, DWARF", ("go",), "go build -o $NAME cmd/gofmt", ""),
    ("go-stripped", "Go, -s -w", ("go",),
     "go build -o $NAME-whole cmd/asm && go build -ldflags='-s -w' -o $NAME cmd/asm", "go-stripped-whole"),
    ("ocaml", "OCaml", ("ocamlopt",), f"cp {HERE}/words.ml . && ocamlopt -g words.ml -o $NAME", ""),
    ("d", "D, ldc", ("ldc2",), f"ldc2 -g -O2 -link-defaultlib-shared=false -L=--no-as-needed -L=-lz {HERE}/words.d -of=$NAME", ""),
    ("huge", "C++, generated, 1 GB", (GCC, "ld.lld-16"), f"sh {HERE}/huge.sh", ""),
)


def build_id(path):
    section = ElfFile(path).section(".note.gnu.build-id")
    return ElfFile(path).bytes[section.offset + 16:section.offset + section.size].hex() if section else ""


def with_debug_file(binary):
    """The oracle reads the debug file itself, so that it need not look for it."""
    wanted = build_id(binary.file())
    for root in (binary.root, "/"):
        path = f"{root}/usr/lib/debug/.build-id/{wanted[:2]}/{wanted[2:]}.debug"
        if wanted and os.path.exists(path):
            binary.root, binary.oracle = root, path
            return binary
    if binary.kind.startswith(SEPARATE):
        binary.reason = "its debug file is not here"
    return binary


def found_binary(name, kind, pattern, root):
    for place in (root, "/"):
        paths = sorted(p for p in glob.glob(f"{place}/{pattern}") if os.path.isfile(p))
        if paths:
            path = os.path.relpath(os.path.realpath(paths[-1]), os.path.realpath(place))
            return with_debug_file(Binary(name, kind, place, path, is_go=kind.startswith("Go")))
    return Binary(name, kind, reason="not here")


def built_binary(entry, folder):
    name, kind, tools, script, oracle = entry
    # Each has a folder: what split units are called is relative to it.
    own = os.path.join(folder, name)
    binary = Binary(name, kind, "/", os.path.join(own, name), os.path.join(own, oracle) if oracle else "", own,
                    kind.startswith("Go"))
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        binary.reason = f"no {', '.join(missing)} here"
    elif not os.path.exists(binary.path):
        os.makedirs(own, exist_ok=True)
        done = subprocess.run(["sh", "-e", "-c", script], cwd=own, text=True, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env={**os.environ, "SOURCE": SOURCE, "NAME": name})
        if done.returncode:
            binary.reason = f"cannot be built: {done.stdout[-500:]}"
    return binary


OURS = "stackray"


def every_name():
    return [name for name, *_ in FOUND] + [entry[0] for entry in BUILT] + [OURS]


def available(folder, root, only):
    """The binaries of these names, in turn: those that are not here with their reason. Building
    happens on the way."""
    for name, kind, pattern in FOUND:
        if name in only:
            yield found_binary(name, kind, pattern, root)
    for entry in BUILT:
        if entry[0] in only:
            yield built_binary(entry, folder)
    own = Binary(OURS, "C++20, gcc, " + OWN, "/", os.path.join(SOURCE, "build", "stackray"))
    if own.name in only:
        if not os.path.exists(own.file()):
            own.reason = "not built"
        yield own
