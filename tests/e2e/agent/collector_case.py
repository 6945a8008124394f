"""A real Collector for the agent's tests: built once, where it can be built."""

import subprocess
import sys
from pathlib import Path

import agent_case
import stackray_command

BUILD = Path(__file__).resolve().parent.parent / "collector" / "build_collector.sh"


def main(test_class):
    """Runs the tests of `test_class`, whose `binary` becomes the Collector's path. The first word
    of the command line is the folder that it is built in. The exit code."""
    reason = stackray_command.why_no_bpf()
    if reason:
        print(f"skipped: no BPF here: {reason}", file=sys.stderr)
        return agent_case.SKIPPED
    built = subprocess.run([str(BUILD), sys.argv.pop(1)], stdout=subprocess.PIPE, text=True,
                           check=False)
    if built.returncode != 0:
        return built.returncode
    test_class.binary = built.stdout.strip().splitlines()[-1]
    return agent_case.main()
