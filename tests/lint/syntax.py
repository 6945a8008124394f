"""Scripts, settings and unit files can be read by what reads them: a typing error in a file that
only a release or a cluster would open fails here."""

import ast
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from repository import Problem


def check(repository):
    problems = []
    for name in repository.files:
        if name.startswith("tests/fixtures/"):
            continue
        why = None
        if name.endswith(".sh") or is_shell_script(repository, name):
            why = run(["bash", "-n", str(repository.root / name)])
        elif name.endswith(".py"):
            why = python_error(repository.read(name))
        elif name.endswith(".json"):
            why = json_error(repository.read(name))
        elif name.endswith((".yaml", ".yml")):
            why = yaml_error(repository.read(name))
        elif name.endswith(".service"):
            why = unit_error(repository.read(name), Path(name).name)
        if why:
            problems.append(Problem(name, 1, why))
    return problems


def is_shell_script(repository, name):
    if "." in Path(name).name:
        return False
    first = repository.read(name).split("\n", 1)[0]
    return first.startswith("#!") and first.endswith(("bash", "/sh"))


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else None


def python_error(text):
    try:
        ast.parse(text)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    return None


def json_error(text):
    try:
        json.loads(text)
    except ValueError as error:
        return str(error)
    return None


def yaml_error(text):
    try:
        import yaml
    except ImportError:
        # No Python package for it here: at least the mistake that YAML never forgives.
        bad = [n for n, line in enumerate(text.splitlines(), 1) if "\t" in line[:line.find("#")]]
        return f"line {bad[0]}: a tab" if bad else None
    try:
        list(yaml.safe_load_all(text))
    except yaml.YAMLError as error:
        return " ".join(str(error).split())
    return None


def unit_error(text, base):
    """systemd's own judgement, where it is installed; the program need not be."""
    if not shutil.which("systemd-analyze"):
        return None
    with tempfile.TemporaryDirectory() as folder:
        unit = Path(folder, base)
        unit.write_text(text.replace("/usr/local/bin/", "/bin/true /usr/local/bin/"))
        done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True,
                              text=True, check=False)
        return " ".join(line for line in done.stderr.splitlines() if base in line) or None
