"""No file knows the machine it was written on, nor where packages were fetched from."""

import re

from repository import Problem

# Put together here, so that this file does not find itself.
MACHINE_PATHS = re.compile(r"(?<![\w.$}{*-])/(?:work/|tmp/bui" + r"ld-|tmp/ba" + r"sh_jobs)")
REGISTRIES = (
    ("registry", "npmjs", "org"), ("registry", "yarnpkg", "com"), ("npmjs", "com"),
    ("pypi", "org"), ("pythonhosted", "org"), ("crates", "io"), ("proxy", "golang", "org"),
    ("sum", "golang", "org"), ("repo", "maven", "apache", "org"), ("repo1", "maven", "org"),
    ("maven", "google", "com"), ("rubygems", "org"), ("deb", "debian", "org"),
    ("security", "debian", "org"), ("snapshot", "debian", "org"), ("archive", "ubuntu", "com"),
    ("registry-1", "docker", "io"), ("docker", "io"), ("ghcr", "io"), ("quay", "io"),
)
REGISTRY_HOSTS = re.compile(
    r"(?<![\w-])(?:" + "|".join(r"\.".join(map(re.escape, parts)) for parts in REGISTRIES) +
    r")(?![\w-])")
LOCK_FILES = ("package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml",
              "Cargo.lock", "poetry.lock", "uv.lock", "Gemfile.lock")
CONFIG_FILES = (".npmrc", ".yarnrc", "pip.conf")
ANY_ADDRESS = re.compile(r'"?\bresolved"?[ :=]+"?(https?:[^"\s]*)')
CHOOSES_REGISTRY = re.compile(r"^\s*(?:\S*registry|index-url|extra-index-url)\s*=")


def check(repository):
    problems = []
    for name in repository.files:
        base = name.rsplit("/", 1)[-1]
        for number, line in repository.lines(name):
            why = wrong(base, line)
            if why:
                problems.append(Problem(name, number, why))
    return problems


def wrong(base, line):
    found = MACHINE_PATHS.search(line)
    if found:
        return f"path of one machine: {found.group()}"
    found = REGISTRY_HOSTS.search(line)
    if found:
        return f"host name of a registry: {found.group()}"
    if base in LOCK_FILES and ANY_ADDRESS.search(line):
        return "a lock file with addresses (npm: omit-lockfile-registry-resolved=true in .npmrc)"
    if base in CONFIG_FILES and CHOOSES_REGISTRY.match(line):
        return "chooses a registry; that belongs to the machine"
    return None
