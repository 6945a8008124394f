"""A kernel of a Debian suite: its vmlinuz, unpacked from a package that is never installed.

The mirror is the machine's own, read from apt's configuration. The machine's package lists are
left alone: apt runs on a list of sources and a state of our own, below the cache folder.
"""

import os
import re
import shutil
import subprocess
import tarfile

SUITES = ("bullseye", "bookworm", "trixie", "forky", "sid")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
VMLINUZ = re.compile(r"(?:^|/)(?:boot/vmlinuz-|usr/lib/modules/(?=[^/]+/vmlinuz$))([^/]+)(?:/vmlinuz)?$")
BUSYBOX = re.compile(r"(?:^|/)bin/(busybox)$")


class Unavailable(Exception):
    """This kernel cannot be had here; the text says why."""


def mirror_of(targets):
    """Address of a Debian mirror in `apt-get indextargets` lines ORIGIN|ADDRESS|RELEASE|COMPONENT.

    A foreign repository may be named after a Debian release too: one that says it is Debian's wins.
    """
    rows = [line.split("|") for line in targets.splitlines() if line.count("|") == 3]
    fits = [row for row in rows if row[2] in SUITES and row[3] == "main"]
    fits.sort(key=lambda row: row[0] != "Debian")
    return fits[0][1] if fits else None


def image_packages(depends):
    """Names in a Depends field that may hold the kernel itself, likeliest first.

    linux-image-VERSION holds it; where that is split (7.x), linux-binary-VERSION does.
    """
    names = re.findall(r"(?:^|[,|])\s*(linux-(?:image|binary)-[^\s,|(]+)", depends)
    return sorted(names, key=lambda name: not name.startswith("linux-binary-"))


class Apt:
    """apt with one suite as its only source; `architecture` as Debian names it."""

    def __init__(self, folder, mirror, suite, architecture="amd64"):
        state = os.path.join(folder, "apt", place_of(suite, architecture))
        for name in ("lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(state, name), exist_ok=True)
        status = os.path.join(state, "status")
        sources = os.path.join(state, "sources.list")
        signed_by = f"[signed-by={KEYRING}] " if os.path.exists(KEYRING) else ""
        with open(sources, "w", encoding="utf-8") as file:
            file.write(f"deb {signed_by}{mirror} {suite} main\n")
        with open(status, "w", encoding="utf-8"):
            pass
        options = {
            "Dir::Etc::sourcelist": sources, "Dir::Etc::sourceparts": "-",
            "Dir::Etc::preferences": "/dev/null", "Dir::Etc::preferencesparts": "-",
            "APT::Architecture": architecture, "APT::Architectures::": architecture,
            "Dir::State": state, "Dir::State::lists": os.path.join(state, "lists"),
            "Dir::State::status": status, "Dir::Cache": os.path.join(state, "cache"),
            "Acquire::Languages": "none", "Acquire::Retries": "2", "Acquire::http::Timeout": "20",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
            # The folder may be one that apt's own user cannot enter.
            "APT::Sandbox::User": "root",
            "APT::Update::Error-Mode": "any",
        }
        self.options = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]

    def run(self, command, *arguments, folder=None):
        result = subprocess.run([command, *self.options, *arguments], cwd=folder,
                                capture_output=True, text=True, timeout=600, check=False,
                                stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"})
        if result.returncode != 0:
            said = [line for line in result.stderr.splitlines() if line.startswith(("E:", "Err"))]
            raise Unavailable(f"{command} {arguments[0]}: {' '.join(said)[:300] or 'failed'}")
        return result.stdout

    def depends(self, package):
        shown = self.run("apt-cache", "show", "--no-all-versions", package)
        found = re.search(r"^Depends: (.*)$", shown, re.MULTILINE)
        return found.group(1) if found else ""

    def download(self, package, folder):
        before = set(os.listdir(folder))
        self.run("apt-get", "download", package, folder=folder)
        new = [name for name in os.listdir(folder) if name not in before and name.endswith(".deb")]
        if not new:
            raise Unavailable(f"apt-get download {package} left no package")
        return os.path.join(folder, new[0])


def unpack_vmlinuz(package, to):
    """Writes the package's vmlinuz to `to`. Returns the kernel's release, or None: it has none."""
    return unpack_file(package, VMLINUZ, to)


def unpack_file(package, pattern, to):
    """Writes the package's first file of that name to `to`. Returns the pattern's group, or
    None."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package],
                          stdout=subprocess.PIPE) as process:
        release = None
        with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
            for member in archive:
                found = pattern.search(member.name)
                if release is None and found and member.isfile():
                    release = found.group(1)
                    with archive.extractfile(member) as source, open(to, "wb") as target:
                        shutil.copyfileobj(source, target)
        while process.stdout.read(1 << 20):  # What the archive did not want: padding at its end.
            pass
    return release


def machine_mirror():
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise Unavailable("no apt here, so no Debian kernels")
    targets = subprocess.run(
        ["apt-get", "indextargets", "--format",
         "$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)"],
        capture_output=True, text=True, timeout=60, check=False).stdout
    mirror = mirror_of(targets)
    if mirror is None:
        raise Unavailable("apt's sources name no Debian mirror")
    return mirror


def place_of(suite, architecture):
    return suite if architecture == "amd64" else f"{suite}-{architecture}"


def fetch_busybox(folder, suite, architecture):
    """Path of the suite's static busybox for the machine, from the cache or else the mirror."""
    kept = os.path.join(folder, place_of(suite, architecture))
    busybox = os.path.join(kept, "busybox")
    if not os.path.exists(busybox):
        os.makedirs(kept, exist_ok=True)
        apt = Apt(folder, machine_mirror(), suite, architecture)
        apt.run("apt-get", "update", "-q")
        archive = apt.download("busybox-static", kept)
        if not unpack_file(archive, BUSYBOX, busybox + ".new"):
            raise Unavailable("busybox-static holds no busybox")
        os.remove(archive)
        os.replace(busybox + ".new", busybox)
    return busybox


def fetch(folder, suite, architecture="amd64", flavour=""):
    """(path of vmlinuz, release) of the suite's cloud kernel, from the cache or else the mirror.

    `flavour`: another kernel than the cloud's, as in linux-image-FLAVOUR. Raises Unavailable.
    """
    kept = os.path.join(folder, place_of(suite, flavour or architecture))
    vmlinuz, release_file = os.path.join(kept, "vmlinuz"), os.path.join(kept, "release")
    if os.path.exists(release_file):
        with open(release_file, encoding="utf-8") as file:
            return vmlinuz, file.read().strip()
    os.makedirs(kept, exist_ok=True)
    apt = Apt(folder, machine_mirror(), suite, architecture)
    apt.run("apt-get", "update", "-q")
    for package in image_packages(apt.depends(f"linux-image-{flavour or 'cloud-' + architecture}")):
        for holder in [*image_packages(apt.depends(package)), package]:
            archive = apt.download(holder, kept)
            release = unpack_vmlinuz(archive, vmlinuz)
            os.remove(archive)
            if release:
                with open(release_file, "w", encoding="utf-8") as file:
                    file.write(release + "\n")
                return vmlinuz, release
    raise Unavailable(f"no package of {suite} holds a kernel")
