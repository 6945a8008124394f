"""The tracked files of a source tree, and what every check hands back."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

CPP_SUFFIXES = (".cc", ".h")
BPF_SUFFIXES = (".bpf.c", ".c")


@dataclass(frozen=True)
class Problem:
    """One finding. A warning is printed and fails nothing."""

    path: str
    line: int
    text: str
    warning: bool = False

    def __str__(self):
        kind = "warning: " if self.warning else ""
        return f"{self.path}:{self.line}: {kind}{self.text}"


class Repository:
    """Files below `root` that git tracks or would track: what is ignored is not looked at."""

    def __init__(self, root):
        self.root = Path(root)
        listed = self._git("ls-files", "--cached", "--others", "--exclude-standard", "-z")
        names = set(filter(None, listed.split("\0")))
        self.files = sorted(name for name in names if (self.root / name).is_file())

    def _git(self, *arguments):
        # A clone made by another user (sudo, a container's checkout) is read all the same.
        command = ["git", "-c", f"safe.directory={self.root.resolve()}", "-C", str(self.root)]
        return subprocess.run([*command, *arguments], capture_output=True, text=True,
                              check=True).stdout

    def read(self, name):
        """The text of a file; a binary file (one with a NUL byte) is empty."""
        data = (self.root / name).read_bytes()
        return "" if b"\0" in data else data.decode("utf-8", errors="replace")

    def lines(self, name):
        """Pairs of line number, counted from 1, and text."""
        return list(enumerate(self.read(name).splitlines(), start=1))

    def cpp_files(self):
        """Our C++: .cc and .h, without bpf/, whose C follows the kernel's style."""
        return [n for n in self.files if n.endswith(CPP_SUFFIXES) and not n.startswith("bpf/")]

    def changed_files(self):
        """Files that differ from the last commit, new ones too; all when there is no commit."""
        try:
            tracked = self._git("diff", "--name-only", "-z", "HEAD").split("\0")
            new = self._git("ls-files", "--others", "--exclude-standard", "-z").split("\0")
        except subprocess.CalledProcessError:
            return list(self.files)
        changed = set(tracked) | set(new)
        return [name for name in self.files if name in changed]
